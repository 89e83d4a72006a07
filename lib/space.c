// SPDX-License-Identifier: GPL-2.0
/* The life of a space, from its mm_struct to the proof that all was freed. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "internal.h"
#include "lib/ops.h"
#include "lib/report.h"
#include "lib/space.h"
#include "lib/swap.h"

static void space_free(struct ptb_space *space)
{
	if (space->maker)
		put_task_struct(space->maker);
	ptb_ledger_free(space->led);
	xa_destroy(&space->slots);
	if (space->special)
		__free_page(space->special);
	kvfree(space);
}

/**
 * ptb_space_fail() - report what is wrong with a space
 * @space: the space; its case fails
 * @fmt: one sentence
 *
 * Only the first report of a space is printed with its layout.
 */
void ptb_space_fail(struct ptb_space *space, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!space->failed)
		ptb_report_layout(space);
	space->failed = true;
	ptb_report_line(space->test, text);
	kunit_set_failure(space->test);
}

/**
 * ptb_mm_new() - an empty mm, ready for dup_mmap() or kthread_use_mm()
 *
 * Return: the mm, for mmput() and then ptb_mm_gone(); or NULL.
 */
struct mm_struct *ptb_mm_new(void)
{
	struct mm_struct *mm = mm_alloc();

	if (!mm)
		return NULL;
	mm->task_size = TASK_SIZE;
	arch_pick_mmap_layout(mm, &current->signal->rlim[RLIMIT_STACK]);
#ifdef CONFIG_MEMCG
	/* Not ours: the thread ends before the mm, see mm_update_next_owner(). */
	RCU_INIT_POINTER(mm->owner, NULL);
#endif
	/* One for the checks in ptb_mm_gone(), after mm_users is 0. */
	mmgrab(mm);
	return mm;
}

/**
 * ptb_mm_gone() - the last user of an mm is gone: see that all was given back
 * @space: the space that it belonged to
 * @mm: the mm, alive only by the mm_count that ptb_mm_new() took; dropped
 * @nr: its number, for reports
 */
void ptb_mm_gone(struct ptb_space *space, struct mm_struct *mm, unsigned int nr)
{
	unsigned int i;
	long v;

	v = atomic_read(&mm->mm_users);
	if (v) {
		ptb_space_fail(space, "mm %u leaked: mm_users %ld at its end", nr, v);
		return;		/* not safe to drop */
	}
	v = mm_pgtables_bytes(mm);
	if (v)
		ptb_space_fail(space, "mm %u leaked page tables: %ld bytes", nr, v);
	for (i = 0; i < NR_MM_COUNTERS; i++) {
		v = get_mm_counter_sum(mm, i);
		if (v)
			ptb_space_fail(space, "mm %u has RSS counter %u at %ld at its end",
				       nr, i, v);
	}
	mmdrop(mm);
}

/**
 * ptb_space_exit() - one mm of a space ends, as with its last process
 * @space: the space
 * @nr: which mm; the parent may go first
 *
 * Context: called by the thread that uses the space.
 */
void ptb_space_exit(struct ptb_space *space, unsigned int nr)
{
	struct mm_struct *mm = space->mm[nr];

	if (!mm)
		return;
	space->mm[nr] = NULL;
	if (!nr && space->user) {
		bool mine = space->user == current;

		space->user = NULL;
		if (mine)
			kthread_unuse_mm(mm);
		/* A thread that exits with an mm in use drops mm_users itself. */
		if (mine)
			mmput(mm);
	} else {
		mmput(mm);
	}
	ptb_mm_gone(space, mm, nr);
}

/**
 * ptb_space_fork() - fork() as far as mm sees it
 * @space: the space
 *
 * Return: the number of the child's mm, or -errno from dup_mmap().
 */
int ptb_space_fork(struct ptb_space *space)
{
	struct mm_struct *mm;
	int ret;

	if (space->nr_mms == PTB_MAX_MMS)
		return -ENOSPC;
	mm = ptb_mm_new();
	if (!mm)
		return -ENOMEM;
	ret = dup_mmap(mm, space->mm[0]);
	if (ret) {
		mmput(mm);
		mmdrop(mm);
		return ret;
	}
	space->mm[space->nr_mms] = mm;
	return space->nr_mms++;
}

/* The folios that are mapped now get a reference that outlives the mms. */
static void hold_folios(struct ptb_space *space, struct ptb_ledger *led,
			unsigned long *held)
{
	unsigned int i, j;

	for (i = 0; i < led->nr_mms; i++) {
		for (j = 0; led->mm_alive[i] && j < led->nr; j++) {
			const struct ptb_pte *p = &led->pte[i][j];

			if (p->kind != PTB_PAGE || test_bit(p->folio, held))
				continue;
			__set_bit(p->folio, held);
			folio_get(page_folio(pfn_to_page(led->folio[p->folio].head)));
		}
	}
}

static void check_folios(struct ptb_space *space, struct ptb_ledger *led,
			 unsigned long *held)
{
	unsigned int i;

	for (i = 0; i < led->nr_folios; i++) {
		struct ptb_frec *rec = &led->folio[i];
		struct folio *folio;

		if (rec->zero)
			continue;
		folio = page_folio(pfn_to_page(rec->head));
		if (!test_bit(i, held)) {
			/* Freed before, unless it still is what it was. */
			if (rec->refs && folio_ref_count(folio) &&
			    folio_pfn(folio) == rec->head &&
			    rec->mapping && !rec->hugetlb &&
			    (unsigned long)folio->mapping == rec->mapping)
				ptb_space_fail(space,
					       "folio %u leaked: reference count %d, mapped nowhere",
					       i, folio_ref_count(folio));
			continue;
		}
		if (folio_ref_count(folio) != 1)
			ptb_space_fail(space,
				       "folio %u leaked: reference count %d at the end, expected 1, the test's own",
				       i, folio_ref_count(folio));
		if (folio_test_large(folio) && atomic_read(&folio->_pincount))
			ptb_space_fail(space, "folio %u leaked: pin count %d at the end",
				       i, atomic_read(&folio->_pincount));
		if (folio_mapcount(folio))
			ptb_space_fail(space, "folio %u still has mapcount %d",
				       i, folio_mapcount(folio));
		folio_put(folio);
	}
}

static void teardown(struct ptb_space *space)
{
	struct ptb_ledger *led = NULL;
	unsigned long *held = NULL;
	unsigned int i;

	ptb_pins_release(space);
	if (space->uffd) {
		fput(space->uffd);
		flush_delayed_fput();
	}
	if (space->led) {
		led = ptb_ledger_alloc(space->layout.nr);
		held = bitmap_zalloc(3 * PTB_MAX_PAGES + 16, GFP_KERNEL);
		/* After an abort, mm[0] may be gone with its thread. */
		if (space->user && space->user != current && space->mm[0]) {
			struct mm_struct *mm = space->mm[0];

			space->mm[0] = NULL;
			space->user = NULL;
			ptb_mm_gone(space, mm, 0);
		}
		if (!led || !held || ptb_ledger_read(space, space->led, led))
			ptb_space_fail(space, "no memory for the last ledger");
		else
			hold_folios(space, led, held);
	}
	for (i = space->nr_mms; i-- > 0;)
		ptb_space_exit(space, i);
	if (space->file) {
		fput(space->file);
		flush_delayed_fput();
	}
	ptb_drain();
	if (led && held)
		check_folios(space, led, held);
	if (space->swap_free && space->swap_free != ptb_swap_free())
		ptb_space_fail(space, "swap slots leaked: %ld free, %ld before",
			       ptb_swap_free(), space->swap_free);
	ptb_ledger_free(led);
	bitmap_free(held);
}

/*
 * The case was aborted: its thread says so before it exits, and gives up the
 * mm while it exits (exit_mm() comes before exit_notify()).
 */
static void space_abort(void *arg)
{
	struct ptb_space *space = arg;
	unsigned int tries = 500;

	while (!READ_ONCE(space->maker->exit_state) && tries--)
		msleep(20);
	teardown(space);
	space_free(space);
}

/**
 * ptb_space_create() - build a space
 * @test: the case; it fails if the space cannot be built
 * @picture: its layout, see layout.h
 * @n: what n stands for in @picture
 *
 * The calling kthread uses the space's mm until ptb_space_destroy(). Should
 * the case be aborted before that, the space is torn down and checked by the
 * case's cleanup.
 *
 * Return: the space, or NULL; the reason was reported.
 */
struct ptb_space *ptb_space_create(struct kunit *test, const char *picture,
				   unsigned int n)
{
	struct ptb_space *space = kvzalloc(sizeof(*space), GFP_KERNEL);
	struct ptb_error err;

	if (!space) {
		KUNIT_FAIL(test, "no memory for a space");
		return NULL;
	}
	space->test = test;
	INIT_LIST_HEAD(&space->pins);
	INIT_LIST_HEAD(&space->spacers);
	xa_init(&space->slots);
	if (ptb_layout_parse(&space->layout, picture, n, &err)) {
		ptb_report_refused(test, picture, &err);
		kunit_set_failure(test);
		kvfree(space);
		return NULL;
	}
	space->mm[0] = ptb_mm_new();
	if (!space->mm[0]) {
		KUNIT_FAIL(test, "no memory for an mm");
		kvfree(space);
		return NULL;
	}
	space->nr_mms = 1;
	kthread_use_mm(space->mm[0]);
	space->user = current;
	space->maker = get_task_struct(current);
	if (kunit_add_action(test, space_abort, space)) {
		KUNIT_FAIL(test, "no memory for a cleanup action");
		ptb_space_exit(space, 0);
		space_free(space);
		return NULL;
	}
	if (ptb_build(space)) {
		ptb_space_destroy(space);
		return NULL;
	}
	return space;
}

/**
 * ptb_space_destroy() - end a space and prove that nothing was left over
 * @space: the space or NULL
 *
 * All mms of the space exit, the children first. Every folio must then be at
 * the one reference that this function holds; page tables, RSS and the mms
 * must be gone. What is not fails the case by name.
 *
 * Context: called by the thread that made the space.
 */
void ptb_space_destroy(struct ptb_space *space)
{
	if (!space)
		return;
	kunit_remove_action(space->test, space_abort, space);
	teardown(space);
	space_free(space);
}
