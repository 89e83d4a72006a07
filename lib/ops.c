// SPDX-License-Identifier: GPL-2.0
/* Calling what is under test. */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>
#include <trace/events/page_ref.h>

#include "lib/ops.h"
#include "lib/session.h"
#include "lib/space.h"
#include "lib/sys.h"

#define GUARD	((struct page *)0x6a5d6a5d6a5d6a5dUL)

static const char * const api_names[] = {
	[PTB_GET] = "get_user_pages",
	[PTB_PIN] = "pin_user_pages",
	[PTB_GET_UNLOCKED] = "get_user_pages_unlocked",
	[PTB_PIN_UNLOCKED] = "pin_user_pages_unlocked",
	[PTB_GET_REMOTE] = "get_user_pages_remote",
	[PTB_PIN_REMOTE] = "pin_user_pages_remote",
	[PTB_POPULATE] = "madvise_populate",
	[PTB_GET_FAST] = "get_user_pages_fast",
	[PTB_PIN_FAST] = "pin_user_pages_fast",
	[PTB_GET_FAST_ONLY] = "get_user_pages_fast_only",
};

/** ptb_gup_name() - the function behind @api */
const char *ptb_gup_name(enum ptb_gup_api api)
{
	return api_names[api];
}

/** ptb_gup_pins() - does @api pin, rather than get? */
bool ptb_gup_pins(enum ptb_gup_api api)
{
	return api == PTB_PIN || api == PTB_PIN_UNLOCKED ||
	       api == PTB_PIN_REMOTE || api == PTB_PIN_FAST;
}

/**
 * ptb_foll_names() - FOLL_* flags as text
 * @flags: the flags
 * @buf: where to
 * @size: its size
 *
 * Return: @buf, "0" without flags.
 */
const char *ptb_foll_names(unsigned int flags, char *buf, size_t size)
{
	static const struct {
		unsigned int flag;
		const char *name;
	} names[] = {
		{ FOLL_WRITE, "WRITE" },	{ FOLL_FORCE, "FORCE" },
		{ FOLL_LONGTERM, "LONGTERM" },	{ FOLL_NOFAULT, "NOFAULT" },
		{ FOLL_HWPOISON, "HWPOISON" },
		{ FOLL_HONOR_NUMA_FAULT, "HONOR_NUMA_FAULT" },
		{ FOLL_NOWAIT, "NOWAIT" },	{ FOLL_DUMP, "DUMP" },
	};
	size_t len = 0;
	unsigned int i;

	strscpy(buf, "0", size);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (flags & names[i].flag)
			len += scnprintf(buf + len, size - len, "%s%s",
					 len ? "|" : "", names[i].name);
	return buf;
}

/* What the tracepoint of page references is to count for ptb_gup.kill_after. */
struct killer {
	struct task_struct *task;
	unsigned int left;
};

/* Nothing but a pin adds GUP_PIN_COUNTING_BIAS to a reference count. */
static void count_pin(void *data, struct page *page, int added)
{
	struct killer *killer = data;

	if (current == killer->task && added == GUP_PIN_COUNTING_BIAS &&
	    killer->left && !--killer->left)
		ptb_watch_killed(true);
}

static long call_killed(struct ptb_space *space, const struct ptb_gup *r,
			struct page **pages)
{
	struct killer killer = { .task = current, .left = r->kill_after };
	long ret;

	/* A kernel for benchmarks has no such tracepoint. */
	if (!IS_ENABLED(CONFIG_DEBUG_PAGE_REF))
		return -EOPNOTSUPP;
	register_trace_page_ref_mod(count_pin, &killer);
	ret = ptb_gup_call(space, r, pages);
	unregister_trace_page_ref_mod(count_pin, &killer);
	tracepoint_synchronize_unregister();
	ptb_watch_killed(false);
	return ret;
}

static long call_unlockable(struct mm_struct *mm, const struct ptb_gup *r,
			    struct ptb_taken *t)
{
	int locked = 1;
	long ret;

	mmap_read_lock(mm);
	ret = get_user_pages_remote(mm, r->start, r->nr, r->flags, t->pages,
				    &locked);
	t->unlocked = !locked;
	if (locked)
		mmap_read_unlock(mm);
	return ret;
}

/**
 * ptb_gup_call() - the bare call, for those who time it
 * @space: whose mm the calling thread uses
 * @r: what to ask for
 * @pages: with room for it, or NULL
 *
 * Return: what the call returned; the caller gives the pages back.
 */
long ptb_gup_call(struct ptb_space *space, const struct ptb_gup *r,
		  struct page **pages)
{
	struct mm_struct *mm = space->mm[0], *remote = space->mm[r->mm];
	long ret;

	switch (r->api) {
	case PTB_GET_UNLOCKED:
		return get_user_pages_unlocked(r->start, r->nr, pages, r->flags);
	case PTB_PIN_UNLOCKED:
		return pin_user_pages_unlocked(r->start, r->nr, pages, r->flags);
	case PTB_GET_FAST:
		return get_user_pages_fast(r->start, r->nr, r->flags, pages);
	case PTB_PIN_FAST:
		return pin_user_pages_fast(r->start, r->nr, r->flags, pages);
	case PTB_GET_FAST_ONLY:
		return get_user_pages_fast_only(r->start, r->nr, r->flags, pages);
	case PTB_GET_REMOTE:
		mmap_read_lock(remote);
		ret = get_user_pages_remote(remote, r->start, r->nr, r->flags,
					    pages, NULL);
		mmap_read_unlock(remote);
		return ret;
	case PTB_PIN_REMOTE:
		mmap_read_lock(remote);
		ret = pin_user_pages_remote(remote, r->start, r->nr, r->flags,
					    pages, NULL);
		mmap_read_unlock(remote);
		return ret;
	case PTB_POPULATE:
		return ptb_syscall(PTB_SYS(madvise), r->start,
				   r->nr << PAGE_SHIFT,
				   r->flags & FOLL_WRITE ? MADV_POPULATE_WRITE :
							   MADV_POPULATE_READ,
				   0, 0, 0);
	case PTB_GET:
	case PTB_PIN:
		break;
	}
	mmap_read_lock(mm);
	if (r->api == PTB_GET)
		ret = get_user_pages(r->start, r->nr, r->flags, pages);
	else
		ret = pin_user_pages(r->start, r->nr, r->flags, pages);
	mmap_read_unlock(mm);
	return ret;
}

static void check_guards(struct ptb_taken *t)
{
	long used = t->ret > 0 && t->pages ? t->ret : 0;
	long i;

	for (i = -PTB_GUARDS; t->pages && i < (long)t->room + PTB_GUARDS; i++) {
		if ((i >= 0 && i < used) || t->pages[i] == GUARD)
			continue;
		t->overrun = true;
		t->guard_bad = i;
		return;
	}
}

/**
 * ptb_gup() - ask for pages
 * @space: whose mm the calling thread uses
 * @req: what to ask for
 *
 * pages[] has room for the request, but for no more than the space can give,
 * and stands between guard words.
 *
 * Return: the outcome, owned by @space until ptb_release(), or NULL without
 * memory, and the case has failed.
 */
struct ptb_taken *ptb_gup(struct ptb_space *space, const struct ptb_gup *req)
{
	struct ptb_taken *t = kzalloc_obj(*t);
	struct page **array = NULL;
	unsigned int i;

	if (t && !req->no_pages) {
		/* Never less than there is: an overrun must hit guard words. */
		t->room = max_t(unsigned int, space->layout.nr,
				min(req->nr, PTB_MAX_PAGES)) + 64;
		array = kvmalloc_array(t->room + 2 * PTB_GUARDS, sizeof(*array),
				       GFP_KERNEL);
	}
	if (!t || (!array && !req->no_pages)) {
		kfree(t);
		KUNIT_FAIL(space->test, "no memory for pages[]");
		return NULL;
	}
	for (i = 0; array && i < t->room + 2 * PTB_GUARDS; i++)
		array[i] = GUARD;
	t->pages = array ? array + PTB_GUARDS : NULL;
	t->pinned = ptb_gup_pins(req->api);

	if (req->killed)
		ptb_watch_killed(true);
	if (req->kill_after)
		t->ret = call_killed(space, req, t->pages);
	else if (req->unlockable)
		t->ret = call_unlockable(space->mm[req->mm], req, t);
	else
		t->ret = ptb_gup_call(space, req, t->pages);
	if (req->killed)
		ptb_watch_killed(false);
	check_guards(t);
	list_add(&t->list, &space->pins);
	return t;
}

static void release_each(struct ptb_taken *t)
{
	long i;

	for (i = 0; i < min_t(long, t->ret, t->room); i++) {
		if (t->pages[i] == GUARD)
			continue;
		if (t->pinned)
			unpin_user_page(t->pages[i]);
		else
			put_page(t->pages[i]);
	}
}

/* By runs of consecutive frames. */
static void release_range(struct ptb_taken *t, bool dirty)
{
	long i, j;

	for (i = 0; i < t->ret; i = j) {
		for (j = i + 1; j < t->ret && page_to_pfn(t->pages[j]) ==
				page_to_pfn(t->pages[i]) + (j - i); j++)
			;
		unpin_user_page_range_dirty_lock(t->pages[i], j - i, dirty);
	}
}

/**
 * ptb_release() - return what a request took
 * @taken: the outcome; freed
 * @how: by which calls; gets are returned by put_page() whatever it says
 */
void ptb_release(struct ptb_taken *taken, enum ptb_release how)
{
	if (taken->pages && taken->ret > 0) {
		if (!taken->pinned || how == PTB_RELEASE_EACH)
			release_each(taken);
		else if (how == PTB_RELEASE_RANGE || how == PTB_RELEASE_RANGE_DIRTY)
			release_range(taken, how == PTB_RELEASE_RANGE_DIRTY);
		else if (how == PTB_RELEASE_DIRTY)
			unpin_user_pages_dirty_lock(taken->pages, taken->ret, true);
		else
			unpin_user_pages(taken->pages, taken->ret);
	}
	list_del(&taken->list);
	kvfree(taken->folio);
	if (taken->pages)
		kvfree(taken->pages - PTB_GUARDS);
	kfree(taken);
}

/** ptb_pins_release() - return whatever @space's operations still hold */
void ptb_pins_release(struct ptb_space *space)
{
	struct ptb_taken *t, *next;

	list_for_each_entry_safe(t, next, &space->pins, list)
		ptb_release(t, PTB_RELEASE_EACH);
}
