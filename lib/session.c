// SPDX-License-Identifier: GPL-2.0
/* Running operations on a space and judging each of them. */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "lib/judged.h"
#include "lib/report.h"
#include "lib/swap.h"

/**
 * ptb_judged_free() - free an operation's books
 * @j: the books, from ptb_judged_init()
 */
void ptb_judged_free(struct ptb_judged *j)
{
	ptb_oracle_exit(&j->oracle);
	ptb_ledger_free(j->want);
	ptb_ledger_free(j->found);
	kvfree(j->bind);
}

/**
 * ptb_judged_init() - open an operation's books, before it runs
 * @s: the session; bad if this fails
 * @j: filled in; ptb_judged_free() frees it
 *
 * Return: true if there was memory.
 */
bool ptb_judged_init(struct ptb_session *s, struct ptb_judged *j)
{
	struct ptb_space *space = s->space;

	*j = (struct ptb_judged){
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
		ptb_judged_free(j);
		ptb_space_fail(space, "no memory to judge an operation");
		s->bad = true;
		return false;
	}
	j->oracle.reuse_span = s->reuse_span;
	return true;
}

/**
 * ptb_judge() - the operation ran: read the books and compare
 * @s: the session; what was found becomes its space's books
 * @j: the operation's books, with what the oracle made of them
 *
 * Return: true if all agreed.
 */
bool ptb_judge(struct ptb_session *s, struct ptb_judged *j)
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

/**
 * ptb_disagree() - say what did not agree, and with which operation
 * @s: the session, which is bad from here on
 * @fmt: as for printk()
 */
void ptb_disagree(struct ptb_session *s, const char *fmt, ...)
{
	char text[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ptb_space_fail(s->space, "%s: %s", s->operation, text);
	s->bad = true;
}

/**
 * ptb_agree() - compare what a call returned with what the oracle says
 * @s: the session, bad if they differ
 * @want: the oracle's answer; PTB_UNKNOWN, that it has none, is no agreement
 * @found: the call's
 *
 * Return: true if they are the same.
 */
bool ptb_agree(struct ptb_session *s, long want, long found)
{
	if (want == PTB_UNKNOWN)
		ptb_disagree(s, "the oracle has no answer: the row is wrong");
	else if (want != found)
		ptb_disagree(s, "returned %ld, expected %ld", found, want);
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
	struct ptb_judged j;
	long want, found;

	if (s->bad || !ptb_judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation), "%s fault at page %u",
		 flags & FAULT_FLAG_WRITE ? "write" :
		 flags & FAULT_FLAG_UNSHARE ? "unshare" : "read", page);
	want = ptb_oracle_fault(&j.oracle, page, flags);
	found = errno_of(ptb_fault(s->space->mm[0], ptb_addr(s->space, page),
				   flags));
	ptb_agree(s, want, found);
	if (s->sabotage)
		s->sabotage(s, NULL);
	ptb_judge(s, &j);
	ptb_judged_free(&j);
}

/* One stretch of ptb_do_faults(), judged at its end. */
static void fault_stretch(struct ptb_session *s, unsigned int from,
			  unsigned int to, bool down, unsigned int flags,
			  const char *states)
{
	const struct ptb_layout *l = &s->space->layout;
	struct ptb_judged j;
	long want, found;
	unsigned int i;

	if (s->bad || !ptb_judged_init(s, &j))
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
		ptb_agree(s, want, found);
	}
	ptb_judge(s, &j);
	ptb_judged_free(&j);
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

/**
 * ptb_oracle_store() - whoever maps a page sees what was stored to it
 * @o: the oracle
 * @folio: which of its ledger's folios
 * @sub: which page of it
 * @value: what was stored
 */
void ptb_oracle_store(struct ptb_oracle *o, unsigned int folio,
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
	struct ptb_judged j;
	struct ptb_pte *p;

	if (s->bad || !ptb_judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation), "store to page %u", page);
	p = &j.want->pte[0][page];
	if (p->kind != PTB_PAGE || !p->write)
		ptb_agree(s, 0, ptb_oracle_fault(&j.oracle, page, FAULT_FLAG_WRITE));
	p->dirty = true;
	p->young = true;
	ptb_oracle_store(&j.oracle, p->folio, p->sub, value);
	ptb_agree(s, 0, put_user(value, to));
	ptb_judge(s, &j);
	ptb_judged_free(&j);
}

/**
 * ptb_do_fork() - fork(), judged
 * @s: the session
 *
 * Return: the child's number, or -1 if something did not agree.
 */
int ptb_do_fork(struct ptb_session *s)
{
	struct ptb_judged j;
	int want, child;

	if (s->bad || !ptb_judged_init(s, &j))
		return -1;
	strscpy(s->operation, "fork");
	want = ptb_oracle_fork(&j.oracle);
	child = ptb_space_fork(s->space);
	ptb_agree(s, want, child);
	ptb_judge(s, &j);
	ptb_judged_free(&j);
	return s->bad ? -1 : child;
}

/**
 * ptb_do_exit() - the end of one mm, judged
 * @s: the session
 * @mm: which, alive; 0 is the parent
 */
void ptb_do_exit(struct ptb_session *s, unsigned int mm)
{
	struct ptb_judged j;

	if (s->bad || !ptb_judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation), "exit of mm %u", mm);
	ptb_oracle_exit_mm(&j.oracle, mm);
	ptb_space_exit(s->space, mm);
	ptb_judge(s, &j);
	ptb_judged_free(&j);
}
