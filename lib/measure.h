/* SPDX-License-Identifier: GPL-2.0 */
/* Timing one call after the other, and printing what came out. */
#ifndef PTEBATCH_MEASURE_H
#define PTEBATCH_MEASURE_H

#include <linux/types.h>

#include "lib/arena.h"

struct kunit;

/**
 * struct ptb_measure - the figures of one row
 * @op: name of the operation, without spaces
 * @row: name of the row, without spaces
 * @pages: pages of one pass, what costs are divided by
 * @calls: calls of one pass
 * @faults: page faults of one pass
 * @neighbours: pages whose frame is behind that of the page before, or -1
 * @passes: how many passes there are
 * @pass: the cost of each pass
 * @call: the cost of each call of each pass, @passes times @calls
 * @nr: calls so far
 * @number: of the row, in this boot
 * @empty: what an empty call costs
 */
struct ptb_measure {
	const char *op;
	const char *row;
	unsigned long pages;
	unsigned long calls;
	unsigned long faults;
	long neighbours;
	unsigned int passes;
	u64 *pass;
	u32 *call;
	unsigned long nr;
	unsigned int number;
	u64 empty;
};

/* One call: returns how many pages it was about, or -errno. */
typedef long (*ptb_call_fn)(void *arg, unsigned long page, unsigned long nr);

unsigned int ptb_measure_passes(bool dear);
int ptb_measure_init(struct ptb_measure *m, unsigned int passes,
		     unsigned long calls);
void ptb_measure_exit(struct ptb_measure *m);
void ptb_measure_begin(struct ptb_measure *m, struct ptb_arena *a,
		       struct mm_struct *child);
void ptb_measure_end(struct ptb_measure *m, struct ptb_arena *a,
		     struct mm_struct *child);
long ptb_measure_call(struct ptb_measure *m, ptb_call_fn call, void *arg,
		      unsigned long page, unsigned long nr);
void ptb_measure_print(struct kunit *test, struct ptb_measure *m);

#endif /* PTEBATCH_MEASURE_H */
