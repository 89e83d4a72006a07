/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Spaces: a real mm_struct with real VMAs, built from a layout in kernel
 * context, that can fork and proves at its end that nothing was left over.
 */
#ifndef PTEBATCH_SPACE_H
#define PTEBATCH_SPACE_H

#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/xarray.h>

#include "lib/layout.h"
#include "lib/ledger.h"

struct kunit;
struct kunit_suite;

/* Where layouts stand, and where what needs an mremap() is built first. */
#define PTB_BASE	0x40000000UL
#define PTB_STAGE	0x80000000UL

/**
 * struct ptb_space - an mm made from a layout, and its children
 * @test: the case it belongs to
 * @layout: what was asked for; states change as operations run, see @led
 * @base: address of page 0
 * @mm: the mm itself is mm[0], the mm that still maps the "s" pages is mm[1]
 *	if there are any, forks come behind; NULL once gone
 * @nr_mms: how many there have been
 * @keeper: index of the mm that keeps "s" pages mapped, or 0
 * @user: the thread that uses mm[0], or NULL
 * @maker: the thread that made the space, with a reference
 * @file: the shmem or secretmem file behind file VMAs, or NULL
 * @file_shift: page of that file that layout page 0 maps
 * @uffd: the userfaultfd of ptb_uffd_attach(), or NULL
 * @special: the page behind "x" entries
 * @slots: layout page that was swapped out, by swap entry
 * @swap_free: what the swap device had free before, if the space needs it
 * @spacers: pages held while building, so that frames do not abut by chance
 * @led: the last ledger read, NULL while building
 * @pins: pages that an operation took and nobody returned yet
 * @hint: see ledger.c
 * @tiled: equal neighbours stand around it, see arena.c
 * @failed: something was reported; keep quiet about what follows from it
 */
struct ptb_space {
	struct kunit *test;
	struct ptb_layout layout;
	unsigned long base;
	struct mm_struct *mm[PTB_MAX_MMS];
	unsigned int nr_mms;
	unsigned int keeper;
	struct task_struct *user;
	struct task_struct *maker;
	struct file *file;
	unsigned int file_shift;
	struct file *uffd;
	struct page *special;
	struct xarray slots;
	long swap_free;
	struct ptb_ledger *led;
	struct list_head spacers;
	struct list_head pins;
	unsigned int hint;
	bool tiled;
	bool failed;
};

static inline unsigned long ptb_addr(const struct ptb_space *space, long page)
{
	return space->base + page * PAGE_SIZE;
}

struct ptb_space *ptb_space_create(struct kunit *test, const char *picture,
				   unsigned int n);
void ptb_space_destroy(struct ptb_space *space);
struct mm_struct *ptb_mm_new(void);
void ptb_mm_gone(struct ptb_space *space, struct mm_struct *mm, unsigned int nr);
int ptb_space_fork(struct ptb_space *space);
void ptb_space_exit(struct ptb_space *space, unsigned int mm);
__printf(2, 3) void ptb_space_fail(struct ptb_space *space,
				   const char *fmt, ...);

/* build.c */
int ptb_build(struct ptb_space *space);
int ptb_build_here(struct ptb_space *space);
int ptb_fault(struct mm_struct *mm, unsigned long addr, unsigned int flags);
void ptb_anon_orders(unsigned long orders);

/* mmstate.c */
extern unsigned int ptb_reuse_span;
void ptb_drain(void);
int ptb_suite_init(struct kunit_suite *suite);
void ptb_suite_exit(struct kunit_suite *suite);
struct file *ptb_shmem_file(void);
bool ptb_has_movable(void);
bool ptb_has_hugetlb(unsigned int shift);
bool ptb_migration_keeps_young(void);
bool ptb_migration_keeps_dirty(void);
bool ptb_migration_has_ad(void);

#endif /* PTEBATCH_SPACE_H */
