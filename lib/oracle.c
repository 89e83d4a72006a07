// SPDX-License-Identifier: GPL-2.0
/* The oracle's books, and what a single fault does to them. */
#include <linux/bug.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/slab.h>

#include "lib/oracle.h"

/**
 * ptb_oracle_init() - set an oracle to work
 * @o: the oracle
 * @space: the space, not yet touched by the operation
 * @led: the books as they are, to become what they must be
 *
 * Return: 0 or -ENOMEM.
 */
int ptb_oracle_init(struct ptb_oracle *o, struct ptb_space *space,
		    struct ptb_ledger *led)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int v;

	*o = (struct ptb_oracle){ .space = space, .led = led, .reuse_span = 1 };
	for (v = 0; v < l->nr_vmas && space->mm[0]; v++) {
		struct vm_area_struct *vma;

		mmap_read_lock(space->mm[0]);
		vma = vma_lookup(space->mm[0], ptb_addr(space, l->vma[v].start));
		o->has_anon_vma[v] = vma && vma->anon_vma;
		mmap_read_unlock(space->mm[0]);
	}
	o->page_folio = kvmalloc_array(2 * l->nr, sizeof(u16), GFP_KERNEL);
	o->page_sub = o->page_folio + l->nr;
	return o->page_folio ? 0 : -ENOMEM;
}

/** ptb_oracle_exit() - free what an oracle holds, not its ledger */
void ptb_oracle_exit(struct ptb_oracle *o)
{
	kvfree(o->page_folio);
	o->page_folio = NULL;
}

/** ptb_oracle_vma() - the PTB_VMA_* flags of @page's VMA */
unsigned int ptb_oracle_vma(const struct ptb_oracle *o, unsigned int page)
{
	const struct ptb_layout *l = &o->space->layout;

	return l->vma[l->page[page].vma].flags;
}

/** ptb_oracle_rss() - the RSS counter that pages of @folio count in */
int ptb_oracle_rss(const struct ptb_oracle *o, unsigned int folio)
{
	return o->led->folio[folio].anon ? MM_ANONPAGES : MM_SHMEMPAGES;
}

/** ptb_oracle_new_folio() - a fresh anonymous order-0 folio, not mapped yet */
int ptb_oracle_new_folio(struct ptb_oracle *o)
{
	struct ptb_ledger *led = o->led;

	if (WARN_ON_ONCE(led->nr_folios == led->max_folios))
		return 0;
	led->folio[led->nr_folios] = (struct ptb_frec){ .anon = true, .fresh = true };
	return led->nr_folios++;
}

/* Each mapping of a page counts once in the folio and once in the page. */
static void count_mapping(struct ptb_oracle *o, unsigned int page,
			  struct ptb_pte *pte, int by)
{
	struct ptb_frec *rec = &o->led->folio[pte->folio];
	unsigned int i;

	rec->refs += by;
	rec->mapcount += by;
	for (i = 0; i < o->led->nr_mms; i++) {
		struct ptb_pte *p = &o->led->pte[i][page];

		if (o->led->mm_alive[i] && p->kind == PTB_PAGE &&
		    p->folio == pte->folio && p->sub == pte->sub &&
		    p->mapcount >= 0)
			p->mapcount += by;
	}
}

/** ptb_oracle_unmap() - @mm stops to map @page; its entry becomes a hole */
void ptb_oracle_unmap(struct ptb_oracle *o, unsigned int mm, unsigned int page)
{
	struct ptb_pte old = o->led->pte[mm][page];

	if (old.kind == PTB_SWAP) {
		ptb_oracle_zap_swap(o, mm, page);
		return;
	}
	o->led->pte[mm][page] = (struct ptb_pte){ .kind = PTB_HOLE };
	if (old.kind != PTB_PAGE || o->led->folio[old.folio].hugetlb)
		return;
	count_mapping(o, page, &old, -1);
	o->led->rss[mm][ptb_oracle_rss(o, old.folio)]--;
	if (!o->led->folio[old.folio].mapcount)
		ptb_oracle_free_swap(o, old.folio);
}

/** ptb_oracle_map() - @mm maps @page by the entry @pte; there is none yet */
void ptb_oracle_map(struct ptb_oracle *o, unsigned int mm, unsigned int page,
		    struct ptb_pte pte)
{
	unsigned int i;
	int others = 0;

	for (i = 0; i < o->led->nr_mms; i++) {
		struct ptb_pte *p = &o->led->pte[i][page];

		if (o->led->mm_alive[i] && i != mm && p->kind == PTB_PAGE &&
		    p->folio == pte.folio && p->sub == pte.sub)
			others = p->mapcount;
	}
	pte.mapcount = others;
	o->led->pte[mm][page] = pte;
	count_mapping(o, page, &pte, 1);
	o->led->rss[mm][ptb_oracle_rss(o, pte.folio)]++;
}

static bool soft_supported(void)
{
	return pgtable_supports_soft_dirty();
}

/* do_anonymous_page(): nothing is mapped there yet. */
static int fault_missing(struct ptb_oracle *o, unsigned int page, bool write)
{
	const unsigned int flags = ptb_oracle_vma(o, page);
	struct ptb_pte *p = &o->led->pte[o->mm][page];
	const bool uffd = p->kind == PTB_UFFD_MARKER && flags & PTB_VMA_UFFD;
	const bool vm_write = !(flags & (PTB_VMA_RO | PTB_VMA_NONE));
	struct ptb_pte pte = { .kind = PTB_PAGE, .young = true, .uffd = uffd,
			       .excl = true };

	if (flags & (PTB_VMA_FILE | PTB_VMA_HUGETLB))
		return PTB_UNKNOWN;
	if (!write) {
		*p = (struct ptb_pte){ .kind = PTB_ZERO, .young = true,
				       .uffd = uffd };
		return 0;
	}
	pte.dirty = vm_write;
	pte.soft = vm_write && soft_supported();
	pte.write = vm_write && !uffd;
	pte.folio = ptb_oracle_new_folio(o);
	ptb_oracle_map(o, o->mm, page, pte);
	return 0;
}

/* wp_page_copy(): @page gets a copy of its own. */
static int copy(struct ptb_oracle *o, unsigned int page, bool unshare)
{
	const unsigned int flags = ptb_oracle_vma(o, page);
	const struct ptb_pte old = o->led->pte[o->mm][page];
	struct ptb_pte pte = { .kind = PTB_PAGE, .young = true, .excl = true,
			       .tag = old.tag };

	if (flags & PTB_VMA_HUGETLB)
		return PTB_UNKNOWN;
	if (unshare) {
		pte.soft = old.soft;
		pte.uffd = old.uffd;
	} else {
		pte.dirty = true;
		pte.soft = soft_supported();
		pte.write = !(flags & (PTB_VMA_RO | PTB_VMA_NONE));
	}
	pte.folio = ptb_oracle_new_folio(o);
	ptb_oracle_unmap(o, o->mm, page);
	ptb_oracle_map(o, o->mm, page, pte);
	return 0;
}

/* Does another mm than ours map any page of this folio? */
static bool others_map(const struct ptb_oracle *o, unsigned int folio)
{
	unsigned int i, j;

	for (i = 0; i < o->led->nr_mms; i++)
		for (j = 0; i != o->mm && o->led->mm_alive[i] && j < o->led->nr; j++)
			if (o->led->pte[i][j].kind == PTB_PAGE &&
			    o->led->pte[i][j].folio == folio)
				return true;
	return false;
}

/*
 * wp_can_reuse_anon_folio(): all references are mappings, all of them ours. A
 * large folio of which one page is left is rather copied and freed. The swap
 * cache gives its references up, unless somebody has the folio swapped out.
 */
static bool can_reuse(struct ptb_oracle *o, unsigned int folio)
{
	const struct ptb_frec *rec = &o->led->folio[folio];

	if (!rec->order) {
		if (rec->refs > 1 + !!rec->slot)
			return false;
		ptb_oracle_free_swap(o, folio);
		return rec->refs == 1;
	}
	if (rec->mapcount <= 1 || others_map(o, folio))
		return false;
	ptb_oracle_free_swap(o, folio);
	return rec->refs == rec->mapcount;
}

static bool same_table(const struct ptb_oracle *o, unsigned int a, unsigned int b)
{
	return ptb_addr(o->space, a) >> PMD_SHIFT ==
	       ptb_addr(o->space, b) >> PMD_SHIFT;
}

/* can_change_pte_writable() for private memory. */
static bool may_be_writable(const struct ptb_oracle *o, unsigned int page,
			    const struct ptb_pte *p)
{
	const unsigned int flags = ptb_oracle_vma(o, page);

	if (flags & (PTB_VMA_RO | PTB_VMA_NONE) || p->protnone)
		return false;
	if (flags & PTB_VMA_SD && soft_supported() && !p->soft)
		return false;
	if (flags & PTB_VMA_UFFD && p->uffd)
		return false;
	return o->led->folio[p->folio].anon && p->excl;
}

/*
 * What the declared reuse span adds: where an entry around the fault maps, read
 * only, the page of this folio that belongs there, the page becomes exclusive,
 * and the entry writable if it may be. Nothing else changes: nobody has written
 * there. Other VMAs and other page tables are not ours to look at. Not on the
 * base.
 */
static void reuse_around(struct ptb_oracle *o, unsigned int page)
{
	const struct ptb_layout *l = &o->space->layout;
	const struct ptb_pte self = o->led->pte[o->mm][page];
	unsigned long nr = ptb_addr(o->space, page) >> PAGE_SHIFT;
	unsigned long from = round_down(nr, o->reuse_span);
	unsigned int i;

	for (i = 0; i < l->nr; i++) {
		struct ptb_pte *p = &o->led->pte[o->mm][i];
		unsigned long at = ptb_addr(o->space, i) >> PAGE_SHIFT;

		if (at < from || at >= from + o->reuse_span || i == page ||
		    l->page[i].vma != l->page[page].vma ||
		    !same_table(o, i, page))
			continue;
		if (p->kind != PTB_PAGE || p->folio != self.folio || p->write ||
		    (int)(p->sub - self.sub) != (int)(i - page))
			continue;
		p->excl = true;
		p->write = may_be_writable(o, i, p);
	}
}

/* do_wp_page(): a present, not writable entry. */
static int fault_wp(struct ptb_oracle *o, unsigned int page, bool unshare)
{
	const unsigned int flags = ptb_oracle_vma(o, page);
	struct ptb_pte *p = &o->led->pte[o->mm][page];
	struct ptb_frec *rec = &o->led->folio[p->folio];
	const bool was_excl = p->excl;

	if (!unshare && p->uffd && flags & PTB_VMA_UFFD)
		return -EFAULT;
	if (p->kind != PTB_PAGE)
		return copy(o, page, unshare);
	if (flags & PTB_VMA_SHM) {
		if (unshare)
			return PTB_UNKNOWN;
		rec->dirty = true;
	} else {
		if (!rec->anon || (!p->excl && !can_reuse(o, p->folio)))
			return copy(o, page, unshare);
		p->excl = true;
		if (unshare)
			return 0;
	}
	p->young = true;
	p->dirty = true;
	p->soft = soft_supported();
	p->write = !(flags & (PTB_VMA_RO | PTB_VMA_NONE));
	if (!was_excl && rec->anon && rec->order && o->reuse_span > 1 &&
	    p->write)
		reuse_around(o, page);
	return 0;
}

/* do_numa_page(): all hinting entries of the folio in reach are restored. */
static int fault_protnone(struct ptb_oracle *o, unsigned int page)
{
	const struct ptb_layout *l = &o->space->layout;
	const struct ptb_pte self = o->led->pte[o->mm][page];
	unsigned int i;

	for (i = 0; i < l->nr; i++) {
		struct ptb_pte *p = &o->led->pte[o->mm][i];

		/* The rwp marker has to keep its trap. */
		if (p->kind != PTB_PAGE || !p->protnone ||
		    (p->uffd && ptb_oracle_vma(o, i) & PTB_VMA_RWP) ||
		    p->folio != self.folio ||
		    l->page[i].vma != l->page[page].vma ||
		    !same_table(o, i, page))
			continue;
		p->protnone = false;
		p->young = true;
		p->write = may_be_writable(o, i, p);
	}
	return 0;
}

/**
 * ptb_oracle_fault() - what handle_mm_fault() must do
 * @o: the oracle; its ledger is edited
 * @page: page of the layout
 * @flags: FAULT_FLAG_WRITE, FAULT_FLAG_UNSHARE or 0
 *
 * Return: 0, -EFAULT for SIGSEGV and SIGBUS, -EHWPOISON, or PTB_UNKNOWN.
 */
int ptb_oracle_fault(struct ptb_oracle *o, unsigned int page,
		     unsigned int flags)
{
	const bool unshare = flags & FAULT_FLAG_UNSHARE;
	struct ptb_pte *p = &o->led->pte[o->mm][page];
	int ret;

	switch (p->kind) {
	case PTB_GUARD:
		return -EFAULT;
	case PTB_POISON:
		return -EHWPOISON;
	case PTB_HOLE:
	case PTB_UFFD_MARKER:
		return fault_missing(o, page, flags & FAULT_FLAG_WRITE);
	case PTB_SWAP:
		ret = ptb_oracle_swap_in(o, page, flags & FAULT_FLAG_WRITE);
		if (ret || !(flags & FAULT_FLAG_WRITE) || p->write)
			return ret;
		return fault_wp(o, page, false);
	case PTB_PAGE:
	case PTB_ZERO:
	case PTB_SPECIAL:
		break;
	default:
		return PTB_UNKNOWN;
	}
	if (p->protnone) {
		/* Nothing gets through a PROT_NONE VMA by faulting. */
		if (ptb_oracle_vma(o, page) & PTB_VMA_NONE)
			return PTB_UNKNOWN;
		/* do_uffd_rwp(), with nobody to tell */
		if (ptb_oracle_vma(o, page) & PTB_VMA_RWP && p->uffd)
			return -EFAULT;
		return fault_protnone(o, page);
	}
	if ((flags & FAULT_FLAG_WRITE || unshare) && !p->write)
		return fault_wp(o, page, unshare);
	p->young = true;
	if (flags & FAULT_FLAG_WRITE)
		p->dirty = true;
	return 0;
}
