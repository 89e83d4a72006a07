/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layouts: a range of page table entries as a picture, one character a page.
 *
 * The language, also printed in failures:
 *
 *	w  writable, exclusive, dirty		c  the same, clean	y  or old
 *	r  read-only, exclusive, dirty		k  the same, clean
 *	s  read-only, still mapped by another mm as well
 *	e  read-only, formerly shared: not exclusive, the other mm is gone
 *	u  exclusive, uffd-wp (needs a (uffd) VMA)
 *	t  exclusive, soft-dirty clear, so write-protected (needs (sd))
 *	p  protnone, exclusive		q  the same, uffd-rwp (needs (rwp))
 *	f  file page, read-only, clean (w and c in a (shm) VMA: file pages, too)
 *	z  zero page		x  special PTE (needs (mixed))
 *	o  swapped out, exclusive	d  swapped out, formerly shared
 *	j  swapped out here and in another mm
 *	a  as s, but swapped out in the other mm, and in the swap cache here
 *	b  as e, and in the swap cache
 *	g  guard marker		m  uffd-wp marker (needs (uffd))
 *	h  hwpoison marker	.  nothing mapped	-  no VMA at all
 *	i  PTE state that no character stands for (printed only)
 *
 *	[wwss]   one folio; dots inside are pages of it not mapped here. What
 *	         stands outside of brackets is an order-0 folio each
 *	A[ww..]  the same, by name: another A[..] piece is the same folio; each
 *	         piece is a VMA of its own, moved there by mremap()
 *	<ww[ww]> folios whose page frames abut, in this order; pages outside of
 *	         <> have no neighbouring frames
 *	|        VMA boundary		^  page table boundary; without one, none
 *	         falls inside a layout that fits into a page table
 *	(ro)     at the start of a VMA: its kind, see ptb_vma_words[]
 *	{ }      the pages that the operation asks for (the whole if absent)
 *	@        where it moves them to
 *	w*5      five times; the count may be n, n/2, n/4-1, n+1 ... where n is
 *	         the number of pages that the row is instantiated with
 */
#ifndef PTEBATCH_LAYOUT_H
#define PTEBATCH_LAYOUT_H

#include <linux/types.h>

/* Enough for two page tables of 512 entries and something around them. */
#define PTB_MAX_PAGES	1600
#define PTB_MAX_VMAS	16
#define PTB_NO_FOLIO	(-1)

/* What a VMA is; at most one of each group goes together. */
enum ptb_vma_flags {
	PTB_VMA_RO	= 1 << 0,	/* no VM_WRITE */
	PTB_VMA_NOMAYWRITE = 1 << 1,	/* no VM_MAYWRITE either */
	PTB_VMA_NONE	= 1 << 2,	/* PROT_NONE */
	PTB_VMA_UFFD	= 1 << 3,	/* VM_UFFD_WP, no context behind it */
	PTB_VMA_SD	= 1 << 4,	/* soft-dirty tracking is on */
	PTB_VMA_SHM	= 1 << 5,	/* shared mapping of a shmem file */
	PTB_VMA_COW	= 1 << 6,	/* private mapping of a shmem file */
	PTB_VMA_MIXED	= 1 << 7,	/* VM_MIXEDMAP */
	PTB_VMA_SECRET	= 1 << 8,	/* memfd_secret() */
	PTB_VMA_HUGE	= 1 << 9,	/* hugetlb, PMD size, private */
	PTB_VMA_HUGE64K	= 1 << 10,	/* hugetlb, contiguous PTEs (arm64) */
	PTB_VMA_MOV	= 1 << 11,	/* pages in a movable zone */
	PTB_VMA_PMD	= 1 << 12,	/* PMD-sized folios mapped by a PMD */
	PTB_VMA_RWP	= 1 << 13,	/* VM_UFFD_RWP, no context behind it */
	PTB_VMA_OLD	= 1 << 14,	/* the entries of its pages are old */
};

#define PTB_VMA_FILE	(PTB_VMA_SHM | PTB_VMA_COW | PTB_VMA_SECRET)
#define PTB_VMA_HUGETLB	(PTB_VMA_HUGE | PTB_VMA_HUGE64K)

/**
 * struct ptb_lpage - one page of a layout
 * @state: its character
 * @vma: index of its VMA, meaningless for '-'
 * @folio: index of the folio that it belongs to or PTB_NO_FOLIO; set for a
 *	hole or a marker inside of [] as well, see ptb_state_maps()
 * @sub: which page of that folio
 */
struct ptb_lpage {
	char state;
	u8 vma;
	s16 folio;
	u16 sub;
};

/**
 * struct ptb_lfolio - one folio of a layout
 * @order: its order
 * @label: 'A'..'Z' or 0
 * @abut: number of its <> group, counted from 1, or 0
 * @first: layout page at which its page 0 stands (of the first piece)
 */
struct ptb_lfolio {
	u8 order;
	char label;
	u8 abut;
	s16 first;
};

struct ptb_lvma {
	u16 start;
	u16 end;
	unsigned int flags;
	bool piece;		/* holds a labelled piece */
};

/**
 * struct ptb_layout - a parsed layout
 * @nr: pages
 * @nr_vmas: VMAs, in order of address
 * @nr_folios: folios, order-0 ones included
 * @edge: first page whose address is a multiple of PMD_SIZE, or -1: anywhere
 *	where no page table boundary falls inside
 * @req_start: first page that the operation asks for
 * @req_end: the page behind the last one
 * @dest: the page that stands at "@", or -1
 * @vma: the VMAs
 * @page: @nr pages
 * @folio: @nr_folios folios
 */
struct ptb_layout {
	unsigned int nr;
	unsigned int nr_vmas;
	unsigned int nr_folios;
	int edge;
	unsigned int req_start;
	unsigned int req_end;
	int dest;
	struct ptb_lvma vma[PTB_MAX_VMAS];
	struct ptb_lpage page[PTB_MAX_PAGES];
	struct ptb_lfolio folio[PTB_MAX_PAGES];
};

/**
 * struct ptb_error - why a layout was refused
 * @at: offset into the string
 * @why: what is wrong there, a static string
 */
struct ptb_error {
	unsigned int at;
	const char *why;
};

int ptb_layout_parse(struct ptb_layout *l, const char *str, unsigned int n,
		     struct ptb_error *err);
int ptb_layout_print(const struct ptb_layout *l, char *buf, size_t size,
		     unsigned int from, unsigned int to, int mark,
		     unsigned int *mark_col);
const char *ptb_vma_word(unsigned int flag);
bool ptb_state_maps(char state);

#endif /* PTEBATCH_LAYOUT_H */
