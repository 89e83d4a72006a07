// SPDX-License-Identifier: GPL-2.0
/* Reading a space's books. Comparing them is in compare.c. */
#include <linux/highmem.h>
#include <linux/hugetlb.h>
#include <linux/leafops.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/vmstat.h>

#include "internal.h"
#include "lib/build.h"
#include "lib/layout.h"
#include "lib/ledger.h"
#include "lib/space.h"
#include "lib/swap.h"

/*
 * Ledgers are needed by the ten thousand: kept for the next user, all of one
 * size. A boot's cases run one after the other.
 */
static LIST_HEAD(spare);

static struct ptb_ledger *new_ledger(void)
{
	struct ptb_ledger *led = kvzalloc(sizeof(*led), GFP_KERNEL);
	unsigned int i;

	if (!led)
		return NULL;
	/* Every page of every mm may come to map a folio of its own. */
	led->max_folios = 3 * PTB_MAX_PAGES + 16;
	led->folio = kvcalloc(led->max_folios, sizeof(*led->folio), GFP_KERNEL);
	for (i = 0; i < PTB_MAX_MMS; i++)
		led->pte[i] = kvcalloc(PTB_MAX_PAGES, sizeof(**led->pte),
				       GFP_KERNEL);
	if (led->folio && led->pte[0] && led->pte[1] && led->pte[2])
		return led;
	for (i = 0; i < PTB_MAX_MMS; i++)
		kvfree(led->pte[i]);
	kvfree(led->folio);
	kvfree(led);
	return NULL;
}

/**
 * ptb_ledger_alloc() - a ledger to be read into or copied to
 * @nr: pages of the layout
 *
 * Return: the ledger, to be freed by ptb_ledger_free(), or NULL.
 */
struct ptb_ledger *ptb_ledger_alloc(unsigned int nr)
{
	struct ptb_ledger *led;

	led = list_first_entry_or_null(&spare, struct ptb_ledger, list);
	if (led)
		list_del(&led->list);
	else
		led = new_ledger();
	if (led) {
		led->nr = nr;
		led->nr_folios = 0;
		led->nr_mms = 0;
		/* A spare one remembers the mms of its last space. */
		memset(led->mm_alive, 0, sizeof(led->mm_alive));
	}
	return led;
}

/**
 * ptb_ledger_free() - free a ledger
 * @led: the ledger or NULL
 */
void ptb_ledger_free(struct ptb_ledger *led)
{
	if (led)
		list_add(&led->list, &spare);
}

/** ptb_ledger_free_spares() - a suite ends, its ledgers go */
void ptb_ledger_free_spares(void)
{
	struct ptb_ledger *led, *next;
	unsigned int i;

	list_for_each_entry_safe(led, next, &spare, list) {
		list_del(&led->list);
		for (i = 0; i < PTB_MAX_MMS; i++)
			kvfree(led->pte[i]);
		kvfree(led->folio);
		kvfree(led);
	}
}

/**
 * ptb_ledger_copy() - copy a ledger's contents
 * @dst: overwritten
 * @src: for the same number of pages
 */
void ptb_ledger_copy(struct ptb_ledger *dst, const struct ptb_ledger *src)
{
	unsigned int i;

	dst->vpn = src->vpn;
	dst->nr_mms = src->nr_mms;
	dst->nr_folios = src->nr_folios;
	dst->acquired = src->acquired;
	dst->released = src->released;
	memcpy(dst->rss, src->rss, sizeof(src->rss));
	memcpy(dst->mm_alive, src->mm_alive, sizeof(src->mm_alive));
	memcpy(dst->folio, src->folio, src->nr_folios * sizeof(*src->folio));
	for (i = 0; i < PTB_MAX_MMS; i++)
		if (src->mm_alive[i])
			memcpy(dst->pte[i], src->pte[i],
			       src->nr * sizeof(**src->pte));
}

static long sum_node_stat(enum node_stat_item item)
{
	long sum = 0;
	int cpu, nid;

	for_each_online_node(nid) {
		pg_data_t *pgdat = NODE_DATA(nid);

		sum += atomic_long_read(&pgdat->vm_stat[item]);
		for_each_online_cpu(cpu)
			sum += per_cpu_ptr(pgdat->per_cpu_nodestats,
					   cpu)->vm_node_stat_diff[item];
	}
	return sum;
}

/*
 * The sum over all nodes, per-CPU differences included. Another CPU may fold
 * its difference in (refresh_cpu_vm_stats()) while we add up.
 */
static long exact_node_stat(enum node_stat_item item)
{
	long sum = sum_node_stat(item), again;

	while ((again = sum_node_stat(item)) != sum)
		sum = again;
	return sum;
}

static struct ptb_frec *add_folio(struct ptb_ledger *led, unsigned long head)
{
	struct ptb_frec *rec;

	if (led->nr_folios == led->max_folios)
		return NULL;
	rec = &led->folio[led->nr_folios++];
	*rec = (struct ptb_frec){ .head = head };
	return rec;
}

/**
 * ptb_ledger_find() - the folio that a frame belongs to
 * @led: the ledger
 * @pfn: frame number
 * @sub: set to the page's place in the folio
 *
 * Return: index of the folio or -1. Of two folios that used the frame one
 * after the other the later one is found.
 */
int ptb_ledger_find(const struct ptb_ledger *led, unsigned long pfn,
		    unsigned int *sub)
{
	int i;

	for (i = led->nr_folios - 1; i >= 0; i--) {
		const struct ptb_frec *rec = &led->folio[i];

		if (!rec->head || pfn < rec->head ||
		    pfn >= rec->head + (1UL << rec->order))
			continue;
		*sub = pfn - rec->head;
		return i;
	}
	return -1;
}

static u64 read_tag(struct page *page)
{
	u64 *p = kmap_local_page(page);
	u64 tag = *p;

	kunmap_local(p);
	return tag;
}

/* The folio's index; neighbours in the tables mostly are in the last one. */
static int folio_index(struct ptb_ledger *led, unsigned long head, int hint)
{
	unsigned int i;

	for (i = 0; i < led->nr_folios; i++) {
		unsigned int at = (hint + i) % led->nr_folios;

		if (led->folio[at].head == head)
			return at;
	}
	return add_folio(led, head) ? led->nr_folios - 1 : -1;
}

static bool raw_cont(pte_t *ptep)
{
#ifdef CONFIG_ARM64_CONTPTE
	return pte_valid_cont(__ptep_get(ptep));
#else
	return false;
#endif
}

/* What a present entry says of the page that it maps. */
static int read_page(struct ptb_space *space, struct ptb_ledger *led,
		     struct page *page, unsigned int vma_flags,
		     struct ptb_pte *p)
{
	struct folio *folio = page_folio(page);
	int idx;

	p->kind = PTB_PAGE;
	idx = folio_index(led, folio_pfn(folio), space->hint);
	if (idx < 0)
		return -ENOSPC;
	space->hint = idx;
	p->folio = idx;
	p->sub = folio_page_idx(folio, page);
	if (folio_test_anon(folio))
		p->excl = PageAnonExclusive(folio_test_hugetlb(folio) ||
					    vma_flags & PTB_VMA_PMD ?
					    &folio->page : page);
	if (folio_test_hugetlb(folio) || vma_flags & PTB_VMA_PMD)
		p->mapcount = -1;
	else if (!folio_test_large(folio))
		p->mapcount = atomic_read(&folio->_mapcount) + 1;
	else if (IS_ENABLED(CONFIG_PAGE_MAPCOUNT))
		p->mapcount = atomic_read(&page->_mapcount) + 1;
	else
		p->mapcount = -1;
	if (!(vma_flags & PTB_VMA_SECRET))
		p->tag = read_tag(page);
	return 0;
}

static int read_present(struct ptb_space *space, struct ptb_ledger *led,
			pte_t pte, unsigned int vma_flags, struct ptb_pte *p)
{
	p->write = pte_write(pte);
	p->dirty = pte_dirty(pte);
	p->young = pte_young(pte);
	p->soft = pte_soft_dirty(pte);
	p->uffd = pte_uffd(pte);
	p->protnone = pte_protnone(pte);
	if (is_zero_pfn(pte_pfn(pte))) {
		p->kind = PTB_ZERO;
		return 0;
	}
	if (pte_special(pte)) {
		p->kind = PTB_SPECIAL;
		return 0;
	}
	return read_page(space, led, pte_page(pte), vma_flags, p);
}

/* The entry of a page that a PMD maps, if one does: the same bits for all. */
static bool read_pmd(struct ptb_space *space, struct ptb_ledger *led,
		     struct mm_struct *mm, unsigned long addr,
		     struct ptb_pte *p, int *ret)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d = pgd_present(*pgd) ? p4d_offset(pgd, addr) : NULL;
	pud_t *pud = p4d && p4d_present(*p4d) ? pud_offset(p4d, addr) : NULL;
	pmd_t *pmdp = pud && pud_present(*pud) ? pmd_offset(pud, addr) : NULL;
	pmd_t pmd;

	if (!pmdp)
		return false;
	pmd = pmdp_get_lockless(pmdp);
	if (!pmd_present(pmd) || !pmd_leaf(pmd))
		return false;
	*p = (struct ptb_pte){
		.write = pmd_write(pmd), .dirty = pmd_dirty(pmd),
		.young = pmd_young(pmd), .soft = pmd_soft_dirty(pmd),
		.uffd = pmd_uffd(pmd), .protnone = pmd_protnone(pmd),
	};
	*ret = read_page(space, led, pfn_to_page(pmd_pfn(pmd) +
			 ((addr & ~PMD_MASK) >> PAGE_SHIFT)), PTB_VMA_PMD, p);
	return true;
}

static int read_pte(struct ptb_space *space, struct ptb_ledger *led,
		    pte_t pte, unsigned int vma_flags, struct ptb_pte *p)
{
	softleaf_t entry;
	void *from;

	*p = (struct ptb_pte){ .kind = PTB_HOLE };
	if (pte_none(pte))
		return 0;
	if (pte_present(pte))
		return read_present(space, led, pte, vma_flags, p);
	entry = softleaf_from_pte(pte);
	p->kind = PTB_OTHER;
	if (softleaf_is_poison_marker(entry))
		p->kind = PTB_POISON;
	else if (softleaf_is_guard_marker(entry))
		p->kind = PTB_GUARD;
	else if (softleaf_is_uffd_wp_marker(entry))
		p->kind = PTB_UFFD_MARKER;
	if (!softleaf_is_swap(entry))
		return 0;
	p->kind = PTB_SWAP;
	p->soft = pte_swp_soft_dirty(pte);
	p->uffd = pte_swp_uffd(pte);
	p->excl = pte_swp_exclusive(pte);
	p->slot = entry.val;
	p->mapcount = ptb_swap_count(entry.val);
	from = xa_load(&space->slots, entry.val);
	p->tag = from ? ptb_tag(xa_to_value(from)) : 0;
	return 0;
}

static int read_hugetlb(struct ptb_space *space, struct ptb_ledger *led,
			struct vm_area_struct *vma, unsigned long addr,
			struct ptb_pte *p)
{
	pte_t *ptep, pte;

	*p = (struct ptb_pte){ .kind = PTB_HOLE };
	ptep = hugetlb_walk(vma, addr & huge_page_mask(hstate_vma(vma)),
			    huge_page_size(hstate_vma(vma)));
	if (!ptep)
		return 0;
	pte = huge_ptep_get(vma->vm_mm, addr & huge_page_mask(hstate_vma(vma)),
			    ptep);
	if (!pte_present(pte))
		return 0;
	pte = pfn_pte(pte_pfn(pte) + ((addr & ~huge_page_mask(hstate_vma(vma)))
				      >> PAGE_SHIFT), pte_pgprot(pte));
	return read_present(space, led, pte, 0, p);
}

/* All entries of one mm, one page table at a time. */
static int read_mm(struct ptb_space *space, struct ptb_ledger *led,
		   unsigned int nr)
{
	const struct ptb_layout *l = &space->layout;
	struct mm_struct *mm = space->mm[nr];
	unsigned int i = 0;
	int ret = 0;

	while (i < led->nr && !ret) {
		unsigned long addr = ptb_addr(space, i);
		unsigned long end = (addr & PMD_MASK) + PMD_SIZE;
		struct vm_area_struct *vma = vma_lookup(mm, addr);
		spinlock_t *ptl;	/* page table lock */
		pte_t *ptep;
		pmd_t *pmd;

		if (vma && is_vm_hugetlb_page(vma)) {
			hugetlb_vma_lock_read(vma);
			ret = read_hugetlb(space, led, vma, addr,
					   &led->pte[nr][i++]);
			hugetlb_vma_unlock_read(vma);
			continue;
		}
		if (read_pmd(space, led, mm, addr, &led->pte[nr][i], &ret)) {
			i++;
			continue;
		}
		pmd = mm_find_pmd(mm, addr);
		ptep = pmd ? pte_offset_map_lock(mm, pmd, addr, &ptl) : NULL;
		do {
			struct ptb_pte *p = &led->pte[nr][i];

			if (!ptep) {
				*p = (struct ptb_pte){ .kind = PTB_HOLE };
				continue;
			}
			ret = read_pte(space, led, ptep_get(ptep),
				       l->vma[l->page[i].vma].flags, p);
			p->cont = p->kind == PTB_PAGE && raw_cont(ptep);
			ptep++;
		} while (i++, addr += PAGE_SIZE, !ret && i < led->nr &&
			 addr < end && !(l->vma[l->page[i].vma].flags &
					 PTB_VMA_HUGETLB));
		if (ptep)
			pte_unmap_unlock(ptep - 1, ptl);
	}
	return ret;
}

static void read_folio(struct ptb_frec *rec, bool mapped)
{
	struct folio *folio = page_folio(pfn_to_page(rec->head));

	if (rec->zero) {
		rec->refs = folio_ref_count(folio);
		return;
	}
	/*
	 * The frame may have been freed since, and may be somebody else's by
	 * now. What was freed has lost its mapping: what still has it and is
	 * not mapped here is a leak, and stays in the books.
	 */
	if (!mapped && (folio_pfn(folio) != rec->head ||
			!folio_ref_count(folio) ||
			(unsigned long)folio->mapping != rec->mapping)) {
		rec->slot = 0;
		rec->refs = 0;
		rec->pins = 0;
		rec->mapcount = 0;
		rec->dirty = false;
		rec->accessed = false;
		return;
	}
	rec->mapping = (unsigned long)folio->mapping;
	rec->slot = folio_test_swapcache(folio) ? folio->swap.val : 0;
	rec->order = folio_order(folio);
	rec->refs = folio_ref_count(folio);
	rec->pins = folio_test_large(folio) ? atomic_read(&folio->_pincount) : 0;
	rec->mapcount = folio_mapcount(folio);
	rec->anon = folio_test_anon(folio);
	rec->dirty = folio_test_dirty(folio);
	rec->accessed = folio_test_referenced(folio) || folio_test_active(folio);
	rec->hugetlb = folio_test_hugetlb(folio);
	rec->movable = folio_zonenum(folio) == ZONE_MOVABLE;
}

/**
 * ptb_ledger_read() - read the books
 * @space: the space; the caller is the only one who uses it
 * @prev: an earlier ledger, whose folios keep their numbers, or NULL
 * @led: filled in; may be @prev
 *
 * Drains the LRU batches first: they hold references. Large folios are not
 * cached there (mm/folio.c, folio_may_be_lru_cached()).
 *
 * Context: takes page table locks, sleeps.
 * Return: 0, or -ENOSPC if there are more folios than a layout can have.
 */
int ptb_ledger_read(struct ptb_space *space, const struct ptb_ledger *prev,
		    struct ptb_ledger *led)
{
	unsigned int i, j;
	int ret;

	ptb_drain();
	led->vpn = space->base >> PAGE_SHIFT;
	led->nr_mms = space->nr_mms;
	space->hint = 0;
	if (prev) {
		led->nr_folios = prev->nr_folios;
		memmove(led->folio, prev->folio,
			prev->nr_folios * sizeof(*prev->folio));
	} else {
		led->nr_folios = 0;
		add_folio(led, page_to_pfn(ZERO_PAGE(0)))->zero = true;
	}
	bitmap_zero(led->mapped, led->max_folios);
	for (i = 0; i < space->nr_mms; i++) {
		led->mm_alive[i] = space->mm[i];
		memset(led->rss[i], 0, sizeof(led->rss[i]));
		if (!space->mm[i])
			continue;
		ret = read_mm(space, led, i);
		if (ret)
			return ret;
		for (j = 0; j < NR_MM_COUNTERS; j++)
			led->rss[i][j] = get_mm_counter_sum(space->mm[i], j);
		for (j = 0; j < led->nr; j++)
			if (led->pte[i][j].kind == PTB_PAGE)
				__set_bit(led->pte[i][j].folio, led->mapped);
	}
	for (i = 0; i < led->nr_folios; i++)
		read_folio(&led->folio[i], test_bit(i, led->mapped));
	led->acquired = exact_node_stat(NR_FOLL_PIN_ACQUIRED);
	led->released = exact_node_stat(NR_FOLL_PIN_RELEASED);
	return 0;
}

/* Does another mm of the space map the same page? At the same address, then. */
static bool shared(const struct ptb_ledger *led, unsigned int mm,
		   const struct ptb_pte *p)
{
	unsigned int i, page = p - led->pte[mm];

	for (i = 0; i < led->nr_mms; i++) {
		const struct ptb_pte *q = &led->pte[i][page];

		if (i != mm && led->mm_alive[i] && q->kind == PTB_PAGE &&
		    q->folio == p->folio && q->sub == p->sub)
			return true;
	}
	return false;
}

/* Where all is old, no character has to say so. */
static char writable_char(const struct ptb_pte *p, unsigned int vma_flags)
{
	if (p->young || vma_flags & PTB_VMA_OLD)
		return p->dirty ? 'w' : 'c';
	return p->dirty ? 'y' : 'i';
}

/* Does another mm of the space hold this swap entry? */
static bool swapped_elsewhere(const struct ptb_ledger *led, unsigned int mm,
			      unsigned int page, unsigned long slot)
{
	unsigned int i;

	for (i = 0; i < led->nr_mms; i++)
		if (i != mm && led->mm_alive[i] &&
		    led->pte[i][page].kind == PTB_SWAP &&
		    led->pte[i][page].slot == slot)
			return true;
	return false;
}

/**
 * ptb_pte_char() - the character that draws an entry
 * @led: the ledger
 * @mm: index of the mm
 * @page: the page
 * @vma_flags: PTB_VMA_* of its VMA
 *
 * Return: see layout.h; 'i' if no character says it.
 */
char ptb_pte_char(const struct ptb_ledger *led, unsigned int mm,
		  unsigned int page, unsigned int vma_flags)
{
	const struct ptb_pte *p = &led->pte[mm][page];
	unsigned long slot;

	switch (p->kind) {
	case PTB_HOLE:
		return '.';
	case PTB_ZERO:
		return p->write ? 'i' : 'z';
	case PTB_SPECIAL:
		return 'x';
	case PTB_GUARD:
		return 'g';
	case PTB_UFFD_MARKER:
		return 'm';
	case PTB_POISON:
		return 'h';
	case PTB_SWAP:
		if (p->excl)
			return 'o';
		return swapped_elsewhere(led, mm, page, p->slot) ? 'j' : 'd';
	case PTB_PAGE:
		break;
	default:
		return 'i';
	}
	if (!led->folio[p->folio].anon) {
		if (p->write)
			return writable_char(p, vma_flags);
		return p->dirty ? 'i' : 'f';
	}
	if (p->write && !p->excl)
		return 'i';
	if (p->write)
		return writable_char(p, vma_flags);
	if (p->protnone)
		return p->uffd ? 'q' : 'p';
	slot = led->folio[p->folio].slot;
	if (!p->excl && slot && !shared(led, mm, p))
		return swapped_elsewhere(led, mm, page, slot + p->sub) ? 'a' : 'b';
	if (!p->excl)
		return shared(led, mm, p) ? 's' : 'e';
	if (p->uffd)
		return 'u';
	if (vma_flags & PTB_VMA_SD && !p->soft)
		return 't';
	return p->dirty ? 'r' : 'k';
}
