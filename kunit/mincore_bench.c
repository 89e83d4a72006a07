// SPDX-License-Identifier: GPL-2.0
/* What it costs to look at, to move and to protect mapped pages. */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "kunit/bench.h"
#include "lib/sys.h"

/* Where mincore() puts its answers. */
#define VEC	0x30000000UL
#define VEC_LEN	(128 * PTRS_PER_PTE)

static bool mincore_before(struct bench *b)
{
	if (vma_lookup(b->s.space->mm[0], VEC))
		return true;
	if (vm_mmap(NULL, VEC, VEC_LEN, PROT_READ | PROT_WRITE,
		    MAP_FIXED | MAP_ANONYMOUS | MAP_PRIVATE, 0) != VEC)
		return bench_fail(b, "no room for the answers");
	return !clear_user((void __user *)VEC, VEC_LEN) ||
	       bench_fail(b, "cannot write where the answers go");
}

static long mincore_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;

	return ptb_syscall(PTB_SYS(mincore), ptb_arena_addr(&b->a, page),
			   nr * PAGE_SIZE, VEC + page, 0, 0, 0) ?: nr;
}

static int check_vec(struct ptb_arena *a, unsigned long first, void *arg)
{
	struct bench *b = arg;
	unsigned int i;
	u8 in_core;

	for (i = 0; i < a->space->layout.nr; i++) {
		const bool want = ptb_ledger_pfn(a->space->led, i);

		if (!bench_asked(b, first + i))
			continue;
		if (get_user(in_core, (u8 __user *)VEC + first + i))
			return -EFAULT;
		if (in_core == want)
			continue;
		bench_fail(b, "page %lu: %u, expected %u", first + i, in_core,
			   want);
		return -EINVAL;
	}
	return 0;
}

static bool mincore_check(struct bench *b)
{
	return !ptb_arena_each(&b->a, check_vec, b);
}

static const struct bench_op mincore_ops[] = {
	{ .name = "mincore", .before = mincore_before, .call = mincore_call,
	  .check = mincore_check },
	{}
};

BENCH_SUITE(bench_mincore, mincore_ops, BENCH_PATTERN, 0, 8);

/* Moving: there is timed, back is not. op->arg: how many pages off. */

static long move(unsigned long from, unsigned long to, unsigned long nr)
{
	const unsigned long len = nr * PAGE_SIZE;

	return ptb_syscall(PTB_SYS(mremap), from, len, len,
			   MREMAP_MAYMOVE | MREMAP_FIXED, to, 0) == to ?
	       nr : -EINVAL;
}

static unsigned long move_to(struct bench *b, unsigned long page)
{
	return PTB_STAGE + (page + b->op->arg) * PAGE_SIZE;
}

static long mremap_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;

	return move(ptb_arena_addr(&b->a, page), move_to(b, page), nr);
}

/* Nothing may be left where it was. The check of the arena does the rest. */
static bool mremap_check(struct bench *b)
{
	unsigned long i;

	for (i = 0; i < b->calls; i++)
		if (vma_lookup(b->s.space->mm[0],
			       ptb_arena_addr(&b->a, b->order[i])))
			return bench_fail(b, "page %u is still there", b->order[i]);
	return true;
}

static bool mremap_after(struct bench *b)
{
	unsigned long i;

	for (i = 0; i < b->calls; i++)
		if (move(move_to(b, b->order[i]),
			 ptb_arena_addr(&b->a, b->order[i]), b->size) != b->size)
			return bench_fail(b, "cannot move back");
	return true;
}

#define MREMAP_OP(_name, _off, ...) {					\
	.name = _name, .arg = _off, .call = mremap_call,		\
	.check = mremap_check, .after = mremap_after, ##__VA_ARGS__ }

static const struct bench_op mremap_ops[] = {
	/* each entry stays at its place in a table, but not the whole table */
	MREMAP_OP("mremap", 0, .first = 16, .size = 480, .step = 512,
		  .not = BENCH_PMD | BENCH_SINGLE | BENCH_SIZES),
	/* the entries of a table go to two tables */
	MREMAP_OP("mremap-across", 16, .not = BENCH_PMD | BENCH_SINGLE),
	/* and no block stays aligned */
	MREMAP_OP("mremap-odd", 1, .not = BENCH_PMD | BENCH_SINGLE | BENCH_SIZES),
	/* page tables move as they are: a control */
	MREMAP_OP("mremap-tables", 0, .not = BENCH_SINGLE | BENCH_SIZES),
	{}
};

BENCH_SUITE(bench_mremap, mremap_ops,
	    BENCH_FILL | BENCH_PATTERN | BENCH_SINGLE, 0, 8);

/* Protecting, and back again. */

static long mprotect_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;
	const unsigned long addr = ptb_arena_addr(&b->a, page);

	return ptb_syscall(PTB_SYS(mprotect), addr, nr * PAGE_SIZE, PROT_READ,
			   0, 0, 0) ?:
	       ptb_syscall(PTB_SYS(mprotect), addr, nr * PAGE_SIZE,
			   PROT_READ | PROT_WRITE, 0, 0, 0) ?: nr;
}

static const struct bench_op mprotect_ops[] = {
	{ .name = "mprotect-toggle", .call = mprotect_call },
	{}
};

BENCH_SUITE(bench_mprotect, mprotect_ops,
	    BENCH_FILL | BENCH_PATTERN | BENCH_SINGLE | BENCH_SIZES | BENCH_MIXED_W,
	    0, 8);

kunit_test_suites(&bench_mincore_suite, &bench_mremap_suite,
		  &bench_mprotect_suite);
