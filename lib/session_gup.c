// SPDX-License-Identifier: GPL-2.0
/* Judging what takes pages, returns them, and stores to them meanwhile. */
#include <kunit/test.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "lib/judged.h"

static void name_gup(struct ptb_session *s, const struct ptb_gup *req)
{
	const long page = (long)(req->start >> PAGE_SHIFT) -
			  (long)(s->space->base >> PAGE_SHIFT);
	char flags[80], offset[24] = "";

	if (req->start & ~PAGE_MASK)
		snprintf(offset, sizeof(offset), " + %lu bytes",
			 req->start & ~PAGE_MASK);
	snprintf(s->operation, sizeof(s->operation),
		 "%s(%s) from page %ld%s, %lu pages%s%s%s",
		 ptb_gup_name(req->api),
		 ptb_foll_names(req->flags, flags, sizeof(flags)), page, offset,
		 req->nr, req->no_pages ? ", pages == NULL" : "",
		 req->unlockable ? ", unlockable" : "",
		 req->killed ? ", killed" :
		 req->kill_after ? ", killed on the way" : "");
}

/*
 * Whether a signal is noticed at the next page or at the next page table is
 * left to mm. What the call says it took is what the oracle is asked about
 * then, unless that cannot be right.
 */
static unsigned long taken_when_killed(const struct ptb_gup *req, long ret)
{
	unsigned long last = req->start + (req->kill_after - 1) * PAGE_SIZE;
	long most = ((last | ~PMD_MASK) + 1 - req->start) >> PAGE_SHIFT;

	most = min_t(long, most, req->nr);
	return ret >= req->kill_after && ret <= most ? ret : req->kill_after;
}

/* pages[] against what the oracle listed. */
static void judge_pages(struct ptb_session *s, struct ptb_judged *j,
			struct ptb_taken *t)
{
	const struct ptb_oracle *o = &j->oracle;
	const struct ptb_ledger *led = s->space->led;
	long i;

	if (t->overrun)
		ptb_disagree(s, "pages[%ld] was written, the call returned %ld",
			     t->guard_bad, t->ret);
	if (!t->pages || t->ret <= 0)
		return;
	t->folio = kvcalloc(t->ret, sizeof(*t->folio), GFP_KERNEL);
	if (!t->folio) {
		ptb_disagree(s, "no memory");
		return;
	}
	for (i = 0; i < t->ret; i++) {
		unsigned int sub = 0;
		int want = j->bind[o->page_folio[i]];
		int found = ptb_ledger_find(led, page_to_pfn(t->pages[i]), &sub);

		t->folio[i] = max(found, 0);
		if (found == want && sub == o->page_sub[i])
			continue;
		ptb_disagree(s,
			     "pages[%ld]: expected page %u of folio %d, found page %u of folio %d",
			     i, o->page_sub[i], want, sub, found);
		return;
	}
}

#ifdef PG_dcache_clean
/* flush_dcache_page() takes this mark from a folio, on arm64 and some others. */
static void mark_clean(const struct ptb_ledger *led)
{
	unsigned int i;

	for (i = 0; i < led->nr_folios; i++)
		set_bit(PG_dcache_clean,
			&page_folio(pfn_to_page(led->folio[i].head))->flags.f);
}

/* The slow calls flush the pages that they store in pages[], and no others. */
static void judge_flushes(struct ptb_session *s, struct ptb_judged *j,
			  struct ptb_taken *t, unsigned int nr_folios)
{
	DECLARE_BITMAP(stored, 3 * PTB_MAX_PAGES + 16) = {};
	const struct ptb_ledger *led = s->space->led;
	struct folio *folio;
	unsigned int i;
	long page;

	for (page = 0; t->folio && page < t->ret; page++)
		__set_bit(t->folio[page], stored);
	for (i = 0; i < nr_folios; i++) {
		if (j->bind[i] < 0 || !led->folio[j->bind[i]].refs)
			continue;
		folio = page_folio(pfn_to_page(led->folio[j->bind[i]].head));
		if (test_bit(PG_dcache_clean, &folio->flags.f) ==
		    test_bit(j->bind[i], stored))
			ptb_disagree(s, "folio %d: flush_dcache_page() expected%s",
				     j->bind[i], test_bit(j->bind[i], stored) ?
				     "" : " only for pages that are stored");
	}
}
#else
static void mark_clean(const struct ptb_ledger *led)
{
}

static void judge_flushes(struct ptb_session *s, struct ptb_judged *j,
			  struct ptb_taken *t, unsigned int nr_folios)
{
}
#endif

/**
 * ptb_do_gup() - a request for pages, judged
 * @s: the session
 * @req: the request
 *
 * Return: the outcome, for ptb_do_release(), or NULL if something did not
 * agree; what was taken is then returned when the session ends.
 */
struct ptb_taken *ptb_do_gup(struct ptb_session *s, const struct ptb_gup *req)
{
	struct ptb_gup asked = *req;
	struct ptb_taken *t = NULL;
	unsigned int nr_folios;
	struct ptb_judged j;
	long want;

	if (s->bad || !ptb_judged_init(s, &j))
		return NULL;
	name_gup(s, req);
	nr_folios = j.want->nr_folios;
	mark_clean(j.want);
	if (req->kill_after) {
		t = ptb_gup(s->space, req);
		asked.nr = taken_when_killed(req, t ? t->ret : 0);
	}
	want = ptb_oracle_gup(&j.oracle, &asked);
	if (want == PTB_UNKNOWN)
		ptb_agree(s, want, 0);
	else if (!t)
		t = ptb_gup(s->space, req);
	if (t) {
		bool same = ptb_agree(s, want, t->ret);

		if (s->sabotage)
			s->sabotage(s, t);
		if (ptb_judge(s, &j) && same)
			judge_pages(s, &j, t);
		if (!s->bad && req->api < PTB_GET_FAST)
			judge_flushes(s, &j, t, nr_folios);
	} else {
		s->bad = true;
	}
	ptb_judged_free(&j);
	return s->bad ? NULL : t;
}

/**
 * ptb_do_release() - return what a request took, judged
 * @s: the session
 * @taken: from ptb_do_gup(); NULL does nothing
 * @how: by which calls
 */
void ptb_do_release(struct ptb_session *s, struct ptb_taken *taken,
		    enum ptb_release how)
{
	static const char * const names[] = {
		[PTB_RELEASE_EACH] = "page by page",
		[PTB_RELEASE_ALL] = "by unpin_user_pages",
		[PTB_RELEASE_DIRTY] = "by unpin_user_pages_dirty_lock",
		[PTB_RELEASE_RANGE] = "by unpin_user_page_range_dirty_lock(false)",
		[PTB_RELEASE_RANGE_DIRTY] = "by unpin_user_page_range_dirty_lock(true)",
	};
	struct ptb_judged j;

	if (!taken || s->bad || !ptb_judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation), "release of %ld pages %s",
		 taken->ret, names[how]);
	ptb_oracle_release(&j.oracle, taken, how);
	ptb_release(taken, how);
	ptb_judge(s, &j);
	ptb_judged_free(&j);
}

/**
 * ptb_do_store_pinned() - a store through a pinned page, as by DMA, judged
 * @s: the session
 * @taken: a write pin
 * @index: which of its pages
 * @value: what
 */
void ptb_do_store_pinned(struct ptb_session *s, struct ptb_taken *taken,
			 unsigned int index, u64 value)
{
	struct ptb_judged j;
	unsigned int sub;
	u64 *to;

	if (!taken || s->bad || !ptb_judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation), "store to pages[%u]", index);
	ptb_ledger_find(s->space->led, page_to_pfn(taken->pages[index]), &sub);
	ptb_oracle_store(&j.oracle, taken->folio[index], sub, value);
	to = kmap_local_page(taken->pages[index]);
	*to = value;
	kunmap_local(to);
	ptb_judge(s, &j);
	ptb_judged_free(&j);
}
