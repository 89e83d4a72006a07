// SPDX-License-Identifier: GPL-2.0
/* Judging system calls that look at VMAs or move them. */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "lib/judged.h"

/**
 * ptb_do_mincore() - mincore(), judged
 * @s: the session
 * @req: the call
 *
 * Vector and guard bytes are compared one by one; nothing may have changed.
 */
void ptb_do_mincore(struct ptb_session *s, const struct ptb_mincore *req)
{
	DECLARE_BITMAP(mapped, PTB_MAX_PAGES);
	struct ptb_judged j;
	long want, found;
	u8 *vec;
	int i;

	if (s->bad || !ptb_judged_init(s, &j))
		return;
	snprintf(s->operation, sizeof(s->operation),
		 "mincore of %zu bytes from page %ld + %lu bytes", req->len,
		 (long)(req->start - s->space->base) >> PAGE_SHIFT,
		 req->start & ~PAGE_MASK);
	vec = kvmalloc_array(2, PTB_VEC_MAX, GFP_KERNEL);
	if (vec) {
		ptb_mapped(s->space, mapped);
		want = ptb_oracle_mincore(&j.oracle, req, mapped, vec);
		found = ptb_mincore(s->space, req, vec + PTB_VEC_MAX);
		ptb_agree(s, want, found);
		for (i = 0; i < PTB_VEC_MAX; i++) {
			if (vec[i] == vec[PTB_VEC_MAX + i])
				continue;
			ptb_disagree(s, "vec[%d]: expected %#x, found %#x",
				     i - PTB_VEC_GUARDS, vec[i],
				     vec[PTB_VEC_MAX + i]);
			break;
		}
	} else {
		ptb_disagree(s, "no memory for the vector");
	}
	kvfree(vec);
	ptb_judge(s, &j);
	ptb_judged_free(&j);
}

/* Which pages of the layout are in a VMA, and how many the mm counts. */
static void judge_vmas(struct ptb_session *s, const unsigned long *before,
		       const unsigned long *want, long total_vm)
{
	const unsigned int nr = s->space->layout.nr;
	DECLARE_BITMAP(found, PTB_MAX_PAGES);
	unsigned int i;

	ptb_mapped(s->space, found);
	for (i = 0; i < nr; i++) {
		if (test_bit(i, want) == test_bit(i, found))
			continue;
		ptb_disagree(s, "page %u is %s a VMA", i,
			     test_bit(i, found) ? "still in" : "not in");
		return;
	}
	total_vm += (long)bitmap_weight(want, nr) - (long)bitmap_weight(before, nr);
	if (s->space->mm[0]->total_vm != total_vm)
		ptb_disagree(s, "total_vm expected %ld, found %ld", total_vm,
			     s->space->mm[0]->total_vm);
}

/**
 * ptb_do_mremap() - mremap(), judged
 * @s: the session
 * @req: the call
 *
 * Return: true if all agreed; the books are those after the move.
 */
bool ptb_do_mremap(struct ptb_session *s, const struct ptb_mremap *req)
{
	DECLARE_BITMAP(before, PTB_MAX_PAGES);
	DECLARE_BITMAP(mapped, PTB_MAX_PAGES);
	const long base = s->space->base;
	struct ptb_judged j;
	long want, total_vm;

	if (s->bad || !ptb_judged_init(s, &j))
		return false;
	snprintf(s->operation, sizeof(s->operation),
		 "mremap(page %ld, %lu pages, %lu pages, %#lx, page %ld)",
		 ((long)req->addr - base) >> PAGE_SHIFT,
		 req->old_len >> PAGE_SHIFT, req->new_len >> PAGE_SHIFT,
		 req->flags, ((long)req->new_addr - base) >> PAGE_SHIFT);
	ptb_mapped(s->space, before);
	bitmap_copy(mapped, before, PTB_MAX_PAGES);
	total_vm = s->space->mm[0]->total_vm;
	want = ptb_oracle_mremap(&j.oracle, req, mapped);
	ptb_agree(s, want, ptb_mremap(s->space, req));
	judge_vmas(s, before, mapped, total_vm);
	ptb_judge(s, &j);
	ptb_judged_free(&j);
	return !s->bad;
}
