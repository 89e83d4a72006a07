// SPDX-License-Identifier: GPL-2.0
/* Comparing two ledgers: exact, but for the A/D rule below. */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/mm.h>

#include "lib/ledger.h"

static const char * const kind_name[] = {
	[PTB_HOLE] = "nothing",		[PTB_PAGE] = "a page",
	[PTB_ZERO] = "the zero page",	[PTB_SPECIAL] = "a special entry",
	[PTB_GUARD] = "a guard marker", [PTB_UFFD_MARKER] = "a uffd marker",
	[PTB_POISON] = "a hwpoison marker", [PTB_SWAP] = "a swap entry",
	[PTB_OTHER] = "something else",
};

static const char * const rss_name[NR_MM_COUNTERS] = {
	[MM_FILEPAGES] = "file", [MM_ANONPAGES] = "anon",
	[MM_SWAPENTS] = "swap", [MM_SHMEMPAGES] = "shmem",
};

static __printf(4, 5) void differ(struct ptb_diff *diff, int mm, int page,
				  const char *fmt, ...)
{
	char text[160];
	va_list args;

	if (page >= 0 && diff->page < 0) {
		diff->mm = mm;
		diff->page = page;
	}
	if (diff->nr++ >= diff->print || !diff->line)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	diff->line(diff->arg, text);
}

static void want_bit(struct ptb_diff *diff, int mm, int page, const char *what,
		     bool want, bool found)
{
	if (want != found)
		differ(diff, mm, page, "mm %d page %d: %s expected %d, found %d",
		       mm, page, what, want, found);
}

/* The books that are compared, and what they were before the operation. */
struct books {
	const struct ptb_ledger *before;
	const struct ptb_ledger *want;
	const struct ptb_ledger *found;
	s16 *bind;
};

/* Did another page of the folio that @p maps have this bit before? */
static bool folio_had(const struct ptb_ledger *before, int mm,
		      const struct ptb_pte *p, bool dirty)
{
	unsigned int i;

	for (i = 0; before->mm_alive[mm] && i < before->nr; i++) {
		const struct ptb_pte *q = &before->pte[mm][i];

		if (q->kind == PTB_PAGE && q->folio == p->folio &&
		    (dirty ? q->dirty : q->young))
			return true;
	}
	return false;
}

/* Is it set in the contiguous block that @page is part of? */
static bool block_has(const struct books *b, int mm, int page, bool dirty)
{
#ifdef CONFIG_ARM64_CONTPTE
	const struct ptb_ledger *led = b->want;
	long first = page - (long)((led->vpn + page) % CONT_PTES);
	long i;

	if (!b->found->pte[mm][page].cont)
		return false;
	for (i = max(first, 0L); i < min(first + CONT_PTES, (long)led->nr); i++)
		if (dirty ? led->pte[mm][i].dirty : led->pte[mm][i].young)
			return true;
#endif
	return false;
}

/*
 * A/D bits: none may be lost. A bit may be gained from a page of the same folio
 * that had it before, as modify_prot_start_ptes() documents it
 * (include/linux/pgtable.h), or within a contiguous block of arm64, which has
 * one state.
 */
static void compare_ad(struct ptb_diff *diff, const struct books *b,
		       int mm, int page, bool dirty)
{
	const struct ptb_pte *w = &b->want->pte[mm][page];
	const struct ptb_pte *f = &b->found->pte[mm][page];
	const bool want = dirty ? w->dirty : w->young;
	const bool found = dirty ? f->dirty : f->young;
	const char *name = dirty ? "dirty" : "accessed";

	if (want && !found)
		differ(diff, mm, page, "mm %d page %d: %s bit lost", mm, page,
		       name);
	if (!want && found &&
	    (w->kind != PTB_PAGE || (!folio_had(b->before, mm, w, dirty) &&
				     !block_has(b, mm, page, dirty))))
		differ(diff, mm, page, "mm %d page %d: %s bit from nowhere",
		       mm, page, name);
}

/*
 * Which folio found is folio @w wanted? The known ones have one number; what
 * the operation allocated is bound where it first stands. It may have a frame
 * that was freed meanwhile, but not the one that it takes the place of: of
 * those two the new one comes first.
 */
static bool bound(const struct books *b, int mm, int page, u16 w, u16 f)
{
	const struct ptb_ledger *want = b->want;
	const struct ptb_pte *old = &b->before->pte[mm][page];

	if (b->bind[w] < 0 && !want->folio[w].head &&
	    !(b->before->mm_alive[mm] && old->kind == PTB_PAGE &&
	      old->folio == f) &&
	    (f >= want->nr_folios || !want->folio[f].head ||
	     !want->folio[f].refs))
		b->bind[w] = f;
	return b->bind[w] == f;
}

static void compare_swap(struct ptb_diff *diff, int mm, int page,
			 const struct ptb_pte *w, const struct ptb_pte *f)
{
	want_bit(diff, mm, page, "soft-dirty bit", w->soft, f->soft);
	want_bit(diff, mm, page, "uffd bit", w->uffd, f->uffd);
	want_bit(diff, mm, page, "exclusive marker", w->excl, f->excl);
	if (w->slot != f->slot)
		differ(diff, mm, page,
		       "mm %d page %d: swap entry expected %#lx, found %#lx",
		       mm, page, w->slot, f->slot);
	if (w->mapcount != f->mapcount)
		differ(diff, mm, page,
		       "mm %d page %d: swap count expected %d, found %d",
		       mm, page, w->mapcount, f->mapcount);
}

static void compare_pte(struct ptb_diff *diff, const struct books *b,
			int mm, int page)
{
	const struct ptb_ledger *want = b->want;
	const struct ptb_pte *w = &want->pte[mm][page];
	const struct ptb_pte *f = &b->found->pte[mm][page];

	if (w->kind != f->kind) {
		differ(diff, mm, page, "mm %d page %d: expected %s, found %s",
		       mm, page, kind_name[w->kind], kind_name[f->kind]);
		return;
	}
	if (w->kind == PTB_SWAP)
		compare_swap(diff, mm, page, w, f);
	if (w->kind != PTB_PAGE && w->kind != PTB_ZERO && w->kind != PTB_SPECIAL)
		return;
	want_bit(diff, mm, page, "write bit", w->write, f->write);
	want_bit(diff, mm, page, "soft-dirty bit", w->soft, f->soft);
	want_bit(diff, mm, page, "uffd bit", w->uffd, f->uffd);
	want_bit(diff, mm, page, "protnone", w->protnone, f->protnone);
	compare_ad(diff, b, mm, page, true);
	compare_ad(diff, b, mm, page, false);
	if (w->kind != PTB_PAGE)
		return;
	if (!bound(b, mm, page, w->folio, f->folio) || w->sub != f->sub) {
		differ(diff, mm, page,
		       "mm %d page %d: expected page %u of %sfolio %u, found page %u of folio %u",
		       mm, page, w->sub, want->folio[w->folio].head ? "" : "new ",
		       w->folio, f->sub, f->folio);
		return;
	}
	want_bit(diff, mm, page, "PageAnonExclusive", w->excl, f->excl);
	if (f->mapcount >= 0 && w->mapcount != f->mapcount)
		differ(diff, mm, page,
		       "mm %d page %d: mapcount of the page expected %d, found %d",
		       mm, page, w->mapcount, f->mapcount);
	if (w->tag != f->tag)
		differ(diff, mm, page,
		       "mm %d page %d: content expected %#llx, found %#llx",
		       mm, page, w->tag, f->tag);
}

static void want_count(struct ptb_diff *diff, unsigned int folio,
		       const char *what, long want, long found)
{
	if (want != found)
		differ(diff, -1, -1, "folio %u: %s expected %ld, found %ld",
		       folio, what, want, found);
}

static void compare_folio(struct ptb_diff *diff, const struct ptb_frec *w,
			  const struct ptb_frec *f, unsigned int nr)
{
	want_count(diff, nr, "reference count", w->refs, f->refs);
	if (w->zero || (!w->refs && !f->refs))
		return;
	want_count(diff, nr, "pin count", w->pins, f->pins);
	want_count(diff, nr, "mapcount", w->mapcount, f->mapcount);
	want_count(diff, nr, "order", w->order, f->order);
	want_count(diff, nr, "swap cache entry", w->slot, f->slot);
	want_count(diff, nr, "anonymous", w->anon, f->anon);
	want_count(diff, nr, "dirty", w->dirty, f->dirty);
	if (w->pinnable)
		want_count(diff, nr, "in a movable zone", 0, f->movable);
	if (!w->fresh)
		want_count(diff, nr, "referenced or active", w->accessed,
			   f->accessed);
}

/* Whatever is marked contiguous must be a whole, uniform, aligned block. */
static void check_cont(struct ptb_diff *diff, const struct ptb_ledger *led,
		       int mm)
{
#ifdef CONFIG_ARM64_CONTPTE
	long first = -(long)(led->vpn % CONT_PTES);
	long i, j;

	for (i = first; i < (long)led->nr; i += CONT_PTES) {
		const struct ptb_pte *a = &led->pte[mm][max(i, 0L)];
		bool any = false, all = true;

		for (j = i; j < i + CONT_PTES; j++) {
			const struct ptb_pte *b;

			/* No VMA holds a part of a block. */
			if (j < 0 || j >= (long)led->nr) {
				all = false;
				continue;
			}
			b = &led->pte[mm][j];
			any |= b->cont;
			all &= b->cont && b->folio == a->folio &&
			       b->sub == a->sub + (j - i) &&
			       b->write == a->write && b->uffd == a->uffd;
		}
		if (any && (!all || (led->folio[a->folio].head + a->sub) % CONT_PTES))
			differ(diff, mm, max(i, 0L),
			       "mm %d page %ld: not a whole contiguous block",
			       mm, max(i, 0L));
	}
#endif
}

/**
 * ptb_ledger_compare() - compare two ledgers
 * @before: the books before the operation
 * @want: what must be there; folios without a frame number are new ones
 * @found: what is there, read with the ledger behind @want as its previous one
 * @bind: array of at least @want->nr_folios, filled with the number in @found of each
 *	folio of @want, -1 where none was met
 * @diff: differences are counted, and told to its line()
 *
 * Return: true if they agree.
 */
bool ptb_ledger_compare(const struct ptb_ledger *before,
			const struct ptb_ledger *want,
			const struct ptb_ledger *found, s16 *bind,
			struct ptb_diff *diff)
{
	const struct books b = { before, want, found, bind };
	unsigned int i, j;

	diff->nr = 0;
	diff->mm = -1;
	diff->page = -1;
	for (i = 0; i < want->nr_folios; i++)
		bind[i] = want->folio[i].head ? i : -1;

	for (i = 0; i < want->nr_mms; i++) {
		if (!want->mm_alive[i])
			continue;
		for (j = 0; j < want->nr; j++)
			compare_pte(diff, &b, i, j);
		check_cont(diff, found, i);
		for (j = 0; j < NR_MM_COUNTERS; j++)
			if (want->rss[i][j] != found->rss[i][j])
				differ(diff, -1, -1,
				       "mm %u: %s RSS expected %ld, found %ld",
				       i, rss_name[j], want->rss[i][j],
				       found->rss[i][j]);
	}
	for (i = 0; i < want->nr_folios; i++) {
		bool reused = false;

		/* Freed, and its frame is a new folio's now? */
		for (j = 0; !want->folio[i].refs && j < want->nr_folios; j++)
			reused |= j != i && bind[j] == (int)i;
		if (bind[i] >= 0 && !reused)
			compare_folio(diff, &want->folio[i],
				      &found->folio[bind[i]], i);
		else if (bind[i] < 0 && want->folio[i].refs &&
			 want->folio[i].mapcount)
			differ(diff, -1, -1, "new folio %u is nowhere", i);
	}
	if (want->acquired != found->acquired)
		differ(diff, -1, -1, "NR_FOLL_PIN_ACQUIRED expected %+ld, found %+ld",
		       want->acquired - want->released,
		       found->acquired - want->released);
	if (want->released != found->released)
		differ(diff, -1, -1, "NR_FOLL_PIN_RELEASED expected %ld, found %ld",
		       want->released, found->released);
	return !diff->nr;
}
