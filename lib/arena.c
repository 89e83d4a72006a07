// SPDX-License-Identifier: GPL-2.0
/* Building and checking arenas: see arena.h. */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "lib/arena.h"
#include "lib/build.h"

#define SCATTER_SEED	20260101
#define SCATTER_SPARE	4096	/* for what building allocates meanwhile */

/**
 * ptb_arena_scatter() - have the page allocator hand out frames that are apart
 * @a: the arena, about to be built
 * @nr: about how many order-0 frames it will take
 *
 * Blocks of two frames are taken and one frame of each is given back, in random
 * order: what is free at order 0 then has no free neighbour. The others are
 * held until ptb_arena_unscatter().
 *
 * Return: 0, or -ENOMEM.
 */
int ptb_arena_scatter(struct ptb_arena *a, unsigned int nr)
{
	struct rnd_state rnd;
	unsigned int i, pin;

	nr += SCATTER_SPARE;
	a->held = kvmalloc_array(nr, sizeof(*a->held), GFP_KERNEL);
	if (!a->held)
		return -ENOMEM;
	pin = memalloc_pin_save();
	for (i = 0; i < nr; i++) {
		a->held[i] = alloc_pages(GFP_HIGHUSER_MOVABLE | __GFP_NOWARN, 1);
		if (!a->held[i])
			break;
		split_page(a->held[i], 1);
	}
	memalloc_pin_restore(pin);
	a->nr_held = i;
	prandom_seed_state(&rnd, SCATTER_SEED);
	for (i = a->nr_held; i > 1; i--) {
		unsigned int j = prandom_u32_state(&rnd) % i;

		swap(a->held[i - 1], a->held[j]);
	}
	for (i = 0; i < a->nr_held; i++)
		__free_page(a->held[i] + 1);
	return a->nr_held == nr ? 0 : -ENOMEM;
}

/**
 * ptb_arena_unscatter() - give back what ptb_arena_scatter() holds
 * @a: the arena, built
 */
void ptb_arena_unscatter(struct ptb_arena *a)
{
	while (a->nr_held)
		__free_page(a->held[--a->nr_held]);
	kvfree(a->held);
	a->held = NULL;
}

/* The space is tile @nr now. */
static void enter(struct ptb_arena *a, unsigned int nr)
{
	a->space->base = a->start + nr * PMD_SIZE;
}

/* Build tiles from @first on; the books are then those of tile 0. */
static int build(struct ptb_arena *a, unsigned int first)
{
	unsigned int i;
	int ret = 0;

	for (i = first; i < a->tiles && !ret; i++) {
		enter(a, i);
		ret = ptb_build_here(a->space);
		cond_resched();
	}
	enter(a, 0);
	return ret ?: ptb_ledger_read(a->space, NULL, a->space->led);
}

/**
 * ptb_arena_grow() - build a space's picture again and again behind it
 * @a: the arena; filled in
 * @space: the space, its layout a page table full
 * @tiles: how many tiles, the one that is there included
 *
 * Return: 0, or -errno and the case has failed.
 */
int ptb_arena_grow(struct ptb_arena *a, struct ptb_space *space,
		   unsigned int tiles)
{
	a->space = space;
	a->tiles = tiles;
	a->start = space->base;
	a->nr = (unsigned long)tiles * space->layout.nr;
	space->tiled = true;
	if (space->layout.nr != PTRS_PER_PTE || a->start & ~PMD_MASK) {
		ptb_space_fail(space, "an arena's picture is a page table full");
		return -EINVAL;
	}
	return build(a, 1);
}

/**
 * ptb_arena_rebuild() - unmap everything and build all tiles anew
 * @a: the arena
 *
 * Return: 0, or -errno and the case has failed.
 */
int ptb_arena_rebuild(struct ptb_arena *a)
{
	int ret = vm_munmap(a->start, a->nr * PAGE_SIZE);

	return ret ?: build(a, 0);
}

/**
 * ptb_arena_each() - call a function with each tile's books
 * @a: the arena
 * @fn: called with the number of the tile's first page; anything but 0 ends
 *	it. a->space is that tile meanwhile, its books just read.
 * @arg: handed to @fn
 *
 * Return: what @fn returned last, or -errno.
 */
int ptb_arena_each(struct ptb_arena *a, ptb_tile_fn fn, void *arg)
{
	struct ptb_space *space = a->space;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < a->tiles && !ret; i++) {
		enter(a, i);
		ret = ptb_ledger_read(space, NULL, space->led) ?:
		      fn(a, (unsigned long)i * space->layout.nr, arg);
		cond_resched();
	}
	enter(a, 0);
	return ret ?: ptb_ledger_read(space, NULL, space->led);
}

/* As the picture says, and nobody has a reference but the mappings. */
static int check_tile(struct ptb_arena *a, unsigned long first, void *unused)
{
	const struct ptb_ledger *led;
	unsigned int i;
	int ret;

	ret = ptb_verify(a->space);
	if (ret)
		return ret;
	led = a->space->led;
	for (i = 0; i < led->nr_folios; i++) {
		const struct ptb_frec *rec = &led->folio[i];

		if (rec->zero || (rec->refs == rec->mapcount && !rec->pins))
			continue;
		ptb_space_fail(a->space,
			       "folio %u of the tile at page %lu: reference count %d, mapcount %d, pin count %d",
			       i, first, rec->refs, rec->mapcount, rec->pins);
		return -EINVAL;
	}
	return 0;
}

/**
 * ptb_arena_check() - is every tile as it was built?
 * @a: the arena; one mm only, and nothing pinned
 *
 * Return: 0, or -errno and the case has failed.
 */
int ptb_arena_check(struct ptb_arena *a)
{
	return ptb_arena_each(a, check_tile, NULL);
}

static int count_tile(struct ptb_arena *a, unsigned long first, void *arg)
{
	unsigned long *count = arg, pfn, before = 0;
	unsigned int i;

	for (i = 0; i < a->space->layout.nr; i++) {
		pfn = ptb_ledger_pfn(a->space->led, i);
		if (pfn && before && pfn == before + 1)
			++*count;
		before = pfn;
	}
	return 0;
}

/**
 * ptb_arena_neighbours() - how many pages map the frame behind the one before?
 * @a: the arena
 *
 * Return: the number, counted within each tile.
 */
unsigned long ptb_arena_neighbours(struct ptb_arena *a)
{
	unsigned long count = 0;

	ptb_arena_each(a, count_tile, &count);
	return count;
}
