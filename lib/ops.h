/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations: one call under test each, described once, for hand-written rows,
 * for the oracle, and later for random sequences and timing loops.
 */
#ifndef PTEBATCH_OPS_H
#define PTEBATCH_OPS_H

#include <linux/list.h>
#include <linux/mm_types.h>

struct ptb_space;

enum ptb_gup_api {
	PTB_GET,		/* get_user_pages() */
	PTB_PIN,		/* pin_user_pages() */
	PTB_GET_UNLOCKED,
	PTB_PIN_UNLOCKED,
	PTB_GET_REMOTE,
	PTB_PIN_REMOTE,
	PTB_POPULATE,		/* MADV_POPULATE_READ, _WRITE with FOLL_WRITE */
	PTB_GET_FAST,		/* those that try without a lock, from here on */
	PTB_PIN_FAST,
	PTB_GET_FAST_ONLY,
};

/**
 * struct ptb_gup - one request for pages
 * @api: which function
 * @flags: FOLL_* flags as its caller gives them; PTB_POPULATE knows FOLL_WRITE
 * @start: user address, need not be aligned
 * @nr: number of pages
 * @mm: whose, for the remote calls: index into the space's mms
 * @no_pages: pages == NULL; always for PTB_POPULATE
 * @killed: a SIGKILL is pending; needs ptb_watch_start() before
 * @kill_after: one arrives when so many order-0 pages have been pinned; likewise
 * @unlockable: for get_user_pages_remote(): a fault may drop the mmap lock
 */
struct ptb_gup {
	enum ptb_gup_api api;
	unsigned int flags;
	unsigned long start;
	unsigned long nr;
	unsigned int mm;
	unsigned int kill_after;
	bool no_pages;
	bool killed;
	bool unlockable;
};

/* Guard words before and behind pages[]. */
#define PTB_GUARDS	8

/**
 * struct ptb_taken - what a request brought
 * @list: entry in the space's pins, until released
 * @ret: what the call returned
 * @room: length of @pages without the guards behind it
 * @pages: the array handed to the call
 * @folio: number in the books of the folio of each page, filled in by whoever
 *	has compared @pages with them
 * @pinned: FOLL_PIN, not FOLL_GET
 * @guard_bad: index of a word of the array that the call had no business to
 *	write (negative: in front of it), valid if @overrun
 * @overrun: a word outside the first @ret ones changed
 * @unlocked: the mmap lock was dropped on the way
 */
struct ptb_taken {
	struct list_head list;
	long ret;
	unsigned int room;
	struct page **pages;
	u16 *folio;
	bool pinned;
	long guard_bad;
	bool overrun;
	bool unlocked;
};

enum ptb_release {
	PTB_RELEASE_EACH,	/* put_page() or unpin_user_page() */
	PTB_RELEASE_ALL,	/* unpin_user_pages() */
	PTB_RELEASE_DIRTY,	/* unpin_user_pages_dirty_lock() */
	PTB_RELEASE_RANGE,	/* unpin_user_page_range_dirty_lock(false) */
	PTB_RELEASE_RANGE_DIRTY, /* and (true) */
	PTB_NR_RELEASES
};

/**
 * struct ptb_mincore - one mincore() call
 * @start: user address, need not be aligned
 * @len: bytes
 * @vec: where the vector goes; 0: to memory mapped for the call, where nothing
 *	but the vector may be written
 * @in_flight: this page of the layout is being migrated meanwhile, or -1
 */
struct ptb_mincore {
	unsigned long start;
	size_t len;
	unsigned long vec;
	int in_flight;
};

/* The vector between guard bytes; what is not written keeps PTB_VEC_GUARD. */
#define PTB_VEC_GUARD	0xa5
#define PTB_VEC_GUARDS	64
#define PTB_VEC_MAX	(PTB_MAX_PAGES + 2 * PTB_VEC_GUARDS)

/**
 * struct ptb_mremap - one mremap() call
 * @addr: first argument
 * @old_len: second
 * @new_len: third
 * @flags: MREMAP_*
 * @new_addr: fifth; without MREMAP_FIXED and MREMAP_DONTUNMAP the only place
 *	where the kernel finds room
 * @err: the call must fail with this and change nothing, or 0
 */
struct ptb_mremap {
	unsigned long addr;
	unsigned long old_len;
	unsigned long new_len;
	unsigned long flags;
	unsigned long new_addr;
	int err;
};

/* vma_ops.c */
long ptb_mincore(struct ptb_space *space, const struct ptb_mincore *req,
		 u8 *vec);
long ptb_mremap(struct ptb_space *space, const struct ptb_mremap *req);
void ptb_mapped(struct ptb_space *space, unsigned long *mapped);
int ptb_uffd_attach(struct ptb_space *space);

long ptb_gup_call(struct ptb_space *space, const struct ptb_gup *r,
		  struct page **pages);
struct ptb_taken *ptb_gup(struct ptb_space *space, const struct ptb_gup *req);
void ptb_release(struct ptb_taken *taken, enum ptb_release how);
void ptb_pins_release(struct ptb_space *space);
bool ptb_gup_pins(enum ptb_gup_api api);
const char *ptb_gup_name(enum ptb_gup_api api);
const char *ptb_foll_names(unsigned int flags, char *buf, size_t size);

#endif /* PTEBATCH_OPS_H */
