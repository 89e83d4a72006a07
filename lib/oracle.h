/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The oracle: what an operation must do to a ledger, page by page, and nothing
 * else. It knows no batching; the one thing that a series may widen is a
 * declared parameter, the reuse span of a write fault. It calls none of mm's
 * predicates: what it knows is written here, with the place in mm it is from.
 */
#ifndef PTEBATCH_ORACLE_H
#define PTEBATCH_ORACLE_H

#include "lib/ledger.h"
#include "lib/ops.h"
#include "lib/space.h"

/* -errno that no operation returns: the row asks what the oracle cannot say. */
#define PTB_UNKNOWN	(-EUCLEAN)

/**
 * struct ptb_oracle - an oracle at work
 * @space: only its layout, addresses and VMAs are looked at
 * @led: the books, edited in place
 * @mm: index of the mm that the operation works on
 * @reuse_span: how many PTEs around a write fault, aligned, the reuse of a
 *	large folio covers: 1 on the base, PTRS_PER_PTE for the page table
 * @has_anon_vma: per VMA of the layout, as fork looks at it
 * @page_folio: for a request: the folio of each page expected in pages[]
 * @page_sub: and which page of it
 */
struct ptb_oracle {
	struct ptb_space *space;
	struct ptb_ledger *led;
	unsigned int mm;
	unsigned int reuse_span;
	bool has_anon_vma[PTB_MAX_VMAS];
	u16 *page_folio;
	u16 *page_sub;
};

int ptb_oracle_init(struct ptb_oracle *o, struct ptb_space *space,
		    struct ptb_ledger *led);
void ptb_oracle_exit(struct ptb_oracle *o);
long ptb_oracle_gup(struct ptb_oracle *o, const struct ptb_gup *req);
void ptb_oracle_release(struct ptb_oracle *o, const struct ptb_taken *taken,
			enum ptb_release how);
int ptb_oracle_fault(struct ptb_oracle *o, unsigned int page,
		     unsigned int flags);
int ptb_oracle_fork(struct ptb_oracle *o);
void ptb_oracle_exit_mm(struct ptb_oracle *o, unsigned int mm);
long ptb_oracle_mincore(const struct ptb_oracle *o,
			const struct ptb_mincore *req,
			const unsigned long *mapped, u8 *vec);
long ptb_oracle_mremap(struct ptb_oracle *o, const struct ptb_mremap *req,
		       unsigned long *mapped);

/* shared by the oracle's files */
unsigned int ptb_oracle_vma(const struct ptb_oracle *o, unsigned int page);
int ptb_oracle_new_folio(struct ptb_oracle *o);
void ptb_oracle_map(struct ptb_oracle *o, unsigned int mm, unsigned int page,
		    struct ptb_pte pte);
void ptb_oracle_unmap(struct ptb_oracle *o, unsigned int mm, unsigned int page);
int ptb_oracle_swap_in(struct ptb_oracle *o, unsigned int page, bool write);
void ptb_oracle_free_swap(struct ptb_oracle *o, unsigned int folio);
void ptb_oracle_zap_swap(struct ptb_oracle *o, unsigned int mm,
			 unsigned int page);
void ptb_oracle_fork_swap(struct ptb_oracle *o, unsigned int child,
			  unsigned int page);
int ptb_oracle_rss(const struct ptb_oracle *o, unsigned int folio);

#endif /* PTEBATCH_ORACLE_H */
