// SPDX-License-Identifier: GPL-2.0
/*
 * What a store costs that meets a write-protected page: reuse after a fork
 * whose child is gone, copy while it lives; and unsharing, for read-only pins.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "kunit/bench.h"
#include "lib/build.h"

/* op->arg */
#define READ_FIRST	1	/* every page is read before the stores */

static bool reuse_before(struct bench *b)
{
	unsigned long i;
	u8 tag;

	if (!bench_fork(b) || !bench_child_exits(b))
		return false;
	for (i = 0; b->op->arg == READ_FIRST && i < b->a.nr; i++)
		if (get_user(tag, (u8 __user *)ptb_arena_addr(&b->a, i)) ||
		    tag != (u8)(ptb_tag(0) + i))
			return bench_fail(b, "cannot read page %lu", i);
	return true;
}

/*
 * One byte that is there already. What is around the store counts, too, so it is
 * no more than has to be.
 */
static long store_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;
	u8 __user *at = (u8 __user *)ptb_arena_addr(&b->a, page);
	const u8 tag = (u8)ptb_tag(0) + page;

	scoped_user_write_access(at, fault)
		unsafe_put_user(tag, at, fault);
	return nr;
fault:
	return -EFAULT;
}

/* Stored to: writable. Not stored to: that, or as the fork left it. */
static int check_stored(struct ptb_arena *a, unsigned long first, void *arg)
{
	struct bench *b = arg;
	const struct ptb_layout *l = &a->space->layout;
	unsigned int i;

	for (i = 0; i < l->nr; i++) {
		char c = ptb_pte_char(a->space->led, 0, i, false);

		if (l->page[i].state != 'w' || c == 'w' ||
		    (!bench_asked(b, first + i) && strchr("esr", c)))
			continue;
		bench_fail(b, "page %lu is %c after the stores", first + i, c);
		return -EINVAL;
	}
	return 0;
}

static bool check_stores(struct bench *b)
{
	return !ptb_arena_each(&b->a, check_stored, b);
}

#define REUSE_OP(_name, ...) {						\
	.name = _name, .size = 1, .before = reuse_before,		\
	.call = store_call, .check = check_stores, .after = bench_heal,	\
	##__VA_ARGS__ }

/* What is about order or distance of the stores says little of the others. */
#define FEW	(BENCH_EXTRA | BENCH_ODD | BENCH_ORDER0)

static const struct bench_op reuse_ops[] = {
	REUSE_OP("reuse"),
	REUSE_OP("reuse-random", .random = true, .not = FEW),
	REUSE_OP("reuse-read", .arg = READ_FIRST, .not = FEW),
	REUSE_OP("reuse-each-64k", .step = 16, .not = FEW),
	REUSE_OP("reuse-each-2M", .step = 512, .not = FEW),
	{}
};

BENCH_SUITE(bench_reuse, reuse_ops,
	    BENCH_FILL | BENCH_SINGLE | BENCH_SIZES | BENCH_MIXED_W, 0, 2);

/* The child lives: it keeps what it shares. */

static bool copy_after(struct bench *b)
{
	return bench_child_exits(b) && !ptb_arena_rebuild(&b->a);
}

static long unshare_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;

	return ptb_fault(b->s.space->mm[0], ptb_arena_addr(&b->a, page),
			 FAULT_FLAG_UNSHARE) ? -EFAULT : nr;
}

static int check_copied(struct ptb_arena *a, unsigned long first, void *arg)
{
	struct bench *b = arg;
	const struct ptb_ledger *led = a->space->led;
	unsigned int i;

	for (i = 0; i < led->nr; i++) {
		const struct ptb_pte *p = &led->pte[0][i];

		if (p->kind == PTB_PAGE && p->excl && !led->folio[p->folio].order)
			continue;
		bench_fail(b, "page %lu was not copied", first + i);
		return -EINVAL;
	}
	return 0;
}

static bool check_copies(struct bench *b)
{
	return !ptb_arena_each(&b->a, check_copied, b);
}

static const struct bench_op cow_ops[] = {
	{ .name = "cow-copy", .size = 1, .dear = true, .before = bench_fork,
	  .call = store_call, .check = check_copies, .after = copy_after },
	{}
};

static const struct bench_op unshare_ops[] = {
	{ .name = "unshare", .size = 1, .dear = true, .before = bench_fork,
	  .call = unshare_call, .check = check_copies, .after = copy_after },
	{}
};

#define COPY_NOT	(BENCH_FILL | BENCH_SINGLE | BENCH_SIZES | \
			 BENCH_MIXED_W | BENCH_EXTRA | BENCH_ODD)

BENCH_SUITE(bench_cow, cow_ops, COPY_NOT, 0, 1);
BENCH_SUITE(bench_unshare, unshare_ops, COPY_NOT, 0, 1);

kunit_test_suites(&bench_reuse_suite, &bench_cow_suite, &bench_unshare_suite);
