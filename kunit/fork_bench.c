// SPDX-License-Identifier: GPL-2.0
/* What fork() costs, what the child's exit does, and unmapping one's own. */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "internal.h"
#include "kunit/bench.h"

static bool fork_before(struct bench *b)
{
	b->child = ptb_mm_new();
	return b->child || bench_fail(b, "no memory for a child");
}

static long fork_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;

	return dup_mmap(b->child, b->s.space->mm[0]) ?: nr;
}

static bool check_child(struct bench *b)
{
	long parent = get_mm_counter_sum(b->s.space->mm[0], MM_ANONPAGES);
	long child = get_mm_counter_sum(b->child, MM_ANONPAGES);

	return (child == parent && child == b->a.nr) ||
	       bench_fail(b, "%ld pages in the parent, %ld in the child, expected %lu",
			  parent, child, b->a.nr);
}

static bool fork_after(struct bench *b)
{
	return bench_child_exits(b) && bench_heal(b);
}

static bool exit_before(struct bench *b)
{
	return bench_fork(b) && check_child(b);
}

static long exit_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;

	mmput(b->child);
	return nr;
}

/* ptb_mm_gone() sees what the child did not give back, the arena the rest. */
static bool exit_after(struct bench *b)
{
	ptb_mm_gone(b->s.space, b->child, 1);
	b->child = NULL;
	return bench_heal(b);
}

static const struct bench_op fork_ops[] = {
	{ .name = "fork", .before = fork_before, .call = fork_call,
	  .check = check_child, .after = fork_after },
	{}
};

static const struct bench_op exit_ops[] = {
	{ .name = "exit-child", .before = exit_before, .call = exit_call,
	  .after = exit_after, .ends_child = true },
	{}
};

/* What a CPU's lists hold decides how soon pages go to the zone's. */
static bool unmap_before(struct bench *b)
{
	drain_local_pages(NULL);
	return true;
}

static long unmap_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;

	return vm_munmap(ptb_arena_addr(&b->a, page), nr * PAGE_SIZE) ?: nr;
}

static bool unmap_check(struct bench *b)
{
	long pages = get_mm_counter_sum(b->s.space->mm[0], MM_ANONPAGES);

	return !pages || bench_fail(b, "%ld pages are left", pages);
}

static bool unmap_after(struct bench *b)
{
	return !ptb_arena_rebuild(&b->a);
}

static const struct bench_op unmap_ops[] = {
	{ .name = "unmap", .dear = true, .before = unmap_before, .call = unmap_call,
	  .check = unmap_check, .after = unmap_after },
	{}
};

#define FORK_NOT	(BENCH_FILL | BENCH_SINGLE | BENCH_SIZES | \
			 BENCH_MIXED_W | BENCH_EXTRA)

BENCH_SUITE(bench_fork, fork_ops, FORK_NOT, 0, 2);
BENCH_SUITE(bench_exit, exit_ops, FORK_NOT, 0, 2);
BENCH_SUITE(bench_unmap, unmap_ops, FORK_NOT, 0, 2);

kunit_test_suites(&bench_fork_suite, &bench_exit_suite, &bench_unmap_suite);
