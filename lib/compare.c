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
	[PTB_POISON] = "a hwpoison marker", [PTB_OTHER] = "something else",
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

/* Does any page of the same folio in the same mm have this A/D bit? */
static bool folio_has(const struct ptb_ledger *led, int mm, u16 folio,
		      bool dirty)
{
	unsigned int i;

	for (i = 0; i < led->nr; i++) {
		const struct ptb_pte *p = &led->pte[mm][i];

		if (p->kind == PTB_PAGE && p->folio == folio &&
		    (dirty ? p->dirty : p->young))
			return true;
	}
	return false;
}

/*
 * A/D bits: none may be lost; one may spread, but within its folio only:
 * modify_prot_start_ptes() (include/linux/pgtable.h) says that bits may be
 * gained, arm64's contpte keeps one state per block.
 */
static void compare_ad(struct ptb_diff *diff, const struct ptb_ledger *want,
		       int mm, int page, const struct ptb_pte *found)
{
	const struct ptb_pte *p = &want->pte[mm][page];

	if (p->dirty && !found->dirty)
		differ(diff, mm, page, "mm %d page %d: dirty bit lost", mm, page);
	if (p->young && !found->young)
		differ(diff, mm, page, "mm %d page %d: accessed bit lost", mm, page);
	if (!p->dirty && found->dirty &&
	    (p->kind != PTB_PAGE || !folio_has(want, mm, p->folio, true)))
		differ(diff, mm, page, "mm %d page %d: dirty bit from nowhere",
		       mm, page);
	if (!p->young && found->young &&
	    (p->kind != PTB_PAGE || !folio_has(want, mm, p->folio, false)))
		differ(diff, mm, page, "mm %d page %d: accessed bit from nowhere",
		       mm, page);
}

/*
 * Which folio of @found is folio @w of @want? The known ones have one number;
 * what the operation allocated is bound where it first stands.
 */
static bool bound(const struct ptb_ledger *want, s16 *bind, u16 w, u16 f)
{
	if (bind[w] < 0 && !want->folio[w].head &&
	    (f >= want->nr_folios || !want->folio[f].head ||
	     !want->folio[f].refs))
		bind[w] = f;
	return bind[w] == f;
}

static void compare_pte(struct ptb_diff *diff, const struct ptb_ledger *want,
			const struct ptb_ledger *found, s16 *bind,
			int mm, int page)
{
	const struct ptb_pte *w = &want->pte[mm][page];
	const struct ptb_pte *f = &found->pte[mm][page];

	if (w->kind != f->kind) {
		differ(diff, mm, page, "mm %d page %d: expected %s, found %s",
		       mm, page, kind_name[w->kind], kind_name[f->kind]);
		return;
	}
	if (w->kind != PTB_PAGE && w->kind != PTB_ZERO && w->kind != PTB_SPECIAL)
		return;
	want_bit(diff, mm, page, "write bit", w->write, f->write);
	want_bit(diff, mm, page, "soft-dirty bit", w->soft, f->soft);
	want_bit(diff, mm, page, "uffd bit", w->uffd, f->uffd);
	want_bit(diff, mm, page, "protnone", w->protnone, f->protnone);
	compare_ad(diff, want, mm, page, f);
	if (w->kind != PTB_PAGE)
		return;
	if (!bound(want, bind, w->folio, f->folio) || w->sub != f->sub) {
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
	want_count(diff, nr, "anonymous", w->anon, f->anon);
	want_count(diff, nr, "dirty", w->dirty, f->dirty);
	if (!w->fresh)
		want_count(diff, nr, "referenced or active", w->accessed,
			   f->accessed);
}

/* Whatever is marked contiguous must be a whole, uniform block. */
static void check_cont(struct ptb_diff *diff, const struct ptb_ledger *led,
		       int mm)
{
#ifdef CONFIG_ARM64_CONTPTE
	unsigned int i, run;

	for (i = 0; i < led->nr; i += run) {
		const struct ptb_pte *a = &led->pte[mm][i];

		for (run = 1; a->cont && run < CONT_PTES && i + run < led->nr;
		     run++) {
			const struct ptb_pte *b = &led->pte[mm][i + run];

			if (!b->cont || b->folio != a->folio ||
			    b->sub != a->sub + run || b->write != a->write ||
			    b->uffd != a->uffd)
				break;
		}
		/* A block may reach over the layout's ends, not inside it. */
		if (a->cont && run < CONT_PTES && i && i + run < led->nr)
			differ(diff, mm, i,
			       "mm %d page %u: contiguous block of %u entries",
			       mm, i, run);
	}
#endif
}

/**
 * ptb_ledger_compare() - compare two ledgers
 * @want: what must be there; folios without a frame number are new ones
 * @found: what is there, read with the ledger behind @want as its previous one
 * @bind: array of at least @want->nr_folios, filled with the number in @found of each
 *	folio of @want, -1 where none was met
 * @diff: differences are counted, and told to its line()
 *
 * Return: true if they agree.
 */
bool ptb_ledger_compare(const struct ptb_ledger *want,
			const struct ptb_ledger *found, s16 *bind,
			struct ptb_diff *diff)
{
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
			compare_pte(diff, want, found, bind, i, j);
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
