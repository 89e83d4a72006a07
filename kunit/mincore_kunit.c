// SPDX-License-Identifier: GPL-2.0
/*
 * mincore(): every byte of the vector, the bytes around it, and that nothing
 * else changed. Each row is asked as a whole, and in parts that begin and end
 * inside of it.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kunit/gup_rows.h"
#include "lib/session.h"
#include "lib/sys.h"

/**
 * struct mincore_row - a picture to ask about
 * @name: of the row
 * @picture: see lib/layout.h
 * @orders: n is 1 << each of them
 * @in_flight: the first requested page is being migrated
 */
struct mincore_row {
	const char *name;
	const char *picture;
	unsigned long orders;
	bool in_flight;
};

static const struct mincore_row mincore_rows[] = {
	/* the vector is stepped as the address is */
	{ "whole folio", "[w*n]", ALL_ORDERS },
	{ "start in the middle", "[w*n/2{w*n/2]}", LARGE },
	{ "end inside", "{[w*n/2}w*n/2]", LARGE },
	{ "middle of a folio", "[w*n/4{w*n/2}w*n/4]", LARGE },
	{ "holes in front and behind", ".[w*n].", ALL_ORDERS },
	{ "order 0, scattered", "wwwwwwww", 0 },
	{ "order 0, consecutive", "<w*16>", 0 },
	{ "two folios that abut", "<[w*n][w*n]>", LARGE & ~BIT(9) },
	{ "folios that abut, then a hole", "<[w*8][w*8]>.*8<[wwww][wwww]>", 0 },
	{ "mixed orders side by side", "w.ww[wwww]w*4[wwww][w*16][w*32]w", 0 },
	{ "parts of folios", "[.w*n-1][w*n-1.]", LARGE & ~BIT(9) },
	{ "one folio in two pieces, swapped", "A[-*n/2 w*n/2]|A[w*n/2 -*n/2]",
	  BIT(2) | BIT(4) | BIT(7) },
	/* not mapped */
	{ "nothing mapped at all", ".*8", 0 },
	{ "every second page is missing", "w.w.w.w.w.w.w.w.", 0 },
	{ "every second page of a folio", "[w.w.w.w.w.w.w.w.]", 0 },
	{ "one page of a folio", "[.*n-1 w]", LARGE },
	{ "last page of a folio missing", "[w*n-1.]", LARGE },
	{ "first page of a folio missing", "[.w*n-1]", LARGE },
	{ "markers among pages", "(uffd)wmwgwhw.w", 0 },
	{ "markers inside a folio", "(uffd)[w*n/2 mg w*n/2-2]", LARGE },
	{ "a marker first, one last", "(uffd)[mw*n-2 g]", LARGE },
	/* entries that are no plain pages */
	{ "zero pages", "zzwz.zw", 0 },
	{ "zero pages only", "z*32", 0 },
	{ "special entries", "(mixed)wxxw.x", 0 },
	{ "a page in flight, order 0", "w{w}w", 0, true },
	{ "a page in flight, first", "{[w}w*n-1]", LARGE, true },
	{ "a page in flight, in the middle", "[w*n/2{w}w*n/2-1]", LARGE, true },
	{ "a page in flight, last", "[w*n-1{w]}", LARGE, true },
	/* bits that differ inside a run */
	{ "mixed bits", "[wrkcwrkcwwrrkkcc]", 0 },
	{ "mixed bits, consecutive frames", "<wrkcwrkcwwrrkkcc>", 0 },
	{ "first half read-only", "[r*n/2 w*n/2]", LARGE },
	{ "one page protnone", "[w*n/2 p w*n/2-1]", LARGE },
	{ "uffd-wp in part", "(uffd)[w*n/2 u*n/2]", LARGE },
	{ "soft-dirty tracked in part", "(sd)[w*n/2 t*n/2]", LARGE },
	{ "half shared, half exclusive", "[s*n/2 w*n/2]", LARGE },
	{ "PROT_NONE", "(none)[p*n]", ALL_ORDERS },
	{ "PROT_NONE with holes", "(none)p.p[pp.p]", 0 },
	/* boundaries */
	{ "over a page table boundary", "[w*n/2^w*n/2]", LARGE },
	{ "a hole behind the boundary", "[w*n]^.w", LARGE },
	{ "no page table in front of it", "...^ww", 0 },
	{ "over a VMA boundary", "[w*n/2|w*n/2]", LARGE },
	{ "a boundary behind the first page", "[w|w*n-1]", LARGE },
	{ "a PROT_NONE VMA inside a folio", "[ww|(none)pp|wwww]", 0 },
	{ "shmem, anonymous, a hole, anonymous", "(shm)[w*n]|[w*n]|.*n[w*n]",
	  LARGE & ~BIT(9) },
	{ "a gap behind", "[w*n]|--|ww", ALL_ORDERS },
	{ "a gap first", "--|[w*n]", LARGE },
	{ "a gap only", "ww|{--}|ww", 0 },
	/* file pages: in the page cache, mapped or not */
	{ "shmem", "(shm)[w*n]", ALL_ORDERS },
	{ "shmem, half mapped", "(shm)[w*n/2 .*n/2]", LARGE },
	{ "shmem, second half mapped", "(shm)[.*n/2 w*n/2]", LARGE },
	{ "shmem, cached, nothing mapped", "(shm)[.*n]", LARGE },
	{ "shmem, holes in the file", "(shm)w.w.[w.w.]..w", 0 },
	{ "shmem, nothing in the file", "(shm).*8", 0 },
	{ "shmem, markers", "(shm,uffd)[wm*n/2 w*n/2-1]m.", LARGE },
	{ "shmem, read-only entries", "(shm)[f*n]", ALL_ORDERS },
	{ "shmem, two folios, holes in both", "(shm)[w.][.w][ww..].", 0 },
	{ "private file", "(cow)[f*n]", ALL_ORDERS },
	{ "private file, half copied", "(cow)[f*n/2 w*n/2]", LARGE },
	{ "private file, copied and not mapped", "(cow)[w.f.w.f.]..w", 0 },
	{ "secretmem", "(secret)ww.w", 0 },
	/* leaves */
	{ "by PMD", "(pmd)[w*512]", 0 },
	{ "by PMD, part of it", "(pmd)[w*100{w*300}w*112]", 0 },
	{ "by PMD, pages around", "w.|(pmd)[w*512]|.w", 0 },
	{ "hugetlb", "(huge)[w*512]", 0 },
	{ "hugetlb, part of it", "(huge)[w*100{w*300}w*112]", 0 },
	{ "hugetlb, not there", "(huge)[.*512]", 0 },
	{ "hugetlb beside small pages", "w.|(huge)[w*512]|.w", 0 },
	{ "hugetlb, contiguous PTEs", "(huge64k)[w*8{w*8][w*4}w*12]", 0 },
};

static void mincore_desc(const struct mincore_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(mincore, mincore_rows, mincore_desc);

static void ask(struct ptb_session *s, const struct mincore_row *row,
		unsigned int from, unsigned int to)
{
	const struct ptb_mincore req = {
		.start = ptb_addr(s->space, from),
		.len = (to - from) * PAGE_SIZE,
		.in_flight = row->in_flight ? s->space->layout.req_start : -1,
	};

	ptb_do_mincore(s, &req);
}

/* A few pages that tell: both ends, the middle, and some between. */
static bool telling(unsigned int i, unsigned int nr)
{
	return i < 4 || i + 2 >= nr || i == nr / 2 || i % 128 == 15;
}

/* The request, then everything from and up to a few pages inside. */
static bool ask_all(struct kunit *test, const struct mincore_row *row,
		    unsigned int n)
{
	struct ptb_session s;
	unsigned int nr, i;

	if (!ptb_begin(&s, test, row->picture, n))
		return false;
	nr = s.space->layout.nr;
	ask(&s, row, s.space->layout.req_start, s.space->layout.req_end);
	ask(&s, row, 0, nr);
	for (i = 1; i < nr; i++) {
		if (!telling(i, nr))
			continue;
		ask(&s, row, i, nr);
		ask(&s, row, 0, i);
		ask(&s, row, i, min(i + 3, nr));
	}
	return ptb_end(&s);
}

static void mincore_rows_case(struct kunit *test)
{
	const struct mincore_row *row = test->param_value;
	unsigned long orders = row->orders ?: BIT(0);
	unsigned int order;

	if (ptb_skip(test, row->picture))
		return;
	ptb_watch_start(test, PTB_DEADLINE);
	for_each_set_bit(order, &orders, 10) {
		if (!ask_all(test, row, 1 << order))
			break;
		cond_resched();
	}
	ptb_watch_stop(test);
}

/* Requests at the edges of what may be asked for. */
static const struct mincore_edge {
	const char *name;
	const char *picture;
	unsigned long offset;	/* bytes behind page 0 */
	size_t len;		/* bytes; 0 with @nr: that many pages */
	unsigned long nr;
	bool minus;		/* start in front of page 0, not behind */
	bool no_vec;		/* nothing is mapped where the vector goes */
	bool kernel_vec;	/* kernel memory is there */
	unsigned int tag;
} mincore_edges[] = {
	{ "no pages", "w", .len = 0 },
	{ "no pages, nothing mapped there", "w", .offset = 64 * PAGE_SIZE },
	{ "no pages, unaligned", "w", .offset = 1 },
	{ "one byte", "[w*16]", .len = 1 },
	{ "a page and a byte", "[w*16]", .len = PAGE_SIZE + 1 },
	{ "one byte less than the folio", "[w*16].", .len = 16 * PAGE_SIZE - 1 },
	{ "one byte more", "[w*16].", .len = 16 * PAGE_SIZE + 1 },
	{ "unaligned start", "[w*16]", .offset = 1, .nr = 2 },
	{ "unaligned start in the last page", "[w*16]",
	  .offset = 15 * PAGE_SIZE + 0xfff, .nr = 1 },
	{ "behind the last VMA", "[w*16]", .offset = 64 * PAGE_SIZE, .nr = 1 },
	{ "in front of the first VMA", "[w*16]", .offset = PAGE_SIZE, .nr = 3,
	  .minus = true },
	{ "over the end of the last VMA", "[w*16]", .offset = 8 * PAGE_SIZE,
	  .nr = 16 },
	{ "over a gap between VMAs", "ww|--|ww", .nr = 6 },
	{ "a length of all user space", "[w*16]", .len = 1UL << 45 },
	{ "a length that ends behind user space", "[w*16]", .len = 1UL << 60 },
	{ "a length that wraps", "[w*16]", .len = SIZE_MAX },
	{ "a length that wraps to nothing", "[w*16]", .len = -PTB_BASE },
	{ "no memory for the vector", "[w*16]", .nr = 4, .no_vec = true },
	{ "no memory for the vector of a hole", "w|--|w", .offset = PAGE_SIZE,
	  .nr = 1, .no_vec = true },
	{ "kernel memory for the vector", "[w*16]", .nr = 4,
	  .kernel_vec = true },
	{ "tagged", "[w*16]", .nr = 16, .tag = 0x5a },
};

static void edge_desc(const struct mincore_edge *edge, char *desc)
{
	strscpy(desc, edge->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(edge, mincore_edges, edge_desc);

static void mincore_edges_case(struct kunit *test)
{
	const struct mincore_edge *edge = test->param_value;
	struct ptb_mincore req = {
		.len = edge->nr ? edge->nr * PAGE_SIZE : edge->len,
		.vec = edge->no_vec ? 0x1000 : edge->kernel_vec ? PAGE_OFFSET : 0,
		.in_flight = -1,
	};
	struct ptb_session s;

	ptb_watch_start(test, PTB_DEADLINE);
	if (ptb_begin(&s, test, edge->picture, 0)) {
		req.start = edge->minus ? ptb_addr(s.space, 0) - edge->offset :
					  ptb_addr(s.space, 0) + edge->offset;
		req.start |= (unsigned long)edge->tag << 56;
		ptb_do_mincore(&s, &req);
		ptb_end(&s);
	}
	ptb_watch_stop(test);
}

/*
 * More pages than the kernel's buffer has bytes, so that it is filled more
 * than once: pages at its edges, far apart, in memory of their own.
 */
static void mincore_chunks(struct kunit *test)
{
	static const unsigned int there[] = {
		0, 511, 512, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1,
		2 * PAGE_SIZE - 1, 2 * PAGE_SIZE, 2 * PAGE_SIZE + 99,
	};
	const unsigned long nr = 2 * PAGE_SIZE + 100, at = PTB_STAGE;
	struct ptb_session s;
	unsigned long vec_at;
	unsigned int i, j;
	u8 *vec;

	if (!ptb_begin(&s, test, "w", 0))
		return;
	vec = kunit_kmalloc(test, nr + 1, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, vec);
	vec_at = at + nr * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, at, vm_mmap(NULL, at, nr * PAGE_SIZE +
					  PAGE_ALIGN(nr + 1),
					  PROT_READ | PROT_WRITE,
					  MAP_FIXED | MAP_PRIVATE, 0));
	for (i = 0; i < ARRAY_SIZE(there); i++)
		KUNIT_EXPECT_EQ(test, 0, put_user(1, (u8 __user *)at +
						  there[i] * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 0, put_user(PTB_VEC_GUARD,
					  (u8 __user *)vec_at + nr));
	KUNIT_EXPECT_EQ(test, 0, ptb_syscall(PTB_SYS(mincore), at,
					     nr * PAGE_SIZE, vec_at, 0, 0, 0));
	KUNIT_EXPECT_EQ(test, 0, copy_from_user(vec, (void __user *)vec_at,
						nr + 1));
	for (i = 0, j = 0; i < nr; i++) {
		bool want = j < ARRAY_SIZE(there) && there[j] == i;

		j += want;
		if (vec[i] != want)
			KUNIT_FAIL_AND_ABORT(test, "vec[%u] is %u", i, vec[i]);
	}
	KUNIT_EXPECT_EQ(test, PTB_VEC_GUARD, vec[nr]);
	vm_munmap(at, nr * PAGE_SIZE + PAGE_ALIGN(nr + 1));
	ptb_end(&s);
}

static struct kunit_case mincore_cases[] = {
	KUNIT_CASE_PARAM(mincore_rows_case, mincore_gen_params),
	KUNIT_CASE_PARAM(mincore_edges_case, edge_gen_params),
	KUNIT_CASE(mincore_chunks),
	{}
};

static struct kunit_suite mincore_suite = {
	.name = "mincore",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = mincore_cases,
};

kunit_test_suite(mincore_suite);
