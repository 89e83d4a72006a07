// SPDX-License-Identifier: GPL-2.0
/* What mincore() must say, page by page. It changes nothing. */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "lib/oracle.h"

/* Is this page in memory? */
static u8 resident(const struct ptb_oracle *o, unsigned int page)
{
	const struct ptb_lpage *pg = &o->space->layout.page[page];

	switch (o->led->pte[o->mm][page].kind) {
	case PTB_PAGE:
	case PTB_ZERO:
	case PTB_SPECIAL:
		return 1;
	default:
		/*
		 * Nothing there, or a marker, which says nothing of the page:
		 * the page cache knows. It has what the layout draws in [ ].
		 */
		return ptb_oracle_vma(o, page) & PTB_VMA_FILE &&
		       pg->folio != PTB_NO_FOLIO;
	}
}

/**
 * ptb_oracle_mincore() - what mincore() must return and write
 * @o: the oracle
 * @req: the call
 * @mapped: which pages of the layout are in a VMA
 * @vec: PTB_VEC_MAX bytes: what must stand in and around the vector
 *
 * Each VMA's part is written before the next one is looked at.
 *
 * Return: 0 or -errno.
 */
long ptb_oracle_mincore(const struct ptb_oracle *o,
			const struct ptb_mincore *req,
			const unsigned long *mapped, u8 *vec)
{
	const unsigned long start = untagged_addr(req->start);
	const unsigned long nr = req->len / PAGE_SIZE + !!(req->len % PAGE_SIZE);
	unsigned long i;

	memset(vec, PTB_VEC_GUARD, PTB_VEC_MAX);
	if (start % PAGE_SIZE)
		return -EINVAL;
	if (start > TASK_SIZE || req->len > TASK_SIZE - start)
		return -ENOMEM;
	if (req->vec > TASK_SIZE)
		return -EFAULT;
	for (i = 0; i < nr; i++) {
		unsigned long page = (start - o->space->base) / PAGE_SIZE + i;

		if (start < o->space->base || page >= o->led->nr ||
		    !test_bit(page, mapped))
			return -ENOMEM;
		if (req->vec)		/* nothing is mapped there */
			return -EFAULT;
		vec[PTB_VEC_GUARDS + i] = page == req->in_flight ||
					  resident(o, page);
	}
	return 0;
}
