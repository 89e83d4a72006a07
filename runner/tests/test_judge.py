# SPDX-License-Identifier: GPL-2.0
"""One fake console per verdict."""

import io
import json
from collections.abc import Sequence
from typing import Any

from runner import judge, parts, report, results
from runner.errors import Trouble
from runner.judge import Judgement
from runner.tests.fakes import (ALPHA, BETA, BOOT, END, GREEN, OLD_CASES, WARN, TempCase, insert,
                                replace, result_folder, stamped, until)


class Verdicts(TempCase):
    """Every verdict has its name, and nothing missing looks green."""

    def judge(self, lines: Sequence[str] | None, **how: Any) -> Judgement:
        """Judge a console."""
        return judge.judge(result_folder(self.dir / "r", lines, **how))

    def expect(self, result: Judgement, kind: str, where: str, text: str = "") -> None:
        """There is such a problem, and it gives the verdict its name."""
        found = [problem for problem in result.problems if problem.kind == kind]
        self.assertTrue(found, f"no {kind} in {result.problems}")
        self.assertEqual(found[0].where, where)
        self.assertIn(text, found[0].text)
        self.assertEqual(result.verdict, kind)
        self.assertGreater(result.counts()[1], 0)

    def test_pass(self) -> None:
        result = self.judge(GREEN)
        self.assertEqual(result.problems, [])
        self.assertEqual((result.verdict, result.counts()), ("pass", (4, 0, 0)))
        row = result.leaves[-1]
        self.assertEqual(row.name, "beta.rows: [ww|ww]. fast pin")
        self.assertEqual(row.seconds, 0.001)

    def test_a_splat_is_shown_in_full_once(self) -> None:
        lines = GREEN
        for name in ("    ok 1 one", "    ok 2 two"):
            lines = replace(insert(lines, name, WARN), name, name.replace("ok", "not ok"))
        result = self.judge(replace(lines, "ok 1 alpha", "not ok 1 alpha"))
        failed = [problem for problem in result.problems if problem.kind == judge.FAILED]
        self.assertEqual([problem.lines[-2:] for problem in failed],
                         [[WARN[0], WARN[1]]] * 2)
        text = "\n".join(report.problem_lines(result))
        self.assertEqual(text.count("Call trace:"), 1)
        self.assertEqual(text.count("(like the one above)"), 1)

    def test_refused(self) -> None:
        line = "Booting kernel: `-1' invalid for parameter `ptebatch.seed'"
        self.expect(self.judge(insert(GREEN, "KTAP version 1", [line])), judge.REFUSED, "", line)

    def test_only_skips(self) -> None:
        lines = GREEN
        for name in ("    ok 1 one", "    ok 2 two", "        ok 1 [w*16] slow pin",
                     "        ok 2 [ww|ww]. fast pin"):
            lines = replace(lines, name, f"{name} # SKIP one CPU")
        result = self.judge(lines, skips="* * *.* # one CPU\n")
        self.expect(result, judge.NOTHING, "", "try another VARIANT")
        self.assertEqual(result.problems[0].lines, ["4 times: one CPU"])
        # What is expected to fail, and does, did run.
        lines = replace(lines, "    ok 1 one # SKIP one CPU", "    ok 1 one # SKIP XFAIL: later")
        result = self.judge(lines, skips="* * *.* # one CPU\n* * *.one # XFAIL: later\n")
        self.assertEqual((result.verdict, result.counts()), ("pass", (0, 0, 4)))

    def in_parts(self, first: Sequence[str], second: Sequence[str]) -> Judgement:
        """Judge a boot in two parts: alpha's console and beta's."""
        folder = result_folder(self.dir / "r", first)
        (folder / parts.SLOW).write_text(stamped(second))
        facts = json.loads((folder / "run.json").read_text())
        ended = facts.pop("boot")
        facts["boots"] = [{"log": parts.WHOLE, "suites": ["alpha"], **ended},
                          {"log": parts.SLOW, "suites": ["beta"], **ended}]
        (folder / "run.json").write_text(json.dumps(facts))
        return judge.judge(folder)

    def test_parts(self) -> None:
        first = [*BOOT, "KTAP version 1", "1..1", *ALPHA, *END]
        second = [*BOOT, "KTAP version 1", "1..1", *replace(BETA, "ok 2 beta", "ok 1 beta"), *END]
        result = self.in_parts(first, second)
        self.assertEqual((result.verdict, result.counts()), ("pass", (4, 0, 0)))
        self.expect(self.in_parts(first, BOOT), judge.BOOT_FAILED, "")
        self.expect(self.in_parts(first, until(second, "    ok 1 rows")), judge.EARLY,
                    "beta's exit")
        self.expect(self.in_parts(insert(first, "    ok 2 two", WARN), second), judge.SPLAT,
                    "alpha.two")
        # A suite in the wrong part is one too many there, and missing in its own.
        swapped = self.in_parts(second, first)
        self.assertEqual({problem.kind for problem in swapped.problems},
                         {judge.MISSING, judge.EXTRA})

    def test_failed_row_keeps_its_picture(self) -> None:
        picture = ["    # rows: EXPECTATION FAILED at mm/ptebatch/kunit/beta_kunit.c:3",
                   "    expected [wwww]", "    found    [wwrw]", "                 ^"]
        lines = replace(GREEN, "        ok 2 [ww|ww]. fast pin", *picture,
                        "        not ok 2 [ww|ww]. fast pin")
        lines = replace(lines, "    ok 1 rows", "    not ok 1 rows")
        result = self.judge(replace(lines, "ok 2 beta", "not ok 2 beta"))
        self.expect(result, judge.FAILED, "beta.rows: [ww|ww]. fast pin")
        self.assertEqual(result.problems[0].lines, picture)
        self.assertEqual(result.counts(), (3, 1, 0))

    def test_case_not_ok_though_its_rows_are(self) -> None:
        result = self.judge(replace(GREEN, "    ok 1 rows", "    not ok 1 rows"))
        self.expect(result, judge.FAILED, "beta.rows", "no row failed")

    def test_suite_not_ok_though_its_cases_are(self) -> None:
        result = self.judge(replace(GREEN, "ok 1 alpha", "not ok 1 alpha"))
        self.expect(result, judge.FAILED, "alpha", "no case failed")

    def test_splat_fails_the_case_it_is_in(self) -> None:
        result = self.judge(insert(GREEN, "    ok 2 two", WARN))
        self.expect(result, judge.SPLAT, "alpha.two", "WARN: WARNING: mm/gup.c:1234")
        self.assertEqual(result.counts(), (3, 1, 0))

    def test_splat_in_a_row(self) -> None:
        result = self.judge(insert(GREEN, "        ok 2 [ww|ww]. fast pin", WARN))
        self.expect(result, judge.SPLAT, "beta.rows: [ww|ww]. fast pin")

    def test_messages_lost(self) -> None:
        lines = insert(GREEN, "        ok 2 [ww|ww]. fast pin",
                       ["** 12 printk messages dropped **"])
        lines = insert(lines, "KTAP version 1", ["** 3 printk messages dropped **"])
        result = self.judge(lines)
        self.expect(result, judge.LOST, "", "console lost 15 messages")
        self.assertEqual(result.problems[0].lines, [
            "** 3 printk messages dropped **: during boot",
            "** 12 printk messages dropped **: beta.rows: [ww|ww]. fast pin"])
        self.assertEqual(result.counts(), (4, 1, 0))
        self.assertEqual(self.judge(insert(GREEN, "    ok 2 two", [
            "** replaying previous printk message **"])).verdict, judge.PASSED)

    def test_splat_outside_the_tests(self) -> None:
        result = self.judge(insert(GREEN, "KTAP version 1", WARN))
        self.expect(result, judge.SPLAT, "during boot")
        self.assertEqual(result.counts(), (4, 1, 0))
        self.expect(self.judge(insert(GREEN, END[0], WARN)), judge.SPLAT, "after the last suite")

    def test_panic_is_put_down_to_the_running_case(self) -> None:
        lines = [*until(GREEN, "    ok 1 one"), "Internal error: Oops: 0000000096000004",
                 "Call trace:", "Kernel panic - not syncing: Oops: Fatal exception",
                 "Rebooting in 0 seconds.."]
        result = self.judge(lines)
        self.expect(result, judge.PANIC, "alpha.two", "Fatal exception")
        kinds = {problem.kind for problem in result.problems}
        self.assertLessEqual({judge.MISSING, judge.SPLAT}, kinds)

    def test_hang(self) -> None:
        result = self.judge(until(GREEN, "        ok 1 [w*16] slow pin"), end="silent",
                            status=None)
        self.expect(result, judge.HANG, "beta.rows: the row after '[w*16] slow pin'", "120")
        result = self.judge(until(GREEN, "    ok 1 one"), end="overtime", status=None)
        self.expect(result, judge.HANG, "alpha.two", "not done")

    def test_hang_after_everything_passed(self) -> None:
        result = self.judge(GREEN[:-1], end="silent", status=None)
        self.expect(result, judge.HANG, "after suite beta")

    def test_case_missing(self) -> None:
        result = self.judge(GREEN, cases={"alpha": ["one", "two", "three"], "beta": ["rows"]})
        self.expect(result, judge.MISSING, "alpha", "three")

    def test_suite_missing(self) -> None:
        result = self.judge(GREEN, cases={"alpha": ["one", "two"], "beta": ["rows"],
                                          "gamma": ["x", "y"]})
        self.expect(result, judge.MISSING, "gamma", "whole suite")
        self.assertEqual(result.counts(), (4, 2, 0))

    def test_row_missing(self) -> None:
        lines = [line for line in GREEN if "ok 2 [ww|ww]" not in line]
        self.expect(self.judge(lines), judge.MISSING, "beta.rows", "1 results")

    def test_all_rows_missing(self) -> None:
        head = until(GREEN, "    1..1")
        for result_line in ("    ok 1 rows", "    not ok 1 rows"):
            lost = [*head, result_line, "ok 2 beta", *END]
            result = self.judge(lost)
            self.assertIn(judge.MISSING, {problem.kind for problem in result.problems})
            self.assertEqual((result.leaves[-1].name, result.counts()), ("beta.rows", (2, 1, 0)))
        self.expect(self.judge([*head, "    ok 1 rows", "ok 2 beta", *END]), judge.MISSING,
                    "beta.rows", "none of its rows")
        # The rows survive, but not the line that says they are some.
        lines = [line for line in GREEN if line != "        KTAP version 1"]
        self.expect(self.judge(lines), judge.MISSING, "beta.rows", "none of its rows")

    def test_no_rows_are_fine_when_skipped_as_a_whole(self) -> None:
        lines = [*until(GREEN, "    1..1"), "    ok 1 rows # SKIP no zone", "ok 2 beta", *END]
        result = self.judge(lines, skips="* * beta.rows # zone\n")
        self.assertEqual((result.verdict, result.counts()), ("pass", (2, 0, 1)))

    def test_results_that_do_not_say_which_cases_have_rows(self) -> None:
        self.assertEqual(self.judge(GREEN, cases=OLD_CASES).verdict, judge.PASSED)
        lines = [*until(GREEN, "    1..1"), "    ok 1 rows", "ok 2 beta", *END]
        self.assertEqual(self.judge(lines, cases=OLD_CASES).counts(), (3, 0, 0))

    def test_nothing_ran(self) -> None:
        result = self.judge([*BOOT, "KTAP version 1", "1..0", *END])
        self.assertNotEqual(result.verdict, judge.PASSED)
        self.assertEqual(result.counts(), (0, 4, 0))

    def test_extra_case(self) -> None:
        result = self.judge(GREEN, cases={"alpha": ["one", "two"]})
        self.expect(result, judge.EXTRA, "beta", "rows")

    def test_build_failed(self) -> None:
        log = "  CC mm/gup.o\n../mm/gup.c:12:3: error: implicit 'foo'\nmake: *** Error 2\n"
        result = self.judge(None, build_log=log)
        self.expect(result, judge.BUILD_FAILED, "", "mm/gup.c:12:3: error: implicit 'foo'")

    def test_boot_failed(self) -> None:
        self.expect(self.judge(["qemu: could not load kernel"], status=1), judge.BOOT_FAILED, "",
                    "status 1")
        self.expect(self.judge(BOOT, end="silent", status=None), judge.BOOT_FAILED, "", "120")
        self.expect(self.judge([], end="silent", status=None), judge.BOOT_FAILED, "")
        panic = [*BOOT, "Kernel panic - not syncing: no init"]
        self.expect(self.judge(panic), judge.BOOT_FAILED, "", "no init")

    def test_reboot_too_early(self) -> None:
        lines = [*until(GREEN, "ok 1 alpha"), *END]
        self.expect(self.judge(lines), judge.EARLY, "after suite alpha")
        self.expect(self.judge(until(GREEN, "    ok 1 one")), judge.EARLY, "alpha.two")

    def test_unexpected_skip(self) -> None:
        lines = replace(GREEN, "    ok 2 two", "    ok 2 two # SKIP no movable zone")
        result = self.judge(lines)
        self.expect(result, judge.UNEXPECTED_SKIP, "alpha.two", "no movable zone")
        self.assertEqual(result.counts(), (3, 1, 0))

    def test_failed_though_marked_as_skipped(self) -> None:
        lines = replace(GREEN, "    ok 2 two", "    not ok 2 two # SKIP no movable zone")
        result = self.judge(lines, skips="plain * alpha.two # movable zone\n")
        self.expect(result, judge.FAILED, "alpha.two", "not ok # SKIP no movable zone")
        self.assertEqual(result.counts(), (3, 1, 0))

    def test_expected_skip(self) -> None:
        lines = replace(GREEN, "    ok 2 two", "    ok 2 two # SKIP no movable zone")
        result = self.judge(lines, skips="plain * alpha.two # movable zone\n")
        self.assertEqual((result.verdict, result.counts()), ("pass", (3, 0, 1)))
        result = self.judge(lines, skips="plain * alpha.two # another reason\n")
        self.expect(result, judge.UNEXPECTED_SKIP, "alpha.two")

    def test_expected_failure_that_no_longer_fails(self) -> None:
        note = "{} no longer fails: take it out of configs/skips and the source"
        row = "[w*16] slow pin"
        table: list[tuple[str, list[str]]] = [
            (f"plain * beta.rows:{row} # XFAIL: takes none\n", [f"beta.rows:{row}"]),
            ("* arm64 alpha.one # XFAIL: x\n* * alpha.two # XFAIL: x\n",
             ["alpha.one", "alpha.two"]),
            ("swap * alpha.one # XFAIL: x\n", []),         # another variant
            ("* x86_64 alpha.one # XFAIL: x\n", []),       # another architecture
            ("* * alpha.three # XFAIL: x\n", []),          # nothing that ran
            ("* * alpha.one # no zone, no XFAIL:\n", [])]  # a mere skip
        for skips, notes in table:
            result = self.judge(GREEN, skips=skips)
            self.assertEqual(result.notes, [note.format(name) for name in notes], skips)
            self.assertEqual((result.verdict, result.counts()), ("pass", (4, 0, 0)))

    def test_expected_failure_that_still_fails(self) -> None:
        line = "        ok 1 [w*16] slow pin"
        still = replace(GREEN, line, f"{line} # SKIP XFAIL: takes none")
        for skips in ("* * beta.rows:[w*16] slow pin # XFAIL: takes none\n",
                      "* * beta.rows # XFAIL: takes none\n"):  # one of its rows does
            result = self.judge(still, skips=skips)
            self.assertEqual((result.verdict, result.notes), ("pass", []))
        skips = "* * beta.rows # XFAIL: takes none\n* * beta.rows # no zone\n"
        result = self.judge(replace(GREEN, line, f"{line} # SKIP no zone"), skips=skips)
        self.assertEqual((result.verdict, len(result.notes)), ("pass", 1))  # the other ran
        skips = "* * beta.rows:*slow pin # XFAIL: takes none\n* * beta.rows # no zone\n"
        result = self.judge(replace(GREEN, line, f"{line} # SKIP no zone"), skips=skips)
        self.assertEqual((result.verdict, result.notes), ("pass", []))      # it did not run
        result = self.judge(insert(GREEN, "    ok 2 two", WARN), skips="* * alpha.two # XFAIL: x\n")
        self.assertEqual((result.verdict, result.notes), (judge.SPLAT, []))

    def test_notes_are_shown(self) -> None:
        result = self.judge(GREEN, skips="* * alpha.one # XFAIL: x\n")
        out = io.StringIO()
        report.show(result, self.dir, out)
        self.assertRegex(out.getvalue(), r"\n  note: alpha.one no longer fails: .*\nPASS: ")
        results.write(self.dir, result)
        self.assertEqual(json.loads((self.dir / "result.json").read_text())["notes"],
                         result.notes)

    def test_a_log_cut_anywhere_is_never_green(self) -> None:
        for count in range(len(GREEN) - 1):
            with self.subTest(lines=count):
                result = self.judge(GREEN[:count])
                # The last line that matters is the last suite's result.
                green = count == len(GREEN) - 1
                self.assertEqual(result.verdict == judge.PASSED, green)

    def test_garbage_does_not_crash_it(self) -> None:
        lines = ["ok 1 x", "        ok 3 y", *BOOT, "KTAP version 1", "        ok 9 z", "1..2",
                 "    # Subtest: q", "ok 2 w # SKIP", "    KTAP version 1", "\x00\x1b[2J", *ALPHA]
        self.assertNotEqual(self.judge(lines).verdict, judge.PASSED)

    def test_nothing_to_judge(self) -> None:
        with self.assertRaisesRegex(Trouble, "run.json"):
            judge.judge(self.dir)
