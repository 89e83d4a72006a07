/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arenas: one picture side by side many times in one mm, for operations on
 * more pages than a layout has. Each tile is a page table full.
 */
#ifndef PTEBATCH_ARENA_H
#define PTEBATCH_ARENA_H

#include "lib/space.h"

/**
 * struct ptb_arena - a space that goes on
 * @space: its space; base and books are those of tile 0 between calls
 * @tiles: how many
 * @start: address of page 0
 * @nr: pages of all tiles
 * @held: frames between those that ptb_arena_scatter() left free
 * @nr_held: how many
 */
struct ptb_arena {
	struct ptb_space *space;
	unsigned int tiles;
	unsigned long start;
	unsigned long nr;
	struct page **held;
	unsigned int nr_held;
};

typedef int (*ptb_tile_fn)(struct ptb_arena *a, unsigned long first, void *arg);

int ptb_arena_scatter(struct ptb_arena *a, unsigned int nr);
void ptb_arena_unscatter(struct ptb_arena *a);
int ptb_arena_grow(struct ptb_arena *a, struct ptb_space *space,
		   unsigned int tiles);
int ptb_arena_rebuild(struct ptb_arena *a);
int ptb_arena_each(struct ptb_arena *a, ptb_tile_fn fn, void *arg);
int ptb_arena_check(struct ptb_arena *a);
unsigned long ptb_arena_neighbours(struct ptb_arena *a);

static inline unsigned long ptb_arena_addr(const struct ptb_arena *a,
					   unsigned long page)
{
	return a->start + page * PAGE_SIZE;
}

/* The frame that page @i of mm[0] maps, or 0. */
static inline unsigned long ptb_ledger_pfn(const struct ptb_ledger *led,
					   unsigned int i)
{
	const struct ptb_pte *p = &led->pte[0][i];

	return p->kind == PTB_PAGE ? led->folio[p->folio].head + p->sub : 0;
}

#endif /* PTEBATCH_ARENA_H */
