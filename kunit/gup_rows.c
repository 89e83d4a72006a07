// SPDX-License-Identifier: GPL-2.0
/*
 * Pictures for GUP. Each is crossed with its orders and with all the calls of
 * a suite; what must come out is the oracle's business (lib/oracle_gup.c), not
 * the row's. The comment says what a row guards.
 */
#include <linux/log2.h>
#include <linux/mm.h>

#include "kunit/gup_rows.h"
#include "lib/report.h"
#include "lib/session.h"
#include "lib/swap.h"

static const struct gup_row gup_rows[] = {
	/* The run as it should be: one folio, nothing odd. */
	{ "whole folio", "[w*n]", ALL_ORDERS },
	/* pages[] filled from the folio's head instead of the run's first page */
	{ "start in the middle", "[w*n/2 {w*n/2]}", LARGE },
	/* batch not clamped to the pages requested */
	{ "end in the middle", "{[w*n/2} w*n/2]", LARGE },
	{ "middle only", "[w*n/4{w*n/2}w*n/4]", LARGE },
	{ "all but the first and last page", "[w{w*n-2}w]", LARGE },
	/* the smallest batch: n == 1 out of a large folio */
	{ "one page, the first", "[{w}w*n-1]", LARGE },
	{ "one page, in the middle", "[w*n/2{w}w*n/2-1]", LARGE },
	{ "one page, the last", "[w*n-1{w]}", LARGE },
	/* request ends inside the second of two folios */
	{ "into the next folio", "[w*n/2{w*n/2][w*n/2}w*n/2]", LARGE },
	/* order-0 must not be batched, whatever its frames are */
	{ "order 0, scattered", "w*16", 0 },
	{ "order 0, consecutive", "<w*16>", 0 },
	{ "order 0, part of consecutive", "<ww{w*8}w*6>", 0 },
	/* not clamped to the folio: the frames go on */
	{ "two folios that abut", "<[w*n][w*n]>", LARGE & ~BIT(9) },
	{ "over the seam of two folios that abut",
	  "<[w*n/2{w*n/2][w*n/2}w*n/2]>", LARGE & ~BIT(9) },
	{ "four folios that abut", "<[w*n][w*n][w*n][w*n]>",
	  BIT(2) | BIT(4) | BIT(7) },
	/* step kept from the previous iteration */
	{ "large, small, large", "[wwww]wwww[wwww]wwww[w*8]", 0 },
	{ "mixed orders side by side", "wwww[wwww][w*8]w*16[w*16]w", 0 },
	{ "small ones around a large one", "ww[w*n]ww", LARGE },
	/* partly mapped: folio pages beyond both ends of the mapping */
	{ "only the first half is mapped", "[w*n/2 .*n/2]", LARGE },
	{ "only the second half is mapped", "[.*n/2{w*n/2]}", LARGE },
	{ "one page of the folio is mapped", "[.*n/2{w}.*n/2-1]", LARGE },

	/* not clamped to the page table */
	{ "folio over a page table boundary", "[w*n/2^w*n/2]", LARGE },
	{ "boundary behind the first page", "[w^w*n-1]", LARGE },
	{ "boundary before the last page", "[w*n-1^w]", LARGE },
	{ "request ends at the boundary", "{[w*n/2}^w*n/2]", LARGE },
	{ "small pages over a boundary", "ww^ww", 0 },
	/* not clamped to the VMA's end */
	{ "folio over a VMA boundary", "[w*n/2|w*n/2]", LARGE },
	/* the same bits on both sides, but not the same rules */
	{ "may not be written behind the boundary",
	  "(ro)[r*n/2|(nomaywrite)r*n/2]", LARGE },
	{ "forced before the boundary, faulted behind", "(ro)[r*n/2|r*n/2]",
	  LARGE },
	{ "private file, no COW mapping behind the boundary",
	  "(cow)[f*n/2|(cow,nomaywrite)f*n/2]", LARGE },
	{ "private file, no COW mapping before the boundary",
	  "(cow,nomaywrite)[f*n/2|(cow)f*n/2]", LARGE },
	{ "read-only behind the boundary", "[w*n/2|(ro)r*n/2]", LARGE },
	{ "read-only before the boundary", "(ro)[r*n/2|w*n/2]", LARGE },
	{ "the VMA ends, and the address space", "[w*n]|--|ww", LARGE },
	{ "PROT_NONE behind the boundary", "[w*n/2|(none)p*n/2]", LARGE },
	/* one folio in two VMAs, out of order */
	{ "folio in two pieces, swapped", "A[-*n/2 w*n/2]|A[w*n/2 -*n/2]",
	  BIT(2) | BIT(4) | BIT(7) },
	{ "tail piece of a folio", "ww|A[-*n/2 w*n/2]|ww",
	  BIT(2) | BIT(4) | BIT(7) },

	/* one odd entry of each kind, at each place of a run */
	{ "odd entry first", "[?w*n-1]", SOME_ORDERS, ".gmhzxpuctyrkseodj" },
	{ "odd entry second", "[w?w*n-2]", SOME_ORDERS, ".gmhzxpuctyrkseodj" },
	{ "odd entry in the middle", "[w*n/2?w*n/2-1]", SOME_ORDERS,
	  ".gmhzxpuctyrkseodj" },
	{ "odd entry last", "[w*n-1?]", SOME_ORDERS, ".gmhzxpuctyrkseodj" },
	{ "odd entry in order 0", "ww?ww", 0, ".gmhzxpuctyrkseodjab" },
	{ "odd entry among read-only ones", "[r*n/2?r*n/2-1]", SOME_ORDERS,
	  ".zpuctykseodj" },
	/* holes: populate, NOFAULT must skip or fault neither too much nor too little */
	{ "nothing mapped at all", ".*8", 0 },
	{ "every second page is missing", "w.w.w.w.", 0 },
	{ "every second page of the folio is missing", "[w.w.w.w.w.w.w.w.]", 0 },

	/* write bit not respected across the run */
	{ "first half read-only", "[r*n/2 w*n/2]", LARGE },
	{ "second half read-only", "[w*n/2 r*n/2]", LARGE },
	{ "alternating write bits", "[wrwrwrwrwrwrwrwr]", 0 },
	{ "all read-only, exclusive", "[r*n]", ALL_ORDERS },
	/* exclusivity of one page taken for all */
	{ "all still shared", "[s*n]", ALL_ORDERS },
	{ "all formerly shared", "[e*n]", ALL_ORDERS },
	{ "first half still shared", "[s*n/2 w*n/2]", LARGE },
	{ "second half still shared", "[w*n/2 s*n/2]", LARGE },
	{ "page 0 exclusive, rest shared", "[rs*n-1]", LARGE },
	{ "page 0 shared, rest exclusive", "[sr*n-1]", LARGE },
	{ "page 0 exclusive, rest formerly shared", "[re*n-1]", LARGE },
	{ "page 0 formerly shared, rest exclusive", "[er*n-1]", LARGE },
	{ "read-only exclusive, then shared", "[r*n/2 s*n/2]", LARGE },
	{ "shared from page 0, asked from the middle", "[s*n/2{r*n/2]}", LARGE },
	{ "exclusive page 0, shared run asked", "[r*n/2{s*n/2]}", LARGE },
	{ "last page shared", "[r*n-1 s]", LARGE },
	{ "shared small pages between", "wswes", 0 },

	/* dirty mark from the first PTE only */
	{ "all clean", "[c*n]", ALL_ORDERS },
	{ "clean first, dirty later", "[cw*n-1]", LARGE },
	{ "dirty first, clean later", "[w*n-1 c]", LARGE },
	{ "read-only and clean", "[k*n]", ALL_ORDERS },

	/* GUP looks at pages, it does not access them: old entries stay old */
	{ "all old", "(old)[w*n]", ALL_ORDERS },
	{ "old first, young later", "[y*n/2 w*n/2]", LARGE },
	{ "young first, old later", "[w*n/2 y*n/2]", LARGE },
	{ "every second page old", "[wywywywywywywywy]", 0 },
	{ "old, read-only and shared", "(old)[r*n/2 s*n/2]", LARGE },
	{ "old, small pages of all kinds", "(old)wcrkse", 0 },
	{ "shmem, old", "(shm,old)[w*n/2 f*n/2]", LARGE },

	/* FOLL_FORCE rules are per page */
	{ "read-only private VMA", "(ro)[r*n]", ALL_ORDERS },
	{ "read-only VMA, second half shared", "(ro)[r*n/2 s*n/2]", LARGE },
	{ "read-only VMA, page 0 shared", "(ro)[sr*n-1]", LARGE },
	{ "read-only VMA with holes and zero pages", "(ro)rr.zrr", 0 },
	{ "read-only VMA that may not be written", "(nomaywrite)[r*n]", ALL_ORDERS },
	{ "read-only VMA, second half uffd-wp", "(ro,uffd)[r*n/2 u*n/2]", LARGE },
	{ "read-only VMA, soft-dirty tracked", "(ro,sd)[r*n/2 t*n/2]", LARGE },
	{ "PROT_NONE VMA", "(none)[p*n]", ALL_ORDERS },
	/* tracked pages in writable VMAs */
	{ "all uffd-wp", "(uffd)[u*n]", ALL_ORDERS },
	{ "all soft-dirty tracked", "(sd)[t*n]", ALL_ORDERS },
	{ "all protnone", "[p*n]", ALL_ORDERS },
	{ "protnone over a page table boundary", "[p*n/2^p*n/2]", LARGE },

	/* userfaultfd RWP: GUP has to fault, whatever its flags say */
	{ "all uffd-rwp", "(rwp)[q*n]", ALL_ORDERS },
	{ "second half uffd-rwp", "(rwp)[w*n/2 q*n/2]", LARGE },
	{ "one page uffd-rwp", "(rwp)[w*n/2 q w*n/2-1]", LARGE },
	{ "protnone among uffd-rwp", "(rwp)[p*n/2 q*n/2]", LARGE },
	{ "protnone in a VMA with uffd-rwp", "(rwp)[wp*n-1]", LARGE },

	/* memory of other kinds */
	{ "zero pages", "z*8", 0 },
	{ "shmem, whole folio", "(shm)[w*n]", ALL_ORDERS },
	{ "shmem, order 1", "(shm)[ww]", 0 },
	{ "shmem, clean", "(shm)[c*n]", ALL_ORDERS },
	{ "shmem, read-only entries", "(shm)[f*n]", ALL_ORDERS },
	{ "shmem, read-only VMA", "(shm,ro)[f*n]", ALL_ORDERS },
	{ "shmem, start in the middle", "(shm)[w*n/2{w*n/2]}", LARGE },
	{ "shmem, clean first", "(shm)[cw*n-1]", LARGE },
	{ "shmem, second half read-only", "(shm)[w*n/2 f*n/2]", LARGE },
	{ "private file, whole folio", "(cow)[f*n]", ALL_ORDERS },
	{ "private file, copied in the middle", "(cow)[f*n/2 w f*n/2-1]", LARGE },
	{ "private file, read-only VMA", "(cow,ro)[f*n]", ALL_ORDERS },
	{ "special entries", "(mixed)xx", 0 },
	{ "special entries behind pages", "(mixed)wwxw", 0 },
	{ "secretmem", "(secret)wwww", 0 },
	{ "secretmem behind anonymous memory", "ww|(secret)ww", 0 },

	/* not present, so there is no page yet; and references that are not ours */
	{ "swapped out: small pages", "o*8", 0 },
	{ "swapped out: whole folio", "[o*n]", SOME_ORDERS },
	{ "swapped out: from the middle", "[o*n/2{o*n/2]w}", BIT(2) | BIT(4) },
	{ "swapped out: first half", "[o*n/2 w*n/2]", BIT(2) | BIT(4) },
	{ "swapped out: second half, shared", "[w*n/2 j*n/2]", BIT(2) | BIT(4) },
	{ "swapped out: formerly shared", "[d*n]", BIT(2) | BIT(4) },
	{ "swapped out: read-only VMA", "(ro)[o*n/2 d*n/2]", BIT(2) | BIT(4) },
	{ "swapped out: over a page table boundary", "oww^dwo", 0 },
	{ "swap cache: shared", "[a*n]", BIT(0) | BIT(2) | BIT(4) | BIT(8) },
	{ "swap cache: formerly shared", "[b*n]",
	  BIT(0) | BIT(2) | BIT(4) | BIT(8) },
	{ "swap cache: from the middle", "[a*n/2{a*n/2][b*n/2}b*n/2]",
	  BIT(2) | BIT(4) },
	{ "swap cache: small pages of all kinds", "woeadbjwsbao", 0 },

	/* a leaf's stride, clamped to the request, and not kept for what follows */
	{ "by PMD", "(pmd)[w*512]", 0 },
	{ "by PMD, part of it", "(pmd)[w*100{w*300}w*112]", 0 },
	{ "by PMD, then small pages", "(pmd)[w*511{w]|ww}", 0 },
	{ "by PMD, then by PTE", "(pmd)[w*256{w*256]|[w*4}w*4]", 0 },
	{ "by PMD, read-only VMA", "(pmd,ro)[r*256{r*200}r*56]", 0 },

	/* one pin is one reference on the head, however it is mapped */
	{ "hugetlb, PMD size", "(huge)[w*512]", 0 },
	{ "hugetlb, part of it", "(huge)[w*100{w*300}w*112]", 0 },
	{ "hugetlb beside small pages", "ww|(huge)[w*512]|ww", 0 },
	{ "hugetlb, read-only", "(huge,ro)[r*512]", 0 },
	{ "hugetlb, contiguous PTEs", "(huge64k)[w*16]", 0 },
	/* exclusivity sits on the head page, whichever is asked for */
	{ "hugetlb, contiguous PTEs, read-only",
	  "(huge64k,ro)[r*8{r*8][r*4}r*12]", 0 },
	{ "hugetlb, contiguous PTEs, part of two",
	  "(huge64k)[w*8{w*8][w*4}w*12]", 0 },

	/* an unaligned start; with an end address, it could come out as 0 pages */
	{ "unaligned start", "[{w*n]}", ALL_ORDERS, .offset = 0x123 },
	{ "unaligned start in the last page of a VMA", "[w*n-1{w]|w}", LARGE,
	  .offset = 0xfff },
	{ "unaligned start in the last page of all", "[w*n-1{w]}", LARGE,
	  .offset = 0x801 },

	/* longterm check once for a run that spans two folios */
	{ "an unpinnable folio in the middle", "[w*n]|(mov)[w*n]|[w*n]",
	  BIT(0) | BIT(2) | BIT(4) | BIT(7), .mov = true },
	{ "unpinnable small pages", "(mov)ww|w|(mov)w", 0, .mov = true },
	{ "an unpinnable folio, shared", "(mov)[s*n]", BIT(0) | BIT(4),
	  .mov = true },
};

/**
 * gup_next_row() - KUnit's generator of parameters
 * @test: the case
 * @prev: the row before, NULL at the start
 * @desc: set to the row's name
 *
 * Return: the next row or NULL.
 */
const void *gup_next_row(struct kunit *test, const void *prev, char *desc)
{
	const struct gup_row *row = prev ? (const struct gup_row *)prev + 1 :
					   gup_rows;

	if (!prev)
		kunit_register_params_array(test, gup_rows,
					    ARRAY_SIZE(gup_rows), NULL);
	if (row == gup_rows + ARRAY_SIZE(gup_rows))
		return NULL;
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
	return row;
}

/* A VMA in which state @odd can be. */
static const char *vma_for(char odd)
{
	switch (odd) {
	case 'u': case 'm':
		return "(uffd)";
	case 't':
		return "(sd)";
	case 'x':
		return "(mixed)";
	}
	return "";
}

static bool put_odd(const struct gup_row *row, char odd, char *buf, size_t size)
{
	const char *at = strchr(row->picture, '?');

	if (odd == 't' && !pgtable_supports_soft_dirty())
		return false;
	if (strchr(PTB_SWAPPED PTB_CACHED, odd) && !ptb_has_swap())
		return false;
	if (!at)
		strscpy(buf, row->picture, size);
	else
		snprintf(buf, size, "%s%.*s%c%s", vma_for(odd),
			 (int)(at - row->picture), row->picture, odd, at + 1);
	return true;
}

/* One call on a space. */
static void ask(struct ptb_session *s, const struct gup_row *row,
		const struct gup_call *call, enum ptb_release how)
{
	const struct ptb_layout *l = &s->space->layout;
	const struct ptb_gup req = {
		.api = call->api, .flags = call->flags,
		.no_pages = call->no_pages, .killed = call->killed,
		.start = ptb_addr(s->space, l->req_start) + row->offset,
		.nr = l->req_end - l->req_start,
	};
	struct ptb_taken *t = ptb_do_gup(s, &req);
	long i;

	/* The zero page is nobody's to dirty. */
	for (i = 0; t && t->pages && i < t->ret; i++)
		if (!t->folio[i])
			how = PTB_RELEASE_EACH;
	ptb_do_release(s, t, how);
}

/*
 * One picture by all calls. A space that a call leaves as it was serves the
 * next one, too.
 */
static bool run_calls(struct kunit *test, const struct gup_row *row,
		      const char *picture, unsigned int n,
		      const struct gup_call *calls, unsigned int nr_calls)
{
	struct ptb_session s = {};
	unsigned int i;

	for (i = 0; i < nr_calls; i++) {
		if (!s.space && !ptb_begin(&s, test, picture, n))
			return false;
		ask(&s, row, &calls[i], (i + ilog2(n)) % PTB_NR_RELEASES);
		if (!ptb_rewind(&s) && !ptb_end(&s))
			return false;
	}
	return !s.space || ptb_end(&s);
}

/**
 * gup_run_row() - a row with all its orders and odd entries, by all calls
 * @test: the case
 * @row: the row
 * @calls: the calls
 * @nr_calls: how many
 *
 * The first combination that goes wrong ends the row: it is reported in full.
 */
void gup_run_row(struct kunit *test, const struct gup_row *row,
		 const struct gup_call *calls, unsigned int nr_calls)
{
	unsigned long orders = row->orders ?: BIT(0);
	const char *odd = row->odd ?: "-";
	unsigned int order, count = 0;
	char picture[120];

	if (row->mov && !ptb_has_movable()) {
		kunit_skip(test, "no movable zone: boot with movablecore=");
		return;
	}
	if (ptb_skip(test, row->picture))
		return;
	ptb_watch_start(test, PTB_DEADLINE);
	for (; *odd; odd++) {
		if (!put_odd(row, *odd, picture, sizeof(picture)))
			continue;
		for_each_set_bit(order, &orders, 10) {
			if (!run_calls(test, row, picture, 1 << order, calls,
				       nr_calls))
				goto out;
			count += nr_calls;
			cond_resched();
		}
	}
	kunit_info(test, "%u combinations\n", count);
out:
	ptb_watch_stop(test);
}
