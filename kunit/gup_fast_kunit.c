// SPDX-License-Identifier: GPL-2.0
/* GUP-fast: the rows of gup_rows.c by the calls that try without a lock first. */
#include <kunit/test.h>
#include <linux/mm.h>

#include "kunit/gup_rows.h"
#include "lib/session.h"

/*
 * With a fatal signal pending the slow path gives up at once: what comes back
 * is what the fast path took, also where there is no fast-only call.
 */
static const struct gup_call fast_calls[] = {
	{ PTB_GET_FAST, 0 },
	{ PTB_GET_FAST, FOLL_WRITE },
	{ PTB_GET_FAST, FOLL_FORCE },
	{ PTB_GET_FAST, FOLL_WRITE | FOLL_FORCE },
	{ PTB_GET_FAST, FOLL_NOFAULT },
	{ PTB_GET_FAST, FOLL_WRITE | FOLL_NOFAULT },
	{ PTB_GET_FAST, FOLL_HONOR_NUMA_FAULT },
	{ PTB_GET_FAST, 0, .killed = true },
	{ PTB_GET_FAST_ONLY, 0 },
	{ PTB_GET_FAST_ONLY, FOLL_WRITE },
	{ PTB_PIN_FAST, 0 },
	{ PTB_PIN_FAST, FOLL_WRITE },
	{ PTB_PIN_FAST, FOLL_FORCE },
	{ PTB_PIN_FAST, FOLL_WRITE | FOLL_FORCE },
	{ PTB_PIN_FAST, FOLL_NOFAULT },
	{ PTB_PIN_FAST, FOLL_WRITE | FOLL_NOFAULT },
	{ PTB_PIN_FAST, FOLL_LONGTERM },
	{ PTB_PIN_FAST, FOLL_LONGTERM | FOLL_WRITE },
	{ PTB_PIN_FAST, FOLL_HONOR_NUMA_FAULT },
	{ PTB_PIN_FAST, 0, .killed = true },
	{ PTB_PIN_FAST, FOLL_WRITE, .killed = true },
	{ PTB_PIN_FAST, FOLL_LONGTERM, .killed = true },
	{ PTB_PIN_FAST, FOLL_LONGTERM | FOLL_WRITE, .killed = true },
};

static void gup_fast_rows(struct kunit *test)
{
	gup_run_row(test, test->param_value, fast_calls, ARRAY_SIZE(fast_calls));
}

static void gup_fast_edges(struct kunit *test)
{
	gup_run_edge(test, fast_calls, ARRAY_SIZE(fast_calls));
}

static struct kunit_case gup_fast_cases[] = {
	KUNIT_CASE_PARAM(gup_fast_rows, gup_next_row),
	KUNIT_CASE_PARAM(gup_fast_edges, gup_next_edge),
	{}
};

static struct kunit_suite gup_fast_suite = {
	.name = "gup_fast",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = gup_fast_cases,
};

kunit_test_suite(gup_fast_suite);
