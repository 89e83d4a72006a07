/* SPDX-License-Identifier: GPL-2.0 */
/* What the files that build a space share. */
#ifndef PTEBATCH_BUILD_H
#define PTEBATCH_BUILD_H

#include "lib/space.h"

/* What the first eight bytes of the page at layout page @page hold. */
static inline u64 ptb_tag(unsigned int page)
{
	return 0x7e57ba7c00000000ull + page + 1;
}

/* Does VMA @v of the layout stand for a gap between VMAs? */
static inline bool ptb_is_gap(const struct ptb_layout *l, unsigned int v)
{
	return l->page[l->vma[v].start].state == '-' && !l->vma[v].piece;
}

unsigned long ptb_frame_at(struct mm_struct *mm, unsigned long addr);
void ptb_split_pmd(struct mm_struct *mm, unsigned long addr);
int ptb_punch(struct ptb_space *space);
int ptb_share(struct ptb_space *space);
int ptb_open_file(struct ptb_space *space);
int ptb_fault_file(struct ptb_space *space, unsigned int start,
		   unsigned int end);
int ptb_edit(struct ptb_space *space);
int ptb_verify(struct ptb_space *space);

#endif /* PTEBATCH_BUILD_H */
