// SPDX-License-Identifier: GPL-2.0
/* The picture language: what parses, how it prints, what is refused and why. */
#include <kunit/test.h>
#include <linux/string.h>

#include "lib/layout.h"

struct layout_case {
	const char *picture;
	unsigned int n;
	const char *printed;	/* NULL: the same */
	int at;			/* where it is refused, -1: it is not */
	const char *why;
};

#define SAME(str)		{ str, 0, NULL, -1 }
#define AS(str, n, out)		{ str, n, out, -1 }
#define REFUSED(str, n, at, why) { str, n, NULL, at, why }

static const struct layout_case layout_cases[] = {
	SAME("w"), SAME("wcrkseppz."), SAME("[wwww]"), SAME("[ww..]w.z"),
	SAME("[w*512]"), SAME("[w*8]w*16[w*16]"), SAME("ww^ww"),
	SAME("[wwww^wwww]"), SAME("[ww|(ro)rr]"), SAME("(ro)rr|--|(shm)[wwww]"),
	SAME("(uffd)wum"), SAME("(ro,sd)rt"), SAME("(mixed)wx"), SAME("(cow)fwf"),
	SAME("<w*8>"), SAME("<[wwww][wwww]>ww"), SAME("A[--ww]|A[ww--]"),
	SAME("ww|A[-*7w]|ww|A[w*7-]"), SAME("(mov)ww|w"),
	SAME("[yyww]c"), SAME("(ro,old)[rrss]"),
	SAME("[wowo]djab"), SAME("[aaaa][bbbb][dddd]"),
	 SAME("gh"),
	SAME("{[w*8]}|----@---"), SAME("ww|(shm)@[ww]"), SAME("[w@www]"),
	SAME("[ww{ww]}"), SAME("{w}www"), SAME("(none)pp"), SAME("(shm)[ww]"),
	AS("w*3", 0, "www"), AS("w*5", 0, "w*5"), AS("wwwwww", 0, "w*6"),
	AS("[w*n]", 4, "[wwww]"), AS("[w*n/2 r*n/2]", 16, "[w*8r*8]"),
	AS("[rw*n-1]", 8, "[rw*7]"), AS("[w]w", 0, "ww"), AS("w w", 0, "ww"),
	AS("{ww}", 0, "ww"), SAME("^ww"),
	AS("[w*n/4+1 .*n/2+1]", 8, "[www.*5]"),
	REFUSED("", 0, 0, "an empty layout"),
	REFUSED("wv", 0, 1, "unknown character"),
	REFUSED("[www]", 0, 4, "a folio has 1, 2, 4, 8 ... pages"),
	REFUSED("[ww]", 0, 3, "anonymous folios have no order 1"),
	REFUSED("[ww", 0, 3, "[ is not closed"),
	REFUSED("w]", 0, 1, "no folio is open"),
	REFUSED("w*n", 0, 2, "n has no value here"),
	REFUSED("w*0", 0, 2, "a count of zero"),
	REFUSED("w*n/3", 8, 2, "n is not a multiple of that"),
	REFUSED("w*99999", 0, 5, "number too large"),
	REFUSED("(ro)w", 0, 4, "a writable PTE needs a writable VMA"),
	REFUSED("u", 0, 0, "uffd bits mean something in a (uffd) VMA only"),
	REFUSED("q", 0, 0, "uffd-rwp means something in a (rwp) VMA only"),
	REFUSED("x", 0, 0, "special PTEs live in a (mixed) VMA only"),
	REFUSED("f", 0, 0, "file pages need a (shm) or (cow) VMA"),
	REFUSED("(shm)s", 0, 5, "anonymous pages do not live in a shared mapping"),
	REFUSED("(none)w", 0, 6, "a PROT_NONE VMA holds p and . only"),
	REFUSED("w(ro)r", 0, 1, "a VMA's kind stands at its start"),
	REFUSED("(foo)w", 0, 1, "no such kind of VMA"),
	REFUSED("(shm,cow)w", 0, 0, "a VMA maps one kind of memory"),
	REFUSED("A[wwww]|A[wwww]", 0, 14, "an anonymous page twice in one mm"),
	REFUSED("A[ww--]|A[--w*6]", 0, 15, "pieces of one folio have one length"),
	REFUSED("wA[wwww]", 0, 1, "a named piece is an anonymous VMA of its own"),
	REFUSED("<www>", 0, 4, "folios that abut are 4, 8, 16 ... pages together"),
	REFUSED("<[wwww]wwww>", 0, 11, "folios that abut have one order"),
	REFUSED("ww^ww^", 0, 5, "page table boundaries are PTRS_PER_PTE pages apart"),
	REFUSED("{w}{w}", 0, 3, "a second {"),
	REFUSED("@w@w", 0, 2, "a second @"),
	REFUSED("ww@", 0, 3, "@ stands before a page"),
	REFUSED("w*1600[", 0, 6, "layout too long"),
	REFUSED("w*1601", 0, 5, "number too large"),
	REFUSED("w{}w", 0, 2, "an empty request"),
	REFUSED("[.]", 0, 2, "a folio of one page is a page without brackets"),
	REFUSED("A[w]", 0, 3, "a folio of one page is a page without brackets"),
	REFUSED("(pmd)[w*8]", 0, 9, "a PMD maps one folio of its size"),
	REFUSED("(pmd)w", 0, 5, "a PMD maps one folio of its size"),
	REFUSED("(pmd)[s*512]", 0, 6,
		"what a PMD maps is w in a writable VMA, r in another"),
	REFUSED("(shm)o", 0, 5, "only anonymous memory is swapped out here"),
	REFUSED("[aaaw]", 0, 5, "the swap cache holds whole folios"),
	REFUSED("[.bbb]", 0, 5, "the swap cache holds whole folios"),
	REFUSED("(huge,old)[w*512]", 0, 0, "PTEs only can be old"),
	REFUSED("(ro)y", 0, 4, "a writable PTE needs a writable VMA"),
	REFUSED("w|", 0, 2, "a VMA without pages"),
	REFUSED("[w[w]]", 0, 2, "a folio inside a folio"),
#ifdef CONFIG_PAGE_SIZE_4KB
	/* so many entries has a page table, so many pages maps a PMD */
	SAME("(pmd)[w*512]"), AS("w*512^", 0, "^w*512"),
	REFUSED("[w*1024]", 0, 7, "a folio larger than a PMD"),
#endif
};

static void layout_desc(const struct layout_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %s", c->picture,
		 c->at < 0 ? "parses" : "is refused");
	strreplace(desc, '#', '_');
}

KUNIT_ARRAY_PARAM(layout, layout_cases, layout_desc);

static void layout_language(struct kunit *test)
{
	const struct layout_case *c = test->param_value;
	struct ptb_layout *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct ptb_error err = {};
	char buf[200];
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, l);
	ret = ptb_layout_parse(l, c->picture, c->n, &err);
	if (c->at >= 0) {
		KUNIT_EXPECT_EQ(test, ret, -EINVAL);
		KUNIT_EXPECT_EQ(test, err.at, c->at);
		KUNIT_EXPECT_STREQ(test, err.why ?: "", c->why);
		return;
	}
	KUNIT_ASSERT_EQ_MSG(test, ret, 0, "at %u: %s", err.at, err.why);
	ret = ptb_layout_print(l, buf, sizeof(buf), 0, l->nr, -1, NULL);
	KUNIT_EXPECT_EQ(test, ret, strlen(buf));
	KUNIT_EXPECT_STREQ(test, buf, c->printed ?: c->picture);
	KUNIT_EXPECT_EQ(test, ptb_layout_print(l, buf, 1, 0, l->nr, -1, NULL),
			-ENOSPC);
}

static struct kunit_case ptebatch_layout_cases[] = {
	KUNIT_CASE_PARAM(layout_language, layout_gen_params),
	{}
};

static struct kunit_suite ptebatch_layout_suite = {
	.name = "ptebatch_layout",
	.test_cases = ptebatch_layout_cases,
};

kunit_test_suite(ptebatch_layout_suite);
