/* SPDX-License-Identifier: GPL-2.0 */
/* What changes page tables while others pin pages. */
#ifndef PTEBATCH_RACE_OPS_H
#define PTEBATCH_RACE_OPS_H

#include "lib/session.h"

#define RACE_MAX_PAGES	512

/**
 * struct race - one mm, in which pages are pinned and something else goes on
 * @s: its space, where the page tables stay within page 0 and @nr
 * @nr: pages
 * @order: of the folios that are faulted in
 * @pmd: and they stay mapped by PMDs
 * @from: an operation is about this page and all that follow, or its folio
 */
struct race {
	struct ptb_session s;
	unsigned int nr;
	unsigned int order;
	bool pmd;
	unsigned int from;
};

/**
 * struct race_op - one operation
 * @run: do it; returns 0 if that was possible
 * @undo: let stores through the mapping be possible again, or NULL
 * @budget: how long somebody in GUP-fast should wait for it, in ms
 * @keeps: a page that is pinned stays mapped, whoever pins it
 * @forks: it calls fork(), so that pins which it overlaps with come from the
 *	slow path, and pages without a pin may be copied at the next store
 */
struct race_op {
	int (*run)(struct race *r);
	void (*undo)(struct race *r);
	unsigned int budget;
	bool keeps;
	bool forks;
};

extern const struct race_op race_fork, race_mprotect, race_dontneed, race_munmap,
			    race_split, race_split_pmd, race_migrate, race_collapse;

/* Where in a page who stores what: what it was built with, this thread, pinners. */
enum race_slot { RACE_TAG, RACE_MAIN, RACE_PINNER };

/* What page @page holds at RACE_TAG once it was faulted in on purpose. */
static inline u64 race_tag(unsigned int page)
{
	return 0x9ace000000000000ull + page;
}

static inline unsigned long race_addr(const struct race *r, unsigned int page,
				      unsigned int slot)
{
	return ptb_addr(r->s.space, page) + slot * sizeof(u64);
}

/**
 * struct race_row - an operation and what it works on
 * @name: says both
 * @op: the operation
 * @picture: the space; n is @nr
 * @nr: pages
 * @order: of their folios
 * @pmd: mapped by a PMD, of which GUP-fast takes all pages at once
 * @rounds: how often
 */
struct race_row {
	const char *name;
	const struct race_op *op;
	const char *picture;
	unsigned int nr;
	unsigned int order;
	bool pmd;
	unsigned int rounds;
};

int race_fresh(struct race *r);
int race_store(struct race *r, unsigned int from, unsigned int to,
	       unsigned int slot, u64 value);

bool race_begin(struct kunit *test, const struct race_row *row, struct race *r);
void race_end(struct race *r);
u64 race_word(struct page *page, unsigned int slot);

/* race_points.c, race_stress.c */
void race_run_points(struct kunit *test, const struct race_row *row);
void race_run_stress(struct kunit *test, const struct race_row *row);

#endif /* PTEBATCH_RACE_OPS_H */
