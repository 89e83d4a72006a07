// SPDX-License-Identifier: GPL-2.0
/* Drawing layouts: see layout.h for the language. */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/pgtable.h>
#include <linux/string.h>

#include "lib/layout.h"

struct printer {
	char *buf;
	size_t size;
	size_t len;
};

static void put(struct printer *pr, const char *str)
{
	size_t n = strlen(str);

	if (pr->len + n < pr->size)
		memcpy(pr->buf + pr->len, str, n + 1);
	pr->len += n;
}

static void put_char(struct printer *pr, char c)
{
	const char str[2] = { c, 0 };

	put(pr, str);
}

static unsigned int abut_of(const struct ptb_layout *l, int i)
{
	if (i < 0 || i >= l->nr || l->page[i].folio == PTB_NO_FOLIO)
		return 0;
	return l->folio[l->page[i].folio].abut;
}

static bool is_edge(const struct ptb_layout *l, unsigned int i)
{
	return l->edge >= 0 && (i - (unsigned int)l->edge) % PTRS_PER_PTE == 0;
}

static void put_before(struct printer *pr, const struct ptb_layout *l,
		       unsigned int i, bool whole)
{
	const struct ptb_lpage *pg = &l->page[i];
	const struct ptb_lvma *vma = &l->vma[pg->vma];
	const char *sep = "(";
	unsigned int bit;

	if (!i || l->page[i - 1].vma != pg->vma) {
		if (i)
			put_char(pr, '|');
		for (bit = 0; bit < 32; bit++) {
			if (!(vma->flags & BIT(bit)))
				continue;
			put(pr, sep);
			put(pr, ptb_vma_word(BIT(bit)));
			sep = ",";
		}
		if (vma->flags)
			put_char(pr, ')');
	}
	if (is_edge(l, i))
		put_char(pr, '^');
	if (l->dest == (int)i)
		put_char(pr, '@');
	if (!whole && l->req_start == i)
		put_char(pr, '{');
	if (abut_of(l, i) && abut_of(l, i) != abut_of(l, (int)i - 1))
		put_char(pr, '<');
	if (pg->folio != PTB_NO_FOLIO && l->folio[pg->folio].order && !pg->sub) {
		if (l->folio[pg->folio].label)
			put_char(pr, l->folio[pg->folio].label);
		put_char(pr, '[');
	}
}

static void put_after(struct printer *pr, const struct ptb_layout *l,
		      unsigned int i, bool whole)
{
	const struct ptb_lpage *pg = &l->page[i];

	if (pg->folio != PTB_NO_FOLIO && l->folio[pg->folio].order &&
	    pg->sub == (1 << l->folio[pg->folio].order) - 1)
		put_char(pr, ']');
	if (abut_of(l, i) && abut_of(l, i) != abut_of(l, i + 1))
		put_char(pr, '>');
	if (!whole && l->req_end == i + 1)
		put_char(pr, '}');
}

/* May page @i + 1 be drawn by a repeat count of page @i? */
static bool continues(const struct ptb_layout *l, unsigned int i)
{
	struct ptb_lpage a = l->page[i], b = l->page[i + 1];
	const bool large = a.folio != PTB_NO_FOLIO && l->folio[a.folio].order;

	if (a.state != b.state || a.vma != b.vma || is_edge(l, i + 1) ||
	    l->req_start == i + 1 || l->req_end == i + 1 ||
	    l->dest == (int)i + 1 ||
	    abut_of(l, i) != abut_of(l, i + 1))
		return false;
	if (large)
		return a.folio == b.folio;
	return b.folio == PTB_NO_FOLIO || !l->folio[b.folio].order;
}

/**
 * ptb_layout_print() - draw a layout, or a part of it
 * @l: the layout
 * @buf: where to
 * @size: its size in bytes
 * @from: first page to draw
 * @to: the page behind the last one
 * @mark: a page to point at, -1 for none. With one, every page has its own
 *	character, so that two pictures can stand one above the other; without,
 *	runs are drawn by a count.
 * @mark_col: set to the column of the marked page
 *
 * What is printed whole and without a mark parses to the same layout.
 *
 * Return: the length, or -ENOSPC if @buf is too small.
 */
int ptb_layout_print(const struct ptb_layout *l, char *buf, size_t size,
		     unsigned int from, unsigned int to, int mark,
		     unsigned int *mark_col)
{
	struct printer pr = { .buf = buf, .size = size };
	const bool whole = !l->req_start && l->req_end == l->nr;
	unsigned int i, run;
	char times[16];

	if (size)
		*buf = 0;
	for (i = from; i < to; i++) {
		put_before(&pr, l, i, whole);
		if (i == mark && mark_col)
			*mark_col = pr.len;
		put_char(&pr, l->page[i].state);
		for (run = 1; mark < 0 && i + 1 < to && continues(l, i); run++)
			i++;
		if (run > 4) {
			snprintf(times, sizeof(times), "*%u", run);
			put(&pr, times);
		} else {
			while (--run)
				put_char(&pr, l->page[i].state);
		}
		put_after(&pr, l, i, whole);
	}
	if (is_edge(l, to) && to == l->nr && to == l->edge)
		put_char(&pr, '^');
	return pr.len < size ? pr.len : -ENOSPC;
}
