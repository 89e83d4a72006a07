// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to swap entries and to folios in the swap cache, page by page.
 *
 * The device is synchronous, and the orders that anonymous faults may allocate
 * are none but 0 while operations run: what is not in the swap cache comes in
 * as an order-0 folio (thp_swapin_suitable_orders() in mm/memory.c), and leaves
 * the swap cache as soon as no entry holds its slot (should_try_to_free_swap()).
 */
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "lib/oracle.h"

/* How many entries of the space's mms hold the slot? */
static int holders(const struct ptb_oracle *o, unsigned long slot)
{
	unsigned int i, j;
	int nr = 0;

	for (i = 0; i < o->led->nr_mms; i++)
		for (j = 0; o->led->mm_alive[i] && j < o->led->nr; j++)
			nr += o->led->pte[i][j].kind == PTB_SWAP &&
			      o->led->pte[i][j].slot == slot;
	return nr;
}

/* Write the number into all of them. */
static void count_slot(struct ptb_oracle *o, unsigned long slot)
{
	const int nr = holders(o, slot);
	unsigned int i, j;

	for (i = 0; i < o->led->nr_mms; i++)
		for (j = 0; o->led->mm_alive[i] && j < o->led->nr; j++)
			if (o->led->pte[i][j].kind == PTB_SWAP &&
			    o->led->pte[i][j].slot == slot)
				o->led->pte[i][j].mapcount = nr;
}

/* The folio that the swap cache has for a slot, or -1. */
static int cached(const struct ptb_oracle *o, unsigned long slot)
{
	unsigned int i;

	for (i = 0; i < o->led->nr_folios; i++) {
		const struct ptb_frec *rec = &o->led->folio[i];

		if (rec->slot && slot >= rec->slot &&
		    slot < rec->slot + (1UL << rec->order))
			return i;
	}
	return -1;
}

/**
 * ptb_oracle_free_swap() - folio_free_swap(): out of the swap cache, if it can
 * @o: the oracle
 * @folio: which; need not be there
 *
 * It stays as long as an entry holds a slot of it.
 */
void ptb_oracle_free_swap(struct ptb_oracle *o, unsigned int folio)
{
	struct ptb_frec *rec = &o->led->folio[folio];
	unsigned int i;

	for (i = 0; rec->slot && i < 1U << rec->order; i++)
		if (holders(o, rec->slot + i))
			return;
	if (!rec->slot)
		return;
	rec->slot = 0;
	rec->refs -= 1 << rec->order;
	rec->dirty = true;
}

/**
 * ptb_oracle_zap_swap() - the swap entry at @page of @mm goes away
 * @o: the oracle
 * @mm: whose
 * @page: where
 *
 * A folio that only the swap cache still has goes with its last entry.
 */
void ptb_oracle_zap_swap(struct ptb_oracle *o, unsigned int mm,
			 unsigned int page)
{
	const unsigned long slot = o->led->pte[mm][page].slot;
	int folio;

	o->led->pte[mm][page] = (struct ptb_pte){ .kind = PTB_HOLE };
	o->led->rss[mm][MM_SWAPENTS]--;
	count_slot(o, slot);
	folio = cached(o, slot);
	if (folio >= 0 && !o->led->folio[folio].mapcount)
		ptb_oracle_free_swap(o, folio);
}

/**
 * ptb_oracle_fork_swap() - copy_nonpresent_pte(), for a swap entry
 * @o: the oracle
 * @child: number of the new mm
 * @page: where
 */
void ptb_oracle_fork_swap(struct ptb_oracle *o, unsigned int child,
			  unsigned int page)
{
	struct ptb_pte *p = &o->led->pte[0][page];
	struct ptb_pte *c = &o->led->pte[child][page];

	p->excl = false;
	*c = *p;
	c->uffd &= !!(ptb_oracle_vma(o, page) & (PTB_VMA_UFFD | PTB_VMA_RWP));
	o->led->rss[child][MM_SWAPENTS]++;
	count_slot(o, p->slot);
}

/**
 * ptb_oracle_swap_in() - do_swap_page(), without the write fault at its end
 * @o: the oracle
 * @page: where
 * @write: a write fault
 *
 * Return: 0 or PTB_UNKNOWN.
 */
int ptb_oracle_swap_in(struct ptb_oracle *o, unsigned int page, bool write)
{
	const unsigned int vma = ptb_oracle_vma(o, page);
	const struct ptb_pte old = o->led->pte[o->mm][page];
	const bool may_write = !(vma & (PTB_VMA_RO | PTB_VMA_NOMAYWRITE |
					PTB_VMA_NONE)) &&
			       !(vma & PTB_VMA_UFFD && old.uffd) &&
			       (!(vma & PTB_VMA_SD) || old.soft ||
				!pgtable_supports_soft_dirty());
	struct ptb_pte pte = { .kind = PTB_PAGE, .young = true, .soft = old.soft,
			       .uffd = old.uffd, .excl = old.excl,
			       .tag = old.tag };
	int folio = cached(o, old.slot);

	/* It would map all of the folio, where all of its entries are there. */
	if (folio >= 0 && o->led->folio[folio].order)
		return PTB_UNKNOWN;
	if (folio < 0) {
		folio = ptb_oracle_new_folio(o);
		o->led->folio[folio].slot = old.slot;
		o->led->folio[folio].refs = 1;
	}
	pte.write = old.excl && may_write;
	pte.dirty = pte.write && write;
	if (pte.dirty)
		pte.soft = pgtable_supports_soft_dirty();
	pte.folio = folio;
	o->led->pte[o->mm][page] = (struct ptb_pte){ .kind = PTB_HOLE };
	o->led->rss[o->mm][MM_SWAPENTS]--;
	count_slot(o, old.slot);
	ptb_oracle_map(o, o->mm, page, pte);
	ptb_oracle_free_swap(o, folio);
	return 0;
}
