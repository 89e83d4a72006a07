// SPDX-License-Identifier: GPL-2.0
/*
 * What is done to a space after its memory was faulted in: holes, then pages
 * that another mm maps or mapped, then pages that are swapped out, and pages
 * that came back from there and still are in the swap cache.
 */
#include <linux/bits.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>

#include "lib/build.h"
#include "lib/swap.h"
#include "lib/sys.h"

static int advise(struct ptb_space *space, unsigned int start,
		  unsigned int end, int advice)
{
	int ret = ptb_syscall(PTB_SYS(madvise), ptb_addr(space, start),
			      (end - start) * PAGE_SIZE, advice, 0, 0, 0);

	if (ret)
		ptb_space_fail(space, "building: madvise(%d) of pages %u to %u gives %d",
			       advice, start, end - 1, ret);
	return ret;
}

/* Run @advice over the runs of pages whose state is (@in) among @states. */
static int advise_states(struct ptb_space *space, const char *states, bool in,
			 int advice)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int i, j;
	int ret = 0;

	for (i = 0; i < l->nr && !ret; i = j) {
		bool hit = !strchr(states, l->page[i].state) != in;

		for (j = i + 1; j < l->nr && l->page[j].vma == l->page[i].vma &&
		     hit == (!strchr(states, l->page[j].state) != in); j++)
			;
		if (hit && l->page[i].state != '-' && l->page[j - 1].state != '-')
			ret = advise(space, i, j, advice);
	}
	return ret;
}

static bool has_state(const struct ptb_layout *l, const char *states)
{
	unsigned int i;

	for (i = 0; i < l->nr; i++)
		if (strchr(states, l->page[i].state))
			return true;
	return false;
}

/* Order of the folio of page @i if all of it is in one state, or 0. */
static unsigned int whole_order(const struct ptb_layout *l, unsigned int i)
{
	const int f = l->page[i].folio;
	unsigned int j, nr = 0;

	for (j = 0; f != PTB_NO_FOLIO && j < l->nr; j++)
		nr += l->page[j].folio == f && l->page[j].state == l->page[i].state;
	return f != PTB_NO_FOLIO && nr == 1 << l->folio[f].order ?
	       l->folio[f].order : 0;
}

/* Fault in each page with one of @states where there is none. */
static int fault_in(struct ptb_space *space, const char *states,
		    unsigned int flags)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int i, order, pin;
	int ret = 0;

	for (i = 0; i < l->nr && !ret; i++) {
		unsigned long addr = ptb_addr(space, i);

		if (!strchr(states, l->page[i].state) ||
		    ptb_frame_at(space->mm[0], addr))
			continue;
		order = whole_order(l, i);
		ptb_anon_orders(order ? BIT(order) : 0);
		pin = memalloc_pin_save();
		ret = ptb_fault(space->mm[0], addr, flags);
		memalloc_pin_restore(pin);
		ptb_anon_orders(0);
		if (!ret && order == PMD_SHIFT - PAGE_SHIFT)
			ptb_split_pmd(space->mm[0], addr);
		cond_resched();
	}
	return ret ? -EFAULT : 0;
}

/**
 * ptb_punch() - holes, and what is to be swapped out
 * @space: with its folios faulted in
 *
 * Among pages of a folio that stay, an order-0 page is swapped out.
 *
 * Return: 0 or -errno.
 */
int ptb_punch(struct ptb_space *space)
{
	int ret = advise_states(space, ".zxgmh" PTB_SWAPPED, true, MADV_DONTNEED);

	return ret ?: fault_in(space, PTB_SWAPPED, FAULT_FLAG_WRITE);
}

/*
 * Pages in @states lose exclusivity: everything else stays behind at a fork.
 * MADV_DOFORK lets the VMAs merge again.
 */
static int fork_states(struct ptb_space *space, const char *states)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int v;
	int child, ret;

	ret = advise_states(space, states, false, MADV_DONTFORK);
	if (ret)
		return ret;
	child = ptb_space_fork(space);
	if (child < 0) {
		ptb_space_fail(space, "building: fork gives %d", child);
		return child;
	}
	for (v = 0; v < l->nr_vmas && !ret; v++)
		if (!ptb_is_gap(l, v))
			ret = advise(space, l->vma[v].start, l->vma[v].end,
				     MADV_DOFORK);
	return ret ?: child;
}

/* For this and the next one: with a second mm, a read fault cannot take a page
 * out of the swap cache.
 */
static int share_for_good(struct ptb_space *space)
{
	int child = fork_states(space, "saj");

	if (child < 0)
		return child;
	space->keeper = child;
	ptb_page_out(space, "aj");
	return fault_in(space, "a", 0);
}

static int share_for_now(struct ptb_space *space)
{
	int child = fork_states(space, "ebd"), ret;

	if (child < 0)
		return child;
	ptb_page_out(space, "b");
	ret = fault_in(space, "b", 0);
	ptb_space_exit(space, child);
	space->nr_mms--;
	return ret;
}

/**
 * ptb_share() - who else maps, or mapped, the pages, and what is swapped out
 * @space: with everything faulted in and holes punched
 *
 * Return: 0 or -errno.
 */
int ptb_share(struct ptb_space *space)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int v;
	int ret = 0;

	/* Equal neighbours would merge over a |. */
	for (v = 1; v < l->nr_vmas && !ret; v += 2)
		if (!ptb_is_gap(l, v))
			ret = advise(space, l->vma[v].start, l->vma[v].end,
				     MADV_DONTDUMP);
	if (!ret && has_state(l, PTB_SWAPPED PTB_CACHED)) {
		ret = ptb_swap_on();
		space->swap_free = ptb_swap_free();
	}
	if (!ret && has_state(l, "saj"))
		ret = share_for_good(space);
	if (!ret && has_state(l, "ebd"))
		ret = share_for_now(space);
	if (!ret && has_state(l, "od"))
		ptb_page_out(space, "od");
	if (!ret && has_state(l, "g"))
		ret = advise_states(space, "g", true, MADV_GUARD_INSTALL);
	return ret;
}
