/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ledgers: what every page table entry, page and folio of a space holds at one
 * moment. A ledger remembers frames, it holds no reference on them. The same
 * type is what the oracle edits to say what must come out.
 */
#ifndef PTEBATCH_LEDGER_H
#define PTEBATCH_LEDGER_H

#include <linux/mm_types.h>
#include <linux/types.h>

#include "lib/layout.h"

struct ptb_space;

#define PTB_MAX_MMS	3

/* Pages of a contiguous block, where there are any. */
#ifdef CONFIG_ARM64_CONTPTE
#define PTB_BLOCK	CONT_PTES
#else
#define PTB_BLOCK	16
#endif

enum ptb_kind {
	PTB_HOLE,		/* pte_none(), or no page table */
	PTB_PAGE,		/* a page of a folio */
	PTB_ZERO,		/* the shared zero page */
	PTB_SPECIAL,		/* special, no struct page for mm */
	PTB_GUARD,		/* MADV_GUARD_INSTALL marker */
	PTB_UFFD_MARKER,
	PTB_POISON,
	PTB_SWAP,		/* a swap entry */
	PTB_OTHER,		/* anything a layout cannot ask for */
};

/**
 * struct ptb_pte - one entry
 * @kind: what it is; the rest is for PTB_PAGE, the bits also for PTB_ZERO and
 *	PTB_SPECIAL, and as far as they make sense for PTB_SWAP
 * @write: pte_write()
 * @dirty: pte_dirty()
 * @young: pte_young()
 * @soft: pte_soft_dirty()
 * @uffd: pte_uffd()
 * @protnone: pte_protnone()
 * @folio: index into the ledger's folios (PTB_PAGE)
 * @sub: page of that folio
 * @mapcount: mappings of this page in all mms, -1 where the configuration
 *	does not count them per page; of PTB_SWAP, entries with this slot
 * @tag: first eight bytes of the page's content
 * @slot: the swap entry (PTB_SWAP)
 * @cont: arm64 only: part of a contiguous block
 * @excl: PageAnonExclusive, or pte_swp_exclusive()
 */
struct ptb_pte {
	u8 kind;
	bool write : 1;
	bool dirty : 1;
	bool young : 1;
	bool soft : 1;
	bool uffd : 1;
	bool protnone : 1;
	bool cont : 1;
	bool excl : 1;
	u16 folio;
	u16 sub;
	int mapcount;
	u64 tag;
	unsigned long slot;
};

/**
 * struct ptb_frec - one folio
 * @head: frame number of its first page, 0 for a folio that only the oracle
 *	knows
 * @mapping: folio->mapping when first seen, to tell a leaked folio from a
 *	frame that went to somebody else
 * @refs: reference count; 0 once freed
 * @pins: _pincount of a large folio
 * @mapcount: mappings of all its pages in all mms
 * @order: its order
 * @anon: PageAnon
 * @dirty: PG_dirty
 * @accessed: PG_referenced or PG_active
 * @fresh: PG_referenced and PG_active are not compared: allocated by the
 *	operation, or off the LRU and marked an unknown number of times
 * @movable: stands in a movable zone, so no longterm pins there
 * @pinnable: the oracle's: must not stand in a movable zone
 * @slot: its swap entry as long as it is in the swap cache, or 0
 * @zero: the zero page, of which only @refs counts
 * @hugetlb: exclusivity sits on the first page
 */
struct ptb_frec {
	unsigned long head;
	unsigned long mapping;
	unsigned long slot;
	int refs;
	int pins;
	int mapcount;
	u8 order;
	bool anon : 1;
	bool dirty : 1;
	bool accessed : 1;
	bool fresh : 1;
	bool movable : 1;
	bool pinnable : 1;
	bool zero : 1;
	bool hugetlb : 1;
};

struct ptb_ledger {
	struct list_head list;		/* among the spare ones */
	unsigned int nr;		/* pages of the layout */
	unsigned long vpn;		/* virtual page number of page 0 */
	unsigned int nr_mms;
	unsigned int nr_folios;
	unsigned int max_folios;	/* room in folio[] */
	bool mm_alive[PTB_MAX_MMS];
	struct ptb_pte *pte[PTB_MAX_MMS];
	struct ptb_frec *folio;
	/* scratch for ptb_ledger_read(): which folios are mapped somewhere */
	DECLARE_BITMAP(mapped, 3 * PTB_MAX_PAGES + 16);
	long rss[PTB_MAX_MMS][NR_MM_COUNTERS];
	long acquired;			/* NR_FOLL_PIN_ACQUIRED */
	long released;			/* NR_FOLL_PIN_RELEASED */
};

/**
 * struct ptb_diff - where two ledgers differ
 * @nr: number of differences
 * @mm: of the first one that has a page, or -1
 * @page: its page
 * @print: how many of them to print; the caller sets this and @line
 * @line: called for each difference, a sentence without newline
 * @arg: handed to @line
 */
struct ptb_diff {
	unsigned int nr;
	int mm;
	int page;
	unsigned int print;
	void (*line)(void *arg, const char *text);
	void *arg;
};

struct ptb_ledger *ptb_ledger_alloc(unsigned int nr);
void ptb_ledger_free(struct ptb_ledger *led);
void ptb_ledger_free_spares(void);
void ptb_ledger_copy(struct ptb_ledger *dst, const struct ptb_ledger *src);
int ptb_ledger_read(struct ptb_space *space, const struct ptb_ledger *prev,
		    struct ptb_ledger *led);
int ptb_ledger_find(const struct ptb_ledger *led, unsigned long pfn,
		    unsigned int *sub);
char ptb_pte_char(const struct ptb_ledger *led, unsigned int mm,
		  unsigned int page, unsigned int vma_flags);
bool ptb_ledger_compare(const struct ptb_ledger *before,
			const struct ptb_ledger *want,
			const struct ptb_ledger *found, s16 *bind,
			struct ptb_diff *diff);

#endif /* PTEBATCH_LEDGER_H */
