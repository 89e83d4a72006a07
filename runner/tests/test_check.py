# SPDX-License-Identifier: GPL-2.0
"""What counts as a finding."""

import unittest

from runner import check


class Findings(unittest.TestCase):
    """check.findings() and the table"""

    def test_only_ours(self) -> None:
        text = ("../include/linux/mm.h:1:2: warning: not ours\n"
                "../mm/ptebatch/lib/space.c:3:4: warning: ours\n"
                "  CC      mm/ptebatch/lib/space.o\n")
        self.assertEqual(check.findings(text, 0, True),
                         ("../mm/ptebatch/lib/space.c:3:4: warning: ours",))
        self.assertEqual(check.findings("  CC mm/ptebatch/x.o\n  CHECK mm/ptebatch/x.c\n",
                                        0, True), ())

    def test_a_failure_without_a_word_is_a_finding(self) -> None:
        self.assertEqual(check.findings("", 2, True), ("failed with status 2",))
        self.assertEqual(check.findings("make: *** No rule to make target\n", 2, True),
                         ("make: *** No rule to make target",))

    def test_table(self) -> None:
        lines = check.table([check.Row("sparse arm64", "mm/ptebatch/", ()),
                             check.Row("checkpatch", "3 files", ("a.c:1: WARNING: x",))])
        self.assertIn("clean", lines[1])
        self.assertIn("1 finding(s)", lines[2])
        self.assertEqual(lines[-1], "  a.c:1: WARNING: x")
