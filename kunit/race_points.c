// SPDX-License-Identifier: GPL-2.0
/*
 * GUP-fast and something that changes page tables, step by step: a thread stops
 * in GUP-fast, the operation runs, and what the thread returns is compared with
 * what it can have seen.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/sched/signal.h>

#include "kunit/race_ops.h"
#include "lib/race.h"

struct points {
	struct race r;
	const struct race_row *row;
	struct ptb_pinner pinner;
	struct rnd_state rnd;
	unsigned int round;
	unsigned int start;		/* first page of the request */
	unsigned int seq;		/* mm->write_protect_seq before */
	struct ptb_view old[RACE_MAX_PAGES];
	struct ptb_view new[RACE_MAX_PAGES];
	unsigned int met[PTB_NR_POINTS];
	unsigned int late;
	unsigned int whole;
	unsigned int done;
	unsigned int full;
	unsigned int some;
};

static const char * const point_names[] = {
	[PTB_POINT_READ] = "the entry is read",
	[PTB_POINT_REF] = "the reference is taken",
	[PTB_POINT_PIN] = "the folio is grabbed",
	[PTB_POINT_NEXT] = "the first page is taken",
};

static unsigned int below(struct points *c, unsigned int n)
{
	return prandom_u32_state(&c->rnd) % n;
}

static void choose(struct points *c)
{
	struct ptb_gup *req = &c->pinner.req;
	const unsigned int nr = c->row->nr;

	c->start = below(c, nr - 1);
	*req = (struct ptb_gup){
		.api = below(c, 4) ? PTB_PIN_FAST : PTB_GET_FAST,
		.flags = below(c, 2) ? FOLL_WRITE : 0,
		.start = race_addr(&c->r, c->start, 0),
		.nr = 2 + below(c, min(nr - c->start, PTB_RACE_PAGES) - 1),
		.killed = below(c, 2),
	};
	switch (below(c, 4)) {
	case 0:
		c->r.from = 0;
		break;
	case 1:
		c->r.from = c->start;
		break;
	default:
		c->r.from = c->start + below(c, req->nr);
	}
	c->pinner.budget = c->row->op->budget * USEC_PER_MSEC;
	c->pinner.point = c->round % (c->row->pmd ? PTB_POINT_NEXT : PTB_NR_POINTS);
}

static __printf(2, 3) void wrong(struct points *c, const char *fmt, ...)
{
	const struct ptb_gup *req = &c->pinner.req;
	char text[100], flags[40];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ptb_space_fail(c->r.s.space,
		       "round %u, from page %u while %s%s of %s(%s%s), pages %u to %lu: %s",
		       c->round, c->r.from, point_names[c->pinner.point],
		       c->pinner.met ? "" : " (missed)", ptb_gup_name(req->api),
		       ptb_foll_names(req->flags, flags, sizeof(flags)),
		       req->killed ? ", killed" : "", c->start,
		       c->start + req->nr - 1, text);
	c->r.s.bad = true;
}

/*
 * May the call have returned @pfn? A pinned page stays what is mapped, unless the
 * operation is to take it away. Otherwise it is what the entry was when the
 * thread went on, or has become since: it is read again after that. Only where
 * the thread had taken pages before it was held these may be the former ones.
 */
static bool may_be(struct points *c, unsigned int i, unsigned long pfn)
{
	const struct race_op *op = c->row->op;
	struct ptb_pinner *p = &c->pinner;
	bool keeps = op->keeps && (p->req.api == PTB_PIN_FAST || !op->forks);

	if (pfn == c->new[c->start + i].pfn)
		return true;
	if (keeps)
		return false;
	/* A read fault may have come before the operation's write fault. */
	if (is_zero_pfn(pfn))
		return !p->req.killed;
	if (p->held && pfn == p->seen[i].pfn)
		return true;
	return (!p->held || p->point == PTB_POINT_NEXT) &&
	       pfn == c->old[c->start + i].pfn;
}

/* The same for an entry that no longer lets stores through. */
static bool may_write(struct points *c, unsigned int i)
{
	struct ptb_pinner *p = &c->pinner;

	return !p->held || p->point == PTB_POINT_NEXT || !p->req.killed ||
	       !(p->req.flags & FOLL_WRITE) || p->seen[i].write ||
	       c->new[c->start + i].write;
}

static void judge_pages(struct points *c)
{
	struct ptb_pinner *p = &c->pinner;
	unsigned int i;

	if (p->ret > (long)p->req.nr)
		wrong(c, "returned %ld", p->ret);
	for (i = 0; i < p->ret && !c->r.s.bad; i++) {
		unsigned long pfn = page_to_pfn(p->pages[i]);

		if (!may_be(c, i, pfn))
			wrong(c, "pages[%u] is %#lx; before %#lx, seen %#lx, now %#lx",
			      i, pfn, c->old[c->start + i].pfn,
			      p->held ? p->seen[i].pfn : 0,
			      c->new[c->start + i].pfn);
		else if (!may_write(c, i))
			wrong(c, "pages[%u] is mapped read-only", i);
	}
	if (c->row->op->forks && p->req.api == PTB_PIN_FAST && p->req.killed &&
	    p->met && (p->seq & 1 || p->seq != c->seq) && p->ret > 0)
		wrong(c, "returned %ld although fork() came in between", p->ret);
}

/* Nothing but the answer holds the folio, exactly once a page. */
static void judge_folio(struct points *c, struct folio *folio)
{
	struct ptb_pinner *p = &c->pinner;
	int taken = 0, pinned, refs;
	unsigned int i;

	if (is_zero_folio(folio))
		return;
	for (i = 0; i < p->ret; i++)
		taken += page_folio(p->pages[i]) == folio;
	pinned = p->req.api == PTB_PIN_FAST ? taken : 0;
	if (!folio_test_large(folio)) {
		/* Batches of the LRU may have references, but no pins. */
		refs = folio_ref_count(folio) / GUP_PIN_COUNTING_BIAS;
		if (refs != pinned)
			wrong(c, "an order-0 folio has %d pins, expected %d",
			      refs, pinned);
		return;
	}
	refs = folio_ref_count(folio) - folio_mapcount(folio);
	if (refs != taken)
		wrong(c, "a folio has %d references more than mappings, expected %d",
		      refs, taken);
	if (atomic_read(&folio->_pincount) != pinned)
		wrong(c, "a folio has pin count %d, expected %d",
		      atomic_read(&folio->_pincount), pinned);
}

static void judge_counts(struct points *c)
{
	struct folio *folio = NULL;
	unsigned int i;

	for (i = 0; i < c->r.nr && !c->r.s.bad; i++) {
		unsigned long pfn = c->new[i].pfn;

		if (!pfn || (folio && folio == pfn_folio(pfn)))
			continue;
		folio = pfn_folio(pfn);
		judge_folio(c, folio);
	}
	for (i = 0; i < c->pinner.ret && !c->r.s.bad; i++)
		judge_folio(c, page_folio(c->pinner.pages[i]));
}

/*
 * The pins are held, and everything happens once more. Where pages stay, stores
 * through the mapping are seen through the pin; else the pin keeps the page from
 * being used for something else.
 */
static void judge_held(struct points *c)
{
	const struct race_op *op = c->row->op;
	struct ptb_pinner *p = &c->pinner;
	const u64 value = (u64)(c->round + 1) << 32;
	unsigned int i;

	if (p->req.api != PTB_PIN_FAST || p->ret <= 0 || c->r.s.bad)
		return;
	if (op->keeps) {
		op->run(&c->r);
		if (op->undo)
			op->undo(&c->r);
	}
	if (race_store(&c->r, 0, c->r.nr, RACE_MAIN, value))
		wrong(c, "cannot store");
	ptb_view(c->r.s.space->mm[0], race_addr(&c->r, 0, 0), c->r.nr, c->new);
	for (i = 0; i < p->ret && !c->r.s.bad; i++) {
		const unsigned int page = c->start + i;

		if (!op->keeps) {
			if (!is_zero_page(p->pages[i]) &&
			    race_word(p->pages[i], RACE_TAG) != race_tag(page))
				wrong(c, "pages[%u] was reused", i);
		} else if (page_to_pfn(p->pages[i]) != c->new[page].pfn ||
			   race_word(p->pages[i], RACE_MAIN) != value + page) {
			wrong(c, "pages[%u] was replaced under its pin", i);
		}
	}
}

static void count(struct points *c, bool done)
{
	struct ptb_pinner *p = &c->pinner;

	c->met[p->point] += p->met;
	c->late += p->held && !p->met;
	c->whole += p->whole;
	c->done += done;
	c->full += p->ret == p->req.nr;
	c->some += p->ret > 0 && p->ret < p->req.nr;
}

static void one_round(struct points *c)
{
	struct mm_struct *mm = c->r.s.space->mm[0];
	const unsigned long addr = race_addr(&c->r, 0, 0);
	const struct race_op *op = c->row->op;
	bool done;

	choose(c);
	if (race_fresh(&c->r)) {
		wrong(c, "cannot fault pages in");
		return;
	}
	ptb_view(mm, addr, c->r.nr, c->old);
	c->seq = READ_ONCE(mm->write_protect_seq.sequence);
	ptb_pinner_ask(&c->pinner);
	done = !op->run(&c->r);
	ptb_pinner_answer(&c->pinner);
	count(c, done);
	ptb_view(mm, addr, c->r.nr, c->new);
	judge_pages(c);
	judge_counts(c);
	if (op->undo)
		op->undo(&c->r);
	judge_held(c);
	ptb_pinner_release(&c->pinner);
}

static void report_points(struct kunit *test, struct points *c)
{
	enum ptb_point point;

	kunit_info(test, "seed %u: %u rounds, met while the entry is read %u, the reference is taken %u, the folio is grabbed %u, the first page is taken %u times\n",
		   ptb_seed, c->round, c->met[PTB_POINT_READ],
		   c->met[PTB_POINT_REF], c->met[PTB_POINT_PIN],
		   c->met[PTB_POINT_NEXT]);
	kunit_info(test, "operations possible %u, too late %u, over before GUP-fast went on %u, calls with all pages %u, with some %u\n",
		   c->done, c->late, c->whole, c->full, c->some);
	if (c->r.s.bad)
		return;
	for (point = 0; point < PTB_NR_POINTS - c->row->pmd; point++)
		KUNIT_EXPECT_GT_MSG(test, c->met[point], 0, "never met while %s",
				    point_names[point]);
	KUNIT_EXPECT_GT_MSG(test, c->done, 0, "the operation was never possible");
}

/**
 * race_run_points() - a row, step by step
 * @test: the case
 * @row: the row
 */
void race_run_points(struct kunit *test, const struct race_row *row)
{
	struct points *c;
	int ret;

	c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	c->row = row;
	prandom_seed_state(&c->rnd, ptb_seed);
	ptb_watch_start(test, PTB_DEADLINE);
	if (!race_begin(test, c->row, &c->r))
		goto out;
	ret = ptb_pinner_start(&c->pinner, c->r.s.space->mm[0]);
	if (ret) {
		KUNIT_FAIL(test, "cannot stop in GUP-fast: %d", ret);
	} else {
		for (; c->round < c->row->rounds && !c->r.s.bad &&
		     !fatal_signal_pending(current); c->round++)
			one_round(c);
		ptb_pinner_stop(&c->pinner);
		report_points(test, c);
	}
	race_end(&c->r);
out:
	ptb_watch_stop(test);
}
