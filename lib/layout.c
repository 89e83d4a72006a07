// SPDX-License-Identifier: GPL-2.0
/* Parsing layouts: see layout.h for the language. */
#include <linux/bits.h>
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/pgtable.h>
#include <linux/string.h>

#include "lib/layout.h"
#include "lib/swap.h"

static const struct {
	const char *word;
	unsigned int flag;
} ptb_vma_words[] = {
	{ "ro", PTB_VMA_RO },		{ "nomaywrite", PTB_VMA_NOMAYWRITE },
	{ "none", PTB_VMA_NONE },	{ "uffd", PTB_VMA_UFFD },
	{ "sd", PTB_VMA_SD },		{ "shm", PTB_VMA_SHM },
	{ "cow", PTB_VMA_COW },		{ "mixed", PTB_VMA_MIXED },
	{ "secret", PTB_VMA_SECRET },	{ "huge", PTB_VMA_HUGE },
	{ "huge64k", PTB_VMA_HUGE64K },	{ "mov", PTB_VMA_MOV },
	{ "pmd", PTB_VMA_PMD },		{ "rwp", PTB_VMA_RWP },
	{ "old", PTB_VMA_OLD },
};

struct parser {
	struct ptb_layout *l;
	const char *str;
	const char *p;
	unsigned int n;
	struct ptb_error *err;
	/* the folio being read, or PTB_NO_FOLIO; its pages so far */
	int folio;
	unsigned int sub;
	unsigned int abut;	/* number of the open <> group, or 0 */
	unsigned int nr_abut;
	bool vma_open;		/* a page of the current VMA was read */
	bool has_req;
};

static int refuse(struct parser *ps, const char *at, const char *why)
{
	ps->err->at = at - ps->str;
	ps->err->why = why;
	return -EINVAL;
}

static int read_number(struct parser *ps, unsigned int *res)
{
	unsigned int v = 0;

	if (!isdigit(*ps->p))
		return refuse(ps, ps->p, "a number is missing");
	while (isdigit(*ps->p)) {
		v = v * 10 + *ps->p++ - '0';
		if (v > PTB_MAX_PAGES)
			return refuse(ps, ps->p - 1, "number too large");
	}
	*res = v;
	return 0;
}

/* "*" was read: a number, or n with any of /number, -number, +number. */
static int read_count(struct parser *ps, unsigned int *res)
{
	const char *at = ps->p;
	unsigned int v;
	int ret;

	if (*ps->p != 'n') {
		ret = read_number(ps, res);
		if (!ret && !*res)
			ret = refuse(ps, at, "a count of zero");
		return ret;
	}
	if (!ps->n)
		return refuse(ps, at, "n has no value here");
	ps->p++;
	*res = ps->n;
	while (*ps->p == '/' || *ps->p == '-' || *ps->p == '+') {
		char op = *ps->p++;

		ret = read_number(ps, &v);
		if (ret)
			return ret;
		if (op == '+')
			*res += v;
		else if (op == '-')
			*res = v < *res ? *res - v : 0;
		else if (v && *res % v == 0)
			*res /= v;
		else
			return refuse(ps, at, "n is not a multiple of that");
	}
	if (*res > PTB_MAX_PAGES)
		return refuse(ps, at, "number too large");
	return 0;
}

/**
 * ptb_state_maps() - does a page in this state map a page of a folio?
 * @state: its character
 *
 * Return: false for holes, markers, the zero page and special entries.
 */
bool ptb_state_maps(char state)
{
	return strchr("wcyrksabeutpqfi", state);
}

/* What one page may be in this VMA; the reason if it may not. */
static const char *state_wrong(char state, unsigned int flags)
{
	const bool anon = !(flags & PTB_VMA_FILE);
	const bool write_ok = !(flags & (PTB_VMA_RO | PTB_VMA_NOMAYWRITE |
					 PTB_VMA_NONE));

	if (state == '.')
		return NULL;
	if ((flags & PTB_VMA_NONE) && state != 'p')
		return "a PROT_NONE VMA holds p and . only";
	if ((flags & PTB_VMA_PMD) && state != (write_ok ? 'w' : 'r'))
		return "what a PMD maps is w in a writable VMA, r in another";
	switch (state) {
	case 'w': case 'c': case 'y':
		if (!write_ok)
			return "a writable PTE needs a writable VMA";
		return NULL;
	case 'u':
	case 'm':
		return flags & PTB_VMA_UFFD ? NULL :
		       "uffd bits mean something in a (uffd) VMA only";
	case 'q':
		return flags & PTB_VMA_RWP ? NULL :
		       "uffd-rwp means something in a (rwp) VMA only";
	case 't':
		return flags & PTB_VMA_SD ? NULL :
		       "soft-dirty is tracked in an (sd) VMA only";
	case 'x':
		return flags & PTB_VMA_MIXED ? NULL :
		       "special PTEs live in a (mixed) VMA only";
	case 'f':
		return flags & (PTB_VMA_SHM | PTB_VMA_COW) ? NULL :
		       "file pages need a (shm) or (cow) VMA";
	case 'r': case 'k': case 's': case 'e': case 'p':
		if (!anon && !(flags & PTB_VMA_COW))
			return "anonymous pages do not live in a shared mapping";
		return NULL;
	case 'o': case 'd': case 'j': case 'a': case 'b':
		return flags & (PTB_VMA_FILE | PTB_VMA_HUGETLB) ?
		       "only anonymous memory is swapped out here" : NULL;
	case 'z':
		return anon ? NULL : "the zero page stands for anonymous memory";
	}
	return NULL;
}

static int add_page(struct parser *ps, const char *at, char state)
{
	struct ptb_layout *l = ps->l;
	struct ptb_lpage *pg = &l->page[l->nr];
	struct ptb_lvma *vma = &l->vma[l->nr_vmas - 1];
	const char *why;

	if (l->nr == PTB_MAX_PAGES)
		return refuse(ps, at, "layout too long");
	if (ps->abut && !ptb_state_maps(state) && ps->folio == PTB_NO_FOLIO)
		return refuse(ps, at, "only folios abut");
	*pg = (struct ptb_lpage){ .state = state, .vma = l->nr_vmas - 1,
				  .folio = PTB_NO_FOLIO };
	if (state == '-' && ps->folio != PTB_NO_FOLIO) {
		/* At the ends of a named piece: its VMA is shorter. */
		if (!vma->piece)
			return refuse(ps, at, "a gap inside a folio: name it, in two VMAs");
		pg->folio = ps->folio;
		pg->sub = ps->sub++;
		l->nr++;
		if (vma->start == vma->end) {
			vma->start = l->nr;
			vma->end = l->nr;
		}
		return 0;
	}
	if (state == '-') {
		if (ps->vma_open && l->page[l->nr - 1].state != '-')
			return refuse(ps, at, "- is behind | only");
		vma->end = ++l->nr;
		ps->vma_open = true;
		return 0;
	}
	if (ps->vma_open && vma->end < l->nr && !(vma->piece && vma->start == l->nr))
		return refuse(ps, at, "pages behind - need | first");
	if (ps->vma_open && !vma->piece && l->page[l->nr - 1].state == '-')
		return refuse(ps, at, "pages behind - need | first");
	why = state_wrong(state, vma->flags);
	if (why)
		return refuse(ps, at, why);

	if (ps->folio != PTB_NO_FOLIO) {
		pg->folio = ps->folio;
		pg->sub = ps->sub++;
	} else if (ptb_state_maps(state)) {
		if (vma->flags & PTB_VMA_PMD)
			return refuse(ps, at, "a PMD maps one folio of its size");
		pg->folio = l->nr_folios;
		l->folio[l->nr_folios++] = (struct ptb_lfolio){
			.abut = ps->abut, .first = l->nr };
	}
	vma->end = ++l->nr;
	ps->vma_open = true;
	return 0;
}

static int vma_words(struct parser *ps)
{
	struct ptb_lvma *vma = &ps->l->vma[ps->l->nr_vmas - 1];
	const char *at = ps->p++;

	if (ps->vma_open)
		return refuse(ps, at, "a VMA's kind stands at its start");
	for (;;) {
		size_t len = strcspn(ps->p, ",)");
		unsigned int i;

		for (i = 0; i < ARRAY_SIZE(ptb_vma_words); i++)
			if (strlen(ptb_vma_words[i].word) == len &&
			    !strncmp(ptb_vma_words[i].word, ps->p, len))
				break;
		if (i == ARRAY_SIZE(ptb_vma_words))
			return refuse(ps, ps->p, "no such kind of VMA");
		vma->flags |= ptb_vma_words[i].flag;
		ps->p += len;
		if (!*ps->p)
			return refuse(ps, at, "( is not closed");
		if (*ps->p++ == ')')
			break;
	}
	if (hweight32(vma->flags & (PTB_VMA_FILE | PTB_VMA_HUGETLB)) > 1)
		return refuse(ps, at, "a VMA maps one kind of memory");
	if (vma->flags & PTB_VMA_OLD &&
	    vma->flags & (PTB_VMA_PMD | PTB_VMA_HUGETLB))
		return refuse(ps, at, "PTEs only can be old");
	return 0;
}

static int open_vma(struct parser *ps, const char *at)
{
	struct ptb_layout *l = ps->l;

	if (l->nr_vmas == PTB_MAX_VMAS)
		return refuse(ps, at, "too many VMAs");
	l->vma[l->nr_vmas++] = (struct ptb_lvma){ .start = l->nr, .end = l->nr };
	/* A folio that goes on over the boundary keeps the kind of its VMA. */
	ps->vma_open = false;
	return 0;
}

static int open_folio(struct parser *ps, const char *at, char label)
{
	struct ptb_layout *l = ps->l;
	int i;

	if (ps->folio != PTB_NO_FOLIO)
		return refuse(ps, at, "a folio inside a folio");
	ps->sub = 0;
	if (label) {
		if (ps->vma_open || (l->vma[l->nr_vmas - 1].flags & PTB_VMA_FILE))
			return refuse(ps, at, "a named piece is an anonymous VMA of its own");
		l->vma[l->nr_vmas - 1].piece = true;
		for (i = 0; i < l->nr_folios; i++)
			if (l->folio[i].label == label)
				break;
		if (i < l->nr_folios) {
			ps->folio = i;
			return 0;
		}
	}
	if (l->nr_folios == PTB_MAX_PAGES)
		return refuse(ps, at, "layout too long");
	ps->folio = l->nr_folios;
	l->folio[l->nr_folios++] = (struct ptb_lfolio){
		.label = label, .abut = ps->abut, .first = l->nr };
	return 0;
}

static int close_folio(struct parser *ps, const char *at)
{
	struct ptb_layout *l = ps->l;
	struct ptb_lfolio *f;
	unsigned int order, i, j;

	if (ps->folio == PTB_NO_FOLIO)
		return refuse(ps, at, "no folio is open");
	f = &l->folio[ps->folio];
	if (!is_power_of_2(ps->sub))
		return refuse(ps, at, "a folio has 1, 2, 4, 8 ... pages");
	if (ps->sub == 1 &&
	    (f->label || !ptb_state_maps(l->page[l->nr - 1].state)))
		return refuse(ps, at, "a folio of one page is a page without brackets");
	order = ilog2(ps->sub);
	if ((l->vma[l->nr_vmas - 1].flags & PTB_VMA_PMD) &&
	    order != PMD_SHIFT - PAGE_SHIFT)
		return refuse(ps, at, "a PMD maps one folio of its size");
	if (order > PMD_SHIFT - PAGE_SHIFT)
		return refuse(ps, at, "a folio larger than a PMD");
	if (order == 1 && !(l->vma[l->nr_vmas - 1].flags & PTB_VMA_FILE))
		return refuse(ps, at, "anonymous folios have no order 1");
	if (f->order && f->order != order)
		return refuse(ps, at, "pieces of one folio have one length");
	for (i = 0; i < l->nr; i++)
		if (l->page[i].folio == ps->folio &&
		    l->page[i].state != l->page[l->nr - 1].state &&
		    (strchr(PTB_CACHED, l->page[i].state) ||
		     strchr(PTB_CACHED, l->page[l->nr - 1].state)))
			return refuse(ps, at, "the swap cache holds whole folios");
	f->order = order;
	ps->folio = PTB_NO_FOLIO;
	if (f->label) {
		/* No page of it twice: an mm maps an anonymous page once. */
		for (i = 0; i < l->nr; i++)
			for (j = i + 1; j < l->nr; j++)
				if (l->page[i].folio == f - l->folio &&
				    l->page[j].folio == l->page[i].folio &&
				    l->page[i].sub == l->page[j].sub &&
				    ptb_state_maps(l->page[i].state) &&
				    ptb_state_maps(l->page[j].state))
					return refuse(ps, at, "an anonymous page twice in one mm");
		if (*ps->p && *ps->p != '|' && *ps->p != '}')
			return refuse(ps, ps->p, "a named piece is a VMA of its own");
	}
	return 0;
}

/* Abutting folios come from splitting one folio into equal parts. */
static int close_abut(struct parser *ps, const char *at)
{
	struct ptb_layout *l = ps->l;
	unsigned int i, nr = 0, order = UINT_MAX;

	if (!ps->abut || ps->folio != PTB_NO_FOLIO)
		return refuse(ps, at, "> without <");
	for (i = 0; i < l->nr_folios; i++) {
		if (l->folio[i].abut != ps->abut)
			continue;
		if (order != UINT_MAX && l->folio[i].order != order)
			return refuse(ps, at, "folios that abut have one order");
		order = l->folio[i].order;
		nr += 1 << order;
	}
	if (nr < 4 || !is_power_of_2(nr) ||
	    ilog2(nr) > PMD_SHIFT - PAGE_SHIFT)
		return refuse(ps, at, "folios that abut are 4, 8, 16 ... pages together");
	ps->abut = 0;
	return 0;
}

static int edge(struct parser *ps, const char *at)
{
	struct ptb_layout *l = ps->l;

	if (l->edge >= 0 && (l->nr - l->edge) % PTRS_PER_PTE)
		return refuse(ps, at, "page table boundaries are PTRS_PER_PTE pages apart");
	if (l->edge < 0)
		l->edge = l->nr % PTRS_PER_PTE;
	return 0;
}

/* Repeat what add_page() would do for @state, 1 or "*count" times. */
static int pages(struct parser *ps, char state)
{
	const char *at = ps->p++;
	unsigned int times = 1;
	int ret;

	if (*ps->p == '*') {
		ps->p++;
		ret = read_count(ps, &times);
		if (ret)
			return ret;
	}
	while (times--) {
		ret = add_page(ps, at, state);
		if (ret)
			return ret;
	}
	return 0;
}

/* Checks that need the whole layout. */
static int check_whole(struct parser *ps)
{
	struct ptb_layout *l = ps->l;
	unsigned int i;

	if (ps->folio != PTB_NO_FOLIO)
		return refuse(ps, ps->p, "[ is not closed");
	if (ps->abut)
		return refuse(ps, ps->p, "< is not closed");
	if (!l->nr)
		return refuse(ps, ps->p, "an empty layout");
	for (i = 0; i < l->nr_vmas; i++)
		if (l->vma[i].start == l->vma[i].end)
			return refuse(ps, ps->p, "a VMA without pages");
	if (l->dest >= (int)l->nr)
		return refuse(ps, ps->p, "@ stands before a page");
	if (ps->has_req && l->req_end == UINT_MAX)
		return refuse(ps, ps->p, "{ is not closed");
	if (!ps->has_req)
		l->req_end = l->nr;
	return 0;
}

static int one_item(struct parser *ps)
{
	struct ptb_layout *l = ps->l;
	const char *at = ps->p;
	char c = *at;

	if (strchr("wcyrkseabdjoutpqfzxghm.-", c))
		return pages(ps, c);
	if (c == '(')
		return vma_words(ps);
	ps->p++;
	if (isupper(c)) {
		if (*ps->p++ != '[')
			return refuse(ps, at, "a name stands before [");
		return open_folio(ps, at, c);
	}
	switch (c) {
	case ' ':
		return 0;
	case '[':
		return open_folio(ps, at, 0);
	case ']':
		return close_folio(ps, at);
	case '<':
		if (ps->abut || ps->folio != PTB_NO_FOLIO)
			return refuse(ps, at, "< inside < or [");
		ps->abut = ++ps->nr_abut;
		return 0;
	case '>':
		return close_abut(ps, at);
	case '|':
		if (l->vma[l->nr_vmas - 1].start == l->nr)
			return refuse(ps, at, "a VMA without pages");
		return open_vma(ps, at);
	case '^':
		return edge(ps, at);
	case '@':
		if (l->dest >= 0)
			return refuse(ps, at, "a second @");
		l->dest = l->nr;
		return 0;
	case '{':
		if (ps->has_req)
			return refuse(ps, at, "a second {");
		ps->has_req = true;
		l->req_start = l->nr;
		l->req_end = UINT_MAX;
		return 0;
	case '}':
		if (!ps->has_req || l->req_end != UINT_MAX)
			return refuse(ps, at, "} without {");
		l->req_end = l->nr;
		if (l->req_end == l->req_start)
			return refuse(ps, at, "an empty request");
		return 0;
	}
	return refuse(ps, at, "unknown character");
}

/**
 * ptb_layout_parse() - read a layout
 * @l: filled in; contents undefined on failure
 * @str: the picture
 * @n: what n stands for in counts, 0 if it may not occur
 * @err: filled in on failure
 *
 * Return: 0, or -EINVAL and @err says where and why.
 */
int ptb_layout_parse(struct ptb_layout *l, const char *str, unsigned int n,
		     struct ptb_error *err)
{
	struct parser ps = { .l = l, .str = str, .p = str, .n = n, .err = err,
			     .folio = PTB_NO_FOLIO };
	int ret;

	l->nr = 0;
	l->nr_vmas = 0;
	l->nr_folios = 0;
	l->req_start = 0;
	l->req_end = 0;
	l->edge = -1;
	l->dest = -1;
	ret = open_vma(&ps, str);
	while (!ret && *ps.p)
		ret = one_item(&ps);
	return ret ? ret : check_whole(&ps);
}

/**
 * ptb_vma_word() - the word for a kind of VMA
 * @flag: one of enum ptb_vma_flags
 *
 * Return: the word as in "(word)", or "?".
 */
const char *ptb_vma_word(unsigned int flag)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ptb_vma_words); i++)
		if (ptb_vma_words[i].flag == flag)
			return ptb_vma_words[i].word;
	return "?";
}
