// SPDX-License-Identifier: GPL-2.0
/* The oracle, the kernel and pictures drawn by hand have to agree. */
#include <kunit/test.h>
#include <linux/mm.h>

#include "lib/session.h"

/*
 * What an operation makes of a picture, written by hand: so that neither the
 * oracle nor the kernel alone says what is right.
 */
static const struct picture_case {
	const char *name;
	const char *before;
	char op;	/* w, u, r: fault at the requested page; f: fork; x: fork, exit */
	const char *after;
	const char *wide;	/* if it differs with a reuse span above 1 */
} picture_cases[] = {
	{ "reuse of one page", "[e{e}ee]", 'w', "[ewee]", "[wwww]" },
	{ "reuse in a VMA", "[e|e{e}|e]", 'w', "[eewe]", "[ewwe]" },
	{ "reuse beside odd entries", "[e{e}.ezwwe]", 'w', "[ew.ezwwe]",
	  "[ww.wzwww]" },
	{ "copy of a shared page", "[s{s}ss]", 'w', "[swss]" },
	{ "unshare by reuse", "[e{e}ee]", 'u', "[eree]" },
	{ "unshare by copy", "[s{s}ss]", 'u', "[skss]" },
	{ "exclusive pages become writable", "[r{r}rr]", 'w', "[rwrr]" },
	{ "hole, written", "w{.}", 'w', "ww" },
	{ "hole, read", "w{.}", 'r', "wz" },
	{ "zero page, written", "w{z}", 'w', "ww" },
	{ "zero page, unshared", "w{z}", 'u', "wk" },
	{ "hinting fault, whole folio", "[p{p}wp]", 'r', "[wwww]" },
	{ "one page left of a folio", "[.{e}..]", 'w', "[.w..]" },
	{ "fork", "[wwrr]w.", 'f', "[ssss]s." },
	{ "fork and exit", "[wwrr]w.", 'x', "[eeee]e." },
	{ "swapped out: read", "w{o}", 'r', "wc" },
	{ "swapped out: written", "w{o}", 'w', "ww" },
	{ "swapped out: formerly shared, read", "w{d}", 'r', "we" },
	{ "swapped out: formerly shared, written", "w{d}", 'w', "ww" },
	{ "swapped out: shared, read", "w{j}", 'r', "wa" },
	{ "swapped out: shared, written", "w{j}", 'w', "ww" },
	{ "swapped out: one of a folio, read", "[o{o}oo]", 'r', "[ocoo]" },
	{ "swapped out: fork", "wodj", 'f', "sjjj" },
	{ "swapped out: fork and exit", "[oooo]w", 'x', "[dddd]e" },
	{ "swap cache: shared, written", "[a{a}aa]", 'w', "[awaa]" },
	{ "swap cache: shared, unshared", "[a{a}aa]", 'u', "[akaa]" },
	{ "swap cache: written", "[b{b}bb]", 'w', "[ewee]", "[wwww]" },
	{ "swap cache: unshared", "[b{b}bb]", 'u', "[ekee]" },
	{ "private file page, written", "(cow)[f{f}ff]", 'w', "(cow)[fwff]" },
	{ "uffd-wp page, written", "(uffd)[w{u}ww]", 'w', "(uffd)[wuww]" },
};

static void picture_desc(const struct picture_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(picture, picture_cases, picture_desc);

static void picture_after(struct kunit *test)
{
	const struct picture_case *c = test->param_value;
	const char *p = c->wide && ptb_reuse_span > 1 ? c->wide : c->after;
	struct ptb_session s;
	unsigned int i, at;
	int child;

	if (ptb_skip(test, c->before))
		return;
	ptb_watch_start(test, PTB_DEADLINE);
	if (!ptb_begin(&s, test, c->before, 0))
		return;
	at = s.space->layout.req_start;
	if (c->op == 'f' || c->op == 'x') {
		child = ptb_do_fork(&s);
		if (c->op == 'x' && child > 0)
			ptb_do_exit(&s, child);
	} else {
		ptb_do_fault(&s, at, c->op == 'w' ? FAULT_FLAG_WRITE :
				     c->op == 'u' ? FAULT_FLAG_UNSHARE : 0);
	}
	if (*p == '(')
		p = strchr(p, ')') + 1;
	for (i = 0; i < s.space->layout.nr; i++, p++) {
		while (*p == '[' || *p == ']')
			p++;
		KUNIT_EXPECT_EQ_MSG(test, ptb_pte_char(s.space->led, 0, i, 0),
				    *p, "page %u", i);
	}
	ptb_end(&s);
	ptb_watch_stop(test);
}

static struct kunit_case ptebatch_oracle_cases[] = {
	KUNIT_CASE_PARAM(picture_after, picture_gen_params),
	{}
};

static struct kunit_suite ptebatch_oracle_suite = {
	.name = "ptebatch_oracle",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = ptebatch_oracle_cases,
};

kunit_test_suite(ptebatch_oracle_suite);
