// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that change page tables under a running GUP-fast. Each is called by
 * the thread that made the space; pages may be faulted in by others meanwhile.
 */
#include <linux/highmem.h>
#include <linux/list.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagemap.h>
#include <linux/topology.h>
#include <linux/uaccess.h>
#include <linux/vmstat.h>

#include "internal.h"
#include "kunit/race_ops.h"
#include "lib/build.h"
#include "lib/sys.h"

/**
 * race_word() - what a page holds
 * @page: the page
 * @slot: where in it
 *
 * Return: the word, read once.
 */
u64 race_word(struct page *page, unsigned int slot)
{
	u64 *p = kmap_local_page(page), value = READ_ONCE(p[slot]);

	kunmap_local(p);
	return value;
}

/**
 * race_begin() - build the space of a row
 * @test: the case; it has failed if this returns false
 * @row: the row
 * @r: filled in
 *
 * Return: true if there is one, for race_end().
 */
bool race_begin(struct kunit *test, const struct race_row *row, struct race *r)
{
	r->nr = row->nr;
	r->order = row->order;
	r->pmd = row->pmd;
	return ptb_begin(&r->s, test, row->picture, row->nr);
}

/**
 * race_end() - end a space, and see that nothing was left over
 * @r: the race; nobody else is in it any more
 *
 * Every pin was returned, whatever became of the call.
 */
void race_end(struct race *r)
{
	struct ptb_space *space = r->s.space;

	if (ptb_ledger_read(space, space->led, space->led))
		ptb_space_fail(space, "cannot read the books");
	else if (space->led->acquired - r->s.start->acquired !=
		 space->led->released - r->s.start->released)
		ptb_space_fail(space, "%ld pins were counted as acquired, %ld as released",
			       space->led->acquired - r->s.start->acquired,
			       space->led->released - r->s.start->released);
	ptb_end(&r->s);
}

/**
 * race_store() - store to pages, through the mapping
 * @r: the race
 * @from: first page
 * @to: the page behind the last one
 * @slot: where in the page
 * @value: plus the page's number
 *
 * Return: 0 or -EFAULT.
 */
int race_store(struct race *r, unsigned int from, unsigned int to,
	       unsigned int slot, u64 value)
{
	unsigned int i;

	for (i = from; i < to; i++)
		if (put_user(value + i, (u64 __user *)race_addr(r, i, slot)))
			return -EFAULT;
	return 0;
}

/* Fault in what is missing, with tags. */
static int fault_in(struct race *r, unsigned int from)
{
	struct mm_struct *mm = r->s.space->mm[0];
	int ret;

	/* khugepaged must not learn of this mm, see ptb_build(). */
	mm_flags_set(MMF_VM_HUGEPAGE, mm);
	ptb_anon_orders(r->order ? BIT(r->order) : 0);
	ret = race_store(r, from, r->nr, RACE_TAG, race_tag(0));
	ptb_anon_orders(0);
	mm_flags_clear(MMF_VM_HUGEPAGE, mm);
	return ret;
}

static int advise(struct race *r, unsigned int from, int advice)
{
	return ptb_syscall(PTB_SYS(madvise), race_addr(r, from, 0),
			   (r->nr - from) * PAGE_SIZE, advice, 0, 0, 0);
}

/**
 * race_fresh() - all pages anew, in large folios, each with its tag
 * @r: the race; nobody pins its pages
 *
 * Return: 0 or -errno.
 */
int race_fresh(struct race *r)
{
	int ret = advise(r, 0, MADV_DONTNEED) ?: fault_in(r, 0);

	if (!ret && r->order == PMD_SHIFT - PAGE_SHIFT && !r->pmd)
		ptb_split_pmd(r->s.space->mm[0], race_addr(r, 0, 0));
	/* Batches hold references, which would be in the way of migration. */
	if (!r->order)
		ptb_drain();
	return ret;
}

/* A child; the parent stores to some pages while it is there. */
static int run_fork(struct race *r)
{
	struct ptb_space *space = r->s.space;
	int child = ptb_space_fork(space), ret;

	if (child < 0)
		return child;
	ret = race_store(r, r->from, min(r->from + 4, r->nr), RACE_MAIN, 0);
	ptb_space_exit(space, child);
	space->nr_mms = child;
	return ret;
}

static int protect(struct race *r, unsigned int from, unsigned long prot)
{
	return ptb_syscall(PTB_SYS(mprotect), race_addr(r, from, 0),
			   (r->nr - from) * PAGE_SIZE, prot, 0, 0, 0);
}

static int run_mprotect(struct race *r)
{
	return protect(r, r->from, PROT_READ);
}

static void undo_mprotect(struct race *r)
{
	protect(r, 0, PROT_READ | PROT_WRITE);
}

static int run_dontneed(struct race *r)
{
	return advise(r, r->from, MADV_DONTNEED) ?: fault_in(r, r->from);
}

static int run_munmap(struct race *r)
{
	const unsigned long addr = race_addr(r, r->from, 0);
	const unsigned long len = (r->nr - r->from) * PAGE_SIZE;
	int ret = vm_munmap(addr, len);

	if (ret)
		return ret;
	if (ptb_syscall(PTB_SYS(mmap), addr, len, PROT_READ | PROT_WRITE,
			MAP_FIXED | MAP_NORESERVE | MAP_ANONYMOUS | MAP_PRIVATE,
			-1, 0) != addr)
		return -ENOMEM;
	return fault_in(r, r->from);
}

/* The folio at page @from, with a reference, or NULL. */
static struct folio *folio_at(struct race *r)
{
	struct page *page;

	if (get_user_pages_fast_only(race_addr(r, r->from, 0), 1, 0, &page) != 1)
		return NULL;
	return page_folio(page);
}

static int run_split(struct race *r)
{
	struct folio *folio = folio_at(r);
	struct page *head;
	int ret;

	if (!folio)
		return -EAGAIN;
	/* The first page keeps lock and reference. */
	head = &folio->page;
	folio_lock(folio);
	ret = folio_test_large(folio) ? split_folio(folio) : -EINVAL;
	folio_unlock(page_folio(head));
	folio_put(page_folio(head));
	return ret;
}

static int run_split_pmd(struct race *r)
{
	ptb_split_pmd(r->s.space->mm[0], race_addr(r, 0, 0));
	return 0;
}

static int run_migrate(struct race *r)
{
	struct migration_target_control mtc = {
		.nid = numa_mem_id(),
		.gfp_mask = GFP_HIGHUSER_MOVABLE,
		.reason = MR_SYSCALL,
	};
	struct folio *folio = folio_at(r);
	LIST_HEAD(list);
	int ret;

	if (!folio)
		return -EAGAIN;
	if (!folio_isolate_lru(folio)) {
		folio_put(folio);
		return -EBUSY;
	}
	folio_put(folio);
	node_stat_mod_folio(folio, NR_ISOLATED_ANON, folio_nr_pages(folio));
	list_add(&folio->lru, &list);
	ret = migrate_pages(&list, alloc_migration_target, NULL,
			    (unsigned long)&mtc, MIGRATE_SYNC, MR_SYSCALL, NULL);
	putback_movable_pages(&list);
	return ret;
}

static int run_collapse(struct race *r)
{
	return advise(r, 0, MADV_COLLAPSE);
}

const struct race_op race_fork = { run_fork, NULL, 1, true, true };
const struct race_op race_mprotect = { run_mprotect, undo_mprotect, 1, true };
const struct race_op race_dontneed = { run_dontneed, NULL, 1 };
const struct race_op race_munmap = { run_munmap, NULL, 1 };
const struct race_op race_split = { run_split, NULL, 1, true };
const struct race_op race_split_pmd = { run_split_pmd, NULL, 1, true };
const struct race_op race_migrate = { run_migrate, NULL, 1, true };
const struct race_op race_collapse = { run_collapse, NULL, 4, true };
