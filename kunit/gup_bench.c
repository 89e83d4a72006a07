// SPDX-License-Identifier: GPL-2.0
/* What it costs to get or pin user pages, to unpin them, and to populate. */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>

#include "kunit/bench.h"
#include "lib/sys.h"

/* GUP's operations: what bench_op.arg says. */
#define GUP(api, flags)		((api) | (unsigned long)(flags) << 8)
#define GUP_API(arg)		((arg) & 0xff)
#define GUP_FLAGS(arg)		((arg) >> 8)

static bool gup_pins(const struct bench *b)
{
	return ptb_gup_pins(GUP_API(b->op->arg));
}

static void set_request(struct bench *b)
{
	b->req = (struct ptb_gup){ .api = GUP_API(b->op->arg),
				   .flags = GUP_FLAGS(b->op->arg) };
	/* A write would make the read-only pages writable. */
	if (b->row->flags & BENCH_MIXED_W)
		b->req.flags &= ~FOLL_WRITE;
}

static long gup_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;

	b->req.start = ptb_arena_addr(&b->a, page);
	b->req.nr = nr;
	return ptb_gup_call(b->s.space, &b->req, b->pages + page);
}

/* The same request, as far as it is about tile 0, judged by the oracle. */
static bool gup_judge(struct bench *b)
{
	set_request(b);
	b->req.start = ptb_arena_addr(&b->a, b->op->first);
	b->req.nr = min_t(unsigned long, b->size, PTRS_PER_PTE);
	ptb_do_release(&b->s, ptb_do_gup(&b->s, &b->req), PTB_RELEASE_ALL);
	return !b->s.bad;
}

static bool gup_before(struct bench *b)
{
	set_request(b);
	b->acquired = b->s.space->led->acquired;
	return true;
}

/* Each folio must have the references that were asked for, not one more. */
static int check_folios(struct bench *b, const struct ptb_ledger *led,
			const u16 *asked)
{
	unsigned int i;

	for (i = 0; i < led->nr_folios; i++) {
		const struct ptb_frec *rec = &led->folio[i];
		int refs = asked[i], pins = gup_pins(b) ? asked[i] : 0;

		if (rec->zero)
			continue;
		if (!rec->order) {
			refs *= pins ? GUP_PIN_COUNTING_BIAS : 1;
			pins = 0;
		}
		if (rec->refs == rec->mapcount + refs && rec->pins == pins)
			continue;
		bench_fail(b, "folio %u: %d references and %d pins of %d pages, expected %d and %d",
			   i, rec->refs, rec->pins, asked[i],
			   rec->mapcount + refs, pins);
		return -EINVAL;
	}
	return 0;
}

static int check_tile(struct ptb_arena *a, unsigned long first, void *arg)
{
	struct bench *b = arg;
	const struct ptb_ledger *led = a->space->led;
	u16 *asked = kvcalloc(led->nr_folios, sizeof(*asked), GFP_KERNEL);
	unsigned int i;
	int ret = 0;

	if (!asked)
		return -ENOMEM;
	for (i = 0; i < led->nr && !ret; i++) {
		if (!bench_asked(b, first + i))
			continue;
		asked[led->pte[0][i].folio]++;
		if (page_to_pfn(b->pages[first + i]) == ptb_ledger_pfn(led, i))
			continue;
		bench_fail(b, "pages[%lu] has frame %lx, expected %lx", first + i,
			   page_to_pfn(b->pages[first + i]),
			   ptb_ledger_pfn(led, i));
		ret = -EINVAL;
	}
	ret = ret ?: check_folios(b, led, asked);
	kvfree(asked);
	return ret;
}

static bool gup_check(struct bench *b)
{
	const long want = gup_pins(b) ? b->calls * b->size : 0;
	long got;

	if (ptb_arena_each(&b->a, check_tile, b))
		return false;
	got = b->s.space->led->acquired - b->acquired;
	return got == want ||
	       bench_fail(b, "%ld pins counted, expected %ld", got, want);
}

static bool gup_after(struct bench *b)
{
	unsigned long i, j;

	for (i = 0; i < b->calls; i++) {
		struct page **pages = b->pages + b->order[i];

		if (gup_pins(b))
			unpin_user_pages(pages, b->size);
		else
			for (j = 0; j < b->size; j++)
				put_page(pages[j]);
	}
	return true;
}

#define GUP_OP(_name, _api, _flags) {					\
	.name = _name, .arg = GUP(_api, _flags), .judge = gup_judge,	\
	.before = gup_before, .call = gup_call, .check = gup_check,	\
	.after = gup_after }

static const struct bench_op slow_ops[] = {
	GUP_OP("get", PTB_GET, FOLL_WRITE),
	GUP_OP("pin", PTB_PIN, FOLL_WRITE),
	{}
};

static const struct bench_op longterm_ops[] = {
	GUP_OP("pin-longterm", PTB_PIN, FOLL_WRITE | FOLL_LONGTERM),
	{}
};

static const struct bench_op fast_ops[] = {
	GUP_OP("get-fast", PTB_GET_FAST, FOLL_WRITE),
	GUP_OP("pin-fast", PTB_PIN_FAST, FOLL_WRITE),
	{}
};

BENCH_SUITE(bench_gup_slow, slow_ops, BENCH_FILL | BENCH_PATTERN, 0, 8);
BENCH_SUITE(bench_gup_longterm, longterm_ops,
	    BENCH_FILL | BENCH_PATTERN | BENCH_SIZES | BENCH_EXTRA, 0, 8);
BENCH_SUITE(bench_gup_fast, fast_ops, BENCH_FILL | BENCH_PATTERN, 0, 8);

/* Unpinning: the pins are taken before. */

static bool unpin_before(struct bench *b)
{
	unsigned long i;

	set_request(b);
	for (i = 0; i < b->calls; i++)
		if (gup_call(b, b->order[i], b->size) != b->size)
			return bench_fail(b, "cannot pin");
	return true;
}

static long unpin_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;

	unpin_user_pages(b->pages + page, nr);
	return nr;
}

static long unpin_dirty_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;

	unpin_user_pages_dirty_lock(b->pages + page, nr, true);
	return nr;
}

static const struct bench_op unpin_ops[] = {
	{ .name = "unpin", .arg = GUP(PTB_PIN_FAST, FOLL_WRITE),
	  .before = unpin_before, .call = unpin_call },
	{ .name = "unpin-dirty", .arg = GUP(PTB_PIN_FAST, FOLL_WRITE),
	  .before = unpin_before, .call = unpin_dirty_call },
	{}
};

BENCH_SUITE(bench_unpin, unpin_ops,
	    BENCH_FILL | BENCH_PATTERN | BENCH_SIZES | BENCH_EXTRA, 0, 8);

/* Populating what is there, and what is not. */

static long populate_call(void *arg, unsigned long page, unsigned long nr)
{
	struct bench *b = arg;

	return ptb_syscall(PTB_SYS(madvise), ptb_arena_addr(&b->a, page),
			   nr * PAGE_SIZE, MADV_POPULATE_WRITE, 0, 0, 0) ?: nr;
}

static bool fill_check(struct bench *b)
{
	long pages = get_mm_counter_sum(b->s.space->mm[0], MM_ANONPAGES);

	return pages == b->a.nr ||
	       bench_fail(b, "%ld pages are there, expected %lu", pages, b->a.nr);
}

static bool fill_after(struct bench *b)
{
	return !ptb_syscall(PTB_SYS(madvise), b->a.start, b->a.nr * PAGE_SIZE,
			    MADV_DONTNEED, 0, 0, 0) ||
	       bench_fail(b, "madvise(MADV_DONTNEED) failed");
}

static const struct bench_op populate_ops[] = {
	{ .name = "populate", .call = populate_call, .not = BENCH_FILL },
	{}
};

static const struct bench_op fill_ops[] = {
	{ .name = "fill-4k", .call = populate_call, .check = fill_check,
	  .after = fill_after },
	{ .name = "fill-64k", .call = populate_call, .check = fill_check,
	  .after = fill_after, .orders = BIT(4) },
	{ .name = "fill-2M", .call = populate_call, .check = fill_check,
	  .after = fill_after, .orders = BIT(9) },
	{}
};

BENCH_SUITE(bench_populate, populate_ops,
	    BENCH_FILL | BENCH_PATTERN | BENCH_SIZES | BENCH_EXTRA | BENCH_MIXED_W,
	    0, 8);
BENCH_SUITE(bench_fill, fill_ops, BENCH_HOLES, BENCH_FILL, 2);

kunit_test_suites(&bench_gup_slow_suite, &bench_gup_fast_suite,
		  &bench_gup_longterm_suite, &bench_unpin_suite,
		  &bench_populate_suite, &bench_fill_suite);
