// SPDX-License-Identifier: GPL-2.0
/* The knobs of mm that a run of the suites sets, and puts back. */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mount.h>
#include <linux/pgtable.h>
#include <linux/shmem_fs.h>
#include <linux/swap.h>

#include "internal.h"
#include "lib/space.h"

/*
 * What the kernel under test declares: how many PTEs, aligned, the reuse of a
 * large folio at a write fault covers. PTRS_PER_PTE is the page table.
 */
unsigned int ptb_reuse_span = 1;

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "ptebatch."
module_param_named(reuse_span, ptb_reuse_span, uint, 0444);

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static unsigned long old_always, old_madvise, old_inherit;
#endif

static struct vfsmount *tmpfs;

/**
 * ptb_drain() - return the references that LRU batches hold
 *
 * Order-0 folios sit in per-CPU batches after folio_add_lru() and
 * folio_activate() (mm/folio.c), each with a reference.
 */
void ptb_drain(void)
{
	if (num_online_cpus() > 1)
		lru_add_drain_all();
	else
		lru_add_drain();
}

/**
 * ptb_anon_orders() - which orders may anonymous faults allocate?
 * @orders: bitmap of orders; 0 for order-0 pages only
 *
 * Operations under test run with 0, so that a fault brings one page.
 */
void ptb_anon_orders(unsigned long orders)
{
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	WRITE_ONCE(huge_anon_orders_always, orders);
#endif
}

/**
 * ptb_shmem_file() - an empty shmem file
 *
 * On a tmpfs of our own: its huge=within_size gives each write a folio as
 * large as the write (mm/shmem.c, shmem_get_orders_within_size()), which the
 * kernel's internal mount does not.
 *
 * Return: the file, for the caller to fput(), or an ERR_PTR.
 */
struct file *ptb_shmem_file(void)
{
	return shmem_file_setup_with_mnt(tmpfs, "ptebatch", 0,
					 mk_vma_flags(VMA_NORESERVE_BIT));
}

/** ptb_has_movable() - is there a movable zone, where nothing may be pinned? */
bool ptb_has_movable(void)
{
	int nid;

	for_each_online_node(nid)
		if (managed_zone(&NODE_DATA(nid)->node_zones[ZONE_MOVABLE]))
			return true;
	return false;
}

/** ptb_has_hugetlb() - are there hugetlb pages of 1 << @shift bytes? */
bool ptb_has_hugetlb(unsigned int shift)
{
	return IS_ENABLED(CONFIG_HUGETLB_PAGE) && size_to_hstate(1UL << shift);
}

#ifdef CONFIG_HUGETLB_PAGE
static unsigned long old_overcommit[HUGE_MAX_HSTATE];

/* Hugetlb pages on demand: none are reserved under the stock command. */
static void set_overcommit(bool on)
{
	struct hstate *h;

	for_each_hstate(h) {
		unsigned long *old = &old_overcommit[hstate_index(h)];

		if (on) {
			*old = h->nr_overcommit_huge_pages;
			h->nr_overcommit_huge_pages = 64;
		} else {
			h->nr_overcommit_huge_pages = *old;
		}
	}
}
#else
static void set_overcommit(bool on)
{
}
#endif

/**
 * ptb_suite_init() - a suite begins: KUnit's suite_init
 * @suite: the suite
 *
 * Return: 0, or -errno if there is no tmpfs to be had or ptebatch.reuse_span is
 * no number of PTEs that a page table divides into.
 */
int ptb_suite_init(struct kunit_suite *suite)
{
	char options[] = "huge=within_size";

	kunit_info(suite, "ptebatch.reuse_span=%u\n", ptb_reuse_span);
	if (!is_power_of_2(ptb_reuse_span) || ptb_reuse_span > PTRS_PER_PTE)
		return -EINVAL;
	tmpfs = vfs_kern_mount(get_fs_type("tmpfs"), SB_KERNMOUNT, "tmpfs",
			       IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) ?
			       options : NULL);
	if (IS_ERR(tmpfs))
		return PTR_ERR(tmpfs);
	set_overcommit(true);
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	old_always = huge_anon_orders_always;
	old_madvise = huge_anon_orders_madvise;
	old_inherit = huge_anon_orders_inherit;
	huge_anon_orders_madvise = 0;
	huge_anon_orders_inherit = 0;
#endif
	ptb_anon_orders(0);
	return 0;
}

/**
 * ptb_suite_exit() - a suite ends, all is as it was before: KUnit's suite_exit
 * @suite: the suite
 */
void ptb_suite_exit(struct kunit_suite *suite)
{
	set_overcommit(false);
	ptb_ledger_free_spares();
	kern_unmount(tmpfs);
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	huge_anon_orders_always = old_always;
	huge_anon_orders_madvise = old_madvise;
	huge_anon_orders_inherit = old_inherit;
#endif
}
