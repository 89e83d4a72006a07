// SPDX-License-Identifier: GPL-2.0
/* Failures as pictures: layout, operation, expected above found. */
#include <kunit/test.h>
#include <linux/slab.h>

#include "lib/report.h"

/* Pages drawn to each side of the one in question. */
#define WINDOW		32
#define PICTURE_MAX	400
/* Differences told one by one. */
#define LINES		8

/** ptb_report_line() - one line of @test's diagnostics */
void ptb_report_line(struct kunit *test, const char *text)
{
	kunit_err(test, "%s\n", text);
}

/* printk records end at 1024 bytes. */
static void print_picture(struct ptb_space *space, const char *head,
			  const struct ptb_layout *l)
{
	const size_t size = 8000;
	char *buf = kvmalloc(size, GFP_KERNEL);
	size_t at, len;

	if (!buf)
		return;
	if (ptb_layout_print(l, buf, size, 0, l->nr, -1, NULL) < 0)
		strscpy(buf, "(layout too long to print)", size);
	len = strlen(buf);
	for (at = 0; at < len; at += PICTURE_MAX)
		kunit_err(space->test, "%-10s %.*s\n", at ? "" : head,
			  PICTURE_MAX, buf + at);
	kvfree(buf);
}

/** ptb_report_layout() - draw what @space was built from */
void ptb_report_layout(struct ptb_space *space)
{
	print_picture(space, "layout", &space->layout);
}

/**
 * ptb_report_refused() - a layout that the parser refuses
 * @test: the case
 * @picture: the layout
 * @err: what ptb_layout_parse() said
 */
void ptb_report_refused(struct kunit *test, const char *picture,
			const struct ptb_error *err)
{
	kunit_err(test, "%s\n", picture);
	kunit_err(test, "%*s^ %s\n", err->at, "", err->why);
}

/* A layout with the same brackets whose states are those of a ledger. */
static void draw(struct ptb_space *space, struct ptb_layout *l, const char *head,
		 const struct ptb_ledger *led, int mm, int page, bool mark)
{
	unsigned int from = page > WINDOW ? page - WINDOW : 0;
	unsigned int to = min_t(unsigned int, l->nr, page + WINDOW + 1);
	unsigned int i, col = 0;
	char buf[PICTURE_MAX];

	for (i = from; i < to; i++)
		if (l->page[i].state != '-')
			l->page[i].state =
				ptb_pte_char(led, mm, i,
					     l->vma[l->page[i].vma].flags);
	if (ptb_layout_print(l, buf, sizeof(buf), from, to, page, &col) < 0)
		return;
	kunit_err(space->test, "%-10s %s%s%s\n", head, from ? "..." : "", buf,
		  to < l->nr ? "..." : "");
	if (mark)
		kunit_err(space->test, "%-10s %s%*s^ page %d, mm %d\n", "",
			  from ? "   " : "", col, "", page, mm);
}

static void line(void *arg, const char *text)
{
	struct ptb_space *space = arg;

	kunit_err(space->test, "  %s\n", text);
}

/**
 * ptb_report_compare() - compare two ledgers and tell the differences
 * @space: its case fails if there are any
 * @what: the operation, printed
 * @before: the books before it
 * @want: what they must be
 * @found: what they are
 * @bind: see ptb_ledger_compare()
 *
 * Return: true if they agree.
 */
bool ptb_report_compare(struct ptb_space *space, const char *what,
			const struct ptb_ledger *before,
			const struct ptb_ledger *want,
			const struct ptb_ledger *found, s16 *bind)
{
	struct ptb_diff diff = {};
	struct ptb_layout *l;

	if (ptb_ledger_compare(before, want, found, bind, &diff))
		return true;
	kunit_set_failure(space->test);
	space->failed = true;
	print_picture(space, "layout", &space->layout);
	kunit_err(space->test, "%-10s %s\n", "operation", what);
	l = kvmalloc_obj(*l);
	if (l && diff.page >= 0) {
		memcpy(l, &space->layout, sizeof(*l));
		draw(space, l, "before", before, diff.mm, diff.page, false);
		draw(space, l, "expected", want, diff.mm, diff.page, false);
		draw(space, l, "found", found, diff.mm, diff.page, true);
	}
	kvfree(l);
	diff.print = LINES;
	diff.line = line;
	diff.arg = space;
	ptb_ledger_compare(before, want, found, bind, &diff);
	if (diff.nr > LINES)
		kunit_err(space->test, "  ... and %u more\n", diff.nr - LINES);
	return false;
}
