// SPDX-License-Identifier: GPL-2.0
/* GUP-fast against everything that changes page tables: needs two CPUs. */
#include <kunit/test.h>
#include <linux/cpumask.h>

#include "kunit/race_ops.h"

/*
 * On arm64, changing one entry of a contiguous block changes all of them: the
 * first page of a run notices. Hence folios of two blocks.
 */
static const struct race_row race_rows[] = {
	{ "fork and exit, 4 kB", &race_fork, "w*n", 32, 0, false, 40 },
	{ "fork and exit, 64 kB", &race_fork, "w*n", 32, 4, false, 80 },
	{ "mprotect, 4 kB", &race_mprotect, "w*n", 32, 0, false, 40 },
	{ "mprotect, 64 kB", &race_mprotect, "w*n", 32, 4, false, 80 },
	{ "mprotect, 128 kB", &race_mprotect, "w*n", 32, 5, false, 80 },
	{ "MADV_DONTNEED, 4 kB", &race_dontneed, "w*n", 32, 0, false, 40 },
	{ "MADV_DONTNEED, 64 kB", &race_dontneed, "w*n", 32, 4, false, 80 },
	{ "MADV_DONTNEED, 128 kB", &race_dontneed, "w*n", 32, 5, false, 80 },
	{ "munmap and mmap, 4 kB", &race_munmap, "w*n", 32, 0, false, 40 },
	{ "munmap and mmap, 64 kB", &race_munmap, "w*n", 32, 4, false, 80 },
	{ "split, 64 kB", &race_split, "w*n", 32, 4, false, 80 },
	{ "split of a PMD", &race_split_pmd, "w*n", 512, 9, true, 24 },
	{ "migration, 4 kB", &race_migrate, "w*n", 32, 0, false, 40 },
	{ "migration, 64 kB", &race_migrate, "w*n", 32, 4, false, 80 },
	{ "collapse, 64 kB", &race_collapse, "w*n", 512, 4, false, 24 },
};

static void race_desc(const struct race_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(race, race_rows, race_desc);

/* Nothing else runs while GUP-fast does, then. */
static bool alone(struct kunit *test)
{
	if (num_online_cpus() > 1)
		return false;
	kunit_mark_skipped(test, "one CPU");
	return true;
}

static void gup_race_points(struct kunit *test)
{
	if (!alone(test))
		race_run_points(test, test->param_value);
}

static void gup_race_stress(struct kunit *test)
{
	if (!alone(test))
		race_run_stress(test, test->param_value);
}

static struct kunit_case gup_race_cases[] = {
	KUNIT_CASE_PARAM(gup_race_points, race_gen_params),
	KUNIT_CASE_PARAM(gup_race_stress, race_gen_params),
	{}
};

static struct kunit_suite gup_race_suite = {
	.name = "gup_race",
	.suite_init = ptb_suite_init,
	.suite_exit = ptb_suite_exit,
	.test_cases = gup_race_cases,
};

kunit_test_suite(gup_race_suite);
