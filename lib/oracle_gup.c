// SPDX-License-Identifier: GPL-2.0
/* What the GUP calls must do, page by page. */
#include <linux/mm.h>
#include <linux/sched.h>

#include "internal.h"
#include "lib/oracle.h"

/* follow() wants the caller to fault. */
#define FAULT	1

static long page_of(const struct ptb_oracle *o, unsigned long addr)
{
	return (long)(addr >> PAGE_SHIFT) - (long)(o->space->base >> PAGE_SHIFT);
}

static bool in_vma(const struct ptb_oracle *o, long page)
{
	const struct ptb_layout *l = &o->space->layout;

	return page >= 0 && page < l->nr && l->page[page].state != '-';
}

/* The flags that the function itself adds, see mm/gup.c. */
static unsigned int full_flags(const struct ptb_gup *req)
{
	unsigned int flags = req->flags;

	switch (req->api) {
	case PTB_GET:
		return flags | FOLL_TOUCH | (req->no_pages ? 0 : FOLL_GET);
	case PTB_PIN:
		return flags | FOLL_PIN;
	case PTB_GET_UNLOCKED:
		return flags | FOLL_TOUCH | (req->no_pages ? 0 : FOLL_GET);
	case PTB_PIN_UNLOCKED:
		return flags | FOLL_TOUCH | FOLL_PIN;
	case PTB_GET_REMOTE:
		return flags | FOLL_TOUCH | FOLL_REMOTE |
		       (req->no_pages ? 0 : FOLL_GET);
	case PTB_PIN_REMOTE:
		return flags | FOLL_TOUCH | FOLL_REMOTE | FOLL_PIN;
	case PTB_POPULATE:
		return flags | FOLL_TOUCH | FOLL_HWPOISON | FOLL_MADV_POPULATE;
	case PTB_GET_FAST:
		return flags | FOLL_GET;
	case PTB_GET_FAST_ONLY:
		return flags | FOLL_GET | FOLL_FAST_ONLY;
	case PTB_PIN_FAST:
		return flags | FOLL_PIN;
	}
	return flags;
}

/* check_vma_flags() */
static int check_vma(const struct ptb_oracle *o, unsigned int page,
		     unsigned int flags)
{
	const unsigned int vma = ptb_oracle_vma(o, page);
	const bool vm_write = !(vma & (PTB_VMA_RO | PTB_VMA_NOMAYWRITE |
				       PTB_VMA_NONE));

	if (vma & PTB_VMA_SECRET)
		return -EFAULT;
	if (flags & FOLL_WRITE) {
		if (!vm_write && !(flags & FOLL_FORCE))
			return -EFAULT;
		/* Forced writes go into private mappings that may be written. */
		if (!vm_write && vma & (PTB_VMA_SHM | PTB_VMA_NOMAYWRITE))
			return -EFAULT;
	} else if (vma & PTB_VMA_NONE && !(flags & FOLL_FORCE)) {
		return -EFAULT;
	}
	return 0;
}

/* can_follow_write_pte() */
static bool write_ok(const struct ptb_oracle *o, unsigned int page,
		     const struct ptb_pte *p, unsigned int flags)
{
	const unsigned int vma = ptb_oracle_vma(o, page);

	if (p->write)
		return true;
	if (!(flags & FOLL_FORCE) || vma & (PTB_VMA_SHM | PTB_VMA_NOMAYWRITE))
		return false;
	if (!(vma & (PTB_VMA_RO | PTB_VMA_NONE)))
		return false;
	if (p->kind != PTB_PAGE || !o->led->folio[p->folio].anon || !p->excl)
		return false;
	if (vma & PTB_VMA_SD && pgtable_supports_soft_dirty() && !p->soft)
		return false;
	return !(vma & PTB_VMA_UFFD && p->uffd);
}

/* gup_must_unshare(), for an entry that is not writable */
static bool must_unshare(const struct ptb_oracle *o, unsigned int page,
			 const struct ptb_pte *p, unsigned int flags, bool fast)
{
	if (!(flags & FOLL_PIN) || flags & FOLL_WRITE)
		return false;
	if (p->kind == PTB_PAGE && o->led->folio[p->folio].anon)
		return !p->excl;
	if (!(flags & FOLL_LONGTERM))
		return false;
	/* GUP-fast has no VMA to look at. A COW mapping is private and may be
	 * written.
	 */
	return fast || !(ptb_oracle_vma(o, page) & (PTB_VMA_SHM | PTB_VMA_SECRET |
						    PTB_VMA_NOMAYWRITE));
}

/* A reference for FOLL_GET; large folios count pins, small ones add 1024. */
static void grab(struct ptb_oracle *o, unsigned int folio, unsigned int flags)
{
	struct ptb_frec *rec = &o->led->folio[folio];

	if (flags & FOLL_GET)
		rec->refs++;
	if (!(flags & FOLL_PIN) || rec->zero)
		return;
	if (rec->order) {
		rec->refs++;
		rec->pins++;
	} else {
		rec->refs += 1024;
	}
	o->led->acquired++;
}

static void ungrab(struct ptb_oracle *o, unsigned int folio, bool pinned)
{
	struct ptb_frec *rec = &o->led->folio[folio];

	if (!pinned) {
		rec->refs--;
		return;
	}
	if (rec->zero)
		return;
	if (rec->order) {
		rec->refs--;
		rec->pins--;
	} else {
		rec->refs -= 1024;
	}
	o->led->released++;
}

/* Folio number of an entry that has a struct page; the zero page is folio 0. */
static unsigned int folio_of(const struct ptb_pte *p)
{
	return p->kind == PTB_ZERO ? 0 : p->folio;
}

/* no_page_table(): a dump leaves a hole where a fault would bring zeroes. */
static bool zeroes(const struct ptb_oracle *o, unsigned int page,
		   const struct ptb_pte *p)
{
	return p->kind == PTB_HOLE &&
	       !(ptb_oracle_vma(o, page) & (PTB_VMA_FILE | PTB_VMA_HUGETLB));
}

/* follow_page_pte(): 0 and a page was taken, FAULT, or -errno. */
static int follow(struct ptb_oracle *o, unsigned int page, unsigned int flags)
{
	struct ptb_pte *p = &o->led->pte[o->mm][page];
	struct ptb_frec *rec;

	if (p->kind != PTB_PAGE && p->kind != PTB_ZERO && p->kind != PTB_SPECIAL)
		return flags & FOLL_DUMP && zeroes(o, page, p) ? -EFAULT : FAULT;
	/* gup_can_follow_protnone() */
	if (p->protnone && !(ptb_oracle_vma(o, page) & PTB_VMA_NONE) &&
	    (flags & FOLL_HONOR_NUMA_FAULT ||
	     ptb_oracle_vma(o, page) & PTB_VMA_RWP))
		return FAULT;
	if (flags & FOLL_WRITE && !write_ok(o, page, p, flags))
		return FAULT;
	if (flags & FOLL_DUMP && p->kind != PTB_PAGE)
		return -EFAULT;
	if (p->kind == PTB_SPECIAL) {
		/* follow_pfn_pte() */
		if (flags & FOLL_TOUCH) {
			p->young = true;
			if (flags & FOLL_WRITE)
				p->dirty = true;
		}
		return -EEXIST;
	}
	if (!p->write && must_unshare(o, page, p, flags, false))
		return -EMLINK;
	rec = &o->led->folio[folio_of(p)];
	grab(o, folio_of(p), flags);
	/* touch_pmd() marks the entry, which is young and dirty already. */
	if (ptb_oracle_vma(o, page) & (PTB_VMA_HUGE | PTB_VMA_PMD))
		return 0;
	if (flags & FOLL_TOUCH && !rec->zero) {
		if (flags & FOLL_WRITE && !p->dirty)
			rec->dirty = true;
		rec->accessed = true;
		/*
		 * Off the LRU, as hugetlb is, every second folio_mark_accessed()
		 * takes PG_referenced away again and activates nothing.
		 */
		rec->fresh |= rec->hugetlb;
	}
	return 0;
}

/* faultin_page() */
static int faultin(struct ptb_oracle *o, unsigned int page, unsigned int flags,
		   bool unshare)
{
	int ret;

	if (flags & FOLL_NOFAULT)
		return -EFAULT;
	ret = ptb_oracle_fault(o, page, unshare ? FAULT_FLAG_UNSHARE :
			       flags & FOLL_WRITE ? FAULT_FLAG_WRITE : 0);
	if (ret == -EHWPOISON && !(flags & FOLL_HWPOISON))
		return -EFAULT;
	return ret;
}

/* One page of __get_user_pages(): 1 for a page, or -errno. */
static int slow_page(struct ptb_oracle *o, long page, unsigned int flags,
		     const struct ptb_gup *req, long done)
{
	unsigned int tries;
	int ret;

	if (!in_vma(o, page))
		return flags & FOLL_MADV_POPULATE ? -ENOMEM : -EFAULT;
	ret = check_vma(o, page, flags);
	if (ret)
		return flags & FOLL_MADV_POPULATE ? -EINVAL : ret;
	/* A page needs a few faults at most: restore, copy, make writable. */
	for (tries = 0; tries < 8; tries++) {
		const struct ptb_pte *p = &o->led->pte[o->mm][page];

		if (req->killed)
			return -EINTR;
		ret = follow(o, page, flags);
		if (ret == -EEXIST)
			return req->no_pages ? 1 : ret;
		if (!ret) {
			o->page_folio[done] = folio_of(p);
			o->page_sub[done] = p->kind == PTB_ZERO ? 0 : p->sub;
			return 1;
		}
		if (ret != FAULT && ret != -EMLINK)
			return ret;
		ret = faultin(o, page, flags, ret == -EMLINK);
		if (ret)
			return ret;
	}
	return PTB_UNKNOWN;
}

static long slow_once(struct ptb_oracle *o, long page, unsigned long nr,
		      unsigned int flags, const struct ptb_gup *req, long done)
{
	unsigned long i;
	int ret;

	for (i = 0; i < nr; i++) {
		ret = slow_page(o, page + i, flags, req, done + i);
		if (ret < 0)
			return i ? i : ret;
	}
	return i;
}

/* migrate_longterm_unpinnable_folios(): a folio moves, its entries stay. */
static void migrate(struct ptb_oracle *o, unsigned int folio)
{
	unsigned int to = ptb_oracle_new_folio(o), i, j;
	struct ptb_frec *old = &o->led->folio[folio];
	struct ptb_frec *new = &o->led->folio[to];

	*new = *old;
	new->head = 0;
	new->fresh = true;
	new->movable = false;
	new->pinnable = true;
	*old = (struct ptb_frec){ .head = old->head, .mapping = old->mapping };
	for (i = 0; i < o->led->nr_mms; i++) {
		for (j = 0; o->led->mm_alive[i] && j < o->led->nr; j++) {
			struct ptb_pte *p = &o->led->pte[i][j];

			if (p->kind != PTB_PAGE || p->folio != folio)
				continue;
			p->folio = to;
			/* try_to_migrate_one() keeps the bit in the folio, too. */
			new->dirty |= p->dirty;
			p->dirty &= ptb_migration_keeps_dirty();
			p->young &= ptb_migration_keeps_young();
		}
	}
}

/* check_and_migrate_movable_pages(): true if all has to be pinned again. */
static bool migrate_unpinnable(struct ptb_oracle *o, long done, long nr)
{
	bool found = false;
	long i;

	for (i = done; i < done + nr; i++)
		found |= o->led->folio[o->page_folio[i]].movable;
	if (!found)
		return false;
	for (i = done; i < done + nr; i++)
		ungrab(o, o->page_folio[i], true);
	for (i = done; i < done + nr; i++)
		if (o->led->folio[o->page_folio[i]].movable)
			migrate(o, o->page_folio[i]);
	return true;
}

/* __gup_longterm_locked() */
static long slow(struct ptb_oracle *o, long page, unsigned long nr,
		 unsigned int flags, const struct ptb_gup *req, long done)
{
	long ret;

	do {
		ret = slow_once(o, page, nr, flags, req, done);
	} while (flags & FOLL_LONGTERM && ret > 0 &&
		 migrate_unpinnable(o, done, ret));
	return ret;
}

/* madvise(MADV_POPULATE_*): the error of the first page that has one. */
static long populate(struct ptb_oracle *o, const struct ptb_gup *req,
		     unsigned int flags)
{
	unsigned long len = req->nr << PAGE_SHIFT, end;
	long page = page_of(o, req->start), last = page + (len >> PAGE_SHIFT);
	int ret = 0;

	if (req->start & ~PAGE_MASK)
		return -EINVAL;
	if (check_add_overflow(req->start, len, &end))
		return -EINVAL;
	for (; page < last && ret >= 0; page++)
		ret = slow_page(o, page, flags, req, 0);
	return min(ret, 0);
}

/* gup_fast_pte_range(): does the fast path take this page? */
static bool fast_page(struct ptb_oracle *o, long page, unsigned int flags,
		      long done)
{
	struct ptb_pte *p = &o->led->pte[o->mm][page];
	struct ptb_frec *rec;

	/* The zero page is mapped by a special entry. */
	if (p->kind != PTB_PAGE || p->protnone)
		return false;
	if (flags & FOLL_WRITE && !p->write)
		return false;
	rec = &o->led->folio[p->folio];
	if (flags & FOLL_LONGTERM && rec->movable)
		return false;
	grab(o, p->folio, flags);
	/* From here on a refusal has taken a pin, and counts it as released. */
	if (ptb_oracle_vma(o, page) & PTB_VMA_SECRET ||
	    (!p->write && must_unshare(o, page, p, flags, true))) {
		ungrab(o, p->folio, flags & FOLL_PIN);
		return false;
	}
	rec->accessed = true;
	o->page_folio[done] = p->folio;
	o->page_sub[done] = p->sub;
	return true;
}

static long fast(struct ptb_oracle *o, const struct ptb_gup *req,
		 unsigned int flags)
{
	unsigned long start = req->start & PAGE_MASK;
	unsigned long len = req->nr << PAGE_SHIFT, end;
	long page, n = 0, ret;

	if (check_add_overflow(start, len, &end))
		return -EOVERFLOW;
	if (end > TASK_SIZE_MAX)
		return -EFAULT;
	if (!req->nr)
		return 0;
	page = page_of(o, start);
	if (IS_ENABLED(CONFIG_HAVE_GUP_FAST))
		while (n < req->nr && in_vma(o, page + n) &&
		       fast_page(o, page + n, flags, n))
			n++;
	if (n == req->nr || flags & FOLL_FAST_ONLY)
		return n;
	ret = slow(o, page + n, req->nr - n, flags | FOLL_TOUCH, req, n);
	if (ret == PTB_UNKNOWN)
		return ret;
	return ret < 0 ? (n ? n : ret) : n + ret;
}

/**
 * ptb_oracle_gup() - what a request for pages must do
 * @o: the oracle; its ledger and page_folio[], page_sub[] are filled in
 * @req: the request
 *
 * Return: what the call must return, or PTB_UNKNOWN.
 */
long ptb_oracle_gup(struct ptb_oracle *o, const struct ptb_gup *req)
{
	const unsigned int flags = full_flags(req);
	struct ptb_gup r = *req;

	if (IS_ENABLED(CONFIG_ARM64))		/* the top byte is a tag */
		r.start = sign_extend64(r.start, 55);
	if (req->api >= PTB_GET_FAST) {
		o->mm = 0;
		return fast(o, &r, flags);
	}
	if (req->api == PTB_POPULATE) {
		o->mm = 0;
		return populate(o, &r, flags);
	}
	o->mm = req->api == PTB_GET_REMOTE || req->api == PTB_PIN_REMOTE ?
		req->mm : 0;
	if (!req->nr)
		return 0;
	return slow(o, page_of(o, r.start), req->nr, flags, req, 0);
}

/**
 * ptb_oracle_release() - what returning the pages must do
 * @o: the oracle
 * @taken: what a request brought
 * @how: by which calls
 */
void ptb_oracle_release(struct ptb_oracle *o, const struct ptb_taken *taken,
			enum ptb_release how)
{
	long i;

	for (i = 0; taken->pages && i < taken->ret; i++) {
		ungrab(o, taken->folio[i], taken->pinned);
		if (taken->pinned && (how == PTB_RELEASE_DIRTY ||
				      how == PTB_RELEASE_RANGE_DIRTY))
			o->led->folio[taken->folio[i]].dirty = true;
	}
}
