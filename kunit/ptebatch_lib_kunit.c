// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of what the other suites stand on: first of all that each way of going
 * wrong is seen. A sabotaged operation reports to a test of its own, named
 * "expected", whose failure is what is asked for; its lines in the log show
 * what a failure looks like.
 */
#include <kunit/test.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/swap.h>
#include <trace/events/error_report.h>

#include "lib/session.h"

/* ------------------------------------------------------------ environment */

static void batching_is_possible(struct kunit *test)
{
	struct ptb_session s;
	unsigned int i;

	KUNIT_EXPECT_TRUE_MSG(test, IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE),
			      "no large folios: nothing here tests batching");
	if (IS_ENABLED(CONFIG_ARM64))
		KUNIT_EXPECT_NE_MSG(test, IS_ENABLED(CONFIG_ARM64_CONTPTE),
				    IS_ENABLED(CONFIG_PTEBATCH_WITHOUT_CONTPTE),
				    "ARM64_CONTPTE is not as this kernel should have it");
	/* One contiguous block on arm64: is it one? */
	if (!ptb_begin(&s, test, "[w*n]", PTB_BLOCK))
		return;
	for (i = 0; i < PTB_BLOCK; i++)
		KUNIT_EXPECT_EQ(test, (bool)s.space->led->pte[0][i].cont,
				IS_ENABLED(CONFIG_ARM64_CONTPTE));
	ptb_end(&s);
}

/*
 * An expected failure on arm64 with contpte and 52-bit physical addresses, as
 * of 7.3.4: see lib/migration.c for what is wrong there.
 */
static void migration_keeps_accessed_bit(struct kunit *test)
{
	if (!ptb_migration_has_ad())
		kunit_skip(test, "no room for A/D bits in a migration entry");
	else if (!ptb_migration_keeps_young())
		kunit_skip(test, "XFAIL: set_ptes() clears SWP_MIG_YOUNG as if it were PTE_CONT");
	KUNIT_EXPECT_TRUE(test, ptb_migration_keeps_dirty());
}

/* --------------------------------------------------------------- sabotage */

static struct folio *folio_at(struct ptb_session *s, unsigned int page)
{
	const struct ptb_ledger *led = s->space->led;

	return page_folio(pfn_to_page(led->folio[led->pte[0][page].folio].head));
}

/* Change the entry of page 1 behind everybody's back. */
static void rewrite(struct ptb_session *s, pte_t (*change)(pte_t pte))
{
	struct mm_struct *mm = s->space->mm[0];
	unsigned long addr = ptb_addr(s->space, 1);
	spinlock_t *ptl;	/* page table lock */
	pte_t *ptep, pte;
	struct vm_area_struct *vma;

	mmap_read_lock(mm);
	vma = vma_lookup(mm, addr);
	ptep = get_locked_pte(mm, addr, &ptl);
	if (ptep) {
		pte = ptep_get_and_clear(mm, addr, ptep);
		set_pte_at(mm, addr, ptep, change(pte));
		pte_unmap_unlock(ptep, ptl);
		flush_tlb_page(vma, addr);
	}
	mmap_read_unlock(mm);
}

static pte_t make_writable(pte_t pte)
{
	return pte_mkwrite_novma(pte_mkdirty(pte));
}

static pte_t make_old(pte_t pte)
{
	return pte_mkold(pte);
}

static void extra_reference(struct ptb_session *s, struct ptb_taken *t)
{
	folio_get(folio_at(s, 1));
}

static void undo_extra_reference(struct ptb_session *s, struct ptb_taken *t)
{
	folio_put(folio_at(s, 1));
}

static void swapped_pages(struct ptb_session *s, struct ptb_taken *t)
{
	swap(t->pages[1], t->pages[2]);
}

static void page_of_another_folio(struct ptb_session *s, struct ptb_taken *t)
{
	put_page(t->pages[3]);
	t->pages[3] = t->pages[0];
	get_page(t->pages[0]);
}

static void entry_behind_the_count(struct ptb_session *s, struct ptb_taken *t)
{
	t->pages[t->ret] = t->pages[0];
	t->overrun = true;
	t->guard_bad = t->ret;
}

static void writable_entry(struct ptb_session *s, struct ptb_taken *t)
{
	rewrite(s, make_writable);
}

static void clean_entry(struct ptb_session *s, struct ptb_taken *t)
{
	rewrite(s, pte_mkclean);
}

static void old_entry(struct ptb_session *s, struct ptb_taken *t)
{
	rewrite(s, make_old);
}

static void shared_page(struct ptb_session *s, struct ptb_taken *t)
{
	ClearPageAnonExclusive(folio_page(folio_at(s, 1),
					  s->space->led->pte[0][1].sub));
}

static void exclusive_page(struct ptb_session *s, struct ptb_taken *t)
{
	SetPageAnonExclusive(folio_page(folio_at(s, 1),
					s->space->led->pte[0][1].sub));
}

static void dirty_folio(struct ptb_session *s, struct ptb_taken *t)
{
	folio_set_dirty(folio_at(s, 1));
}

static void accessed_folio(struct ptb_session *s, struct ptb_taken *t)
{
	folio_set_referenced(folio_at(s, 1));
}

static void rss_off_by_one(struct ptb_session *s, struct ptb_taken *t)
{
	inc_mm_counter(s->space->mm[0], MM_ANONPAGES);
}

static void undo_rss(struct ptb_session *s, struct ptb_taken *t)
{
	dec_mm_counter(s->space->mm[0], MM_ANONPAGES);
}

static void pin_statistics(struct ptb_session *s, struct ptb_taken *t)
{
	mod_node_page_state(NODE_DATA(first_online_node), NR_FOLL_PIN_ACQUIRED, 1);
}

static void content_changed(struct ptb_session *s, struct ptb_taken *t)
{
	u64 *p = kmap_local_page(folio_page(folio_at(s, 1),
					    s->space->led->pte[0][1].sub));

	*p ^= 1;
	kunmap_local(p);
}

static unsigned long swap_entry_at(struct ptb_session *s, unsigned int page)
{
	return s->start->pte[0][page].slot;
}

static void shared_entry(struct ptb_session *s, struct ptb_taken *t)
{
	rewrite(s, pte_swp_clear_exclusive);
}

static void extra_entry(struct ptb_session *s, struct ptb_taken *t)
{
	swap_dup_entry_direct((swp_entry_t){ .val = swap_entry_at(s, 1) });
}

static void undo_extra_entry(struct ptb_session *s, struct ptb_taken *t)
{
	swap_put_entries_direct((swp_entry_t){ .val = swap_entry_at(s, 1) }, 1);
}

static void wrong_count(struct ptb_session *s, struct ptb_taken *t)
{
	put_page(t->pages[--t->ret]);
}

#ifdef PG_dcache_clean
static void page_not_flushed(struct ptb_session *s, struct ptb_taken *t)
{
	set_bit(PG_dcache_clean, &folio_at(s, 1)->flags.f);
}

static void page_flushed_behind(struct ptb_session *s, struct ptb_taken *t)
{
	clear_bit(PG_dcache_clean, &folio_at(s, 3)->flags.f);
}
#endif

/**
 * struct sabotage - a way of going wrong that must be seen
 * @name: of it
 * @picture: on which space; page 1 is the victim
 * @how: called after a get_user_pages() of all pages
 * @undo: called before the space ends, may be NULL
 */
struct sabotage {
	const char *name;
	const char *picture;
	void (*how)(struct ptb_session *s, struct ptb_taken *t);
	void (*undo)(struct ptb_session *s, struct ptb_taken *t);
};

static const struct sabotage sabotages[] = {
	{ "nothing", "[wwww]", NULL },
	{ "an extra reference", "[wwww]", extra_reference, undo_extra_reference },
	{ "an extra reference, order 0", "wwww", extra_reference,
	  undo_extra_reference },
	{ "a swapped page in pages[]", "[wwww]", swapped_pages },
	{ "a swapped page, order 0", "wwww", swapped_pages },
	{ "a page of another folio in pages[]", "www[wwww]",
	  page_of_another_folio },
	{ "a word behind the count", "[wwww]", entry_behind_the_count },
	{ "a count too small, one reference less", "[wwww]", wrong_count },
	{ "an entry made writable", "[rrrr]", writable_entry },
	{ "a lost dirty bit", "wwww", clean_entry },
	{ "a lost accessed bit", "wwww", old_entry },
	{ "a page no longer exclusive", "[rrrr]", shared_page, exclusive_page },
	{ "a page wrongly exclusive", "[eeee]", exclusive_page, shared_page },
	{ "a dirty folio", "[wwww]", dirty_folio },
	{ "an RSS counter", "[wwww]", rss_off_by_one, undo_rss },
	{ "the pin statistics", "[wwww]", pin_statistics },
	{ "changed content", "[wwww]", content_changed },
#ifdef PG_dcache_clean
	{ "a page not flushed", "{www}w", page_not_flushed },
	{ "a page flushed behind the request", "{www}w", page_flushed_behind },
#endif
	{ "swapped out: a lost exclusive marker", "{w}owo", shared_entry },
	{ "swapped out: an entry too many", "{w}owo", extra_entry,
	  undo_extra_entry },
};

static void sabotage_desc(const struct sabotage *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sabotage, sabotages, sabotage_desc);

static struct ptb_gup get_all(struct ptb_session *s)
{
	const struct ptb_layout *l = &s->space->layout;

	return (struct ptb_gup){ .api = PTB_GET,
				 .start = ptb_addr(s->space, l->req_start),
				 .nr = l->req_end - l->req_start };
}

static void sabotage_is_seen(struct kunit *test)
{
	const struct sabotage *row = test->param_value;
	struct kunit *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	struct ptb_session s;
	struct ptb_gup req;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	if (ptb_skip(test, row->picture))
		return;
	kunit_init_test(fake, "expected", NULL);
	ptb_watch_start(test, PTB_DEADLINE);
	KUNIT_ASSERT_TRUE(test, ptb_begin(&s, fake, row->picture, 0));
	req = get_all(&s);
	s.sabotage = row->how;
	ptb_do_gup(&s, &req);
	s.sabotage = NULL;
	KUNIT_EXPECT_EQ(test, s.bad, !!row->how);
	KUNIT_EXPECT_EQ(test, fake->status == KUNIT_FAILURE, !!row->how);
	if (row->undo)
		row->undo(&s, NULL);
	/* What was taken goes back page by page, whatever it says now. */
	ptb_end(&s);
	ptb_watch_stop(test);
	kunit_cleanup(fake);
}

/* A reference mark on an anonymous folio that nobody was to touch. */
static void accessed_mark_is_seen(struct kunit *test)
{
	struct kunit *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	struct ptb_session s;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	kunit_init_test(fake, "expected", NULL);
	ptb_watch_start(test, PTB_DEADLINE);
	KUNIT_ASSERT_TRUE(test, ptb_begin(&s, fake, "[eeee]", 0));
	s.sabotage = accessed_folio;
	ptb_do_fault(&s, 0, FAULT_FLAG_WRITE);
	KUNIT_EXPECT_TRUE(test, s.bad);
	ptb_end(&s);
	ptb_watch_stop(test);
	kunit_cleanup(fake);
}

/* ------------------------------------------------------------------ leaks */

enum leak {
	NO_LEAK, LEAK_PIN, LEAK_REF, LEAK_TABLE, LEAK_MM, LEAK_RSS, LEAK_SLOT,
};

static const struct leak_case {
	const char *name;
	enum leak leak;
} leak_cases[] = {
	{ "none", NO_LEAK },		{ "a missing unpin", LEAK_PIN },
	{ "a reference", LEAK_REF },	{ "a page table", LEAK_TABLE },
	{ "an mm", LEAK_MM },		{ "an RSS count", LEAK_RSS },
	{ "swapped out: a slot", LEAK_SLOT },
};

static void leak_desc(const struct leak_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(leak, leak_cases, leak_desc);

static void leak_is_seen(struct kunit *test)
{
	const struct leak_case *c = test->param_value;
	const char *picture = c->leak == LEAK_SLOT ? "{w}o" : "[w*16]ww";
	unsigned long slot = 0;
	struct kunit *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	struct ptb_session s;
	struct ptb_taken *t;
	struct mm_struct *mm;
	struct folio *folio;
	struct ptb_gup req;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	if (ptb_skip(test, picture))
		return;
	kunit_init_test(fake, "expected", NULL);
	ptb_watch_start(test, PTB_DEADLINE);
	KUNIT_ASSERT_TRUE(test, ptb_begin(&s, fake, picture, 0));
	mm = s.space->mm[0];
	mmgrab(mm);
	folio = folio_at(&s, 0);
	req = get_all(&s);
	req.api = PTB_PIN;
	t = ptb_do_gup(&s, &req);
	KUNIT_EXPECT_NOT_NULL(test, t);

	if (c->leak == LEAK_PIN && t)
		list_del_init(&t->list);	/* the space forgets it */
	if (c->leak == LEAK_REF)
		folio_get(folio);
	if (c->leak == LEAK_TABLE)
		mm_inc_nr_ptes(mm);
	if (c->leak == LEAK_MM)
		mmget(mm);
	if (c->leak == LEAK_RSS)
		inc_mm_counter(mm, MM_ANONPAGES);
	if (c->leak == LEAK_SLOT) {
		slot = swap_entry_at(&s, 1);
		swap_dup_entry_direct((swp_entry_t){ .val = slot });
	}
	KUNIT_EXPECT_EQ(test, ptb_end(&s), c->leak == NO_LEAK);
	KUNIT_EXPECT_EQ(test, fake->status == KUNIT_FAILURE, c->leak != NO_LEAK);

	/* Nothing is to be left over in earnest. */
	if (c->leak == LEAK_PIN && t)
		ptb_release(t, PTB_RELEASE_ALL);
	if (c->leak == LEAK_REF)
		folio_put(folio);
	if (c->leak == LEAK_TABLE)
		mm_dec_nr_ptes(mm);
	if (c->leak == LEAK_MM) {
		mmput(mm);
		mmdrop(mm);		/* the space's own */
	}
	if (c->leak == LEAK_RSS)
		dec_mm_counter(mm, MM_ANONPAGES);
	if (c->leak == LEAK_SLOT)
		swap_put_entries_direct((swp_entry_t){ .val = slot }, 1);
	mmdrop(mm);
	ptb_watch_stop(test);
	kunit_cleanup(fake);
}

/* --------------------------------------------------- abort, hang and splat */

struct aborted {
	struct kunit *fake;
	struct mm_struct *mm;
	struct folio *extra;
};

static void abort_in_the_middle(void *data)
{
	struct aborted *a = data;
	struct ptb_session s;
	struct ptb_gup req;

	if (!ptb_begin(&s, a->fake, "[w*16]ss", 0))
		return;
	a->mm = s.space->mm[0];
	mmgrab(a->mm);
	if (a->extra) {
		a->extra = folio_at(&s, 0);
		folio_get(a->extra);
	}
	req = get_all(&s);
	req.api = PTB_PIN;
	ptb_do_gup(&s, &req);
	kunit_try_catch_throw(&a->fake->try_catch);
}

static void abort_caught(void *data)
{
}

/* A case that ends in an assertion leaves nothing behind, or is told so. */
static void check_abort(struct kunit *test, bool leak)
{
	struct aborted a = { .extra = leak ? ERR_PTR(-EINVAL) : NULL };

	a.fake = kunit_kzalloc(test, sizeof(*a.fake), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, a.fake);
	kunit_init_test(a.fake, "expected", NULL);
	a.fake->try_catch = (struct kunit_try_catch){
		.test = a.fake, .try = abort_in_the_middle,
		.catch = abort_caught, .timeout = 60 * HZ,
	};
	kunit_try_catch_run(&a.fake->try_catch, &a);
	KUNIT_ASSERT_NOT_NULL(test, a.mm);
	kunit_cleanup(a.fake);
	KUNIT_EXPECT_EQ(test, atomic_read(&a.mm->mm_users), 0);
	KUNIT_EXPECT_EQ(test, mm_pgtables_bytes(a.mm), 0);
	KUNIT_EXPECT_EQ(test, a.fake->status == KUNIT_FAILURE, leak);
	if (leak)
		folio_put(a.extra);
	mmdrop(a.mm);
}

static void abort_leaves_nothing(struct kunit *test)
{
	check_abort(test, false);
}

static void abort_with_a_leak_is_seen(struct kunit *test)
{
	check_abort(test, true);
}

static void hang_is_ended(struct kunit *test)
{
	struct kunit *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	kunit_init_test(fake, "expected", NULL);
	ptb_watch_start(fake, 1);
	/* An operation that ran with a SIGKILL pending takes nothing away. */
	ptb_watch_killed(true);
	KUNIT_EXPECT_TRUE(test, fatal_signal_pending(current));
	ptb_watch_killed(false);
	KUNIT_EXPECT_FALSE(test, fatal_signal_pending(current));
	while (!fatal_signal_pending(current))
		cond_resched();
	ptb_watch_stop(fake);
	KUNIT_EXPECT_TRUE(test, fake->status == KUNIT_FAILURE);
	KUNIT_EXPECT_FALSE(test, signal_pending(current));
	kunit_cleanup(fake);
}

static void splat_is_seen(struct kunit *test)
{
	struct kunit *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	kunit_init_test(fake, "expected", NULL);
	ptb_watch_start(fake, PTB_DEADLINE);
	ptb_watch_stop(fake);
	KUNIT_EXPECT_FALSE(test, fake->status == KUNIT_FAILURE);
	ptb_watch_start(fake, PTB_DEADLINE);
	/* What __warn() calls; a WARN itself would be a splat of this boot. */
	trace_error_report_end(ERROR_DETECTOR_WARN, 0);
	ptb_watch_stop(fake);
	KUNIT_EXPECT_TRUE(test, fake->status == KUNIT_FAILURE);
	kunit_cleanup(fake);
}

static struct kunit_case ptebatch_lib_cases[] = {
	KUNIT_CASE(batching_is_possible),
	KUNIT_CASE(migration_keeps_accessed_bit),
	KUNIT_CASE_PARAM(sabotage_is_seen, sabotage_gen_params),
	KUNIT_CASE(accessed_mark_is_seen),
	KUNIT_CASE_PARAM(leak_is_seen, leak_gen_params),
	KUNIT_CASE(abort_leaves_nothing),
	KUNIT_CASE(abort_with_a_leak_is_seen),
	KUNIT_CASE(hang_is_ended),
	KUNIT_CASE(splat_is_seen),
	{}
};

static struct kunit_suite ptebatch_lib_suite = {
	.name = "ptebatch_lib",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = ptebatch_lib_cases,
};

kunit_test_suite(ptebatch_lib_suite);
