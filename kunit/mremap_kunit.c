// SPDX-License-Identifier: GPL-2.0
/*
 * mremap(): pages of every kind moved to every kind of place. Each row moves
 * what is in braces to the @, and to places some pages behind it; then what was
 * moved is read, written to and moved back.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "kunit/gup_rows.h"
#include "lib/session.h"

/* To the @; a page, half an arm64 block and just one block beside it. */
#define SHIFTS	(BIT(0) | BIT(1) | BIT(8) | BIT(15) | BIT(16))
/* Less than a block, one, two, some and a page table. */
#define SIZES	(BIT(2) | BIT(3) | BIT(4) | BIT(5) | BIT(7) | BIT(9))
#define SMALL	(BIT(2) | BIT(3) | BIT(4) | BIT(5) | BIT(7))
#define FIXED	(MREMAP_FIXED | MREMAP_MAYMOVE)

/**
 * struct move_row - a picture and a move
 * @name: of the row
 * @picture: see lib/layout.h
 * @orders: n is 1 << each of them
 * @shifts: pages behind the @ where it goes in turn; 0 for BIT(0)
 * @flags: MREMAP_*; 0 for MREMAP_FIXED | MREMAP_MAYMOVE
 * @stay: no flags at all
 * @grow: how many pages longer it becomes
 * @uffd: (uffd) and (rwp) VMAs have a context
 */
struct move_row {
	const char *name;
	const char *picture;
	unsigned long orders;
	unsigned long shifts;
	unsigned long flags;
	bool stay;
	int grow;
	bool uffd;
};

static const struct move_row move_rows[] = {
	/* aligned as before, or not */
	{ "whole folio", "{[w*n]}|-*n@-*n+16", SIZES | BIT(0), SHIFTS },
	{ "first half", "{[w*n/2}w*n/2]|-*n@-*n+16", SIZES, SHIFTS },
	{ "second half", "[w*n/2{w*n/2]}|-*n/2@-*n+16", SIZES, SHIFTS },
	{ "middle of the folio", "[w*n/4{w*n/2}w*n/4]|-*n/4@-*n+16", SIZES,
	  SHIFTS },
	{ "all but the first page", "[w{w*n-1]}|-@-*n+16", SIZES, SHIFTS },
	{ "all but the last page", "{[w*n-1}w]|-*n@-*n+16", SIZES, SHIFTS },
	{ "one page of the folio", "[w*n/2{w}w*n/2-1]|-*n/2@-*n+16", SIZES,
	  SHIFTS },
	{ "downwards", "@-*n -*16|{[w*n]}", SIZES, SHIFTS },
	{ "out of the middle of a VMA", "ww{[w*n]}ww|-*n@-*n+16", SIZES, SHIFTS },
	/* a batch ends with its folio */
	{ "order 0, scattered", "{wwwwwwww}|-*8@-*24", 0, SHIFTS },
	{ "order 0, consecutive", "{<w*16>}|-*16@-*32", 0, SHIFTS },
	{ "order 0, consecutive, two blocks", "{<w*32>}|-*32@-*48", 0, SHIFTS },
	{ "order 0, whole page table consecutive",
	  "{<w*512>}|-*512@-*528", 0, BIT(0) | BIT(1) | BIT(16) },
	{ "two folios that abut", "{<[w*n][w*n]>}|-*n -*n@-*n -*n -*16",
	  SMALL, SHIFTS },
	{ "four folios that abut", "{<[w*4][w*4][w*4][w*4]>}|-*16@-*32", 0,
	  SHIFTS },
	{ "abutting halves of two folios",
	  "<[w*n/2{w*n/2][w*n/2}w*n/2]>|-*n/2 -*n@-*n -*16", SMALL, SHIFTS },
	{ "mixed orders side by side",
	  "{w.ww[wwww]w*4[wwww][w*16][w*32]w}|-*79@-*96", 0, SHIFTS },
	{ "large folios beside each other", "{[w*n][w*n]}|-*n -*n@-*n -*n -*16",
	  SMALL, SHIFTS },
	{ "one folio in two pieces, swapped",
	  "A[-*n/2{w*n/2]|A[w*n/2}-*n/2]|-*n/2@-*n -*n -*16",
	  BIT(2) | BIT(4) | BIT(7), SHIFTS },
	{ "pages missing", "{[.w*n-2.]}|-*n@-*n+16", SIZES, SHIFTS },
	/* A/D bits go no further than their folio */
	{ "dirty folio, then a clean one", "{<[w*n][c*n]>}|-*n -*n@-*n -*n -*16",
	  SMALL, SHIFTS },
	{ "clean folio, then a dirty one", "{<[c*n][w*n]>}|-*n -*n@-*n -*n -*16",
	  SMALL, SHIFTS },
	{ "order 0, clean among dirty ones", "{<wcwwwcccwwwwcwcc>}|-*16@-*32", 0,
	  SHIFTS },
	{ "order 0, one dirty", "{<c*15 w>}|-*16@-*32", 0, SHIFTS },
	{ "old folio, then a young one", "{<[y*n][w*n]>}|-*n -*n@-*n -*n -*16",
	  SMALL, SHIFTS },
	{ "young folio, then an old one", "{<[w*n][y*n]>}|-*n -*n@-*n -*n -*16",
	  SMALL, SHIFTS },
	{ "order 0, every second page old", "{<ywywywywywywywyw>}|-*16@-*32", 0,
	  SHIFTS },
	{ "half of the folio old", "{[w*n/2 y*n/2]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "first half of the folio old", "{[y*n/2 w*n/2]}|-*n@-*n+16", SIZES,
	  SHIFTS },
	{ "every second page of the folio old", "{[ywywywywywywywyw]}|-*16@-*32",
	  0, SHIFTS },
	{ "an old VMA", "(old){[r*n/2 w*n/2]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "clean, then dirty in one folio", "{[c*n/2 w*n/2]}|-*n@-*n+16", SIZES,
	  SHIFTS },
	/* write bits are not mixed */
	{ "first half read-only", "{[r*n/2 w*n/2]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "second half read-only", "{[w*n/2 r*n/2]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "alternating write bits", "{[wrwrwrwrwrwrwrwr]}|-*16@-*32", 0, SHIFTS },
	{ "first page read-only", "{[rw*n-1]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "last page read-only", "{[w*n-1 r]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "one page read-only", "{[w*n/2 r w*n/2-1]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "writable folio, then a read-only one",
	  "{<[w*n][r*n]>}|-*n -*n@-*n -*n -*16", SMALL, SHIFTS },
	{ "order 0, mixed bits", "{<wrkcwrkcwwrrkkcc>}|-*16@-*32", 0, SHIFTS },
	{ "mixed bits in one folio", "{[wrkcwrkcwwrrkkcc]}|-*16@-*32", 0, SHIFTS },
	/* exclusivity goes with its page */
	{ "formerly shared", "{[e*n]}|-*n@-*n+16", SIZES | BIT(0), SHIFTS },
	{ "still shared", "{[s*n]}|-*n@-*n+16", SIZES | BIT(0), SHIFTS },
	{ "half shared, half exclusive", "{[s*n/2 w*n/2]}|-*n@-*n+16", SIZES,
	  SHIFTS },
	{ "read-only, every second page shared", "{[resreresrrsseerr]}|-*16@-*32",
	  0, SHIFTS },
	/* tracking: set, kept or dropped as for one page */
	{ "soft-dirty tracked", "(sd){[w*n/2 t*n/2]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "soft-dirty tracked, order 0", "(sd){<twtwttwwtwtwttww>}|-*16@-*32", 0,
	  SHIFTS },
	{ "uffd-wp, no context", "(uffd){[w*n/2 u*n/2]}|-*n@-*n+16", SIZES,
	  SHIFTS },
	{ "uffd-wp dropped", "(uffd){[w*n/2 u*n/2]}|-*n@-*n+16", SIZES, SHIFTS,
	  .uffd = true },
	{ "all uffd-wp, dropped", "(uffd){[u*n]}|-*n@-*n+16", SIZES | BIT(0), SHIFTS,
	  .uffd = true },
	{ "uffd-wp, then read-only", "(uffd){[u*n/2 r*n/2]}|-*n@-*n+16", SIZES,
	  SHIFTS },
	{ "uffd-wp, then read-only, dropped",
	  "(uffd){[u*n/2 r*n/2]}|-*n@-*n+16", SIZES, SHIFTS, .uffd = true },
	{ "markers, no context", "(uffd){wmwgwh[wmgh]m.w}|-*16@-*32", 0, SHIFTS },
	{ "uffd-wp markers dropped", "(uffd){wmwgwh[wmgh]m.w}|-*16@-*32", 0,
	  SHIFTS, .uffd = true },
	{ "uffd-rwp, no context", "(rwp){[w*n/2 q*n/2]}|-*n@-*n+16", SIZES,
	  SHIFTS },
	{ "uffd-rwp dropped", "(rwp){[w*n/2 q*n/2]}|-*n@-*n+16", SIZES, SHIFTS,
	  .uffd = true },
	{ "uffd-rwp and protnone", "(rwp){[p*n/2 q*n/2]}|-*n@-*n+16", SIZES,
	  SHIFTS, .uffd = true },
	/* entries that are no plain pages */
	{ "holes", "{w..w[w.w.][..ww]w}|-*16@-*32", 0, SHIFTS },
	{ "nothing mapped at all", "{.*16}|-*16@-*32", 0, SHIFTS },
	{ "zero pages", "{zwzzw[wwzw]z}|-*16@-*32", 0, SHIFTS },
	{ "special entries", "(mixed){wxxw}|-*16@-*32", 0, SHIFTS },
	{ "guard markers inside", "{[w*n/2 gg w*n/2-2]}|-*n@-*n+16", SIZES,
	  SHIFTS },
	{ "protnone inside", "{[w*n/2 p w*n/2-1]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "all protnone", "{[p*n]}|-*n@-*n+16", SIZES | BIT(0), SHIFTS },
	{ "PROT_NONE VMA", "(none){[p*n]}|-*n@-*n+16", SIZES | BIT(0), SHIFTS },
	{ "read-only VMA", "(ro){[r*n]}|-*n@-*n+16", SIZES | BIT(0), SHIFTS },
	/* page tables */
	{ "out of two page tables", "{[w*n/2^w*n/2]}|-*n@-*n+16",
	  SMALL | BIT(8), SHIFTS },
	{ "into two page tables", "{[w*n]}|-@-*n/2^-*n/2+16", SMALL | BIT(8),
	  SHIFTS },
	{ "into two page tables, aligned", "{[w*n]}|-*n -*n/2@-*n/2^-*n/2+16",
	  SMALL, SHIFTS },
	{ "into two page tables, first page alone",
	  "{[w*n]}|-*n-1@-^-*n-1 -*16", SMALL, SHIFTS },
	{ "a whole page table", "(sd){[t*512]}|@-*528", 0, SHIFTS },
	{ "a whole page table of markers", "(uffd){[um*509 gu]}|@-*528", 0,
	  BIT(0) | BIT(1) },
	{ "a whole page table, uffd-wp dropped", "(uffd){[um*509 gu]}|@-*528", 0,
	  BIT(0) | BIT(1), .uffd = true },
	{ "the rest of a page table goes as one",
	  "(sd){[t*4]^[t*4]}|-*1016@-*24", 0, BIT(0) | BIT(1) },
	{ "the rest of a page table, but not alone",
	  "(sd)t{[t*4]^[t*4]}|-*1016@-*24", 0, BIT(0) | BIT(1) },
	{ "the rest of a page table into one in use",
	  "(sd){[t*4]^[t*4]}|-*992|ww|-*22@-*24", 0, BIT(0) | BIT(1) },
	{ "the rest of a page table into that of the rest",
	  "(sd){[t*4]^[t*4]}|-*504@-*24", 0, BIT(0) | BIT(1) },
	/* several VMAs at once */
	{ "over a VMA boundary", "{[w*n/2|w*n/2]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "VMAs with a gap", "{ww|--|[w*4]}|-*8@-*24", 0, SHIFTS },
	{ "writable, read-only, PROT_NONE", "{[ww|(ro)rr|(none)pp|ww]}|-*8@-*24",
	  0, SHIFTS },
	/* over something else */
	{ "over a mapping", "{[w*n]}|@[w*n]", SMALL },
	{ "over part of a folio", "{[w*n/2}w*n/2]|[w*n/4@w*n/2 w*n/4]",
	  SMALL },
	{ "over a gap and two mappings", "{[w*16]}|ww@ww|---|(ro)r*12", 0 },
	{ "over file pages", "{[w*16]}|(shm)@[w*8][f*8]", 0 },
	{ "over still shared pages", "{[w*16]}|@[s*16]", 0 },
	{ "over markers and holes", "{w*8}|(uffd)@m.gh.ww.", 0 },
	/* the old place stays */
	{ "MREMAP_DONTUNMAP", "{[w*n]}|-*n@-*n+16", SIZES | BIT(0), SHIFTS,
	  .flags = FIXED | MREMAP_DONTUNMAP },
	{ "MREMAP_DONTUNMAP, part of it", "[w*n/4{w*n/2}w*n/4]|-*n/4@-*n+16",
	  SIZES, SHIFTS, .flags = FIXED | MREMAP_DONTUNMAP },
	{ "MREMAP_DONTUNMAP, a hint", "{[w*n]}|-*n@-*n+16", SIZES, SHIFTS,
	  .flags = MREMAP_MAYMOVE | MREMAP_DONTUNMAP },
	{ "MREMAP_DONTUNMAP, shmem", "(shm){[w*n]}|-*n@-*n+16", SIZES | BIT(0),
	  SHIFTS, .flags = FIXED | MREMAP_DONTUNMAP },
	{ "MREMAP_DONTUNMAP, uffd-wp dropped",
	  "(uffd){[w*n/2 u*n/2]}|-*n@-*n+16", SIZES, SHIFTS,
	  .flags = FIXED | MREMAP_DONTUNMAP, .uffd = true },
	/* another length */
	{ "nothing to do", "{[w*n]}", SIZES | BIT(0), .stay = true },
	{ "grow in place", "{[w*n]}|@-*n+8", SIZES | BIT(0), .stay = true, .grow = 5 },
	{ "grow in place, might move", "{[w*n]}|@-*n+8", SIZES | BIT(0),
	  .flags = MREMAP_MAYMOVE, .grow = 1 },
	{ "grow by moving", "{[w*n]}|ww|-*n@-*n+24", SIZES | BIT(0), SHIFTS,
	  .flags = MREMAP_MAYMOVE, .grow = 3 },
	{ "part grows by moving", "{[w*n/2}w*n/2]|-*n@-*n+24", SIZES, SHIFTS,
	  .flags = MREMAP_MAYMOVE, .grow = 7 },
	{ "grow and move", "{[w*n]}|-*n@-*n+24", SIZES | BIT(0), SHIFTS, .grow = 5 },
	{ "shrink", "{[w*n]}", SIZES, .stay = true, .grow = -3 },
	{ "shrink, rest behind", "{[w*n}w*n]", BIT(2) | BIT(4) | BIT(7),
	  .stay = true, .grow = -1 },
	{ "shrink and move", "{[w*n]}|-*n@-*n+16", SIZES, SHIFTS, .grow = -3 },
	{ "shrink file pages", "(shm){[w*n]}", SIZES, .stay = true, .grow = -3 },
	/* other memory */
	{ "shmem", "(shm){[w*n]}|-*n@-*n+16", SIZES | BIT(0), SHIFTS },
	{ "shmem, part of the folio", "(shm)[w*n/4{w*n/2}w*n/4]|-*n/4@-*n+16",
	  SIZES, SHIFTS },
	{ "shmem, clean first", "(shm){[c*n/2 w*n/2]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "shmem, second half read-only", "(shm){[w*n/2 f*n/2]}|-*n@-*n+16",
	  SIZES, SHIFTS },
	{ "shmem, old in part", "(shm){[w*n/2 y*n/2]}|-*n@-*n+16", SIZES, SHIFTS },
	{ "private file, half copied", "(cow){[f*n/2 w*n/2]}|-*n@-*n+16", SIZES,
	  SHIFTS },
	{ "by PMD", "(pmd){[w*512]}|@-*528", 0, BIT(0) | BIT(1) | BIT(16) },
	{ "by PMD, read-only", "(pmd,ro){[r*512]}|@-*528", 0, BIT(0) | BIT(8) },
	{ "by PMD, part of it", "(pmd)[w*100{w*300}w*112]|-*100@-*528", 0,
	  BIT(0) | BIT(1) | BIT(12) },
	{ "by PMD, the old place stays", "(pmd){[w*512]}|@-*528", 0,
	  BIT(0) | BIT(1), .flags = FIXED | MREMAP_DONTUNMAP },
	{ "hugetlb", "(huge){[w*512]}|@-*512", 0 },
	{ "hugetlb, contiguous PTEs", "(huge64k){[w*16]}|@-*32", 0,
	  BIT(0) | BIT(16) },
};

static void move_desc(const struct move_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(move, move_rows, move_desc);

/*
 * An arm64 block that page by page would have become contiguous must be so
 * after any batching, too: whole, aligned, of one folio, the same bits.
 */
static void check_folded(struct ptb_session *s, unsigned int from,
			 unsigned int nr)
{
#ifdef CONFIG_ARM64_CONTPTE
	const struct ptb_ledger *led = s->space->led;
	unsigned int i, j;

	for (i = from; i + CONT_PTES <= from + nr; i++) {
		const struct ptb_pte *a = &led->pte[0][i];

		if ((led->vpn + i) % CONT_PTES || a->kind != PTB_PAGE || a->cont ||
		    a->protnone || (led->folio[a->folio].head + a->sub) % CONT_PTES)
			continue;	/* protnone: not valid for the hardware */
		for (j = 1; j < CONT_PTES; j++)
			if (a[j].kind != PTB_PAGE || a[j].folio != a->folio ||
			    a[j].sub != a->sub + j || a[j].write != a->write ||
			    a[j].uffd != a->uffd || a[j].protnone)
				break;
		if (j == CONT_PTES) {
			ptb_space_fail(s->space, "%s: page %u is not folded",
				       s->operation, i);
			s->bad = true;
			return;
		}
	}
#endif
}

/* What the ledger says of a page, user space sees. */
static void check_content(struct ptb_session *s, unsigned int from,
			  unsigned int nr)
{
	const struct ptb_ledger *led = s->space->led;
	unsigned int i;

	for (i = from; i < from + nr && !s->bad; i++) {
		u64 __user *at = (u64 __user *)ptb_addr(s->space, i);
		const struct ptb_pte *p = &led->pte[0][i];
		u64 found = 0;

		if (p->kind != PTB_PAGE || p->protnone)
			continue;
		if (!get_user(found, at) && found == p->tag)
			continue;
		ptb_space_fail(s->space, "%s: page %u reads %#llx, not %#llx",
			       s->operation, i, found, p->tag);
		s->bad = true;
	}
	if (ptb_ledger_read(s->space, s->space->led, s->space->led))
		s->bad = true;
}

/* A store to the first and the last page that can be written to. */
static void store_ends(struct ptb_session *s, unsigned int from,
		       unsigned int nr)
{
	unsigned int i, first = UINT_MAX, last = 0;

	for (i = from; i < from + nr; i++) {
		if (!s->space->led->pte[0][i].write ||
		    s->space->led->pte[0][i].kind != PTB_PAGE)
			continue;
		first = min(first, i);
		last = i;
	}
	if (first == UINT_MAX)
		return;
	ptb_do_store(s, first, 0x1111);
	ptb_do_store(s, last, 0x2222);
}

/* Whatever a VMA at the @ is, it takes what the picture had in braces. */
static bool comes_back(const struct move_row *row)
{
	return (!row->flags || row->flags == FIXED) && !row->grow &&
	       !row->stay && !row->uffd && !strstr(row->picture, "(uffd") &&
	       !strstr(row->picture, "(rwp") && !strstr(row->picture, "(pmd") &&
	       !strstr(row->picture, "(sd") && !strstr(row->picture, "@[") &&
	       !strstr(row->picture, ")@") && !strstr(row->picture, "(huge");
}

static bool move(struct kunit *test, const struct move_row *row, unsigned int n,
		 unsigned int shift)
{
	struct ptb_session s;
	struct ptb_mremap req = {};
	unsigned int nr, to;

	if (!ptb_begin(&s, test, row->picture, n))
		return false;
	if (row->uffd && ptb_uffd_attach(s.space))
		KUNIT_FAIL(test, "no userfaultfd");
	nr = s.space->layout.req_end - s.space->layout.req_start;
	to = s.space->layout.dest + shift;
	req.addr = ptb_addr(s.space, s.space->layout.req_start);
	req.old_len = nr * PAGE_SIZE;
	req.new_len = (nr + row->grow) * PAGE_SIZE;
	req.flags = row->stay ? 0 : row->flags ?: FIXED;
	if (s.space->layout.dest >= 0)
		req.new_addr = ptb_addr(s.space, to);
	if (!ptb_do_mremap(&s, &req) || s.space->layout.dest < 0)
		return ptb_end(&s);
	nr = min(nr, nr + row->grow);
	if (!strstr(row->picture, "(huge")) {
		/* A PMD says nothing of blocks. */
		if (shift || !strstr(row->picture, "(pmd"))
			check_folded(&s, to, nr);
		check_content(&s, to, nr);
		store_ends(&s, to, nr);
	}
	if (comes_back(row)) {
		swap(req.addr, req.new_addr);
		ptb_do_mremap(&s, &req);
		check_content(&s, s.space->layout.req_start, nr);
	}
	return ptb_end(&s);
}

static void mremap_rows_case(struct kunit *test)
{
	const struct move_row *row = test->param_value;
	unsigned long orders = row->orders ?: BIT(0);
	unsigned long shifts = row->shifts ?: BIT(0);
	unsigned int order, shift;

	if (ptb_skip(test, row->picture))
		return;
	ptb_watch_start(test, PTB_DEADLINE);
	for_each_set_bit(order, &orders, 10) {
		for_each_set_bit(shift, &shifts, BITS_PER_LONG)
			if (!move(test, row, 1 << order, shift))
				goto out;
		cond_resched();
	}
out:
	ptb_watch_stop(test);
}

/* What must fail, and leave everything as it was. */
static const struct move_error {
	const char *name;
	const char *picture;
	int err;
	unsigned long flags;
	unsigned long old_len;	/* 0: as in the picture */
	unsigned long new_len;	/* 0: the same */
	unsigned long off;	/* added to the old address */
	unsigned long new_off;	/* added to the new one */
	unsigned long new_addr;	/* 0: the @ */
	unsigned long top;	/* below the end of user space instead */
	bool no_old;		/* old length 0 */
	bool no_new;		/* new length 0 */
} move_errors[] = {
	{ "unaligned address", "{[w*16]}|@-*16", -EINVAL, FIXED, .off = 1 },
	{ "unaligned address in place", "{[w*16]}", -EINVAL, 0, .off = 8 },
	{ "unaligned new address", "{[w*16]}|@-*32", -EINVAL, FIXED,
	  .new_off = 1 },
	{ "unknown flag", "{[w*16]}|@-*16", -EINVAL, FIXED | BIT(5) },
	{ "MREMAP_FIXED alone", "{[w*16]}|@-*16", -EINVAL, MREMAP_FIXED },
	{ "MREMAP_DONTUNMAP alone", "{[w*16]}|@-*16", -EINVAL,
	  MREMAP_DONTUNMAP },
	{ "MREMAP_DONTUNMAP, another length", "{[w*16]}|@-*32", -EINVAL,
	  FIXED | MREMAP_DONTUNMAP, .new_len = 17 * PAGE_SIZE },
	{ "new length 0", "{[w*16]}", -EINVAL, 0, .no_new = true },
	{ "new length 0, moving", "{[w*16]}|@-*16", -EINVAL, FIXED,
	  .no_new = true },
	{ "old length 0, private", "{[w*16]}|@-*16", -EINVAL, FIXED,
	  .no_old = true, .new_len = PAGE_SIZE },
	{ "more than user space", "{[w*16]}", -EINVAL, MREMAP_MAYMOVE,
	  .new_len = 1UL << 60 },
	{ "a length that wraps", "{[w*16]}", -EINVAL, MREMAP_MAYMOVE,
	  .new_len = -PAGE_SIZE },
	{ "behind the end of user space", "{[w*16]}", -EINVAL, FIXED,
	  .top = 8 * PAGE_SIZE },
	{ "kernel memory", "{[w*16]}", -EINVAL, FIXED,
	  .new_addr = -16 * PAGE_SIZE },
	{ "a tagged new address", "{[w*16]}|@-*16", -EINVAL, FIXED,
	  .new_off = 0x5aUL << 56 },
	{ "on itself", "@{[w*16]}", -EINVAL, FIXED },
	{ "overlaps at the start", "@-*8|{[w*16]}", -EINVAL, FIXED },
	{ "overlaps at the end", "{[w*8@w*8]}|-*16", -EINVAL, FIXED },
	{ "overlaps by growing", "@-*16|{[w*16]}", -EINVAL, FIXED,
	  .new_len = 17 * PAGE_SIZE },
	{ "no VMA there", "ww|{----}|@-*16", -EFAULT, FIXED },
	{ "no VMA there, in place", "ww|{----}", -EFAULT, MREMAP_MAYMOVE,
	  .new_len = 5 * PAGE_SIZE },
	{ "a gap in front", "ww|{--|ww}|@-*16", -EFAULT, FIXED },
	{ "grow over two VMAs", "{ww|ww}|@-*16", -EFAULT, FIXED,
	  .new_len = 5 * PAGE_SIZE },
	{ "grow over two VMAs, in place", "{ww|ww}|----", -EFAULT, 0,
	  .new_len = 5 * PAGE_SIZE },
	{ "MREMAP_DONTUNMAP over two VMAs", "{ww|ww}|@-*16", -EFAULT,
	  MREMAP_MAYMOVE | MREMAP_DONTUNMAP },
	{ "no room to grow in place", "{[w*16]}|ww", -ENOMEM, 0,
	  .new_len = 17 * PAGE_SIZE },
	{ "part cannot grow in place", "{[w*8}w*8]|-*16", -ENOMEM, 0,
	  .new_len = 9 * PAGE_SIZE },
	{ "hugetlb to an unaligned place", "(huge){[w*512]}|-@-*520", -EINVAL,
	  FIXED },
	{ "hugetlb does not grow", "(huge){[w*512]}|-*512", -EINVAL, 0,
	  .new_len = 1024 * PAGE_SIZE },
};

static void error_desc(const struct move_error *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(error, move_errors, error_desc);

static void mremap_errors(struct kunit *test)
{
	const struct move_error *row = test->param_value;
	const struct ptb_layout *l;
	struct ptb_mremap req = { .flags = row->flags, .err = row->err };
	struct ptb_session s;

	ptb_watch_start(test, PTB_DEADLINE);
	if (ptb_begin(&s, test, row->picture, 0)) {
		l = &s.space->layout;
		req.addr = ptb_addr(s.space, l->req_start) + row->off;
		if (!row->no_old)
			req.old_len = row->old_len ?:
				      (l->req_end - l->req_start) * PAGE_SIZE;
		if (!row->no_new)
			req.new_len = row->new_len ?: req.old_len;
		req.new_addr = row->top ? TASK_SIZE - row->top : row->new_addr;
		if (!req.new_addr && l->dest >= 0)
			req.new_addr = ptb_addr(s.space, l->dest) + row->new_off;
		ptb_do_mremap(&s, &req);
		ptb_end(&s);
	}
	ptb_watch_stop(test);
}

static struct kunit_case mremap_cases[] = {
	KUNIT_CASE_PARAM(mremap_rows_case, move_gen_params),
	KUNIT_CASE_PARAM(mremap_errors, error_gen_params),
	{}
};

static struct kunit_suite mremap_suite = {
	.name = "mremap",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = mremap_cases,
};

kunit_test_suite(mremap_suite);
