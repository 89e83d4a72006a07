// SPDX-License-Identifier: GPL-2.0
/*
 * Write faults on write-protected anonymous memory: reuse or copy. Each row is
 * faulted at each of its requested pages alone, on a fresh space, and then at
 * all of them in one space, upwards and downwards.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <uapi/linux/mman.h>

#include "internal.h"
#include "kunit/gup_rows.h"
#include "lib/session.h"
#include "lib/sys.h"

/**
 * struct reuse_row - a picture to be written to
 * @name: of the row
 * @picture: see lib/layout.h; requested pages are written to
 * @orders: n is 1 << each of them
 * @pin: pin this page first (-1: none), and hold the pin over the faults
 * @get: get it instead, as vmsplice does
 * @fork: fork before, and let the child exit: what no character stands for, as
 *	a tracked page that is not exclusive
 * @split: in the end, split the VMA in the middle, which leaves entries as they
 *	are: a contiguous block of arm64 reaches over the new boundary
 */
struct reuse_row {
	const char *name;
	const char *picture;
	unsigned long orders;
	int pin;
	bool get;
	bool fork;
	bool split;
};

static const struct reuse_row reuse_rows[] = {
	/* what fork() and the child's exit leave behind */
	{ "formerly shared", "[e*n]", ALL_ORDERS, -1 },
	{ "still shared", "[s*n]", ALL_ORDERS, -1 },
	/* a page that never was shared, only write-protected */
	{ "read-only, exclusive", "[r*n]", ALL_ORDERS, -1 },
	/* neighbours made writable without being exclusive */
	{ "second half still shared", "{[e*n/2}s*n/2]", LARGE, -1 },
	{ "page 0 still shared", "[s{e*n-1]}", LARGE, -1 },
	{ "last page still shared", "{[e*n-1}s]", LARGE, -1 },
	/* exclusivity of one page taken for all */
	{ "page 0 exclusive", "[re*n-1]", LARGE, -1 },
	{ "page 0 formerly shared", "[er*n-1]", LARGE, -1 },
	{ "every second page exclusive", "[erererererererer]", 0, -1 },
	{ "some writable already", "[ewweeewe]", 0, -1 },
	{ "first half writable already", "[w*n/2{e*n/2]}", LARGE, -1 },
	{ "read-only ones, clean and dirty", "[ekrekere]", 0, -1 },
	/* partly mapped: all references are still ours */
	{ "only the first half mapped", "{[e*n/2}.*n/2]", LARGE, -1 },
	{ "only the second half mapped", "[.*n/2{e*n/2]}", LARGE, -1 },
	{ "holes in between", "[e.ee.eee]", 0, -1 },
	/* what stands in a hole belongs to nobody, or to another folio */
	{ "zero pages in between", "[ezeezeee]", 0, -1 },
	{ "markers in between", "(uffd)[emgeehee]", 0, -1 },
	/* mapcount 1: rather copied, and the rest freed */
	{ "one page mapped, the first", "{[e}.*n-1]", LARGE, -1 },
	{ "one page mapped, the last", "[.*n-1{e]}", LARGE, -1 },
	/* bounded by page table, VMA and folio, in both directions */
	{ "over a page table boundary", "[e*n/2^e*n/2]", LARGE, -1 },
	{ "over a VMA boundary", "[e*n/2|e*n/2]", LARGE, -1 },
	{ "a read-only VMA behind", "{[e*n/2}|(ro)e*n/2]", LARGE, -1 },
	{ "a read-only VMA inside", "{[ee}|(ro)ee|eeee]", 0, -1 },
	{ "behind a read-only VMA", "[ee|(ro)ee|{eeee]}", 0, -1 },
	{ "between two VMAs", "[e*n/4|{e*n/2}|e*n/4]", LARGE, -1 },
	{ "VMA split since", "[e*n]", LARGE, -1, .split = true },
	{ "a page table with little of it", "[e*3^e*13]", 0, -1 },
	{ "a page table with most of it", "[e*27^e*5]", 0, -1 },
	{ "in two pieces, swapped", "A[-*n/2 e*n/2]|A[e*n/2 -*n/2]",
	  BIT(2) | BIT(4) | BIT(7), -1 },
	{ "in three pieces, moved apart",
	  "A[eeee-*12]|A[-*8 e*8]|A[----eeee-*8]", 0, -1 },
	{ "two folios that abut", "<[e*n][e*n]>", LARGE & ~BIT(9), -1 },
	/* the aligned block: its edges need not be the folio's */
	{ "folios smaller than the block", "[e*4][e*4][e*8]", 0, -1 },
	{ "aligned to nothing", "^eee[e*n]ee", BIT(4) | BIT(5) | BIT(6), -1 },
	{ "the last page alone in its block", "^e[e*16]", 0, -1 },
	{ "the first page alone in its block", "^e*15[e*16]", 0, -1 },
	{ "mixed orders side by side", "eeee[eeee][e*8]e*16[e*16]e", 0, -1 },
	{ "order 0, consecutive", "<e*16>", 0, -1 },
	/* neighbours are not written to: no dirty bit for them */
	{ "zero pages and holes between", "ez.e[eeee]z", 0, -1 },
	/* nor are they accessed */
	{ "old, formerly shared", "(old)[e*n]", ALL_ORDERS, -1 },
	{ "every second one old, shared before", "[wywywywywywywywy]", 0, -1,
	  .fork = true },
	{ "old and tracked, shared before", "(uffd,old){[w*n/2}u*n/2]", LARGE, -1,
	  .fork = true },
	{ "old, read-only, exclusive", "(old)[r*n/2 k*n/2]", LARGE, -1 },
	/* tracked pages are left alone */
	{ "uffd-wp at the end", "(uffd){[e*n-1}u]", LARGE, -1 },
	{ "uffd-wp asked for", "(uffd)[u*n/2 e*n/2]", LARGE, -1 },
	{ "soft-dirty tracked inside", "(sd)[et*n/2 e*n/2-1]", LARGE, -1 },
	{ "protnone inside", "[ep*n/2 e*n/2-1]", LARGE, -1 },
	/* nobody wrote to the neighbours: no dirty bit where none was */
	{ "all clean, shared before", "[c*n]", ALL_ORDERS, -1, .fork = true },
	{ "clean, between two VMAs", "[c*n/4|{c*n/2}|c*n/4]", LARGE, -1,
	  .fork = true },
	/* not exclusive and tracked: exclusive by the fault, but not writable */
	{ "uffd-wp, shared before", "(uffd){[w*n/2}u*n/2]", LARGE, -1, .fork = true },
	{ "uffd-wp in turns, shared before", "(uffd)[wuuwuwwu]", 0, -1, .fork = true },
	{ "soft-dirty, shared before", "(sd)[w*n/4 t*n/2 w*n/4]", LARGE, -1,
	  .fork = true },
	{ "soft-dirty in turns, shared", "(sd)[wttwtwwt]", 0, -1, .fork = true },
	{ "protnone, shared before", "[w*n/4 p*n/2 w*n/4]", LARGE, -1, .fork = true },
	{ "protnone in turns, shared before", "[wppwpwwp]", 0, -1, .fork = true },
	{ "soft-dirty beside all other kinds", "(uffd,sd)[wutpcrkwwukt.zwp]", 0, -1,
	  .fork = true },
	/* somebody else holds a reference: today's answer stands */
	{ "first page pinned", "[r{e*n-1]}", LARGE, 0 },
	{ "first page referenced", "[r{e*n-1]}", LARGE, 0, .get = true },
	{ "the page itself referenced", "[{e}e*n-1]", LARGE, 0, .get = true },
	{ "order 0, referenced", "{e}", 0, 0, .get = true },
	{ "exclusive pages beside shared ones", "{[r*n/2}s*n/2]", LARGE, -1 },
	{ "all clean", "[k*n]", ALL_ORDERS, -1 },
	/* paged out in part, or in the swap cache: the same */
	{ "swapped out: whole folio", "[o*n]", SOME_ORDERS & ~BIT(9), -1 },
	{ "swapped out: formerly shared", "[d*n]", SOME_ORDERS & ~BIT(9), -1 },
	{ "swapped out: shared", "[j*n]", SOME_ORDERS & ~BIT(9), -1 },
	{ "swapped out: one page of the folio", "[e*n/2 d e*n/2-1]",
	  SOME_ORDERS & ~BIT(9), -1 },
	{ "swapped out: the page before the folio", "o[e*n]j", LARGE & ~BIT(9), -1 },
	{ "swap cache: shared", "[a*n]", BIT(0) | BIT(2) | BIT(4) | BIT(5), -1 },
	{ "swap cache: formerly shared", "[b*n]",
	  BIT(0) | BIT(2) | BIT(4) | BIT(5), -1 },
	{ "swap cache: first page referenced", "[b{b*n-1]}", BIT(2) | BIT(4), 0,
	  .get = true },
	/* other memory */
	{ "private file pages", "(cow)[f*n]", ALL_ORDERS, -1 },
	{ "private file, half copied", "(cow)[f*n/2 e*n/2]", LARGE, -1 },
	{ "shmem, read-only entries", "(shm)[f*n]", ALL_ORDERS, -1 },
};

static void reuse_desc(const struct reuse_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(reuse, reuse_rows, reuse_desc);

static struct ptb_taken *pin_one(struct ptb_session *s,
				 const struct reuse_row *row)
{
	const struct ptb_gup req = {
		.api = row->get ? PTB_GET : PTB_PIN,
		.start = ptb_addr(s->space, row->pin), .nr = 1,
	};

	return row->pin < 0 ? NULL : ptb_do_gup(s, &req);
}

/* Split the one VMA of a space in the middle. */
static bool split_vma_at(struct ptb_space *space, unsigned int at)
{
	struct ptb_layout *l = &space->layout;
	unsigned int i;

	l->vma[1] = l->vma[0];
	l->vma[0].end = at;
	l->vma[1].start = at;
	l->nr_vmas = 2;
	for (i = at; i < l->nr; i++)
		l->page[i].vma = 1;
	return !ptb_syscall(PTB_SYS(madvise), ptb_addr(space, at),
			    (l->nr - at) * PAGE_SIZE, MADV_DONTFORK, 0, 0, 0);
}

/* The row's space, with what its picture cannot say. */
static bool begin(struct ptb_session *s, struct kunit *test,
		  const struct reuse_row *row, unsigned int n)
{
	int child;

	if (!ptb_begin(s, test, row->picture, n))
		return false;
	if (row->fork) {
		child = ptb_do_fork(s);
		if (child > 0)
			ptb_do_exit(s, child);
	}
	return !row->split || split_vma_at(s->space, s->space->layout.nr / 2);
}

/* One store, alone. */
static bool store_one(struct kunit *test, const struct reuse_row *row,
		      unsigned int n, unsigned int page)
{
	struct ptb_session s;
	struct ptb_taken *pin;

	if (!begin(&s, test, row, n))
		return false;
	pin = pin_one(&s, row);
	if (s.space->layout.page[page].state != '-')
		ptb_do_fault(&s, page, FAULT_FLAG_WRITE);
	ptb_do_release(&s, pin, PTB_RELEASE_ALL);
	return ptb_end(&s);
}

/* A store to each page, each judged; or an unshare fault. */
static bool fault_all(struct kunit *test, const struct reuse_row *row,
		      unsigned int n, bool down, unsigned int flags,
		      unsigned int *from, unsigned int *to)
{
	/* An unshare fault is for present, read-only, private pages. */
	const char *states = !(flags & FAULT_FLAG_UNSHARE) ? "wcyrkseabdjoutpfz." :
			     strstr(row->picture, "(shm)") ? "" : "rkseabftu";
	struct ptb_session s;
	struct ptb_taken *pin;

	if (!begin(&s, test, row, n))
		return false;
	*from = s.space->layout.req_start;
	*to = s.space->layout.req_end;
	pin = pin_one(&s, row);
	ptb_do_faults(&s, *from, *to, down, flags, states);
	ptb_do_release(&s, pin, PTB_RELEASE_ALL);
	return ptb_end(&s);
}

/* Of many pages those that tell: both ends, the middle, a block's edges. */
static bool telling(unsigned int i, unsigned int from, unsigned int to)
{
	return to - from <= 24 || i < from + 2 || i + 2 >= to || i == (from + to) / 2 ||
	       i - from == 15 || i - from == 16;
}

static void wp_reuse_rows(struct kunit *test)
{
	const struct reuse_row *row = test->param_value;
	unsigned long orders = row->orders ?: BIT(0);
	unsigned int order, from = 0, to = 0, i;

	if (ptb_skip(test, row->picture))
		return;
	ptb_watch_start(test, PTB_DEADLINE);
	for_each_set_bit(order, &orders, 10) {
		const unsigned int n = 1 << order;

		if (!fault_all(test, row, n, false, FAULT_FLAG_WRITE, &from, &to) ||
		    !fault_all(test, row, n, true, FAULT_FLAG_WRITE, &from, &to) ||
		    !fault_all(test, row, n, false, FAULT_FLAG_UNSHARE, &from, &to))
			break;
		for (i = from; i < to; i++)
			if (telling(i, from, to) && !store_one(test, row, n, i))
				goto out;
		cond_resched();
	}
out:
	ptb_watch_stop(test);
}

/*
 * How many write faults it takes until every page of a folio is writable again
 * after a fork whose child is gone. What counts is whether the entry lets a
 * store through, so that stale TLB entries do not.
 */
static unsigned int count_faults(struct ptb_space *space)
{
	unsigned int i, nr = 0;
	struct page *page;

	for (i = 0; i < space->layout.nr; i++) {
		unsigned long addr = ptb_addr(space, i);

		if (get_user_pages_fast_only(addr, 1, FOLL_WRITE, &page) == 1) {
			put_page(page);
			continue;
		}
		nr++;
		if (ptb_fault(space->mm[0], addr, FAULT_FLAG_WRITE))
			ptb_space_fail(space, "write fault at page %u fails", i);
	}
	return nr;
}

/* Blocks of arm64 that the first pass after a fork left whole. */
static unsigned int count_contiguous(struct ptb_space *space)
{
	unsigned int i, nr = 0;

	if (ptb_ledger_read(space, space->led, space->led))
		ptb_space_fail(space, "cannot read the books");
	for (i = 0; i < space->layout.nr; i++)
		nr += space->led->pte[0][i].cont;
	return nr;
}

static const struct count_row {
	const char *name;
	const char *picture;
	unsigned int order;
} count_rows[] = {
	{ "4 kB", "w", 0 },
	{ "16 kB", "[w*n]", 2 },
	{ "64 kB", "[w*n]", 4 },
	{ "1 MB", "[w*n]", 8 },
	{ "2 MB by PTE", "[w*n]", 9 },
	{ "2 MB by PMD", "(pmd)[w*n]", 9 },
};

static void count_desc(const struct count_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(count, count_rows, count_desc);

static void wp_reuse_counts(struct kunit *test)
{
	const struct count_row *row = test->param_value;
	const bool pmd = *row->picture == '(';
	const unsigned int n = 1 << row->order;
	unsigned int want = pmd ? 1 : n / min(n, ptb_reuse_span);
	unsigned int found, cont;
	struct ptb_session s;
	int child;

	ptb_watch_start(test, PTB_DEADLINE);
	if (!ptb_begin(&s, test, row->picture, n))
		goto out;
	cont = count_contiguous(s.space);
	child = ptb_space_fork(s.space);
	KUNIT_EXPECT_GT(test, child, 0);
	if (child > 0)
		ptb_space_exit(s.space, child);
	found = count_faults(s.space);
	KUNIT_EXPECT_EQ(test, found, want);
	kunit_info(test, "%s: %u faults, %u in 256 MiB\n", row->name, found,
		   found * (65536 / n));
	if (cont && ptb_reuse_span >= PTB_BLOCK)
		KUNIT_EXPECT_EQ(test, count_contiguous(s.space), cont);
	ptb_end(&s);
out:
	ptb_watch_stop(test);
}

static struct kunit_case wp_reuse_cases[] = {
	KUNIT_CASE_PARAM(wp_reuse_rows, reuse_gen_params),
	KUNIT_CASE_PARAM(wp_reuse_counts, count_gen_params),
	{}
};

static struct kunit_suite wp_reuse_suite = {
	.name = "wp_reuse",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = wp_reuse_cases,
};

kunit_test_suite(wp_reuse_suite);
