// SPDX-License-Identifier: GPL-2.0
/*
 * The last steps of building a space: protections, VMA flags, and the entries
 * that no system call makes at will. Then everything is read back.
 */
#include <linux/hugetlb.h>
#include <linux/leafops.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pgtable.h>

#include <asm/tlbflush.h>

#include "internal.h"
#include "lib/build.h"
#include "lib/swap.h"
#include "lib/sys.h"

static pte_t edited(pte_t pte, char state)
{
	switch (state) {
	case 'c':
		return pte_mkclean(pte);
	case 'y':
		return pte_mkold(pte);
	case 'r':
		return pte_wrprotect(pte);
	case 'k':
	case 'f':
		return pte_mkclean(pte_wrprotect(pte));
	case 'u':
		return pte_mkuffd(pte_wrprotect(pte));
	case 't':
		return pte_clear_soft_dirty(pte_wrprotect(pte));
	case 'p':
		return pte_modify(pte, PAGE_NONE);
	case 'q':
		return pte_modify(pte_mkuffd(pte), PAGE_NONE);
	}
	return pte;
}

/*
 * Pages [start, end) are present, of one folio, in one page table and in the
 * same state: changed in one transaction, as mprotect() does it, so that arm64
 * may keep its blocks.
 */
static void edit_run(struct ptb_space *space, struct vm_area_struct *vma,
		     unsigned int start, unsigned int end, char state)
{
	unsigned long addr = ptb_addr(space, start);
	const bool make_old = space->layout.vma[space->layout.page[start].vma].flags &
			      PTB_VMA_OLD;
	spinlock_t *ptl;	/* page table lock */
	pte_t *ptep, old, new;

	ptep = pte_offset_map_lock(vma->vm_mm, mm_find_pmd(vma->vm_mm, addr),
				   addr, &ptl);
	if (!ptep)
		return;		/* ptb_verify() will tell */
	if (pte_present(ptep_get(ptep))) {
		old = modify_prot_start_ptes(vma, addr, ptep, end - start);
		new = edited(old, state);
		if (make_old)
			new = pte_mkold(new);
		modify_prot_commit_ptes(vma, addr, ptep, old, new, end - start);
		flush_tlb_range(vma, addr, ptb_addr(space, end));
	}
	pte_unmap_unlock(ptep, ptl);
}

static int put_entry(struct ptb_space *space, struct vm_area_struct *vma,
		     unsigned int page, char state)
{
	unsigned long addr = ptb_addr(space, page);
	spinlock_t *ptl;	/* page table lock */
	pte_t *ptep, pte;

	if (state == 'x' && !space->special) {
		space->special = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!space->special)
			return -ENOMEM;
	}
	if (state == 'm')
		pte = make_pte_marker(PTE_MARKER_UFFD_WP);
	else if (state == 'h')
		pte = make_pte_marker(PTE_MARKER_POISONED);
	else
		pte = pte_mkspecial(mk_pte(space->special, vma->vm_page_prot));
	ptep = get_locked_pte(vma->vm_mm, addr, &ptl);
	if (!ptep)
		return -ENOMEM;
	set_pte_at(vma->vm_mm, addr, ptep, pte);
	pte_unmap_unlock(ptep, ptl);
	return 0;
}

static int protect(struct ptb_space *space, const struct ptb_lvma *vma)
{
	unsigned long prot = PROT_READ;

	if (!(vma->flags & (PTB_VMA_RO | PTB_VMA_NOMAYWRITE | PTB_VMA_NONE)))
		return 0;
	if (vma->flags & PTB_VMA_NONE)
		prot = PROT_NONE;
	return ptb_syscall(PTB_SYS(mprotect), ptb_addr(space, vma->start),
			   (vma->end - vma->start) * PAGE_SIZE, prot, 0, 0, 0);
}

/* Flags whose owners (a uffd context, clear_refs, a driver) we do not have. */
static void flag_vma(struct vm_area_struct *vma, unsigned int flags)
{
	vma_start_write(vma);
	if (flags & PTB_VMA_FILE)
		vm_flags_clear(vma, VM_NOHUGEPAGE);
	if (flags & PTB_VMA_UFFD)
		vm_flags_set(vma, VM_UFFD_WP);
	if (flags & PTB_VMA_RWP)
		vm_flags_set(vma, VM_UFFD_RWP);
	if (flags & PTB_VMA_SD)
		vm_flags_clear(vma, VM_SOFTDIRTY);
	if (flags & PTB_VMA_MIXED)
		vm_flags_set(vma, VM_MIXEDMAP);
	if (flags & PTB_VMA_NOMAYWRITE)
		vm_flags_clear(vma, VM_MAYWRITE);
	vma_set_page_prot(vma);
}

/* What faults, fork() and mprotect() made is not yet what was asked for? */
static bool needs_edit(const struct ptb_lvma *vma, char state)
{
	if (vma->flags & PTB_VMA_OLD)
		return ptb_state_maps(state);
	if ((vma->flags & PTB_VMA_RO && state == 'r') ||
	    (vma->flags & PTB_VMA_NONE && state == 'p'))
		return false;
	return strchr("cyrkutpqf", state);
}

static int edit_pages(struct ptb_space *space, const struct ptb_lvma *lvma)
{
	const struct ptb_layout *l = &space->layout;
	struct mm_struct *mm = space->mm[0];
	unsigned int i, j;
	int ret = 0;

	for (i = lvma->start; i < lvma->end && !ret; i = j) {
		const struct ptb_lpage *a = &l->page[i];
		struct vm_area_struct *vma = vma_lookup(mm, ptb_addr(space, i));
		unsigned long next = (ptb_addr(space, i) & PMD_MASK) + PMD_SIZE;

		j = i + 1;
		if (!vma)
			return -EFAULT;
		if (strchr("mhx", a->state)) {
			ret = put_entry(space, vma, i, a->state);
			continue;
		}
		if (!needs_edit(lvma, a->state))
			continue;
		while (j < lvma->end && ptb_addr(space, j) < next &&
		       l->page[j].state == a->state &&
		       l->page[j].folio == a->folio &&
		       a->folio != PTB_NO_FOLIO && l->folio[a->folio].order &&
		       l->page[j].sub == a->sub + (j - i) &&
		       (!(lvma->flags & PTB_VMA_COW) || a->state == 'f'))
			j++;
		edit_run(space, vma, i, j, a->state);
	}
	return ret;
}

/**
 * ptb_edit() - protections, VMA flags and single entries
 * @space: faulted in, forked, holes punched
 *
 * Return: 0 or -errno.
 */
int ptb_edit(struct ptb_space *space)
{
	const struct ptb_layout *l = &space->layout;
	struct mm_struct *mm = space->mm[0];
	unsigned int v, i;
	int ret = 0;

	for (i = 0; i < l->nr; i++)
		if (l->page[i].state == 'z' &&
		    ptb_fault(mm, ptb_addr(space, i), 0))
			return -EFAULT;
	for (v = 0; v < l->nr_vmas && !ret; v++) {
		const struct ptb_lvma *lvma = &l->vma[v];
		struct vm_area_struct *vma;

		if (l->page[lvma->start].state == '-' && !lvma->piece)
			continue;
		ret = protect(space, lvma);
		if (ret)
			break;
		mmap_write_lock(mm);
		vma = vma_lookup(mm, ptb_addr(space, lvma->start));
		if (vma)
			flag_vma(vma, lvma->flags);
		if (!(lvma->flags & PTB_VMA_HUGETLB))
			ret = edit_pages(space, lvma);
		mmap_write_unlock(mm);
	}
	return ret;
}

static int wrong(struct ptb_space *space, unsigned int page, const char *what)
{
	ptb_space_fail(space, "building: page %u: %s", page, what);
	return -EINVAL;
}

static int verify_vmas(struct ptb_space *space)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int v;

	for (v = 0; v < l->nr_vmas; v++) {
		const struct ptb_lvma *lvma = &l->vma[v];
		struct vm_area_struct *vma;

		vma = vma_lookup(space->mm[0], ptb_addr(space, lvma->start));
		if (l->page[lvma->start].state == '-' && !lvma->piece) {
			if (vma)
				return wrong(space, lvma->start, "there is a VMA");
			continue;
		}
		if (vma && space->tiled &&
		    vma->vm_end >= ptb_addr(space, lvma->end))
			continue;
		if (!vma || vma->vm_start != ptb_addr(space, lvma->start) ||
		    vma->vm_end != ptb_addr(space, lvma->end))
			return wrong(space, lvma->start, "VMA boundaries differ");
	}
	return 0;
}

/* An anonymous page in a private file mapping took a file page's place. */
static bool cowed(const struct ptb_layout *l, unsigned int i)
{
	return (l->vma[l->page[i].vma].flags & PTB_VMA_COW) &&
	       l->page[i].state != 'f';
}

static const char *frame_wrong(struct ptb_space *space, unsigned int i)
{
	const struct ptb_layout *l = &space->layout;
	const struct ptb_ledger *led = space->led;
	const struct ptb_lpage *pg = &l->page[i];
	const struct ptb_pte *p = &led->pte[0][i], *q = p - 1;
	unsigned long pfn = led->folio[p->folio].head + p->sub;

	if (cowed(l, i))
		return led->folio[p->folio].order ? "not an order-0 folio" : NULL;
	if (led->folio[p->folio].order != l->folio[pg->folio].order)
		return "wrong folio order";
	if (p->sub != pg->sub)
		return "wrong page of the folio";
	if (!i || q->kind != PTB_PAGE || cowed(l, i - 1) ||
	    (l->vma[pg->vma].flags & (PTB_VMA_FILE | PTB_VMA_HUGETLB)))
		return NULL;
	if (p->folio == q->folio)
		return pg->folio == pg[-1].folio ? NULL : "one folio, not two";
	if (pg->folio == pg[-1].folio)
		return "two folios, not one";
	if (l->folio[pg->folio].label || pg->vma != pg[-1].vma)
		return NULL;
	/* Where swapping in puts a folio is left to chance. */
	if (strchr(PTB_CACHED, pg->state) || strchr(PTB_CACHED, pg[-1].state))
		return NULL;
	if (l->folio[pg->folio].abut &&
	    l->folio[pg->folio].abut == l->folio[pg[-1].folio].abut)
		return led->folio[q->folio].head + q->sub + 1 == pfn ? NULL :
		       "frames do not abut";
	return led->folio[q->folio].head + q->sub + 1 == pfn ?
	       "frames abut" : NULL;
}

/* What is in a slot cannot be read there: remember whose page it was. */
static int remember_slots(struct ptb_space *space, const struct ptb_ledger *led)
{
	unsigned int i, j;
	int ret = 0;

	for (i = 0; i < led->nr_mms; i++)
		for (j = 0; led->mm_alive[i] && j < led->nr && !ret; j++)
			if (led->pte[i][j].kind == PTB_SWAP)
				ret = xa_err(xa_store(&space->slots,
						      led->pte[i][j].slot,
						      xa_mk_value(j), GFP_KERNEL));
	return ret;
}

/**
 * ptb_verify() - is what was built what was asked for?
 * @space: built
 *
 * Also brings the books to their starting point: PG_referenced, and PG_dirty of
 * file folios, are cleared.
 *
 * Return: 0 and space->led holds the first ledger, or -EINVAL and the case has
 * failed.
 */
int ptb_verify(struct ptb_space *space)
{
	const struct ptb_layout *l = &space->layout;
	struct ptb_ledger *led;
	unsigned int i;
	int ret;

	ret = verify_vmas(space);
	if (ret)
		return ret;
	led = ptb_ledger_alloc(l->nr);
	if (!led)
		return -ENOMEM;
	ptb_ledger_free(space->led);
	space->led = led;
	ret = ptb_ledger_read(space, NULL, led);
	if (ret)
		return ret;
	for (i = 0; i < l->nr; i++) {
		const unsigned int flags = l->vma[l->page[i].vma].flags;
		const struct ptb_pte *p = &led->pte[0][i];
		char want = l->page[i].state;
		char c = ptb_pte_char(led, 0, i, flags);
		const char *why = NULL;

		if (want == '-')
			want = '.';
		/* A contiguous block has one dirty and one young bit for all. */
		if (p->cont && ((want == 'c' && c == 'w') ||
				(want == 'k' && c == 'r') ||
				(want == 'y' && c == 'w')))
			want = c;
		if (c != want)
			why = "wrong state";
		else if (p->kind == PTB_PAGE && !p->cont &&
			 p->young == (want == 'y' || flags & PTB_VMA_OLD))
			why = "wrong young bit";
		else if (p->kind == PTB_PAGE)
			why = frame_wrong(space, i);
		if (why) {
			ptb_space_fail(space, "building: page %u: %s, found %c",
				       i, why, c);
			return -EINVAL;
		}
	}
	ret = remember_slots(space, led);
	if (ret)
		return ret;
	for (i = 0; i < led->nr_folios; i++) {
		struct folio *folio = page_folio(pfn_to_page(led->folio[i].head));

		if (led->folio[i].zero)
			continue;
		folio_clear_referenced(folio);
		if (!folio_test_anon(folio) && !folio_test_hugetlb(folio))
			folio_clear_dirty(folio);
	}
	return ptb_ledger_read(space, led, led);
}
