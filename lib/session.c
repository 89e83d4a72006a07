// SPDX-License-Identifier: GPL-2.0
/* Running operations on a space and judging each of them. */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "lib/report.h"
#include "lib/session.h"
#include "lib/swap.h"

/* One operation's books. */
struct judged {
	struct ptb_oracle oracle;
	struct ptb_ledger *want;
	struct ptb_ledger *found;
	s16 *bind;
};

static void judged_free(struct judged *j)
{
	ptb_oracle_exit(&j->oracle);
	ptb_ledger_free(j->want);
	ptb_ledger_free(j->found);
	kvfree(j->bind);
}

static bool judged_init(struct ptb_session *s, struct judged *j)
{
	struct ptb_space *space = s->space;

	*j = (struct judged){
		.want = ptb_ledger_alloc(space->layout.nr),
		.found = ptb_ledger_alloc(space->layout.nr),
	};
	if (j->want && j->found) {
		ptb_ledger_copy(j->want, space->led);
		/* An operation brings at most one folio a page. */
		j->bind = kvmalloc_array(j->want->nr_folios +
					 3 * space->layout.nr,
					 sizeof(*j->bind), GFP_KERNEL);
	}
	if (!j->bind || ptb_oracle_init(&j->oracle, space, j->want)) {
		judged_free(j);
		ptb_space_fail(space, "no memory to judge an operation");
		s->bad = true;
		return false;
	}
	j->oracle.reuse_span = s->reuse_span;
	return true;
}

/* The operation ran: read the books and compare. They become the space's. */
static bool judge(struct ptb_session *s, struct judged *j)
{
	struct ptb_space *space = s->space;
	bool ok = false;

	if (ptb_ledger_read(space, space->led, j->found))
		ptb_space_fail(space, "cannot read the books");
	else
		ok = ptb_report_compare(space, s->operation, space->led,
					j->want, j->found, j->bind);
	s->bad |= !ok;
	swap(space->led, j->found);
	return ok;
}

static __printf(2, 3) void fail(struct ptb_session *s, const char *fmt, ...)
{
	char text[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ptb_space_fail(s->space, "%s: %s", s->operation, text);
	s->bad = true;
}

static bool agree(struct ptb_session *s, long want, long found)
{
	if (want == PTB_UNKNOWN)
		fail(s, "the oracle has no answer: the row is wrong");
	else if (want != found)
		fail(s, "returned %ld, expected %ld", found, want);
	return want != PTB_UNKNOWN && want == found;
}

/* Why can this architecture or configuration not draw @picture? */
static const char *cannot_draw(const char *picture)
{
	const char *p = picture;

	/* Letters inside of () are words. */
	while ((p = strpbrk(p, "(" PTB_SWAPPED PTB_CACHED)) && *p == '(')
		p += strcspn(p, ")");
	if (p && !ptb_has_swap())
		return "no swap device in this configuration";
	if (strstr(picture, "sd)") && !pgtable_supports_soft_dirty())
		return "no soft-dirty on this architecture";
	if (strstr(picture, "(huge64k") && !ptb_has_hugetlb(16))
		return "no hugetlb pages of 64 kB on this architecture";
	if (!IS_ENABLED(CONFIG_PAGE_SIZE_4KB) &&
	    (strstr(picture, "(pmd") || strstr(picture, "(huge)") ||
	     strstr(picture, "(huge,")))
		return "a PMD maps more than 512 pages here";
	return NULL;
}

/**
 * ptb_skip() - skip a row that cannot be drawn here
 * @test: the case
 * @picture: its layout
 *
 * Return: true if @test was marked as skipped, with the reason.
 */
bool ptb_skip(struct kunit *test, const char *picture)
{
	const char *why = cannot_draw(picture);

	if (why)
		kunit_mark_skipped(test, "%s", why);
	return why;
}

/**
 * ptb_begin() - build the space of a row
 * @s: filled in
 * @test: the case; it has failed if this returns false
 * @picture: the layout
 * @n: what n stands for in it
 *
 * Return: true if there is a space, which ptb_end() must end.
 */
bool ptb_begin(struct ptb_session *s, struct kunit *test, const char *picture,
	       unsigned int n)
{
	*s = (struct ptb_session){ .test = test,
				    .reuse_span = ptb_reuse_span };
	s->space = ptb_space_create(test, picture, n);
	if (!s->space)
		return false;
	s->start = ptb_ledger_alloc(s->space->layout.nr);
	if (s->start)
		ptb_ledger_copy(s->start, s->space->led);
	return true;
}

/**
 * ptb_rewind() - is everything as it was before the first operation?
 * @s: the session; what operations took has been returned
 *
 * The marks that GUP leaves on folios are taken away first: PG_referenced, and
 * PG_dirty where it was clear. If all else agrees, the space is as good as a
 * new one, and building one can be saved.
 *
 * Return: true if it is.
 */
bool ptb_rewind(struct ptb_session *s)
{
	struct ptb_ledger *led = s->space->led;
	struct ptb_diff diff = {};
	unsigned int i;
	bool same;
	s16 *bind;

	if (s->bad || !s->start || led->nr_folios != s->start->nr_folios)
		return false;
	for (i = 0; i < led->nr_folios; i++) {
		struct folio *folio = page_folio(pfn_to_page(led->folio[i].head));

		if (led->folio[i].zero || !led->folio[i].refs)
			continue;
		if (!s->start->folio[i].accessed)
			folio_clear_referenced(folio);
		if (!s->start->folio[i].dirty)
			folio_clear_dirty(folio);
	}
	if (ptb_ledger_read(s->space, led, led))
		return false;
	bind = kvmalloc_array(led->nr_folios, sizeof(*bind), GFP_KERNEL);
	if (!bind)
		return false;
	/* Pins that were taken and returned are counted for ever. */
	s->start->acquired = led->acquired;
	s->start->released = led->released;
	same = ptb_ledger_compare(s->start, s->start, led, bind, &diff);
	kvfree(bind);
	return same;
}

/**
 * ptb_end() - end the space of a row, and see that nothing was left over
 * @s: the session
 *
 * Return: true if everything agreed, from the first operation on.
 */
bool ptb_end(struct ptb_session *s)
{
	struct kunit *test = s->test;
	const enum kunit_status before = test->status;

	test->status = KUNIT_SUCCESS;
	ptb_space_destroy(s->space);
	s->space = NULL;
	ptb_ledger_free(s->start);
	s->bad |= test->status == KUNIT_FAILURE;
	if (before == KUNIT_FAILURE)
		kunit_set_failure(test);
	return !s->bad;
}

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
static void judge_pages(struct ptb_session *s, struct judged *j,
			struct ptb_taken *t)
{
	const struct ptb_oracle *o = &j->oracle;
	const struct ptb_ledger *led = s->space->led;
	long i;

	if (t->overrun)
		fail(s, "pages[%ld] was written, the call returned %ld",
		     t->guard_bad, t->ret);
	if (!t->pages || t->ret <= 0)
		return;
	t->folio = kvcalloc(t->ret, sizeof(*t->folio), GFP_KERNEL);
	if (!t->folio) {
		fail(s, "no memory");
		return;
	}
	for (i = 0; i < t->ret; i++) {
		unsigned int sub = 0;
		int want = j->bind[o->page_folio[i]];
		int found = ptb_ledger_find(led, page_to_pfn(t->pages[i]), &sub);

		t->folio[i] = max(found, 0);
		if (found == want && sub == o->page_sub[i])
			continue;
		fail(s, "pages[%ld]: expected page %u of folio %d, found page %u of folio %d",
		     i, o->page_sub[i], want, sub, found);
		return;
	}
}

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
	struct judged j;
	long want;

	if (s->bad || !judged_init(s, &j))
		return NULL;
	name_gup(s, req);
	if (req->kill_after) {
		t = ptb_gup(s->space, req);
		asked.nr = taken_when_killed(req, t ? t->ret : 0);
	}
	want = ptb_oracle_gup(&j.oracle, &asked);
	if (want == PTB_UNKNOWN)
		agree(s, want, 0);
	else if (!t)
		t = ptb_gup(s->space, req);
	if (t) {
		bool same = agree(s, want, t->ret);

		if (s->sabotage)
			s->sabotage(s, t);
		if (judge(s, &j) && same)
			judge_pages(s, &j, t);
	} else {
		s->bad = true;
	}
	judged_free(&j);
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
	struct judged j;

	if (!taken || s->bad || !judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation), "release of %ld pages %s",
		 taken->ret, names[how]);
	ptb_oracle_release(&j.oracle, taken, how);
	ptb_release(taken, how);
	judge(s, &j);
	judged_free(&j);
}

/* Of what ptb_fault() returned. */
static long errno_of(int error)
{
	vm_fault_t vm_fault = (__force vm_fault_t)error;

	if (vm_fault & (VM_FAULT_HWPOISON | VM_FAULT_HWPOISON_LARGE))
		return -EHWPOISON;
	return vm_fault & VM_FAULT_ERROR ? -EFAULT : 0;
}

/**
 * ptb_do_fault() - one page fault, judged
 * @s: the session
 * @page: where
 * @flags: FAULT_FLAG_WRITE, FAULT_FLAG_UNSHARE or 0; the VMA must allow it
 */
void ptb_do_fault(struct ptb_session *s, unsigned int page, unsigned int flags)
{
	struct judged j;
	long want, found;

	if (s->bad || !judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation), "%s fault at page %u",
		 flags & FAULT_FLAG_WRITE ? "write" :
		 flags & FAULT_FLAG_UNSHARE ? "unshare" : "read", page);
	want = ptb_oracle_fault(&j.oracle, page, flags);
	found = errno_of(ptb_fault(s->space->mm[0], ptb_addr(s->space, page),
				   flags));
	agree(s, want, found);
	if (s->sabotage)
		s->sabotage(s, NULL);
	judge(s, &j);
	judged_free(&j);
}

/* One stretch of ptb_do_faults(), judged at its end. */
static void fault_stretch(struct ptb_session *s, unsigned int from,
			  unsigned int to, bool down, unsigned int flags,
			  const char *states)
{
	const struct ptb_layout *l = &s->space->layout;
	struct judged j;
	long want, found;
	unsigned int i;

	if (s->bad || !judged_init(s, &j))
		return;
	for (i = 0; i < to - from; i++) {
		unsigned int page = down ? to - 1 - i : from + i;

		if (!strchr(states, l->page[page].state))
			continue;
		snprintf(s->operation, sizeof(s->operation),
			 "%s faults, pages %u to %u %s",
			 flags & FAULT_FLAG_UNSHARE ? "unshare" : "write",
			 from, to - 1, down ? "downwards" : "upwards");
		want = ptb_oracle_fault(&j.oracle, page, flags);
		found = errno_of(ptb_fault(s->space->mm[0],
					   ptb_addr(s->space, page), flags));
		agree(s, want, found);
	}
	judge(s, &j);
	judged_free(&j);
}

/**
 * ptb_do_faults() - a fault at each of a range of pages
 * @s: the session
 * @from: first page
 * @to: the page behind the last one
 * @down: begin with the last one
 * @flags: FAULT_FLAG_WRITE or FAULT_FLAG_UNSHARE
 * @states: only pages that the layout had in one of these states
 *
 * Long ranges are judged by stretches: the oracle follows each fault, the books
 * are compared 32 times.
 */
void ptb_do_faults(struct ptb_session *s, unsigned int from, unsigned int to,
		   bool down, unsigned int flags, const char *states)
{
	const unsigned int step = max(1U, (to - from) / 32);
	unsigned int i;

	for (i = from; i < to; i += step) {
		unsigned int end = min(i + step, to);

		if (down)
			fault_stretch(s, to - (end - from), to - (i - from),
				      true, flags, states);
		else
			fault_stretch(s, i, end, false, flags, states);
	}
}

/* Whoever maps this page sees what was stored. */
static void oracle_store(struct ptb_oracle *o, unsigned int folio,
			 unsigned int sub, u64 value)
{
	unsigned int i, j;

	for (i = 0; i < o->led->nr_mms; i++) {
		for (j = 0; o->led->mm_alive[i] && j < o->led->nr; j++) {
			struct ptb_pte *p = &o->led->pte[i][j];

			if (p->kind == PTB_PAGE && p->folio == folio &&
			    p->sub == sub)
				p->tag = value;
		}
	}
}

/**
 * ptb_do_store() - a store through the mapping, page faults included, judged
 * @s: the session
 * @page: where; must be in a writable VMA
 * @value: what
 */
void ptb_do_store(struct ptb_session *s, unsigned int page, u64 value)
{
	u64 __user *to = (u64 __user *)ptb_addr(s->space, page);
	struct judged j;
	struct ptb_pte *p;

	if (s->bad || !judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation), "store to page %u", page);
	p = &j.want->pte[0][page];
	if (p->kind != PTB_PAGE || !p->write)
		agree(s, 0, ptb_oracle_fault(&j.oracle, page, FAULT_FLAG_WRITE));
	p->dirty = true;
	p->young = true;
	oracle_store(&j.oracle, p->folio, p->sub, value);
	agree(s, 0, put_user(value, to));
	judge(s, &j);
	judged_free(&j);
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
	struct judged j;
	unsigned int sub;
	u64 *to;

	if (!taken || s->bad || !judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation), "store to pages[%u]", index);
	ptb_ledger_find(s->space->led, page_to_pfn(taken->pages[index]), &sub);
	oracle_store(&j.oracle, taken->folio[index], sub, value);
	to = kmap_local_page(taken->pages[index]);
	*to = value;
	kunmap_local(to);
	judge(s, &j);
	judged_free(&j);
}

/**
 * ptb_do_mincore() - mincore(), judged
 * @s: the session
 * @req: the call
 *
 * Vector and guard bytes are compared one by one; nothing may have changed.
 */
void ptb_do_mincore(struct ptb_session *s, const struct ptb_mincore *req)
{
	DECLARE_BITMAP(mapped, PTB_MAX_PAGES);
	struct judged j;
	long want, found;
	u8 *vec;
	int i;

	if (s->bad || !judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation),
		 "mincore of %zu bytes from page %ld + %lu bytes", req->len,
		 (long)(req->start - s->space->base) >> PAGE_SHIFT,
		 req->start & ~PAGE_MASK);
	vec = kvmalloc_array(2, PTB_VEC_MAX, GFP_KERNEL);
	if (vec) {
		ptb_mapped(s->space, mapped);
		want = ptb_oracle_mincore(&j.oracle, req, mapped, vec);
		found = ptb_mincore(s->space, req, vec + PTB_VEC_MAX);
		agree(s, want, found);
		for (i = 0; i < PTB_VEC_MAX; i++) {
			if (vec[i] == vec[PTB_VEC_MAX + i])
				continue;
			fail(s, "vec[%d]: expected %#x, found %#x",
			     i - PTB_VEC_GUARDS, vec[i], vec[PTB_VEC_MAX + i]);
			break;
		}
	} else {
		fail(s, "no memory for the vector");
	}
	kvfree(vec);
	judge(s, &j);
	judged_free(&j);
}

/* Which pages of the layout are in a VMA, and how many the mm counts. */
static void judge_vmas(struct ptb_session *s, const unsigned long *before,
		       const unsigned long *want, long total_vm)
{
	const unsigned int nr = s->space->layout.nr;
	DECLARE_BITMAP(found, PTB_MAX_PAGES);
	unsigned int i;

	ptb_mapped(s->space, found);
	for (i = 0; i < nr; i++) {
		if (test_bit(i, want) == test_bit(i, found))
			continue;
		fail(s, "page %u is %s a VMA", i,
		     test_bit(i, found) ? "still in" : "not in");
		return;
	}
	total_vm += (long)bitmap_weight(want, nr) - (long)bitmap_weight(before, nr);
	if (s->space->mm[0]->total_vm != total_vm)
		fail(s, "total_vm expected %ld, found %ld", total_vm,
		     s->space->mm[0]->total_vm);
}

/**
 * ptb_do_mremap() - mremap(), judged
 * @s: the session
 * @req: the call
 *
 * Return: true if all agreed; the books are those after the move.
 */
bool ptb_do_mremap(struct ptb_session *s, const struct ptb_mremap *req)
{
	DECLARE_BITMAP(before, PTB_MAX_PAGES);
	DECLARE_BITMAP(mapped, PTB_MAX_PAGES);
	const long base = s->space->base;
	struct judged j;
	long want, total_vm;

	if (s->bad || !judged_init(s, &j))
		return false;
	snprintf(s->operation, sizeof(s->operation),
		 "mremap(page %ld, %lu pages, %lu pages, %#lx, page %ld)",
		 ((long)req->addr - base) >> PAGE_SHIFT,
		 req->old_len >> PAGE_SHIFT, req->new_len >> PAGE_SHIFT,
		 req->flags, ((long)req->new_addr - base) >> PAGE_SHIFT);
	ptb_mapped(s->space, before);
	bitmap_copy(mapped, before, PTB_MAX_PAGES);
	total_vm = s->space->mm[0]->total_vm;
	want = ptb_oracle_mremap(&j.oracle, req, mapped);
	agree(s, want, ptb_mremap(s->space, req));
	judge_vmas(s, before, mapped, total_vm);
	judge(s, &j);
	judged_free(&j);
	return !s->bad;
}

/**
 * ptb_do_fork() - fork(), judged
 * @s: the session
 *
 * Return: the child's number, or -1 if something did not agree.
 */
int ptb_do_fork(struct ptb_session *s)
{
	struct judged j;
	int want, child;

	if (s->bad || !judged_init(s, &j))
		return -1;
	strscpy(s->operation, "fork");
	want = ptb_oracle_fork(&j.oracle);
	child = ptb_space_fork(s->space);
	agree(s, want, child);
	judge(s, &j);
	judged_free(&j);
	return s->bad ? -1 : child;
}

/**
 * ptb_do_exit() - the end of one mm, judged
 * @s: the session
 * @mm: which, alive; 0 is the parent
 */
void ptb_do_exit(struct ptb_session *s, unsigned int mm)
{
	struct judged j;

	if (s->bad || !judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation), "exit of mm %u", mm);
	ptb_oracle_exit_mm(&j.oracle, mm);
	ptb_space_exit(s->space, mm);
	judge(s, &j);
	judged_free(&j);
}
