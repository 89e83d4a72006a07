// SPDX-License-Identifier: GPL-2.0
/*
 * Requests at the edges of what may be asked for: no pages, addresses outside
 * of any VMA and of user space, lengths that wrap, tagged addresses.
 */
#include <linux/mm.h>
#include <linux/sched.h>

#include "kunit/gup_rows.h"
#include "lib/session.h"

/*
 * start is page @page of the layout, or @addr, or @top bytes below the end of
 * user space, or kernel memory, if one of those is set
 */
static const struct gup_edge {
	const char *name;
	const char *picture;
	long page;
	unsigned long addr;
	unsigned long top;
	bool kernel;
	unsigned long nr;
	unsigned int tag;
	const char *fast_bug;
} gup_edges[] = {
	/*
	 * "If nr_pages is 0 or negative, returns 0" (mm/gup.c), which the fast
	 * calls do not do, as of 7.3.4: gup_fast() runs with start == end, and
	 * the do-while loops of its walkers look at the end after the first
	 * step. So it takes pages until the first one that it cannot take, and
	 * writes all of them behind pages[]. An expected failure until then.
	 */
	{ "nr_pages 0", "[w*16]", .nr = 0,
	  .fast_bug = "the fast walkers take pages when asked for none" },
	{ "nr_pages 0, at a hole", "w.", .page = 1, .nr = 0 },
	{ "nr_pages 0, nothing mapped there", "w", .page = 64, .nr = 0 },
	/* more than there is */
	{ "behind the last VMA", "[w*16]", .page = 64, .nr = 1 },
	{ "in front of the first VMA", "[w*16]", .page = -1, .nr = 2 },
	{ "over the end of the last VMA", "[w*16]", .page = 8, .nr = 16 },
	{ "in a gap between VMAs", "ww|--|ww", .page = 2, .nr = 3 },
	{ "the null page", "w", .addr = 0x10, .nr = 1 },
	{ "the last page of user space", "w", .top = PAGE_SIZE,
	  .nr = 1 },
	{ "over the end of user space", "w", .top = PAGE_SIZE,
	  .nr = 2 },
	{ "kernel memory", "w", .kernel = true, .nr = 1 },
	{ "the last page there is", "w", .addr = PAGE_MASK, .nr = 1 },
	/* start + nr_pages * PAGE_SIZE overflows */
	{ "a length that wraps", "[w*16]", .nr = ULONG_MAX >> PAGE_SHIFT },
	{ "a length that wraps to nothing", "[w*16]",
	  .nr = (ULONG_MAX >> PAGE_SHIFT) + 1 },
	{ "a length that fits no address space", "[w*16]",
	  .nr = INT_MAX },
	{ "wraps from the last page", "w", .addr = PAGE_MASK, .nr = 2 },
	/* arm64 ignores the top byte */
	{ "tagged", "[w*16]", .nr = 16, .tag = 0x5a },
	{ "tagged, from the middle", "[w*16]", .page = 5, .nr = 7, .tag = 0xff },
	{ "tagged, behind the last VMA", "[w*16]", .page = 64, .nr = 1,
	  .tag = 0x11 },
};

/** gup_next_edge() - KUnit's generator of parameters, as gup_next_row() */
const void *gup_next_edge(struct kunit *test, const void *prev, char *desc)
{
	const struct gup_edge *edge = prev ? (const struct gup_edge *)prev + 1 :
					     gup_edges;

	if (!prev)
		kunit_register_params_array(test, gup_edges,
					    ARRAY_SIZE(gup_edges), NULL);
	if (edge == gup_edges + ARRAY_SIZE(gup_edges))
		return NULL;
	strscpy(desc, edge->name, KUNIT_PARAM_DESC_SIZE);
	return edge;
}

/* Run the request by one call; @test may be a stand-in. */
static bool run_call(struct kunit *test, const struct gup_edge *edge,
		     const struct gup_call *call)
{
	struct ptb_session s;
	struct ptb_taken *t;
	struct ptb_gup req = {
		.api = call->api, .flags = call->flags, .nr = edge->nr,
		.no_pages = call->no_pages, .killed = call->killed,
	};

	/* The fast calls take an int. */
	if (req.api >= PTB_GET_FAST && edge->nr > INT_MAX)
		return true;
	if (!ptb_begin(&s, test, edge->picture, 0))
		return false;
	req.start = edge->addr ?: ptb_addr(s.space, edge->page);
	if (edge->kernel)
		req.start = PAGE_OFFSET;
	if (edge->top)
		req.start = TASK_SIZE - edge->top;
	req.start |= (unsigned long)edge->tag << 56;
	t = ptb_do_gup(&s, &req);
	ptb_do_release(&s, t, PTB_RELEASE_ALL);
	return ptb_end(&s);
}

/**
 * gup_run_edge() - one request by all calls
 * @test: the case, its parameter is the request
 * @calls: the calls
 * @nr_calls: how many
 */
void gup_run_edge(struct kunit *test, const struct gup_call *calls,
		  unsigned int nr_calls)
{
	const struct gup_edge *edge = test->param_value;
	struct kunit *judge = test;
	unsigned int i;

	if (edge->fast_bug && calls[0].api >= PTB_GET_FAST) {
		judge = kunit_kzalloc(test, sizeof(*judge), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, judge);
		kunit_init_test(judge, "expected", NULL);
	}
	ptb_watch_start(test, PTB_DEADLINE);
	for (i = 0; i < nr_calls; i++)
		if (!run_call(judge, edge, &calls[i]) && judge == test)
			break;
	/* A hang or a splat is nothing that was expected. */
	if (!ptb_watch_stop(test) || judge == test)
		return;
	kunit_cleanup(judge);
	if (judge->status == KUNIT_FAILURE)
		kunit_skip(test, "XFAIL: %s", edge->fast_bug);
}
