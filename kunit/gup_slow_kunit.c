// SPDX-License-Identifier: GPL-2.0
/* GUP-slow: the rows of gup_rows.c by every call that takes the mmap lock. */
#include <kunit/test.h>
#include <linux/mm.h>

#include "kunit/gup_rows.h"
#include "lib/session.h"

static const struct gup_call slow_calls[] = {
	{ PTB_GET, 0 },
	{ PTB_GET, FOLL_WRITE },
	{ PTB_GET, FOLL_FORCE },
	{ PTB_GET, FOLL_WRITE | FOLL_FORCE },
	{ PTB_GET, FOLL_NOFAULT },
	{ PTB_GET, FOLL_WRITE | FOLL_NOFAULT },
	{ PTB_GET, FOLL_HONOR_NUMA_FAULT },
	{ PTB_GET, FOLL_HWPOISON },
	{ PTB_GET, 0, .no_pages = true },
	{ PTB_GET, FOLL_WRITE, .no_pages = true },
	{ PTB_GET, 0, .killed = true },
	{ PTB_GET, FOLL_NOWAIT },
	{ PTB_GET, FOLL_WRITE | FOLL_NOWAIT },
	/* what get_dump_page() asks for, and the same without force */
	{ PTB_GET, FOLL_DUMP | FOLL_FORCE },
	{ PTB_GET, FOLL_DUMP },
	{ PTB_POPULATE, 0, .no_pages = true },
	{ PTB_POPULATE, FOLL_WRITE, .no_pages = true },
	{ PTB_POPULATE, 0, .no_pages = true, .killed = true },
	{ PTB_PIN, 0 },
	{ PTB_PIN, FOLL_WRITE },
	{ PTB_PIN, FOLL_WRITE | FOLL_NOWAIT },
	{ PTB_PIN, FOLL_FORCE },
	{ PTB_PIN, FOLL_WRITE | FOLL_FORCE },
	{ PTB_PIN, FOLL_NOFAULT },
	{ PTB_PIN, FOLL_WRITE | FOLL_NOFAULT },
	{ PTB_PIN, FOLL_LONGTERM },
	{ PTB_PIN, FOLL_LONGTERM | FOLL_WRITE },
	{ PTB_PIN, FOLL_LONGTERM | FOLL_WRITE | FOLL_FORCE },
	{ PTB_PIN, FOLL_HONOR_NUMA_FAULT },
	{ PTB_PIN, FOLL_WRITE, .killed = true },
	{ PTB_GET_UNLOCKED, 0 },
	{ PTB_GET_UNLOCKED, FOLL_WRITE },
	{ PTB_PIN_UNLOCKED, 0 },
	{ PTB_PIN_UNLOCKED, FOLL_WRITE },
	{ PTB_PIN_UNLOCKED, FOLL_LONGTERM },
	{ PTB_PIN_UNLOCKED, FOLL_WRITE, .killed = true },
	{ PTB_GET_REMOTE, FOLL_WRITE },
	{ PTB_PIN_REMOTE, 0 },
	{ PTB_PIN_REMOTE, FOLL_WRITE | FOLL_FORCE },
	{ PTB_PIN_REMOTE, FOLL_LONGTERM },
};

static void gup_slow_rows(struct kunit *test)
{
	gup_run_row(test, test->param_value, slow_calls, ARRAY_SIZE(slow_calls));
}

static void gup_slow_edges(struct kunit *test)
{
	gup_run_edge(test, slow_calls, ARRAY_SIZE(slow_calls));
}

static struct kunit_case gup_slow_cases[] = {
	KUNIT_CASE_PARAM(gup_slow_rows, gup_next_row),
	KUNIT_CASE_PARAM(gup_slow_edges, gup_next_edge),
	{}
};

static struct kunit_suite gup_slow_suite = {
	.name = "gup_slow",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = gup_slow_cases,
};

kunit_test_suite(gup_slow_suite);
