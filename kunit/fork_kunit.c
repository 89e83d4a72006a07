// SPDX-License-Identifier: GPL-2.0
/*
 * fork(): what is shared, what is copied because it may be pinned, and how both
 * ends part again. A row is a picture and a story.
 */
#include <kunit/test.h>
#include <linux/highmem.h>
#include <linux/mm.h>

#include "kunit/gup_rows.h"
#include "lib/session.h"

/**
 * enum story - what happens after the space was built
 * @CHILD_FIRST: fork, the child exits
 * @PARENT_FIRST: fork, the parent exits
 * @WRITE_THEN_EXIT: fork, the parent writes to every page, the child exits,
 *	the parent writes again
 * @PIN_FORK: the parent pins the requested pages (read), forks, the child
 *	exits, the pins go
 * @PIN_WRITE_FORK: the same with a write pin
 * @FORK_PIN: fork, then a read-only pin, which must unshare
 * @FORK_FORK: fork twice, the first child exits first
 * @FORK_REMOTE: fork, then a write pin of the child's pages by the parent
 * @FORK_REMOTE_READ: the same, read-only: it must unshare in the child
 * @EXIT_WRITE: fork, the child exits, the parent writes to every page
 * @NR_STORIES: how many there are
 */
enum story {
	CHILD_FIRST,
	PARENT_FIRST,
	WRITE_THEN_EXIT,
	PIN_FORK,
	PIN_WRITE_FORK,
	FORK_PIN,
	FORK_FORK,
	FORK_REMOTE,
	FORK_REMOTE_READ,
	EXIT_WRITE,
	NR_STORIES,
};

struct fork_row {
	const char *name;
	const char *picture;
	unsigned long orders;
};

static const struct fork_row fork_rows[] = {
	/* the common case: all writable */
	{ "whole folio", "[w*n]", ALL_ORDERS },
	{ "order 0, scattered and consecutive", "wwww<wwww>", 0 },
	/* a pin on any page makes fork copy every exclusive page of the folio */
	{ "one page pinned, the first", "{[w}w*n-1]", LARGE },
	{ "one page pinned, the last", "[w*n-1{w]}", LARGE },
	{ "middle of the folio pinned", "[w*n/4{w*n/2}w*n/4]", LARGE },
	{ "pinned folio beside another one", "{[w*n]}[w*n]", LARGE & ~BIT(9) },
	/* only the exclusive pages of a pinned folio are copied */
	{ "first half formerly shared", "[e*n/2{w*n/2]}", LARGE },
	{ "page 0 formerly shared", "[e{w*n-1]}", LARGE },
	{ "page 0 exclusive, rest formerly shared", "{[w}e*n-1]", LARGE },
	{ "first half still shared", "[s*n/2{w*n/2]}", LARGE },
	/* write bits and A/D bits differ inside a batch */
	{ "mixed write bits", "[wrwrwwrrwrwrwwrr]", 0 },
	{ "clean and dirty", "[c*n/2 w*n/2]", LARGE },
	{ "dirty first", "[wc*n-1]", LARGE },
	/* the child's entries are old, the parent's stay as they are */
	{ "all old", "(old)[w*n]", ALL_ORDERS },
	{ "old first, young later", "[y*n/2 w*n/2]", LARGE },
	{ "young first, old later", "[w*n/2 y*n/2]", LARGE },
	{ "old, formerly shared", "(old)[e*n/2{w*n/2]}", LARGE },
	/* entries that are not pages */
	{ "holes, zero pages, markers", "w.z[w.gw][wwzw]hw", 0 },
	{ "protnone inside", "[w*n/2 p w*n/2-1]", LARGE },
	{ "special entries", "(mixed)wxxw", 0 },
	/* entries are duplicated, and lose their exclusive marker */
	{ "swapped out: small pages", "{wodw}jw", 0 },
	{ "swapped out: whole folio", "[o*n]", BIT(2) | BIT(4) },
	{ "swapped out: second half", "{[w*n/2}o*n/2]", BIT(2) | BIT(4) },
	{ "swap cache: shared", "[a*n]", BIT(0) | BIT(2) | BIT(4) },
	{ "swap cache: formerly shared", "[b*n]", BIT(0) | BIT(2) | BIT(4) },
	/* the child has no uffd context, the parent keeps its protection */
	{ "uffd-wp", "(uffd)[w*n/2 u*n/2]", LARGE },
	{ "uffd-wp marker", "(uffd)wmw", 0 },
	{ "soft-dirty tracked", "(sd)[w*n/2 t*n/2]", LARGE },
	/* boundaries */
	{ "over a page table boundary", "[w*n/2^w*n/2]", LARGE },
	{ "over a VMA boundary", "[w*n/2|w*n/2]", LARGE },
	{ "over a VMA boundary, formerly shared", "[e*n/2|e*n/2]", LARGE },
	{ "a read-only VMA behind", "[w*n/2|(ro)r*n/2]", LARGE },
	{ "all clean", "[c*n]", ALL_ORDERS },
	{ "read-only and clean", "[k*n]", ALL_ORDERS },
	{ "in two pieces, swapped", "A[-*n/2 w*n/2]|A[w*n/2 -*n/2]",
	  BIT(2) | BIT(4) | BIT(7) },
	{ "abutting folios", "<[w*n][w*n]>", LARGE & ~BIT(9) },
	{ "partly mapped", "[.*n/2 w*n/2]", LARGE },
	{ "one page mapped", "[.*n-1 w]", LARGE },
	{ "read-only VMA", "(ro)[r*n]", ALL_ORDERS },
	{ "PROT_NONE VMA", "(none)[p*n]", ALL_ORDERS },
	/* file pages: shared ones are not copied, private ones are shared */
	{ "shmem", "(shm)[w*n]", ALL_ORDERS },
	{ "private file, half copied", "(cow)[f*n/2 w*n/2]", LARGE },
};

static void fork_desc(const struct fork_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fork, fork_rows, fork_desc);

static struct ptb_taken *pin_in(struct ptb_session *s, unsigned int mm,
				unsigned int flags)
{
	const struct ptb_layout *l = &s->space->layout;
	const struct ptb_gup req = {
		.api = mm ? PTB_PIN_REMOTE : PTB_PIN, .flags = flags, .mm = mm,
		.start = ptb_addr(s->space, l->req_start),
		.nr = l->req_end - l->req_start,
	};

	return ptb_do_gup(s, &req);
}

static struct ptb_taken *pin(struct ptb_session *s, unsigned int flags)
{
	return pin_in(s, 0, flags);
}

/* Faults in other memory than this are other suites' business. */
static void write_all(struct ptb_session *s)
{
	const struct ptb_layout *l = &s->space->layout;
	unsigned int v;

	for (v = 0; v < l->nr_vmas; v++)
		if (!(l->vma[v].flags & (PTB_VMA_RO | PTB_VMA_NONE | PTB_VMA_SHM)))
			ptb_do_faults(s, l->vma[v].start, l->vma[v].end, false,
				      FAULT_FLAG_WRITE, "wcyrkseabdjoutpfzxghm.");
}

static void tell(struct ptb_session *s, enum story story)
{
	struct ptb_taken *t = NULL;
	int child, other;

	if (story == PIN_FORK || story == PIN_WRITE_FORK) {
		t = pin(s, story == PIN_FORK ? 0 : FOLL_WRITE);
		if (!t)
			return;
	}
	child = ptb_do_fork(s);
	if (child < 0)
		return;
	switch (story) {
	case PARENT_FIRST:
		ptb_do_exit(s, 0);
		break;
	case WRITE_THEN_EXIT:
		write_all(s);
		ptb_do_exit(s, child);
		write_all(s);
		break;
	case FORK_PIN:
		t = pin(s, 0);
		break;
	case FORK_REMOTE:
	case FORK_REMOTE_READ:
		t = pin_in(s, child, story == FORK_REMOTE ? FOLL_WRITE : 0);
		ptb_do_release(s, t, story == FORK_REMOTE ? PTB_RELEASE_DIRTY :
							    PTB_RELEASE_RANGE);
		t = NULL;
		break;
	case EXIT_WRITE:
		ptb_do_exit(s, child);
		write_all(s);
		break;
	case FORK_FORK:
		other = ptb_do_fork(s);
		ptb_do_exit(s, child);
		if (other > 0)
			ptb_do_exit(s, other);
		break;
	default:
		break;
	}
	if (s->space->mm[0] && s->space->mm[child])
		ptb_do_exit(s, child);
	ptb_do_release(s, t, PTB_RELEASE_ALL);
}

static void fork_rows_case(struct kunit *test)
{
	const struct fork_row *row = test->param_value;
	unsigned long orders = row->orders ?: BIT(0);
	unsigned int order, story;

	if (ptb_skip(test, row->picture))
		return;
	ptb_watch_start(test, PTB_DEADLINE);
	for_each_set_bit(order, &orders, 10) {
		for (story = 0; story < NR_STORIES; story++) {
			struct ptb_session s;

			/* The child has to fault its file pages back in. */
			if ((story == FORK_REMOTE || story == FORK_REMOTE_READ) &&
			    (strstr(row->picture, "(shm)") ||
			     strstr(row->picture, "(mixed)")))
				continue;
			if (!ptb_begin(&s, test, row->picture, 1 << order))
				goto out;
			/* Room for one child only, where pages are shared. */
			if (story != FORK_FORK || !s.space->keeper)
				tell(&s, story);
			if (!ptb_end(&s))
				goto out;
		}
	}
out:
	ptb_watch_stop(test);
}

/*
 * Content: what is stored through a pin is seen through the mapping and not in
 * the child, and what is stored through the mapping is seen by the pin; before
 * the fork, while the child lives, and after it has gone.
 */
static void stores_meet(struct kunit *test)
{
	const struct fork_row *row = test->param_value;
	unsigned long orders = row->orders ?: BIT(0);
	unsigned int order;

	ptb_watch_start(test, PTB_DEADLINE);
	for_each_set_bit(order, &orders, 10) {
		struct ptb_taken *t;
		struct ptb_session s;
		unsigned int last, at;
		int child;

		if (!ptb_begin(&s, test, row->picture, 1 << order))
			break;
		at = s.space->layout.req_start;
		last = s.space->layout.req_end - 1;
		t = pin(&s, FOLL_WRITE);
		ptb_do_store_pinned(&s, t, 0, 0x1111);
		ptb_do_store(&s, last, 0x2222);
		child = ptb_do_fork(&s);
		ptb_do_store_pinned(&s, t, 0, 0x3333);
		ptb_do_store_pinned(&s, t, last - at, 0x4444);
		ptb_do_store(&s, at, 0x5555);
		ptb_do_store(&s, last, 0x6666);
		if (child > 0)
			ptb_do_exit(&s, child);
		ptb_do_store_pinned(&s, t, 0, 0x7777);
		ptb_do_store(&s, last, 0x8888);
		ptb_do_release(&s, t, PTB_RELEASE_DIRTY);
		ptb_do_store(&s, at, 0x9999);
		if (!ptb_end(&s))
			break;
	}
	ptb_watch_stop(test);
}

static const struct fork_row store_rows[] = {
	{ "all writable", "[w*n]", ALL_ORDERS },
	{ "formerly shared", "[e*n]", ALL_ORDERS },
	{ "still shared", "[s]", 0 },
	{ "one page of the folio", "[w*n/2{w}w*n/2-1]", LARGE },
	{ "over two folios", "[w*n/2{w*n/2][w*n/2}w*n/2]", LARGE },
	{ "half of it shared", "[e*n/2 w*n/2]", LARGE },
	{ "hole and zero page", "w{.w}z", 0 },
	{ "private file pages", "(cow)[f*n]", ALL_ORDERS },
	{ "shared file pages", "(shm)[w*n]", ALL_ORDERS },
};

KUNIT_ARRAY_PARAM(store, store_rows, fork_desc);

static struct kunit_case fork_cases[] = {
	KUNIT_CASE_PARAM(fork_rows_case, fork_gen_params),
	KUNIT_CASE_PARAM(stores_meet, store_gen_params),
	{}
};

static struct kunit_suite fork_suite = {
	.name = "fork",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = fork_cases,
};

kunit_test_suite(fork_suite);
