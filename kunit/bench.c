// SPDX-License-Identifier: GPL-2.0
/*
 * Measuring one row: build, judge, warm up and check, time, check again. A
 * figure is printed only if the operation did what it was asked for, each time.
 */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/prandom.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "kunit/bench.h"
#include "lib/build.h"
#include "lib/sys.h"

static const struct bench_row bench_rows[] = {
	/* the common case first */
	{ "4k", "<w*512>", 1, BENCH_ORDER0 },
	{ "4k-scattered", "w*512", 1, BENCH_ORDER0 | BENCH_SCATTER },
	{ "16k", "[w*4]", 128, BENCH_EXTRA },
	{ "64k", "[w*16]", 32, 0 },
	{ "256k", "[w*64]", 8, BENCH_EXTRA },
	{ "1M", "[w*256]", 2, 0 },
	{ "2M-pte", "[w*512]", 1, 0 },
	/* the bound, and a control that nothing may change */
	{ "2M-pmd", "(pmd)[w*512]", 1, BENCH_PMD },
	{ "mixed", "wwww[w*4][w*8][w*16]", 16, BENCH_ODD },
	/* runs end at each page: the worst there is for them */
	{ "64k-wrwr", "[wrwrwrwrwrwrwrwr]", 32, BENCH_ODD | BENCH_MIXED_W },
	/* one page a call: nothing to batch */
	{ "64k-one-mapped", "[w.*15]", 32, BENCH_SINGLE | BENCH_HOLES,
	  .size = 1, .step = 16 },
	{ "2M-one-asked", "[w*512]", 1, BENCH_SINGLE, .size = 1, .step = 16 },
	/* cost must grow with the pages of a call and no faster */
	{ "4k/1", "<w*512>", 1, BENCH_SIZES, .tiles = 2, .size = 1 },
	{ "4k/16", "<w*512>", 1, BENCH_SIZES, .tiles = 2, .size = 16 },
	{ "4k/512", "<w*512>", 1, BENCH_SIZES, .size = 512 },
	{ "4k/65536", "<w*512>", 1, BENCH_SIZES, .tiles = 128 },
	{ "64k/1", "[w*16]", 32, BENCH_SIZES, .tiles = 2, .size = 1 },
	{ "64k/16", "[w*16]", 32, BENCH_SIZES, .tiles = 2, .size = 16 },
	{ "64k/512", "[w*16]", 32, BENCH_SIZES, .size = 512 },
	{ "64k/65536", "[w*16]", 32, BENCH_SIZES, .tiles = 128 },
	{ "nothing", ".*512", 1, BENCH_FILL },
	/* the worst there is for whoever looks for runs of present entries */
	{ "4k-holes", "w.", 256, BENCH_FILL | BENCH_HOLES },
	{ "4k-sparse", "w.*15", 32, BENCH_FILL | BENCH_HOLES },
};

/**
 * bench_next() - the next row of a suite: for KUNIT_CASE_PARAM
 * @prev: the row before, or NULL
 * @desc: filled in with its name
 * @not: no row with any of these flags
 * @only: only rows with one of these flags, unless 0
 *
 * Return: the row or NULL.
 */
const void *bench_next(const void *prev, char *desc, unsigned int not,
		       unsigned int only)
{
	const struct bench_row *row = prev ? prev + sizeof(*row) : bench_rows;

	for (; row < bench_rows + ARRAY_SIZE(bench_rows); row++) {
		if (row->flags & not || (only && !(row->flags & only)))
			continue;
		strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
		return row;
	}
	return NULL;
}

/**
 * bench_fail() - something is not as it should be: no figure for this
 * @b: the row at work
 * @fmt: one sentence
 *
 * Return: false.
 */
bool bench_fail(struct bench *b, const char *fmt, ...)
{
	char text[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	KUNIT_FAIL(b->test, "%s of %s: %s", b->op->name, b->row->name, text);
	return false;
}

/** bench_asked() - is this page among those that the calls are about? */
bool bench_asked(const struct bench *b, unsigned long page)
{
	return page >= b->op->first &&
	       (page - b->op->first) % b->step < b->size;
}

/**
 * bench_fork() - before a pass: make a child
 * @b: the row at work
 *
 * Return: true if there is one, b->child.
 */
bool bench_fork(struct bench *b)
{
	b->child = ptb_mm_new();
	if (!b->child)
		return bench_fail(b, "no memory for a child");
	if (dup_mmap(b->child, b->s.space->mm[0]))
		return bench_fail(b, "dup_mmap() failed");
	return true;
}

/**
 * bench_child_exits() - the child's last thread exits
 * @b: the row at work
 *
 * Return: true.
 */
bool bench_child_exits(struct bench *b)
{
	struct mm_struct *child = b->child;

	b->child = NULL;
	mmput(child);
	ptb_mm_gone(b->s.space, child, 1);
	return true;
}

/**
 * bench_heal() - after a pass: after a fork, make all pages writable again
 * @b: the row at work; nobody shares its pages any more
 *
 * By a store to each page, and then by mprotect(), which handles whole runs: on
 * arm64 single faults leave contiguous blocks unfolded behind.
 *
 * Return: true if it could be done.
 */
bool bench_heal(struct bench *b)
{
	const unsigned long len = b->a.nr * PAGE_SIZE;
	unsigned long i;

	for (i = 0; i < b->a.nr; i++)
		if (put_user(ptb_tag(i % PTRS_PER_PTE),
			     (u64 __user *)ptb_arena_addr(&b->a, i)))
			return bench_fail(b, "cannot store to page %lu", i);
	if (ptb_syscall(PTB_SYS(mprotect), b->a.start, len, PROT_READ, 0, 0, 0) ||
	    ptb_syscall(PTB_SYS(mprotect), b->a.start, len,
			PROT_READ | PROT_WRITE, 0, 0, 0))
		return bench_fail(b, "mprotect() failed");
	return true;
}

/* Every call of a pass, timed if @m is not NULL. */
static bool one_pass(struct bench *b, struct ptb_measure *m)
{
	const struct bench_op *op = b->op;
	const unsigned long faults = current->min_flt;
	unsigned long i;
	long ret;

	if (op->before && !op->before(b))
		return false;
	ptb_anon_orders(op->orders);
	if (m)
		ptb_measure_begin(m, &b->a, b->child);
	for (i = 0; i < b->calls; i++) {
		const unsigned long page = b->order[i];

		ret = m ? ptb_measure_call(m, op->call, b, page, b->size) :
			  op->call(b, page, b->size);
		if (ret != b->size) {
			ptb_anon_orders(0);
			return bench_fail(b, "returned %ld for %lu pages at page %lu",
					  ret, b->size, page);
		}
	}
	ptb_anon_orders(0);
	if (m)
		ptb_measure_end(m, &b->a, op->ends_child ? NULL : b->child);
	if (m)
		m->faults = current->min_flt - faults;
	else if (op->check && !op->check(b))
		return false;
	cond_resched();
	return !op->after || op->after(b);
}

/* Which page each call begins with. */
static bool set_calls(struct bench *b)
{
	const struct bench_op *op = b->op;
	struct rnd_state rnd;
	unsigned long i, j;

	b->size = op->size ?: b->row->size ?: b->a.nr;
	b->step = op->step ?: b->row->step ?: b->size;
	b->calls = (b->a.nr - op->first - b->size) / b->step + 1;
	b->order = kvmalloc_array(b->calls, sizeof(*b->order), GFP_KERNEL);
	if (!b->order)
		return bench_fail(b, "no memory");
	for (i = 0; i < b->calls; i++)
		b->order[i] = op->first + i * b->step;
	if (!op->random)
		return true;
	prandom_seed_state(&rnd, b->calls);
	for (i = b->calls; i > 1; i--) {
		j = prandom_u32_state(&rnd) % i;
		swap(b->order[i - 1], b->order[j]);
	}
	return true;
}

static bool measure_passes(struct bench *b, struct ptb_measure *m)
{
	unsigned int i;
	bool ok = true;

	m->op = b->op->name;
	m->row = b->row->name;
	m->pages = b->calls * b->size;
	m->neighbours = ptb_arena_neighbours(&b->a);
	for (i = 0; i < m->passes && ok; i++)
		ok = one_pass(b, m);
	return ok;
}

static bool measure_op(struct bench *b)
{
	const struct bench_op *op = b->op;
	struct ptb_measure m;
	unsigned int i;
	bool ok;

	if (!set_calls(b))
		return false;
	if (ptb_measure_init(&m, ptb_measure_passes(op->dear), b->calls)) {
		kvfree(b->order);
		return bench_fail(b, "no memory");
	}
	/* Two calls activate a folio, three bring it where it stays. */
	ok = !op->judge || op->judge(b);
	for (i = 0; i < (op->dear ? 1 : 3) && ok; i++)
		ok = one_pass(b, NULL);
	ok = ok && measure_passes(b, &m) && !ptb_arena_check(&b->a);
	if (ok)
		ptb_measure_print(b->test, &m);
	if (b->child)
		bench_child_exits(b);
	ptb_measure_exit(&m);
	kvfree(b->order);
	return ok;
}

/* The picture as often as it takes to fill a page table. */
static char *whole_picture(struct kunit *test, const struct bench_row *row)
{
	const size_t len = strlen(row->picture);
	char *text = kunit_kzalloc(test, len * row->times + 1, GFP_KERNEL);
	unsigned int i;

	for (i = 0; text && i < row->times; i++)
		memcpy(text + i * len, row->picture, len);
	return text;
}

static void measure_row(struct bench *b, const struct bench_op *ops,
			unsigned int tiles)
{
	const char *picture = whole_picture(b->test, b->row);
	bool ok;

	if (b->row->flags & BENCH_SCATTER &&
	    ptb_arena_scatter(&b->a, tiles * PTRS_PER_PTE)) {
		KUNIT_FAIL(b->test, "no memory to scatter frames in");
		return;
	}
	if (!picture || !ptb_begin(&b->s, b->test, picture, 0))
		return;
	ok = !ptb_arena_grow(&b->a, b->s.space, tiles);
	ptb_arena_unscatter(&b->a);
	b->pages = kvcalloc(b->a.nr, sizeof(*b->pages), GFP_KERNEL);
	if (!b->pages)
		KUNIT_FAIL(b->test, "no memory for pages[]");
	for (; ops->name && ok && b->pages; ops++) {
		b->op = ops;
		if (!(ops->not & b->row->flags))
			ok = measure_op(b);
	}
	kvfree(b->pages);
	ptb_end(&b->s);
}

/**
 * bench_run() - measure operations on the row that is the case's parameter
 * @test: the case
 * @ops: the operations, up to one without a name
 * @tiles: on how many page tables full, if the row does not say
 */
void bench_run(struct kunit *test, const struct bench_op *ops,
	       unsigned int tiles)
{
	const struct bench_row *row = test->param_value;
	struct bench *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->test = test;
	b->row = row;
	ptb_watch_start(test, 10 * PTB_DEADLINE);
	measure_row(b, ops, row->tiles ?: tiles);
	ptb_arena_unscatter(&b->a);
	ptb_watch_stop(test);
}
