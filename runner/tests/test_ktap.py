# SPDX-License-Identifier: GPL-2.0
"""The KTAP reader, by itself and against the kernel's own."""

import importlib
import os
import sys
import unittest
from pathlib import Path
from typing import Any

from runner import console, ktap
from runner.tests.fakes import BOOT, END, GREEN, replace, stamped, until
from runner.unit import KERNEL_TREE


def parse(text: str) -> ktap.Test:
    """Parse console text."""
    return ktap.parse(console.parse(text))


class Reader(unittest.TestCase):
    """ktap.parse()"""

    def test_nesting_names_and_plans(self) -> None:
        root = parse(stamped(GREEN))
        self.assertEqual([suite.name for suite in root.tests], ["alpha", "beta"])
        self.assertEqual([test.planned for test in (root, *root.tests)], [2, 2, 1])
        rows = root.tests[1].tests[0]
        self.assertEqual([row.name for row in rows.tests], ["[w*16] slow pin",
                                                            "[ww|ww]. fast pin"])
        self.assertEqual(rows.complaints, [])

    def test_lines_go_to_what_was_running(self) -> None:
        lines = replace(GREEN, "    ok 2 two", "    # two: hello", "stray", "    not ok 2 two")
        case = parse(stamped(lines)).tests[0].tests[1]
        self.assertEqual([line.text for line in case.lines], ["    # two: hello", "stray"])
        self.assertEqual(case.status, ktap.FAIL)

    def test_skip_reason(self) -> None:
        lines = replace(GREEN, "    ok 2 two", "    ok 2 two # SKIP no # zone")
        case = parse(stamped(lines)).tests[0].tests[1]
        self.assertEqual((case.name, case.status, case.reason), ("two", "skip", "no # zone"))

    def test_a_failure_is_no_skip(self) -> None:
        lines = replace(GREEN, "    ok 2 two", "    not ok 2 two # SKIP no zone")
        case = parse(stamped(lines)).tests[0].tests[1]
        self.assertEqual((case.name, case.status, case.reason), ("two", "fail", "no zone"))

    def test_rows_without_a_plan_are_counted_by_totals(self) -> None:
        lines = [line for line in GREEN if line != "        1..2" and "ok 1 [w*16]" not in line]
        rows = parse(stamped(lines)).tests[1].tests[0]
        self.assertIn("1 results, 2 counted by KUnit", rows.complaints)

    def test_cut_off(self) -> None:
        root = parse(stamped(until(GREEN, "        ok 1 [w*16] slow pin")))
        beta = root.tests[1]
        self.assertEqual((beta.name, beta.status), ("beta", None))
        self.assertEqual((beta.tests[0].name, beta.tests[0].status), ("rows", None))
        self.assertEqual(len(beta.tests[0].tests), 1)

    def test_suite_cut_short_by_the_next(self) -> None:
        lines = [line for line in GREEN if line not in ("    ok 2 two", "ok 1 alpha")]
        root = parse(stamped(lines))
        self.assertEqual([(suite.name, suite.status) for suite in root.tests],
                         [("alpha", None), ("beta", "pass")])

    def test_text(self) -> None:
        text = ktap.text(console.parse(stamped(GREEN)))
        self.assertTrue(text.startswith("KTAP version 1\n1..2\n"))
        self.assertEqual(ktap.text(console.parse(stamped(BOOT))), "")


@unittest.skipUnless(os.environ.get(KERNEL_TREE), f"no kernel tree in {KERNEL_TREE}")
class AgainstKunitParser(unittest.TestCase):
    """Names and statuses are those that the kernel's own parser finds."""

    parser: Any
    printer: Any
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(os.environ[KERNEL_TREE]) / "tools" / "testing" / "kunit"
        sys.path.insert(0, str(cls.folder))
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            cls.parser = importlib.import_module("kunit_parser")
            cls.printer = importlib.import_module("kunit_printer").null_printer
        finally:
            sys.dont_write_bytecode = before
            sys.path.remove(str(cls.folder))

    def theirs(self, text: str) -> Any:
        """(name, status, tests) the way kunit_parser sees it."""
        def shape(test: Any) -> Any:
            return (test.name, test.status.name, [shape(sub) for sub in test.subtests])
        return shape(self.parser.parse_run_tests(text.splitlines(), self.printer))[2]

    def ours(self, text: str) -> Any:
        """The same the way we do."""
        word = {"pass": "SUCCESS", "fail": "FAILURE", "skip": "SKIPPED"}

        def shape(test: ktap.Test) -> Any:
            return (test.name, word[test.status or ""], [shape(sub) for sub in test.tests])
        return [shape(test) for test in parse(text).tests]

    def test_our_fakes(self) -> None:
        skip = replace(GREEN, "    ok 2 two", "    ok 2 two # SKIP why")
        fail = replace(GREEN, "    ok 1 one", "    # one: x", "    not ok 1 one")
        for lines in (GREEN, skip, replace(fail, "ok 1 alpha", "not ok 1 alpha"), [*GREEN, *END]):
            self.assertEqual(self.ours(stamped(lines)), self.theirs(stamped(lines)))

    def test_their_logs(self) -> None:
        for name in ("is_test_passed-all_passed_nested", "output_with_prefix_isolated_correctly",
                     "is_test_passed-failure-nested", "parse_subtest_header"):
            path = self.folder / "test_data" / f"test_{name}.log"
            text = path.read_text(errors="backslashreplace")
            if "\tKTAP" in text or "# Subtest" in text and "KTAP version" not in text:
                continue
            with self.subTest(name):
                self.assertEqual([test[0] for test in self.ours(text)],
                                 [test[0] for test in self.theirs(text)])
