// SPDX-License-Identifier: GPL-2.0
/* What fork() and exit must do, page by page. */
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "lib/oracle.h"

/* folio_maybe_dma_pinned(): small folios show pins in their references. */
static bool maybe_pinned(const struct ptb_frec *rec)
{
	return rec->order ? rec->pins > 0 : rec->refs >= 1024;
}

/* copy_present_page(): the child gets a page of its own. */
static void copy_for_child(struct ptb_oracle *o, unsigned int child,
			   unsigned int page)
{
	const bool ro = ptb_oracle_vma(o, page) & (PTB_VMA_RO | PTB_VMA_NONE);
	struct ptb_pte pte = { .kind = PTB_PAGE, .write = !ro, .dirty = true,
			       .soft = pgtable_supports_soft_dirty(),
			       .young = true, .excl = true,
			       .protnone = ptb_oracle_vma(o, page) & PTB_VMA_NONE,
			       .uffd = o->led->pte[0][page].uffd,
			       .tag = o->led->pte[0][page].tag };

	if (pte.uffd)
		pte.write = false;
	pte.folio = ptb_oracle_new_folio(o);
	ptb_oracle_map(o, child, page, pte);
}

/* copy_present_ptes(), for one of them */
static void fork_page(struct ptb_oracle *o, unsigned int child,
		      unsigned int page)
{
	const unsigned int vma = ptb_oracle_vma(o, page);
	struct ptb_pte *p = &o->led->pte[0][page];
	struct ptb_pte pte;

	/* folio_try_dup_anon_rmap_pte() */
	if (o->led->folio[p->folio].anon && p->excl) {
		if (maybe_pinned(&o->led->folio[p->folio])) {
			copy_for_child(o, child, page);
			return;
		}
		p->excl = false;
	}
	if (!(vma & (PTB_VMA_SHM | PTB_VMA_SECRET)))
		p->write = false;
	pte = *p;
	/*
	 * dup_userfaultfd() takes VM_UFFD_WP from the child only where there is
	 * a context; a space's (uffd) VMAs have none.
	 */
	pte.uffd &= !!(vma & PTB_VMA_UFFD);
	pte.young = false;
	if (vma & (PTB_VMA_SHM | PTB_VMA_SECRET))
		pte.dirty = false;
	ptb_oracle_map(o, child, page, pte);
}

/* copy_pte_range(), for one entry */
static void fork_pte(struct ptb_oracle *o, unsigned int child,
		     unsigned int page)
{
	struct ptb_pte *p = &o->led->pte[0][page];
	struct ptb_pte *c = &o->led->pte[child][page];

	*c = (struct ptb_pte){ .kind = PTB_HOLE };
	switch (p->kind) {
	case PTB_PAGE:
		fork_page(o, child, page);
		break;
	case PTB_ZERO:
	case PTB_SPECIAL:
		*c = *p;
		c->young = false;
		break;
	case PTB_SWAP:
		ptb_oracle_fork_swap(o, child, page);
		break;
	case PTB_UFFD_MARKER:
	case PTB_GUARD:
	case PTB_POISON:
		c->kind = p->kind;
		break;
	}
}

/**
 * ptb_oracle_fork() - what fork() of mm 0 must do
 * @o: the oracle
 *
 * Return: the child's number, or PTB_UNKNOWN.
 */
int ptb_oracle_fork(struct ptb_oracle *o)
{
	const struct ptb_layout *l = &o->space->layout;
	unsigned int child = o->led->nr_mms, i, j;

	if (child == PTB_MAX_MMS)
		return PTB_UNKNOWN;
	o->led->nr_mms++;
	memset(o->led->rss[child], 0, sizeof(o->led->rss[child]));
	for (i = 0; i < l->nr; i++)
		o->led->pte[child][i] = (struct ptb_pte){ .kind = PTB_HOLE };
	o->led->mm_alive[child] = true;
	for (i = 0; i < l->nr; i++) {
		unsigned int v = l->page[i].vma;

		if (l->vma[v].flags & PTB_VMA_HUGETLB)
			return PTB_UNKNOWN;
		/* vma_needs_copy(): the others fault their pages back in. */
		if (o->has_anon_vma[v] || l->vma[v].flags & PTB_VMA_MIXED)
			fork_pte(o, child, i);
	}
	/* A large folio that was shared page by page is accounted by page. */
	for (i = 0; i < l->nr; i++)
		for (j = 0; j < o->led->nr_mms; j++)
			if (o->led->mm_alive[j] &&
			    o->led->pte[j][i].kind == PTB_PAGE &&
			    !IS_ENABLED(CONFIG_PAGE_MAPCOUNT) &&
			    o->led->folio[o->led->pte[j][i].folio].order)
				o->led->pte[j][i].mapcount = -1;
	return child;
}

/**
 * ptb_oracle_exit_mm() - what the end of an mm must do
 * @o: the oracle
 * @mm: which mm
 */
void ptb_oracle_exit_mm(struct ptb_oracle *o, unsigned int mm)
{
	unsigned int i;

	for (i = 0; i < o->led->nr; i++) {
		const struct ptb_pte *p = &o->led->pte[mm][i];

		/* zap_present_folio_ptes(): file folios keep the A/D bits. */
		if (p->kind == PTB_PAGE && !o->led->folio[p->folio].anon) {
			o->led->folio[p->folio].dirty |= p->dirty;
			o->led->folio[p->folio].accessed |= p->young;
		}
		ptb_oracle_unmap(o, mm, i);
	}
	o->led->mm_alive[mm] = false;
}
