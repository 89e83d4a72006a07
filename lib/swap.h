/* SPDX-License-Identifier: GPL-2.0 */
/* The swap device, and what is on it. */
#ifndef PTEBATCH_SWAP_H
#define PTEBATCH_SWAP_H

#include <linux/types.h>

struct ptb_space;

/* The states of pages that were swapped out, and of those in the swap cache. */
#define PTB_SWAPPED	"odj"
#define PTB_CACHED	"ab"

bool ptb_has_swap(void);
int ptb_swap_on(void);
long ptb_swap_free(void);
int ptb_swap_count(unsigned long entry);
void ptb_page_out(struct ptb_space *space, const char *states);

#endif /* PTEBATCH_SWAP_H */
