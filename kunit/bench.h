/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Benchmarks: operations, timed on pictures. What is the same for all of them
 * is in bench.c; a *_bench.c file is a table of operations.
 */
#ifndef PTEBATCH_BENCH_H
#define PTEBATCH_BENCH_H

#include <kunit/test.h>

#include "lib/arena.h"
#include "lib/measure.h"
#include "lib/session.h"

/* What a row is, and what an operation does not run on. */
enum bench_flags {
	BENCH_SCATTER	= 1 << 0,	/* order-0 frames in random order */
	BENCH_MIXED_W	= 1 << 1,	/* some pages are read-only */
	BENCH_PMD	= 1 << 2,	/* mapped by PMDs */
	BENCH_HOLES	= 1 << 3,	/* not every page is mapped */
	BENCH_SINGLE	= 1 << 4,	/* one page here and there is asked for */
	BENCH_SIZES	= 1 << 5,	/* by pages a call */
	BENCH_FILL	= 1 << 6,	/* not all of it is mapped yet */
	BENCH_PATTERN	= 1 << 7,	/* by order of stores */
	BENCH_ORDER0	= 1 << 8,	/* no large folio */
	BENCH_ODD	= 1 << 9,	/* orders, or bits, that vary */
	BENCH_EXTRA	= 1 << 10,	/* a folio size in between */
};

/**
 * struct bench_row - a picture to be measured
 * @name: without spaces
 * @picture: see lib/layout.h
 * @times: how often that stands in a page table
 * @flags: what it is
 * @tiles: how many of them, 0: as many as the suite wants
 * @size: pages a call, 0: all in one
 * @step: distance of the calls, 0: @size
 */
struct bench_row {
	const char *name;
	const char *picture;
	unsigned int times;
	unsigned int flags;
	unsigned int tiles;
	unsigned int size;
	unsigned int step;
};

struct bench;

/**
 * struct bench_op - an operation to be measured
 * @name: without spaces
 * @not: flags of rows that it does not run on
 * @dear: memory has to be built anew for each pass
 * @orders: of folios that a fault may bring, while it runs
 * @arg: the operation's own
 * @first: page of the first call
 * @size: pages a call, instead of the row's
 * @step: distance of the calls, instead of the row's
 * @random: calls in random order
 * @ends_child: the calls end what @before made
 * @judge: once, on tile 0, judged by the oracle
 * @before: before each pass; all of these return false when they have failed
 * @call: timed; returns its @nr if all went well
 * @check: after the first pass, which is not timed: the books
 * @after: after each pass: bring back what was
 */
struct bench_op {
	const char *name;
	unsigned int not;
	bool dear;
	unsigned long orders;
	unsigned long arg;
	unsigned int first;
	unsigned int size;
	unsigned int step;
	bool random;
	bool ends_child;
	bool (*judge)(struct bench *b);
	bool (*before)(struct bench *b);
	ptb_call_fn call;
	bool (*check)(struct bench *b);
	bool (*after)(struct bench *b);
};

/**
 * struct bench - a row at work
 * @test: the case
 * @row: the row
 * @op: the operation
 * @s: the session; its space is tile 0 of @a
 * @a: what is measured on
 * @size: pages a call
 * @step: distance of the calls
 * @calls: how many
 * @order: number of the page of each call
 * @pages: for GUP, where each page has its place
 * @req: for GUP
 * @acquired: for GUP: pins ever taken, before
 * @child: of fork, alive
 */
struct bench {
	struct kunit *test;
	const struct bench_row *row;
	const struct bench_op *op;
	struct ptb_session s;
	struct ptb_arena a;
	unsigned long size;
	unsigned long step;
	unsigned long calls;
	u32 *order;
	struct page **pages;
	struct ptb_gup req;
	long acquired;
	struct mm_struct *child;
};

void bench_run(struct kunit *test, const struct bench_op *ops,
	       unsigned int tiles);
const void *bench_next(const void *prev, char *desc, unsigned int not,
		       unsigned int only);
bool bench_fail(struct bench *b, const char *fmt, ...) __printf(2, 3);
bool bench_asked(const struct bench *b, unsigned long page);
bool bench_heal(struct bench *b);
bool bench_fork(struct bench *b);
bool bench_child_exits(struct bench *b);

/*
 * A suite of one case: operations @_ops, with {} behind the last one, on the
 * rows that have none of the flags @_not and, unless it is 0, one of @_only, on
 * @_tiles tiles.
 */
#define BENCH_SUITE(_name, _ops, _not, _only, _tiles)			\
static const void *_name##_next(struct kunit *test, const void *prev,	\
				char *desc)				\
{									\
	return bench_next(prev, desc, _not, _only);			\
}									\
static void _name##_rows(struct kunit *test)				\
{									\
	bench_run(test, _ops, _tiles);					\
}									\
static struct kunit_case _name##_cases[] = {				\
	KUNIT_CASE_PARAM_ATTR(_name##_rows, _name##_next,		\
			      { .speed = KUNIT_SPEED_SLOW }),		\
	{}								\
};									\
static struct kunit_suite _name##_suite = {				\
	.name = #_name,							\
	.suite_init = ptb_suite_init,					\
	.suite_exit = ptb_suite_exit,					\
	.test_cases = _name##_cases,					\
}

#endif /* PTEBATCH_BENCH_H */
