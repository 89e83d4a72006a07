// SPDX-License-Identifier: GPL-2.0
/*
 * Building the state that a layout asks for: VMAs and folios by system calls
 * and faults, sharing by fork, then (edit.c) the few things that only a store
 * into the page table makes. What came out is read back and compared.
 */
#include <kunit/test.h>
#include <linux/file.h>
#include <linux/highmem.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "internal.h"
#include "lib/build.h"
#include "lib/space.h"
#include "lib/sys.h"

#define STAGE_STEP	(8 * PMD_SIZE)

/**
 * ptb_fault() - one fault, with the mmap lock taken for it
 * @mm: whose
 * @addr: where; must be in a VMA
 * @flags: FAULT_FLAG_WRITE, FAULT_FLAG_UNSHARE or 0
 *
 * Return: 0, or the VM_FAULT_ERROR bits; VM_FAULT_SIGSEGV without a VMA.
 */
int ptb_fault(struct mm_struct *mm, unsigned long addr, unsigned int flags)
{
	struct vm_area_struct *vma;
	vm_fault_t ret = VM_FAULT_SIGSEGV;

	mmap_read_lock(mm);
	vma = vma_lookup(mm, addr);
	if (vma)
		ret = handle_mm_fault(vma, addr, flags, NULL);
	mmap_read_unlock(mm);
	return (__force int)(ret & VM_FAULT_ERROR);
}

static unsigned int folio_span(const struct ptb_layout *l, int f)
{
	unsigned int i, nr = 0;

	if (!l->folio[f].abut)
		return 1 << l->folio[f].order;
	for (i = 0; i < l->nr_folios; i++)
		if (l->folio[i].abut == l->folio[f].abut)
			nr += 1 << l->folio[i].order;
	return nr;
}

/* The first folio of its <> group? All others come from splitting that one. */
static bool leads(const struct ptb_layout *l, int f)
{
	return !l->folio[f].abut || !f || l->folio[f - 1].abut != l->folio[f].abut;
}

/* Are all folios of pages [start, end) aligned if page 0 stands at @at? */
static bool aligned(const struct ptb_layout *l, unsigned int start,
		    unsigned int end, long at)
{
	unsigned int i;

	for (i = 0; i < l->nr_folios; i++) {
		if (l->folio[i].label || l->folio[i].first < start ||
		    l->folio[i].first >= end || !leads(l, i))
			continue;
		if ((at + l->folio[i].first) & (folio_span(l, i) - 1))
			return false;
	}
	return true;
}

/*
 * A unit is what has to be mapped by one call: a VMA and those behind it that
 * a folio reaches into.
 */
static unsigned int unit_end(const struct ptb_layout *l, unsigned int v)
{
	for (; v + 1 < l->nr_vmas; v++) {
		const struct ptb_lpage *a = &l->page[l->vma[v].end - 1];
		const struct ptb_lpage *b = a + 1;

		if (l->vma[v].piece || a->folio == PTB_NO_FOLIO ||
		    b->folio == PTB_NO_FOLIO)
			break;
		if (a->folio != b->folio &&
		    (!l->folio[a->folio].abut ||
		     l->folio[a->folio].abut != l->folio[b->folio].abut))
			break;
	}
	return v + 1;
}

/*
 * Where page 0 stands in its page table: such that boundaries are where the
 * layout has them and, if possible, all folios are aligned where they stand.
 */
static void place(struct ptb_space *space)
{
	const struct ptb_layout *l = &space->layout;
	long at, found = -1;

	for (at = 0; at < PTRS_PER_PTE; at++) {
		if (l->edge >= 0 ? (at + l->edge) % PTRS_PER_PTE :
		    l->nr <= PTRS_PER_PTE && at + l->nr > PTRS_PER_PTE)
			continue;
		if (found < 0)
			found = at;
		if (aligned(l, 0, l->nr, at)) {
			found = at;
			break;
		}
	}
	space->base = PTB_BASE + found * PAGE_SIZE;
	/* File folios are aligned in their file; the same way if possible. */
	for (at = found; at < found + PTRS_PER_PTE; at++)
		if (aligned(l, 0, l->nr, at))
			break;
	space->file_shift = at % PTRS_PER_PTE;
}

static unsigned long map(struct ptb_space *space, unsigned long addr,
			 unsigned int nr, unsigned int flags, unsigned int pgoff)
{
	unsigned long mflags = MAP_FIXED | MAP_NORESERVE;
	unsigned long prot = PROT_READ | PROT_WRITE;

	if (flags & PTB_VMA_FILE)
		return vm_mmap(space->file, addr, nr * PAGE_SIZE, prot,
			       MAP_FIXED | (flags & PTB_VMA_COW ? MAP_PRIVATE :
					    MAP_SHARED), pgoff * PAGE_SIZE);
	mflags |= MAP_ANONYMOUS | MAP_PRIVATE;
	if (flags & PTB_VMA_HUGE)
		mflags |= MAP_HUGETLB | PMD_SHIFT << MAP_HUGE_SHIFT;
	if (flags & PTB_VMA_HUGE64K)
		mflags |= MAP_HUGETLB | 16 << MAP_HUGE_SHIFT;
	return ptb_syscall(PTB_SYS(mmap), addr, nr * PAGE_SIZE, prot, mflags,
			   -1, 0);
}

/** ptb_frame_at() - the frame that is mapped by a PTE at @addr, or 0 */
unsigned long ptb_frame_at(struct mm_struct *mm, unsigned long addr)
{
	unsigned long pfn = 0;
	spinlock_t *ptl;	/* page table lock */
	pmd_t *pmd = mm_find_pmd(mm, addr);
	pte_t *ptep = pmd ? pte_offset_map_lock(mm, pmd, addr, &ptl) : NULL;

	if (!ptep)
		return 0;
	if (pte_present(ptep_get(ptep)))
		pfn = pte_pfn(ptep_get(ptep));
	pte_unmap_unlock(ptep, ptl);
	return pfn;
}

/** ptb_split_pmd() - PMD-sized folios come mapped by a PMD: map them by PTEs */
void ptb_split_pmd(struct mm_struct *mm, unsigned long addr)
{
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	struct vm_area_struct *vma;

	mmap_write_lock(mm);
	vma = vma_lookup(mm, addr);
	split_huge_pmd_address(vma, addr, false);
	mmap_write_unlock(mm);
#endif
}

struct spacer {
	struct list_head list;
	struct page *page;
	unsigned int order;
};

/* Hold the frames that would follow @pfn, so that no folio gets them. */
static int add_spacer(struct ptb_space *space, unsigned int order)
{
	struct spacer *s = kmalloc_obj(*s);

	if (!s)
		return -ENOMEM;
	s->order = order;
	s->page = alloc_pages(GFP_HIGHUSER_MOVABLE | (order ? __GFP_COMP : 0),
			      order);
	if (!s->page) {
		kfree(s);
		return -ENOMEM;
	}
	list_add(&s->list, &space->spacers);
	return 0;
}

static void drop_spacers(struct ptb_space *space)
{
	struct spacer *s, *next;

	list_for_each_entry_safe(s, next, &space->spacers, list) {
		__free_pages(s->page, s->order);
		list_del(&s->list);
		kfree(s);
	}
}

/*
 * Fault one anonymous folio in. Frames may not follow those of the page before
 * by chance: only <> says that they do.
 */
static int fault_folio(struct ptb_space *space, unsigned long addr, int f,
		       unsigned long *prev)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int span = folio_span(l, f), tries, ret;
	const unsigned int flags = l->vma[l->page[l->folio[f].first].vma].flags;
	const bool movable = flags & PTB_VMA_MOV;
	unsigned long pfn;
	unsigned int pin = 0;

	for (tries = 0; tries < 16; tries++) {
		ptb_anon_orders(span > 1 ? span : 0);	/* BIT(order) == span */
		if (!movable)
			pin = memalloc_pin_save();
		ret = ptb_fault(space->mm[0], addr, FAULT_FLAG_WRITE);
		if (!movable)
			memalloc_pin_restore(pin);
		ptb_anon_orders(0);
		if (ret) {
			ptb_space_fail(space, "building: fault at page %d gives %#x",
				       l->folio[f].first, ret);
			return -EFAULT;
		}
		if (span == 1UL << (PMD_SHIFT - PAGE_SHIFT) &&
		    !(flags & PTB_VMA_PMD))
			ptb_split_pmd(space->mm[0], addr);
		pfn = ptb_frame_at(space->mm[0], addr);
		if (!*prev || pfn != *prev + 1) {
			*prev = pfn + span - 1;
			return 0;
		}
		ret = ptb_syscall(PTB_SYS(madvise), addr, span * PAGE_SIZE,
				  MADV_DONTNEED, 0, 0, 0);
		ptb_drain();
		if (!movable)
			pin = memalloc_pin_save();
		if (!ret)
			ret = add_spacer(space, ilog2(span));
		if (!movable)
			memalloc_pin_restore(pin);
		if (ret)
			return -ENOMEM;
	}
	ptb_space_fail(space, "building: no scattered frames for page %d",
		       l->folio[f].first);
	return -ENOMEM;
}

static void write_tag(struct page *page, unsigned int nr)
{
	u64 *p = kmap_local_page(page);

	*p = ptb_tag(nr);
	kunmap_local(p);
}

static int split_abut(struct ptb_space *space, unsigned long addr, int f)
{
	struct page *page = pfn_to_page(ptb_frame_at(space->mm[0], addr));
	struct folio *folio = page_folio(page);
	unsigned int i;
	int ret;

	/* Splitting maps the zero page for pages of zeroes. */
	for (i = 0; i < folio_nr_pages(folio); i++)
		write_tag(page + i, i);
	ptb_drain();
	folio_get(folio);
	folio_lock(folio);
	ret = split_folio_to_order(folio, space->layout.folio[f].order);
	folio_unlock(page_folio(page));
	folio_put(page_folio(page));
	if (ret)
		ptb_space_fail(space, "building: cannot split for <>: %d", ret);
	/* The split may have lost the A/D bits, see migration.c. */
	for (i = 0; !ret && i < folio_span(&space->layout, f); i++)
		ret = ptb_fault(space->mm[0], addr + i * PAGE_SIZE,
				FAULT_FLAG_WRITE);
	return ret;
}

/* Fault in what stands at pages [start, end), page 0 being at @at. */
static int fault_anon(struct ptb_space *space, unsigned int start,
		      unsigned int end, unsigned long at)
{
	const struct ptb_layout *l = &space->layout;
	unsigned long prev = 0;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < l->nr_folios && !ret; i++) {
		unsigned long addr = at + l->folio[i].first * PAGE_SIZE;

		if (l->folio[i].label || l->folio[i].first < start ||
		    l->folio[i].first >= end || !leads(l, i))
			continue;
		ret = fault_folio(space, addr, i, &prev);
		if (!ret && l->folio[i].abut)
			ret = split_abut(space, addr, i);
		cond_resched();
	}
	return ret;
}

static int move(struct ptb_space *space, unsigned long from, unsigned long to,
		unsigned int nr)
{
	long ret = ptb_syscall(PTB_SYS(mremap), from, nr * PAGE_SIZE,
			       nr * PAGE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
			       to, 0);

	if (ret == (long)to)
		return 0;
	ptb_space_fail(space, "building: mremap gives %ld", ret);
	return -EINVAL;
}

static int build_unit(struct ptb_space *space, unsigned int v, unsigned int ve)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int start = l->vma[v].start, end = l->vma[ve - 1].end, i;
	unsigned int flags = l->vma[v].flags;
	unsigned long addr = ptb_addr(space, start), ret;
	long at = (space->base >> PAGE_SHIFT) % PTRS_PER_PTE;

	for (i = v; i < ve; i++)
		if ((l->vma[i].flags ^ flags) & (PTB_VMA_FILE | PTB_VMA_HUGETLB)) {
			ptb_space_fail(space, "a folio over VMAs of different memory");
			return -EINVAL;
		}
	if (flags & (PTB_VMA_FILE | PTB_VMA_HUGETLB)) {
		ret = map(space, addr, end - start, flags,
			  space->file_shift + start);
		if (ret != addr) {
			ptb_space_fail(space, "building: mmap at %#lx gives %ld", addr, ret);
			return -EINVAL;
		}
		return ptb_fault_file(space, start, end);
	}
	if (!aligned(l, start, end, at)) {
		for (at = 0; at < PTRS_PER_PTE; at++)
			if (aligned(l, start, end, at))
				break;
		if (at == PTRS_PER_PTE) {
			ptb_space_fail(space,
				       "no address aligns all folios of pages %u to %u at once",
				       start, end - 1);
			return -EINVAL;
		}
		/* All folios of the unit are behind start: keep it in range. */
		addr = PTB_STAGE + v * STAGE_STEP + (at + start) * PAGE_SIZE;
	}
	ret = map(space, addr, end - start, 0, 0);
	if (ret != addr) {
		ptb_space_fail(space, "building: mmap at %#lx gives %ld", addr, ret);
		return -EINVAL;
	}
	if (fault_anon(space, start, end, addr - start * PAGE_SIZE))
		return -EINVAL;
	return addr == ptb_addr(space, start) ? 0 :
	       move(space, addr, ptb_addr(space, start), end - start);
}

/* A named folio: made whole elsewhere, then each piece moved to its place. */
static int build_named(struct ptb_space *space, int f)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int span = 1 << l->folio[f].order, v, i;
	unsigned long at = PTB_STAGE + (l->nr_vmas + f % 8) * STAGE_STEP;
	unsigned long prev = 0;
	int ret;

	if (map(space, at, span, 0, 0) != at ||
	    fault_folio(space, at, f, &prev))
		return -EINVAL;
	for (v = 0; v < l->nr_vmas; v++) {
		const struct ptb_lvma *vma = &l->vma[v];

		if (!vma->piece || l->page[vma->start].folio != f)
			continue;
		ret = move(space, at + l->page[vma->start].sub * PAGE_SIZE,
			   ptb_addr(space, vma->start), vma->end - vma->start);
		if (ret)
			return ret;
		for (i = vma->start; i < vma->end; i++)
			if (l->page[i].folio != f)
				return -EINVAL;
	}
	return vm_munmap(at, span * PAGE_SIZE);
}

/* Tell pages apart by what they hold. */
static void write_tags(struct ptb_space *space)
{
	const struct ptb_layout *l = &space->layout;
	struct mm_struct *mm = space->mm[0];
	spinlock_t *ptl;	/* page table lock */
	pte_t *ptep = NULL;
	unsigned int i;

	for (i = 0; i < l->nr; i++, ptep += !!ptep) {
		unsigned long addr = ptb_addr(space, i);

		if (ptep && !(addr & ~PMD_MASK)) {
			pte_unmap_unlock(ptep - 1, ptl);
			ptep = NULL;
		}
		if (l->vma[l->page[i].vma].flags & (PTB_VMA_SECRET | PTB_VMA_HUGETLB)) {
			if (ptep)
				pte_unmap_unlock(ptep, ptl);
			ptep = NULL;
			continue;
		}
		if (!ptep && mm_find_pmd(mm, addr))
			ptep = pte_offset_map_lock(mm, mm_find_pmd(mm, addr),
						   addr, &ptl);
		if (ptep && pte_present(ptep_get(ptep)) &&
		    !is_zero_pfn(pte_pfn(ptep_get(ptep))))
			write_tag(pte_page(ptep_get(ptep)), i);
	}
	if (ptep)
		pte_unmap_unlock(ptep - 1, ptl);
}

static int build_memory(struct ptb_space *space)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int v, ve, i;
	int ret;

	ret = ptb_open_file(space);
	for (v = 0; v < l->nr_vmas && !ret; v = ve) {
		ve = unit_end(l, v);
		if (!ptb_is_gap(l, v) && !l->vma[v].piece)
			ret = build_unit(space, v, ve);
	}
	for (i = 0; i < l->nr_folios && !ret; i++)
		if (l->folio[i].label)
			ret = build_named(space, i);
	drop_spacers(space);
	return ret;
}

/**
 * ptb_build_here() - build what a space's layout asks for, at space->base
 * @space: with nothing mapped there, in use by the calling thread
 *
 * Return: 0 and space->led holds the first ledger, or -errno and the case has
 * failed.
 */
int ptb_build_here(struct ptb_space *space)
{
	int ret;

	/* khugepaged must not learn of this mm, see khugepaged_enter_vma(). */
	mm_flags_set(MMF_VM_HUGEPAGE, space->mm[0]);
	ret = build_memory(space);
	if (!ret)
		ret = ptb_punch(space);
	if (!ret)
		write_tags(space);
	mm_flags_clear(MMF_VM_HUGEPAGE, space->mm[0]);
	if (!ret)
		ret = ptb_share(space);
	if (!ret)
		ret = ptb_edit(space);
	if (!ret)
		ret = ptb_verify(space);
	if (ret && !space->failed)
		ptb_space_fail(space, "building: failed with %d", ret);
	return ret;
}

/**
 * ptb_build() - build what a space's layout asks for, where its folios fit
 * @space: with an empty mm, in use by the calling thread
 *
 * Return: as ptb_build_here().
 */
int ptb_build(struct ptb_space *space)
{
	place(space);
	return ptb_build_here(space);
}
