// SPDX-License-Identifier: GPL-2.0
/* GUP-slow: the rows of gup_rows.c by every call that takes the mmap lock. */
#include <kunit/test.h>
#include <linux/mm.h>

#include "kunit/gup_rows.h"
#include "lib/session.h"

/**
 * struct gup_event - something that happens in the middle of a request
 * @name: of the row
 * @picture: asked for from its first to its last page
 * @after: pages taken by then, if it is not the picture that says when
 */
struct gup_event {
	const char *name;
	const char *picture;
	unsigned int after;
};

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

/*
 * In a shared file mapping, the write fault that makes a clean folio dirty drops
 * the mmap lock (fault_dirty_shared_page()), and GUP goes on at the page whose
 * fault it was. What was taken before must not be taken again, nor lost.
 */
static const struct gup_event unlocked_rows[] = {
	{ "at the first page", "(shm)f*8" },
	{ "at each page of some", "(shm)w*5f*6w*5" },
	{ "at the second folio of three", "(shm)[w*n][f*n][w*n]" },
	{ "in the middle of a folio", "(shm)[w*n/2f*n/2]" },
	{ "at the last page", "(shm)[w*n]w*3f" },
};

KUNIT_ARRAY_PARAM_DESC(unlocked, unlocked_rows, name);

static void clean_folios(struct ptb_session *s)
{
	struct ptb_ledger *led = s->space->led;
	unsigned int i;

	for (i = 0; i < led->nr_folios; i++)
		if (!led->folio[i].zero)
			folio_clear_dirty(page_folio(pfn_to_page(led->folio[i].head)));
	if (ptb_ledger_read(s->space, led, led))
		ptb_space_fail(s->space, "cannot read the books");
}

static void gup_slow_unlocked(struct kunit *test)
{
	const struct gup_event *row = test->param_value;
	struct ptb_gup req = {
		.api = PTB_GET_REMOTE, .flags = FOLL_WRITE, .unlockable = true,
	};
	struct ptb_session s;
	struct ptb_taken *t;

	ptb_watch_start(test, PTB_DEADLINE);
	if (ptb_begin(&s, test, row->picture, 16)) {
		clean_folios(&s);
		req.start = ptb_addr(s.space, 0);
		req.nr = s.space->layout.nr;
		t = ptb_do_gup(&s, &req);
		if (t)
			KUNIT_EXPECT_TRUE_MSG(test, t->unlocked,
					      "the row means to drop the mmap lock");
		ptb_do_release(&s, t, PTB_RELEASE_EACH);
		ptb_end(&s);
	}
	ptb_watch_stop(test);
}

/* A fatal signal that arrives when @after pages have been taken. */
static const struct gup_event killed_rows[] = {
	{ "after the first page", "w*16", .after = 1 },
	{ "after 100 pages", "w*300^w*300", .after = 100 },
	{ "after the last page of a page table", "w*300^w*300", .after = 300 },
	{ "in the second page table", "w*20^w*300", .after = 100 },
	{ "before a hole", "w*60.w*60", .after = 40 },
};

KUNIT_ARRAY_PARAM_DESC(killed, killed_rows, name);

static void gup_slow_killed(struct kunit *test)
{
	static const unsigned int flags[] = { 0, FOLL_WRITE, FOLL_LONGTERM };
	const struct gup_event *row = test->param_value;
	struct ptb_session s;
	unsigned int i;

	ptb_watch_start(test, PTB_DEADLINE);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		struct ptb_gup req = {
			.api = PTB_PIN, .flags = flags[i],
			.kill_after = row->after,
		};

		if (!ptb_begin(&s, test, row->picture, 0))
			break;
		req.start = ptb_addr(s.space, 0);
		req.nr = s.space->layout.nr;
		ptb_do_release(&s, ptb_do_gup(&s, &req), PTB_RELEASE_ALL);
		if (!ptb_end(&s))
			break;
	}
	ptb_watch_stop(test);
}

static struct kunit_case gup_slow_cases[] = {
	KUNIT_CASE_PARAM(gup_slow_rows, gup_next_row),
	KUNIT_CASE_PARAM(gup_slow_edges, gup_next_edge),
	KUNIT_CASE_PARAM(gup_slow_unlocked, unlocked_gen_params),
	KUNIT_CASE_PARAM(gup_slow_killed, killed_gen_params),
	{}
};

static struct kunit_suite gup_slow_suite = {
	.name = "gup_slow",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = gup_slow_cases,
	.attr = { .speed = KUNIT_SPEED_SLOW },
};

kunit_test_suite(gup_slow_suite);
