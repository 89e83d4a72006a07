// SPDX-License-Identifier: GPL-2.0
/*
 * Does batching happen? The other suites see that it changes nothing; here its
 * steps are counted. Each row knows how many steps the per-page kernel makes and
 * how many a batching one: the former is an expected failure (a skip, "XFAIL"),
 * the latter a pass, and any other number is wrong. A series says which rows it
 * makes pass, in mm-patches/<series>/expect.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <uapi/linux/mman.h>

#include "lib/count.h"
#include "lib/session.h"
#include "lib/sys.h"

/* Where mremap() moves to: an odd page, so that page tables cannot be moved. */
#define TARGET	(PTB_STAGE + 16 * PAGE_SIZE)

/**
 * struct batch_row - an operation and its number of steps
 * @name: of the row, after the series
 * @picture: see lib/layout.h
 * @op: the operation, on all pages
 * @flags: FOLL_*
 * @what: what is counted
 * @batched: how often it happens in a kernel that batches
 * @today: how often in one that does not, or not as far; more numbers for a
 *	series that gets there in steps
 * @contpte: needs arm64's contiguous blocks
 * @blocks: count those that the operation leaves instead
 */
struct batch_row {
	const char *name;
	const char *picture;
	void (*op)(struct ptb_space *space, const struct batch_row *row);
	unsigned int flags;
	enum ptb_counted what;
	unsigned long batched;
	unsigned long today[2];
	bool contpte;
	bool blocks;
};

static void gup(struct ptb_space *space, enum ptb_gup_api api, unsigned int flags)
{
	const struct ptb_gup req = {
		.api = api, .flags = flags,
		.start = ptb_addr(space, 0), .nr = space->layout.nr,
	};
	struct ptb_taken *taken = ptb_gup(space, &req);

	KUNIT_ASSERT_NOT_NULL(space->test, taken);
	KUNIT_EXPECT_EQ(space->test, taken->ret, (long)req.nr);
}

static void pin(struct ptb_space *space, const struct batch_row *row)
{
	gup(space, PTB_PIN, row->flags);
}

static void pin_fast(struct ptb_space *space, const struct batch_row *row)
{
	gup(space, PTB_PIN_FAST, row->flags);
}

static void get_fast(struct ptb_space *space, const struct batch_row *row)
{
	gup(space, PTB_GET_FAST_ONLY, row->flags);
}

/* One byte a page, as a program would store it. */
static void store(struct ptb_space *space, const struct batch_row *row)
{
	unsigned int i;

	for (i = 0; i < space->layout.nr; i++)
		KUNIT_EXPECT_EQ(space->test, 0,
				put_user(1, (u8 __user *)ptb_addr(space, i)));
}

/* There and back, so that the space ends where it began. */
static void move(struct ptb_space *space, const struct batch_row *row)
{
	const unsigned long from = ptb_addr(space, 0);
	const unsigned long len = space->layout.nr * PAGE_SIZE;
	const unsigned long how = MREMAP_MAYMOVE | MREMAP_FIXED;

	KUNIT_EXPECT_EQ(space->test, (long)TARGET,
			ptb_syscall(PTB_SYS(mremap), from, len, len, how, TARGET, 0));
	KUNIT_EXPECT_EQ(space->test, (long)from,
			ptb_syscall(PTB_SYS(mremap), TARGET, len, len, how, from, 0));
}

static const struct batch_row batch_rows[] = {
	/* one descent and one lock for a page table, whatever the folios are */
	{ "gup-slow: lock rounds, order 0", "w*16", pin, FOLL_WRITE,
	  PTB_LOCK_ROUNDS, 1, { 16 } },
	{ "gup-slow: lock rounds, one folio", "[w*16]", pin, FOLL_WRITE,
	  PTB_LOCK_ROUNDS, 1, { 16 } },
	{ "gup-slow: lock rounds, mixed orders", "[w*8][wwww]wwww", pin, FOLL_WRITE,
	  PTB_LOCK_ROUNDS, 1, { 16 } },
	{ "gup-slow: lock rounds, two page tables", "[w*8^w*8]", pin, FOLL_WRITE,
	  PTB_LOCK_ROUNDS, 2, { 16 } },
	/* walk, fault, walk, but no walk that only finds out that a page is missing */
	{ "gup-slow: walks, holes", "w.*15", pin, FOLL_WRITE,
	  PTB_LOCK_ROUNDS, 31, { 46 } },
	/* one grab a run */
	{ "gup-slow: grabs, 64 kB", "[w*16]", pin, FOLL_WRITE, PTB_GRABS, 1, { 16 } },
	{ "gup-slow: grabs, 2 MB by PTE", "[w*512]", pin, FOLL_WRITE | FOLL_LONGTERM,
	  PTB_GRABS, 1, { 512 } },
	{ "gup-slow: grabs, read-only run", "[r*16]", pin, 0, PTB_GRABS, 1, { 16 } },
	{ "gup-slow: grabs, mixed write bits", "[w*8 r*8]", pin, 0,
	  PTB_GRABS, 2, { 16 } },
	{ "gup-slow: grabs, file", "(shm)[w*16]", pin, FOLL_WRITE, PTB_GRABS, 1, { 16 } },
	/* the head page as ever, then the rest of the run at once */
	{ "gup-fast: grabs, 64 kB", "[w*16]", pin_fast, FOLL_WRITE,
	  PTB_GRABS, 2, { 16 } },
	{ "gup-fast: grabs, 2 MB by PTE", "[w*512]", get_fast, FOLL_WRITE,
	  PTB_GRABS, 2, { 512 } },
	{ "gup-fast: grabs, read-only run", "[r*16]", pin_fast, 0,
	  PTB_GRABS, 2, { 16 } },
	{ "gup-fast: grabs, file", "(shm)[w*16]", get_fast, FOLL_WRITE,
	  PTB_GRABS, 2, { 16 } },
	/* one fault a folio and page table; the block of 16 comes first */
	{ "wp-reuse: faults, 16 kB", "[e*4]", store, 0, PTB_FAULTS, 1, { 4 } },
	{ "wp-reuse: faults, 64 kB", "[e*16]", store, 0, PTB_FAULTS, 1, { 16 } },
	{ "wp-reuse: faults, 1 MB", "[e*256]", store, 0,
	  PTB_FAULTS, 1, { 256, 16 } },
	{ "wp-reuse: faults, 2 MB by PTE", "[e*512]", store, 0,
	  PTB_FAULTS, 1, { 512, 32 } },
	{ "wp-reuse: faults, two page tables", "[e*16^e*16]", store, 0,
	  PTB_FAULTS, 2, { 32 } },
	/* the first store after fork() unfolds a block today, and none folds it */
	{ "wp-reuse: contpte blocks left", "[e*64]", store, 0,
	  PTB_FAULTS, 4, { 0 }, .contpte = true, .blocks = true },
	/* one local flush a fault that made more than its own page writable */
	{ "wp-reuse: local TLB flushes", "[e*16][e*4]ew", store, 0,
	  PTB_LOCAL_FLUSHES, 2, { 0 } },
	/* there and back; what is moved says itself that it is of one folio */
	{ "pte-batch: lookups, contpte, 64 kB", "[w*16]", move, 0,
	  PTB_LOOKUPS, 0, { 2 }, .contpte = true },
	{ "pte-batch: lookups, contpte, 2 MB", "[w*512]", move, 0,
	  PTB_LOOKUPS, 0, { 4 }, .contpte = true },
};

static void batch_desc(const struct batch_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(batch, batch_rows, batch_desc);

/* Contiguous blocks of 64 kB in the books as they are now. */
static unsigned long blocks_left(struct ptb_space *space)
{
	unsigned long n = 0;
	unsigned int i;

	for (i = 0; i < space->led->nr; i++)
		n += space->led->pte[0][i].cont;
	return n * PAGE_SIZE / SZ_64K;
}

static void judge(struct kunit *test, const struct batch_row *row, unsigned long n)
{
	const char *what = row->blocks ? "contpte blocks" : ptb_counted_name(row->what);

	kunit_info(test, "%s: %lu, %lu when batched\n", what, n, row->batched);
	if (n == row->batched)
		return;
	if (n == row->today[0] || (row->today[1] && n == row->today[1]))
		kunit_mark_skipped(test, "XFAIL: not batched: %lu %s, %lu when batched",
				   n, what, row->batched);
	else
		KUNIT_FAIL(test, "%lu %s: expected %lu, or %lu without batching", n,
			   what, row->batched, row->today[0]);
}

static void batching_rows(struct kunit *test)
{
	const struct batch_row *row = test->param_value;
	struct ptb_space *space;
	unsigned long n;

	if (row->contpte && !IS_ENABLED(CONFIG_ARM64_CONTPTE)) {
		kunit_mark_skipped(test, "no contiguous PTEs");
		return;
	}
	if (row->what == PTB_LOCAL_FLUSHES && !IS_ENABLED(CONFIG_X86)) {
		kunit_mark_skipped(test, "no local TLB flush of this kind");
		return;
	}
	ptb_watch_start(test, PTB_DEADLINE);
	space = ptb_space_create(test, row->picture, 1);
	if (!space)
		goto out;
	ptb_count_start(test, row->what);
	row->op(space, row);
	n = ptb_count_stop(test);
	ptb_pins_release(space);
	KUNIT_EXPECT_EQ(test, 0, ptb_ledger_read(space, space->led, space->led));
	if (row->blocks)
		n = blocks_left(space);
	ptb_space_destroy(space);
	if (test->status == KUNIT_SUCCESS)
		judge(test, row, n);
out:
	ptb_watch_stop(test);
}

static struct kunit_case batching_cases[] = {
	KUNIT_CASE_PARAM(batching_rows, batch_gen_params),
	{}
};

static struct kunit_suite batching_suite = {
	.name = "batching",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = batching_cases,
};

kunit_test_suite(batching_suite);
