/* SPDX-License-Identifier: GPL-2.0 */
/* What the GUP suites share: the pictures, and crossing them with calls. */
#ifndef PTEBATCH_GUP_ROWS_H
#define PTEBATCH_GUP_ROWS_H

#include <kunit/test.h>
#include <linux/bits.h>

#include "lib/ops.h"

/* Anonymous folios have no order 1; n is 1, 4, 8 ... 512 pages. */
#define LARGE		GENMASK(9, 2)
#define ALL_ORDERS	(LARGE | BIT(0))
/* One below, one at and one above an arm64 block of 4K pages, and the PMD. */
#define SOME_ORDERS	(BIT(2) | BIT(4) | BIT(5) | BIT(9))

/**
 * struct gup_row - a picture to be asked for pages
 * @name: of the row
 * @picture: see lib/layout.h; a '?' stands for one odd entry
 * @orders: n is 1 << each of them; 0 if n does not occur
 * @odd: states to put for '?'
 * @offset: bytes behind the page's start at which the request begins
 * @mov: needs a movable zone
 */
struct gup_row {
	const char *name;
	const char *picture;
	unsigned long orders;
	const char *odd;
	unsigned int offset;
	bool mov;
};

/**
 * struct gup_call - how to ask
 * @api: which function
 * @flags: FOLL_*
 * @no_pages: pages == NULL
 * @killed: with a SIGKILL pending
 */
struct gup_call {
	enum ptb_gup_api api;
	unsigned int flags;
	bool no_pages;
	bool killed;
};

const void *gup_next_row(struct kunit *test, const void *prev, char *desc);
const void *gup_next_edge(struct kunit *test, const void *prev, char *desc);
void gup_run_edge(struct kunit *test, const struct gup_call *calls,
		  unsigned int nr_calls);
void gup_run_row(struct kunit *test, const struct gup_row *row,
		 const struct gup_call *calls, unsigned int nr_calls);

#endif /* PTEBATCH_GUP_ROWS_H */
