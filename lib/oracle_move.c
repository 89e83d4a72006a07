// SPDX-License-Identifier: GPL-2.0
/* What mremap() must do, page by page. */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pgtable.h>

#include "lib/oracle.h"

/* One VMA's part of a move; pages of the layout. */
struct piece {
	unsigned int from;
	unsigned int nr;
	unsigned int to;
};

static unsigned int page_of(const struct ptb_oracle *o, unsigned long addr)
{
	return (addr - o->space->base) / PAGE_SIZE;
}

static bool any_mapped(const struct ptb_oracle *o, const unsigned long *mapped,
		       unsigned long start, unsigned long end)
{
	for (start = max(start, o->space->base); start < end; start += PAGE_SIZE)
		if (page_of(o, start) < o->led->nr &&
		    test_bit(page_of(o, start), mapped))
			return true;
	return false;
}

/*
 * Does @page change its place by its whole page table (or huge PMD) being
 * hung up elsewhere? move_page_tables() does that if both are aligned, and
 * goes back to where the table begins if nothing else can be in it.
 */
static bool by_table(const struct ptb_oracle *o, const unsigned long *mapped,
		     const struct piece *p, unsigned int page)
{
	const unsigned long from = ptb_addr(o->space, p->from);
	const unsigned long end = ptb_addr(o->space, p->from + p->nr);
	const unsigned long to = ptb_addr(o->space, p->to);
	const unsigned long table = ptb_addr(o->space, page) & PMD_MASK;

	if ((from ^ to) & ~PMD_MASK || table + PMD_SIZE > end)
		return false;
	return table >= from ||
	       (!any_mapped(o, mapped, table, from) &&
		!any_mapped(o, mapped, to & PMD_MASK, to));
}

/* do_munmap() of pages; the books of file folios get their A/D bits. */
static void unmap(struct ptb_oracle *o, unsigned long *mapped,
		  unsigned long start, unsigned long end)
{
	for (; start < end; start += PAGE_SIZE) {
		unsigned int i = page_of(o, start);
		struct ptb_pte *p = &o->led->pte[0][i];

		if (p->kind == PTB_PAGE && !o->led->folio[p->folio].anon) {
			o->led->folio[p->folio].dirty |= p->dirty;
			o->led->folio[p->folio].accessed |= p->young;
		}
		ptb_oracle_unmap(o, 0, i);
		__clear_bit(i, mapped);
	}
}

/* __split_huge_pmd_locked(): from one mapping to one of each page. */
static void split_pmd(struct ptb_oracle *o, unsigned int page)
{
	const struct ptb_pte *self = &o->led->pte[0][page];
	struct ptb_frec *rec = &o->led->folio[self->folio];
	unsigned int i;

	if (rec->mapcount > 1)
		return;		/* done before */
	rec->refs += PTRS_PER_PTE - 1;
	rec->mapcount += PTRS_PER_PTE - 1;
	rec->dirty |= self->dirty;
	for (i = 0; i < o->led->nr; i++)
		if (o->led->pte[0][i].kind == PTB_PAGE &&
		    o->led->pte[0][i].folio == self->folio)
			o->led->pte[0][i].mapcount = 1;
}

/* move_ptes(), for one entry that is not moved with its table */
static struct ptb_pte moved(const struct ptb_oracle *o, unsigned int vma_flags,
			    struct ptb_pte p)
{
	/* The context did not ask to be told: the new VMA has none of it. */
	const bool drop = o->space->uffd &&
			  vma_flags & (PTB_VMA_UFFD | PTB_VMA_RWP);

	switch (p.kind) {
	case PTB_UFFD_MARKER:
		if (drop)
			p.kind = PTB_HOLE;
		break;
	case PTB_PAGE:
	case PTB_ZERO:
	case PTB_SPECIAL:
		p.soft = pgtable_supports_soft_dirty();
		/* The access that RWP took away comes back, read-only. */
		if (drop && p.uffd && vma_flags & PTB_VMA_RWP)
			p.protnone = false;
		if (drop)
			p.uffd = false;
		break;
	}
	return p;
}

static void move_piece(struct ptb_oracle *o, const unsigned long *mapped,
		       const struct piece *p)
{
	const unsigned int flags = ptb_oracle_vma(o, p->from);
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		struct ptb_pte *from = &o->led->pte[0][p->from + i];
		struct ptb_pte *to = &o->led->pte[0][p->to + i];
		const bool pmd = from->kind == PTB_PAGE && flags & PTB_VMA_PMD;
		const bool table = by_table(o, mapped, p, p->from + i) &&
				   !(o->space->uffd &&
				     flags & (PTB_VMA_UFFD | PTB_VMA_RWP));

		if (pmd && !by_table(o, mapped, p, p->from + i))
			split_pmd(o, p->from + i);
		*to = table && !pmd && !(flags & PTB_VMA_HUGETLB) ? *from :
		      moved(o, flags, *from);
		*from = (struct ptb_pte){ .kind = PTB_HOLE };
	}
}

/* move_vma() for each VMA in the range */
static void move_range(struct ptb_oracle *o, const struct ptb_mremap *req,
		       unsigned long *mapped, unsigned int nr,
		       unsigned int new_nr)
{
	const struct ptb_layout *l = &o->space->layout;
	const unsigned int from = page_of(o, req->addr);
	const unsigned int to = page_of(o, req->new_addr);
	unsigned int i, j;

	for (i = 0; i < nr; i = j) {
		const struct piece p = { from + i, 0, to + i };
		struct piece q = p;

		for (j = i; j < nr && test_bit(from + j, mapped) &&
		     l->page[from + j].vma == l->page[from + i].vma; j++)
			q.nr++;
		if (!q.nr) {
			j++;
			continue;
		}
		move_piece(o, mapped, &q);
		if (!(req->flags & MREMAP_DONTUNMAP))
			bitmap_clear(mapped, q.from, q.nr);
		bitmap_set(mapped, q.to, q.nr);
	}
	bitmap_set(mapped, to, new_nr > nr ? new_nr : 0);
}

/* Is there room behind for a mapping to grow? */
static bool can_grow(const struct ptb_oracle *o, const unsigned long *mapped,
		     unsigned long end, unsigned long new_end)
{
	return !any_mapped(o, mapped, end, new_end);
}

/**
 * ptb_oracle_mremap() - what mremap() must do
 * @o: the oracle; its ledger is edited
 * @req: the call; if it names an error, that is the answer
 * @mapped: which pages of the layout are in a VMA, edited
 *
 * Return: the address that it must return, or -errno.
 */
long ptb_oracle_mremap(struct ptb_oracle *o, const struct ptb_mremap *req,
		       unsigned long *mapped)
{
	const unsigned long addr = untagged_addr(req->addr);
	unsigned long old_len = PAGE_ALIGN(req->old_len);
	const unsigned long new_len = PAGE_ALIGN(req->new_len);
	const bool to = req->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP);

	if (req->err)
		return req->err;
	if (req->flags & MREMAP_FIXED)
		unmap(o, mapped, req->new_addr, req->new_addr + new_len);
	if (new_len < old_len) {
		unmap(o, mapped, addr + new_len, addr + old_len);
		old_len = new_len;
	}
	if (!to && new_len == old_len)
		return addr;
	if (!to && can_grow(o, mapped, addr + old_len, addr + new_len)) {
		bitmap_set(mapped, page_of(o, addr + old_len),
			   (new_len - old_len) / PAGE_SIZE);
		return addr;
	}
	move_range(o, req, mapped, old_len / PAGE_SIZE, new_len / PAGE_SIZE);
	return req->new_addr;
}
