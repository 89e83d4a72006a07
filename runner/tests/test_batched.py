# SPDX-License-Identifier: GPL-2.0
"""The file 'expect' of a series, and what a boot is held against because of it."""

import json
import unittest
from collections.abc import Sequence
from pathlib import Path

from runner import batched, compare, judge, report
from runner.batched import Demand, Row
from runner.errors import Trouble
from runner.judge import Judgement
from runner.ktap import FAIL, PASS, SKIP
from runner.tests.fakes import GREEN, WARN, TempCase, insert, replace, result_folder

SLOW, FAST = "[w*16] slow pin", "[ww|ww]. fast pin"
XFAIL = replace(GREEN, f"        ok 1 {SLOW}", f"        ok 1 {SLOW} # SKIP XFAIL: not batched, 16")
SKIPS = "* * beta.* # XFAIL: not batched\n"


class Parse(unittest.TestCase):
    """batched.parse()"""

    def parse(self, text: str, numbers: Sequence[int] = (1, 2, 3)) -> batched.Expect:
        """Parse the text of a file."""
        return batched.parse(text.splitlines(), numbers, Path("expect"))

    def test_lines(self) -> None:
        expect = self.parse("# comment\n\n0002 reuse_span=512\n0001 reuse_span=16\n"
                            "0002 beta.rows:[w*16] a=b\n0003 alpha.one\n")
        self.assertEqual(expect.args(0), {})
        self.assertEqual(expect.args(1), {"ptebatch.reuse_span": "16"})
        self.assertEqual(expect.args(3), {"ptebatch.reuse_span": "512"})
        self.assertEqual(expect.passing(1), [])
        self.assertEqual(expect.passing(2), [Row("beta.rows", "[w*16] a=b")])
        self.assertEqual([str(row) for row in expect.passing(3)],
                         ["beta.rows:[w*16] a=b", "alpha.one"])

    def test_of_two_lines_about_one_patch_the_later_counts(self) -> None:
        self.assertEqual(self.parse("0001 a=1\n0001 a=2\n").args(1), {"ptebatch.a": "2"})

    def test_bad_lines(self) -> None:
        for text, what in (("1 a=1", "neither"), ("0001 beta", "neither"), ("0001", "neither"),
                           ("0004 a=1", "no patch 0004"), ("0000 beta.rows", "no patch 0000")):
            with self.assertRaisesRegex(Trouble, f"expect line 1.*{what}"):
                self.parse(text)

    def test_rows_are_pictures(self) -> None:
        row = Row("beta.*", "[ww]*pin")
        self.assertTrue(row.names("beta.rows", "[ww] slow pin"))
        self.assertFalse(row.names("beta.rows", "w slow pin"))
        self.assertFalse(row.names("alpha.rows", "[ww] slow pin"))

    def test_demand_is_kept(self) -> None:
        for strict in (True, False):
            demand = Demand((Row("a.b", "[w]: x"),), (Row("c.d"), Row("a.b")), strict)
            self.assertEqual(batched.kept(demand.lines()), demand)
        rows = (("a.b", "[w]: x"), ("c.d", "q"), ("a.b", "y"), ("e.f", ""))
        self.assertEqual([demand.passes(*row) for row in rows], [True, False, False, False])
        self.assertEqual([demand.fails(*row) for row in rows], [False, True, True, False])


class Held(TempCase):
    """What judging makes of it."""

    def judge(self, lines: Sequence[str], demand: Demand | None = None,
              base: Sequence[str] | None = None, *, skips: str = SKIPS, glob: str = "",
              ) -> Judgement:
        """Judge a console; base is the base kernel's."""
        folder = result_folder(self.dir / "r", lines, skips=skips)
        facts = json.loads((folder / "run.json").read_text()) | {"filter": glob}
        (folder / "run.json").write_text(json.dumps(facts))
        for name in ("demand", "base.json"):
            (folder / name).unlink(missing_ok=True)
        if demand:
            (folder / "demand").write_text("\n".join(demand.lines()))
        if base:
            before = judge.judge(result_folder(self.dir / "b", base, skips=skips))
            (folder / "base.json").write_text(json.dumps(compare.dump(
                compare.record(before.verdict, 7, before.leaves))))
        return judge.judge(folder)

    def expect(self, result: Judgement, kind: str, where: str) -> None:
        """There is one problem, of that kind, and it counts."""
        self.assertEqual([(problem.kind, problem.where) for problem in result.problems],
                         [(kind, where)])
        self.assertEqual(result.verdict, kind)
        self.assertGreater(result.counts()[1], 0)

    def test_a_row_that_must_pass(self) -> None:
        demand = Demand((Row("beta.rows", SLOW),), (Row("beta.rows", SLOW),))
        self.assertEqual(self.judge(GREEN, demand).verdict, judge.PASSED)
        self.expect(self.judge(XFAIL, demand), judge.NOT_BATCHED, f"beta.rows: {SLOW}")

    def test_a_row_that_must_not_pass_yet(self) -> None:
        demand = Demand((), (Row("beta.rows", SLOW),))
        self.assertEqual(self.judge(XFAIL, demand).verdict, judge.PASSED)
        self.expect(self.judge(GREEN, demand), judge.TOO_EARLY, f"beta.rows: {SLOW}")

    def test_a_row_that_no_series_names(self) -> None:
        strict = Demand((), (), strict=True)
        for lines in (XFAIL, GREEN):
            self.assertEqual(self.judge(lines, strict).verdict, judge.PASSED)
        self.expect(self.judge(GREEN, strict, XFAIL), judge.TOO_EARLY, f"beta.rows: {SLOW}")
        for demand in (Demand(), None, Demand((Row("beta.rows"),), (), strict=True)):
            self.assertEqual(self.judge(GREEN, demand, XFAIL).verdict, judge.PASSED)
        other = replace(GREEN, f"        ok 1 {SLOW}", f"        ok 1 {SLOW} # SKIP no zone")
        result = self.judge(GREEN, strict, other, skips="* * beta.* # no zone\n")
        self.assertEqual(result.verdict, judge.PASSED)

    def test_without_a_word_either_is_fine(self) -> None:
        for lines in (GREEN, XFAIL):
            for demand in (None, Demand()):
                self.assertEqual(self.judge(lines, demand).verdict, judge.PASSED)

    def test_a_row_an_architecture_cannot_have(self) -> None:
        line = f"        ok 1 {SLOW}"
        lines = replace(GREEN, line, f"{line} # SKIP no contpte")
        for demand in (Demand((Row("beta.rows", SLOW),)), Demand((), (Row("beta.rows", SLOW),))):
            result = self.judge(lines, demand, skips=SKIPS + "* * beta.* # no contpte\n")
            self.assertEqual(result.verdict, judge.PASSED)
            self.expect(self.judge(lines, demand), judge.UNEXPECTED_SKIP, f"beta.rows: {SLOW}")

    def test_a_row_that_is_not_there(self) -> None:
        for demand in (Demand((Row("beta.rows", "typo"),)), Demand((), (Row("betta.rows"),))):
            row = (demand.passing + demand.failing)[0]
            self.expect(self.judge(GREEN, demand), judge.MISSING, str(row))
        demand = Demand((Row("gamma.rows", "not selected"),), (Row("delta.x"),))
        self.assertEqual(self.judge(GREEN, demand, glob="[ab]*").verdict, judge.PASSED)

    def test_no_advice_about_what_a_series_changes(self) -> None:
        self.assertEqual(self.judge(GREEN, Demand((Row("beta.rows"),)),
                                    skips="* * beta.rows # XFAIL: not batched\n").notes, [])

    def test_same_as_base(self) -> None:
        result = self.judge(GREEN, base=GREEN)
        self.assertEqual(result.verdict, judge.PASSED)
        self.assertEqual(report.difference_lines(result), ["  no case or row differs from the base"])

    def test_side_by_side(self) -> None:
        result = self.judge(GREEN, base=XFAIL)
        self.assertEqual(result.verdict, judge.PASSED)
        self.assertEqual(report.suite_lines(result), [
            "                    base                 patched",
            "  alpha    2 cases  2 passed             2 passed  0.01 s",
            "  beta     1 case   1 passed, 1 skipped  2 passed  0.01 s"])
        self.assertEqual(report.difference_lines(result),
                         [f"  beta.rows: {SLOW}: skip on the base, pass here"])

    def test_skipped_though_it_ran_on_the_base(self) -> None:
        self.expect(self.judge(XFAIL, base=GREEN), judge.UNEXPECTED_SKIP, f"beta.rows: {SLOW}")

    def test_rows_come_and_go(self) -> None:
        fewer = [line for line in GREEN if not line.endswith(FAST)]
        fewer = replace(fewer, "        1..2", "        1..1")
        fewer = replace(fewer, "    # rows: pass:2 fail:0 skip:0 total:2")
        result = self.judge(fewer, base=GREEN)
        self.expect(result, judge.MISSING, "")
        self.assertEqual(result.problems[0].lines, [f"beta.rows: {FAST}"])
        self.assertEqual(report.difference_lines(result),
                         ["  1 gave a result on one of the kernels only"])
        self.expect(self.judge(GREEN, base=fewer), judge.EXTRA, "")
        # A base that broke down says nothing about what there is.
        broken = insert(fewer, "    ok 2 two", WARN)
        self.assertEqual(self.judge(GREEN, base=broken).verdict, judge.PASSED)

    def test_a_hang_is_called_a_hang(self) -> None:
        at = GREEN.index(f"        ok 1 {SLOW}")
        result = self.judge(GREEN[:at], base=GREEN)
        self.assertEqual(result.verdict, judge.EARLY)
        self.assertNotIn("on the base kernel, but not on this one",
                         [problem.text for problem in result.problems])

    def test_two_rows_of_one_name(self) -> None:
        leaves = [judge.Leaf("s", "c", "r", PASS, status, "", None, [])
                  for status in (PASS, FAIL, PASS)]
        base = compare.record("pass", 1, leaves[::2])
        self.assertEqual(compare.differences(base, leaves[:2]),
                         [compare.Difference("s.c: r", PASS, FAIL)])
        self.assertEqual(compare.differences(base, leaves[:1]),
                         [compare.Difference("s.c: r", PASS, compare.ABSENT)])
        self.assertEqual(compare.load(compare.dump(base)), base)
        self.assertEqual(base.counts("s"), {PASS: 2})
        self.assertEqual(base.counts("t"), {})
        self.assertNotIn(SKIP, base.counts("s"))
