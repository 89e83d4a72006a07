/* SPDX-License-Identifier: GPL-2.0 */
/* Counting what an operation does on its way, where its result cannot tell. */
#ifndef PTEBATCH_COUNT_H
#define PTEBATCH_COUNT_H

struct kunit;

enum ptb_counted {
	PTB_LOCK_ROUNDS,	/* pte_offset_map_lock() */
	PTB_GRABS,		/* increments of a page's reference count */
	PTB_FAULTS,		/* handle_mm_fault() */
	PTB_LOOKUPS,		/* vm_normal_folio() */
	PTB_LOCAL_FLUSHES,	/* local_flush_tlb_mkwrite() of x86, if there is one */
};

void ptb_count_start(struct kunit *test, enum ptb_counted what);
unsigned long ptb_count_stop(struct kunit *test);
const char *ptb_counted_name(enum ptb_counted what);

#endif /* PTEBATCH_COUNT_H */
