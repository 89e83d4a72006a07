// SPDX-License-Identifier: GPL-2.0
/*
 * GUP-fast and something that changes page tables, as things come: threads pin
 * pages and look at them while another one does its operation again and again.
 */
#include <kunit/test.h>
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "kunit/race_ops.h"
#include "lib/race.h"

#define STRESS_THREADS	3
#define STRESS_PAGES	24
#define STRESS_REPEAT	4	/* operations until all pages are new again */

/**
 * struct stresser - a thread that pins
 * @st: what it takes part in
 * @task: the thread
 * @nr: its number
 * @rnd: its choices
 * @begun: calls it has begun
 * @calls: and those that returned
 * @last: @begun when an operation last began because of it
 * @met: those that an operation overlapped with
 * @less: those with less pages than asked for
 * @wrong: what it found, or NULL
 */
struct stresser {
	struct stress *st;
	struct task_struct *task;
	unsigned int nr;
	struct rnd_state rnd;
	unsigned long begun;
	unsigned long calls;
	unsigned long last;
	unsigned long met;
	unsigned long less;
	const char *wrong;
};

/**
 * struct stress - threads that pin, and one that is in their way
 * @r: the mm
 * @row: the row
 * @gate: pins are held with it read-locked: all pages are new with it
 *	write-locked
 * @seq: odd while an operation runs
 * @thread: those that pin
 */
struct stress {
	struct race r;
	const struct race_row *row;
	struct rw_semaphore gate;
	unsigned int seq;
	struct stresser thread[STRESS_THREADS];
};

static bool is_tag(struct stress *st, u64 value, unsigned int page)
{
	/* Just faulted in, by a thread that pins. */
	return value == race_tag(page) || (!st->row->op->keeps && !value);
}

/* Page @page is pinned as @p. Returns what is wrong, or NULL. */
static const char *look_at(struct stresser *t, unsigned int page, struct page *p,
			   u64 token)
{
	const unsigned int slot = RACE_PINNER + t->nr;
	struct race *r = &t->st->r;
	struct ptb_view view;
	u64 value;

	if (is_zero_page(p))
		return t->st->row->op->keeps ? "a page is gone" : NULL;
	if (!folio_maybe_dma_pinned(page_folio(p)))
		return "a page is not pinned";
	if (!is_tag(t->st, race_word(p, RACE_TAG), page))
		return "a page is another one";
	if (token && race_word(p, slot) != token)
		return "a page was reused under its pin";
	if (!t->st->row->op->keeps)
		return NULL;
	ptb_view(r->s.space->mm[0], race_addr(r, page, 0), 1, &view);
	if (view.pfn && view.pfn != page_to_pfn(p))
		return "a page was replaced under its pin";
	if (get_user(value, (u64 __user *)race_addr(r, page, slot)))
		return "a page cannot be read";
	if (token && value != token)
		return "the mapping does not show what was stored by a pin";
	return NULL;
}

static void store_token(struct page *page, unsigned int slot, u64 token)
{
	u64 *p = kmap_local_page(page);

	WRITE_ONCE(p[slot], token);
	kunmap_local(p);
}

static void pin_once(struct stresser *t)
{
	const unsigned int nr = t->st->r.nr;
	unsigned int start = prandom_u32_state(&t->rnd) % (nr - 1);
	unsigned int n = 2 + prandom_u32_state(&t->rnd) %
			     (min(nr - start, STRESS_PAGES) - 1);
	bool write = prandom_u32_state(&t->rnd) % 2;
	struct page *pages[STRESS_PAGES];
	u64 token = 0;
	unsigned int seq;
	int ret, i;

	WRITE_ONCE(t->begun, t->begun + 1);
	/* Before the call. */
	seq = smp_load_acquire(&t->st->seq);
	ret = pin_user_pages_fast(race_addr(&t->st->r, start, 0), n,
				  write ? FOLL_WRITE : 0, pages);
	/* After the call. */
	smp_rmb();
	t->met += seq & 1 || seq != READ_ONCE(t->st->seq);
	WRITE_ONCE(t->calls, t->begun);
	t->less += ret != n;
	if (write)
		token = (u64)(t->nr + 1) << 56 | t->calls;
	for (i = 0; token && i < ret; i++)
		store_token(pages[i], RACE_PINNER + t->nr, token);
	for (i = 0; i < ret && !t->wrong; i++)
		t->wrong = look_at(t, start + i, pages[i], token);
	if (ret > 0)
		unpin_user_pages(pages, ret);
}

static int stress_thread(void *arg)
{
	struct stresser *t = arg;
	struct mm_struct *mm = t->st->r.s.space->mm[0];

	allow_signal(SIGKILL);
	kthread_use_mm(mm);
	while (!kthread_should_stop()) {
		down_read(&t->st->gate);
		pin_once(t);
		up_read(&t->st->gate);
		cond_resched();
	}
	kthread_unuse_mm(mm);
	return 0;
}

/* Is any call under way that has not met an operation before? */
static bool new_call(struct stress *st)
{
	unsigned int i;

	for (i = 0; i < STRESS_THREADS; i++) {
		struct stresser *t = &st->thread[i];
		unsigned long begun = READ_ONCE(t->begun);

		if (begun == t->last || begun == READ_ONCE(t->calls))
			continue;
		t->last = begun;
		return true;
	}
	return false;
}

/* An operation begins or ends; the figures are no more exact than this. */
static void bump(struct stress *st)
{
	smp_mb();	/* around the operation, on both sides */
	WRITE_ONCE(st->seq, st->seq + 1);
	smp_mb();	/* likewise */
}

/* Each operation begins while a call is under way. */
static void stress_round(struct stress *st)
{
	const struct race_op *op = st->row->op;
	unsigned int i;

	for (i = 0; i < STRESS_REPEAT; i++) {
		st->r.from = i % 2 ? st->r.nr / 2 + i : 0;
		while (!new_call(st) && !fatal_signal_pending(current))
			cond_resched();
		bump(st);
		op->run(&st->r);
		bump(st);
		if (op->undo)
			op->undo(&st->r);
	}
	down_write(&st->gate);
	if (race_fresh(&st->r))
		ptb_space_fail(st->r.s.space, "cannot fault pages in");
	up_write(&st->gate);
}

static void stress_start(struct kunit *test, struct stress *st)
{
	unsigned int i;

	init_rwsem(&st->gate);
	if (race_fresh(&st->r))
		ptb_space_fail(st->r.s.space, "cannot fault pages in");
	for (i = 0; i < STRESS_THREADS; i++) {
		struct stresser *t = &st->thread[i];

		t->st = st;
		t->nr = i;
		prandom_seed_state(&t->rnd, ptb_seed + i);
		t->task = ptb_thread_on(ptb_other_cpu(i), stress_thread, t);
		if (!IS_ERR(t->task))
			continue;
		t->task = NULL;
		st->r.s.bad = true;
		KUNIT_FAIL(test, "no thread");
	}
}

static void stress_stop(struct kunit *test, struct stress *st)
{
	unsigned long calls = 0, met = 0, less = 0;
	unsigned int i;

	for (i = 0; i < STRESS_THREADS; i++) {
		struct stresser *t = &st->thread[i];

		/* The deadline of the case ends a call that hangs, too. */
		if (t->task && fatal_signal_pending(current))
			send_sig(SIGKILL, t->task, 1);
		if (t->task)
			kthread_stop_put(t->task);
		calls += t->calls;
		met += t->met;
		less += t->less;
		if (t->wrong)
			ptb_space_fail(st->r.s.space, "thread %u: %s", i, t->wrong);
	}
	kunit_info(test, "seed %u: %u operations, %lu calls, %lu of them met one, %lu brought less than asked for\n",
		   ptb_seed, st->seq / 2, calls, met, less);
	KUNIT_EXPECT_GT_MSG(test, met, 0, "no call met an operation");
}

/**
 * race_run_stress() - a row, as things come
 * @test: the case
 * @row: the row
 */
void race_run_stress(struct kunit *test, const struct race_row *row)
{
	struct stress *st;
	unsigned int i;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);
	st->row = row;
	ptb_watch_start(test, PTB_DEADLINE);
	if (race_begin(test, st->row, &st->r)) {
		stress_start(test, st);
		for (i = 0; i < st->row->rounds / 8 && !st->r.s.bad &&
		     !fatal_signal_pending(current); i++)
			stress_round(st);
		stress_stop(test, st);
		race_end(&st->r);
	}
	ptb_watch_stop(test);
}
