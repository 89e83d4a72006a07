# SPDX-License-Identifier: GPL-2.0
"""Benchmarks: reading figures, comparing, judging, reporting."""

import unittest
from collections.abc import Mapping
from pathlib import Path

from runner import bench, bench_compare, bench_data, bench_html, bench_report
from runner.bench_compare import FASTER, MISSING, SAME, SLOWER
from runner.bench_data import Row
from runner.bench_report import Report
from runner.errors import Trouble
from runner.tests.fakes import TempCase

CONSOLE = """\
    # Subtest: bench_gup_slow
        # bench_gup_slow_rows: bench-pass: n=7 2230010 2230000 2230020
        # bench_gup_slow_rows: bench: n=7 op=pin row=4k clock=instructions tick=1 empty=30 \
pages=4096 calls=1 passes=3 faults=0 neighbours=4088 page=544.434/544.436/544.439/544.439 \
call=2230000/2230010/2230020/2230020
        ok 1 4k
        # bench_reuse_rows: bench-pass: n=9 5000
        # bench_reuse_rows: bench: n=9 op=reuse row=64k clock=instructions tick=1 empty=30 \
pages=32 calls=32 passes=1 faults=2 neighbours=-1 page=156.250/156.250/156.250/156.250 \
call=10/10/2000/2200
        # bench_reuse_rows: bench-call: n=9 10*30 2000*1
        # bench_reuse_rows: bench-call: n=9 2200*1
""".splitlines()


def count(number: int, turn: int, insns: int, lines: int = 5000, atomics: int = 4096) -> str:
    """A line of the plugin's file."""
    return (f"count n={number} pass={turn} calls=1 insns={insns} loads=9 stores=9 "
            f"atomics={atomics} barriers=0 flushes=0 lines={lines} page_lines=4096 "
            f"table_lines=512 holds=8 hold=90")


class Reading(unittest.TestCase):
    """What the kernel and the plugin print."""

    def test_console(self) -> None:
        slow, reuse = bench_data.read(CONSOLE)
        self.assertEqual((slow.suite, slow.key, slow.pages, slow.neighbours),
                         ("bench_gup_slow", "pin/4k", 4096, 4088))
        self.assertEqual(slow.passes, [2230010, 2230000, 2230020])
        self.assertAlmostEqual(slow.cost(), 2230010 / 4096)
        self.assertEqual(slow.longest, 2230020)
        self.assertEqual((reuse.faults, reuse.longest), (2, 2200))
        self.assertEqual(reuse.histogram, [(10, 30), (2000, 1), (2200, 1)])

    def test_plugin(self) -> None:
        # A number that occurs twice: the suite ran twice, the later run counts.
        counts = [count(7, turn, insns) for turn, insns in
                  ((0, 1), (1, 1), (2, 1), (0, 2048000), (1, 2048000), (2, 2048004))]
        slow, reuse = bench_data.read(CONSOLE, ["rubbish", *counts, count(99, 0, 5)])
        self.assertEqual(slow.cost(), 500.0)
        self.assertEqual(slow.per_page("atomics"), 1.0)
        self.assertEqual(slow.pages_per_hold(), 512.0)
        self.assertAlmostEqual(slow.spread(), 4 / 2048000)
        self.assertIsNone(reuse.per_page("lines"))

    def test_what_does_not_fit(self) -> None:
        with self.assertRaisesRegex(ValueError, "pin/4k: 1 passes .* 3 passes|pin/4k: 1 passes"):
            bench_data.read(CONSOLE, [count(7, 0, 5)])
        with self.assertRaisesRegex(ValueError, "not complete"):
            bench_data.read([line for line in CONSOLE if "bench-pass: n=7" not in line])
        with self.assertRaisesRegex(ValueError, "lacks 'row'"):
            bench_data.read([line.replace("row=4k", "") for line in CONSOLE])

    def test_json(self) -> None:
        rows = bench_data.read(CONSOLE)
        self.assertEqual(bench_data.from_json(bench_data.to_json(rows)), rows)
        with self.assertRaises(ValueError):
            bench_data.from_json([{"nonsense": 1}])


def row(key: str, cost: float, *, lines: float = 2.0, atomics: float = 1.0, longest: int = 1000,
        clock: str = "instructions", faults: int = 0) -> Row:
    """A row of 1000 pages whose page costs cost."""
    op, _, name = key.partition("/")
    counts = {"calls": 1, "insns": int(cost * 1000), "loads": 9, "stores": 9,
              "atomics": int(atomics * 1000), "barriers": 0, "flushes": 0,
              "lines": int(lines * 1000), "page_lines": 1000, "table_lines": 125,
              "holds": 2, "hold": 400}
    return Row("bench_" + op, op, name, clock, 1, 30, 1000, 1, faults, -1, longest,
               [int(cost * 1000)], [(100, 10), (longest, 1)],
               [counts] if clock == "instructions" else [])


def one(base: Row, head: Row) -> bench_compare.Line:
    """Their comparison."""
    return bench_compare.compare([[base]], [[head]])[0]


class Comparing(unittest.TestCase):
    """Verdicts and the gate."""

    def test_verdicts(self) -> None:
        for head, verdict in ((500.4, SAME), (499.6, SAME), (501.0, SLOWER), (300.0, FASTER)):
            self.assertEqual(one(row("pin/64k", 500), row("pin/64k", head)).verdict, verdict)

    def test_noise_widens_the_threshold(self) -> None:
        base = [[row("pin/64k", 500)], [row("pin/64k", 505)]]
        line = bench_compare.compare(base, [[row("pin/64k", 510)]])[0]
        self.assertEqual(line.verdict, SAME)
        self.assertEqual(bench_compare.noise([line])[1], "pin/64k")

    def test_gate_of_instructions(self) -> None:
        # Both more than 0.5% and more than three a page.
        for base, head, red in ((500, 502.9, False), (1000, 1004.9, False), (100, 102.9, False),
                                (500, 503.5, True), (1000, 1006, True)):
            line = one(row("pin/4k", base), row("pin/4k", head))
            self.assertEqual(bool(line.red), red, f"{base} {head}")
        self.assertFalse(one(row("pin/64k", 500), row("pin/64k", 900)).red)

    def test_gate_of_lines_and_atomics(self) -> None:
        line = one(row("mremap/4k", 50), row("mremap/4k", 51, lines=3.0))
        self.assertEqual(line.red, ["+1.00 lines a page at order 0"])
        line = one(row("mremap/4k-scattered", 50), row("mremap/4k-scattered", 49, atomics=1.5))
        self.assertEqual(line.red, ["+0.50 atomics a page at order 0"])
        self.assertFalse(one(row("pin/4k/512", 50), row("pin/4k/512", 50, lines=2.005)).red)
        # Filling memory with small pages is order 0 as well, whatever the row is called.
        self.assertTrue(one(row("fill-4k/nothing", 50), row("fill-4k/nothing", 60)).red)

    def test_counts_that_vary_by_themselves(self) -> None:
        base = [[row("mremap/4k", 50, lines=2.0), row("mremap/4k", 50, lines=2.4)]]
        for lines, red in ((2.3, False), (2.5, True)):
            line = bench_compare.compare(base, [[row("mremap/4k", 50, lines=lines)]])[0]
            self.assertEqual(bool(line.red), red, f"{lines}")

    def test_linear(self) -> None:
        found = bench_compare.fit({pages: 500 / pages + 20 for pages in (1, 16, 512, 65536)})
        assert found
        self.assertAlmostEqual(found.call, 500)
        self.assertAlmostEqual(found.page, 20)
        self.assertAlmostEqual(found.off, 0)
        bent = bench_compare.fit({1: 520, 16: 52, 512: 21, 65536: 40})
        assert bent
        self.assertGreater(bent.off, 0.2)
        self.assertIsNone(bench_compare.fit({1: 520, 16: 52}))

    def test_longest_without_interrupts(self) -> None:
        one_row = row("reuse/64k", 100)
        one_row.passes *= 5
        one_row.histogram = [(20, 4800), (1504, 319), (7648, 1)]
        self.assertEqual(one_row.worst, 1504)
        one_row.histogram = [(20, 4800), (1504, 317), (7648, 3)]
        self.assertEqual(one_row.worst, 7648)

    def test_missing(self) -> None:
        lines = bench_compare.compare([[row("pin/4k", 1), row("pin/64k", 1)]],
                                      [[row("pin/64k", 1)]])
        self.assertEqual([line.verdict for line in lines], [MISSING, SAME])
        self.assertEqual(lines[0].red, ["no figure of head"])

    def test_order0_first(self) -> None:
        rows = [row("pin/64k", 1), row("pin/4k", 1), row("pin/4k/16", 1)]
        self.assertEqual([line.key for line in bench_compare.compare([rows], [rows])],
                         ["pin/4k", "pin/4k/16", "pin/64k"])


TARGETS = ["# a comment", "", "s * pin/64k faster 2", "s arm64 pin/64k over pin/2M-pmd 12",
           "s * pin/2M-pmd within 0.5%", "s * pin/64k times pin/2M-pmd 2",
           "s x86_64 pin/4k faster 9", "s * pin/4k no-more lines", "t * pin/4k faster 9",
           "s * pin/64k longest 2", "s * pin/4k more 3"]


class Targets(unittest.TestCase):
    """What series promise."""

    def missed(self, base: Mapping[str, float], head: Mapping[str, float]) -> list[str]:
        """The targets missed by series s on arm64."""
        lines = bench_compare.compare([[row(key, cost) for key, cost in base.items()]],
                                      [[row(key, cost, longest=int(1000 + cost))
                                        for key, cost in head.items()]])
        found = bench_compare.check_targets(bench_compare.parse_targets(TARGETS), ["s"],
                                            "arm64", lines)
        self.assertEqual(len(found), 7)
        return [" ".join(target.words) for target, why in found if why]

    def test_met_and_missed(self) -> None:
        base = {"pin/4k": 500.0, "pin/64k": 500.0, "pin/2M-pmd": 20.0}
        self.assertEqual(self.missed(base, base | {"pin/64k": 30.0}), [])
        self.assertEqual(self.missed(base, base | {"pin/64k": 251.0}),
                         ["faster 2", "over pin/2M-pmd 12", "times pin/2M-pmd 2"])
        self.assertEqual(self.missed(base, base | {"pin/64k": 33.0, "pin/2M-pmd": 21.0,
                                                   "pin/4k": 504.0}),
                         ["within 0.5%", "more 3"])
        self.assertEqual(self.missed(base, {"pin/4k": 500.0, "pin/2M-pmd": 20.0})[0], "faster 2")

    def test_mistakes(self) -> None:
        for text in ("s * pin/4k", "s * pin/4k quicker 2", "s * pin/4k over 12"):
            with self.assertRaises(Trouble):
                bench_compare.parse_targets([text])


def report(head: float = 600.0) -> Report:
    """A report with a bit of everything."""
    base = [row("pin/4k", 500), row("pin/64k", 500), row("reuse/64k", 900, faults=32)]
    new = [row("pin/4k", head, lines=3.0), row("pin/64k", 50),
           row("reuse/64k", 90, faults=2, longest=1900)]
    return Report("arm64", "base", "s", "instructions",
                  bench_compare.compare([base], [new]), ["a fact <b>"])


class Reporting(unittest.TestCase):
    """Text, Markdown, CSV, HTML."""

    def test_text(self) -> None:
        text = bench_report.text(report())
        self.assertLessEqual(max(map(len, text)), bench_report.WIDTH)
        self.assertIn("64k            |    500.0 |    50.00 |  -90.0% |           2.00 |"
                      "           1.00", text)
        self.assertIn("64k            |    900.0 |    90.00 |  -90.0% |     1000 > 1900 |"
                      "        32 > 2", text)
        self.assertIn("RED pin/4k: +1.00 lines a page at order 0", text)
        self.assertIn("largest change of order-0 rows: +20.000% (pin/4k)", text)
        self.assertIn("largest change of all rows: -90.000% (pin/64k)", text)
        self.assertEqual(text[-1], "arm64: 3 rows, 2 faster, 1 slower, RED")
        self.assertEqual(bench_report.text(report(500))[-1],
                         "arm64: 3 rows, 2 faster, 0 slower, RED")

    def test_markdown_and_csv(self) -> None:
        self.assertIn("| 64k | 500.0 | 50.00 | -90.0% | 2.00 | 1.00 |",
                      bench_report.markdown(report()))
        lines = bench_report.rows_csv([report()]).splitlines()
        self.assertEqual(len(lines), 7)
        self.assertTrue(lines[1].startswith("arm64,base,1,pin,4k,instructions,1000,1,0,-1,500.0,"))

    def test_html(self) -> None:
        page = bench_html.page([report()])
        self.assertIn("a fact &lt;b&gt;", page)
        self.assertNotIn("a fact <b>", page)
        self.assertEqual(page.count("<svg"), 4)
        self.assertNotIn("http", page)

    def test_no_plugin(self) -> None:
        rows = [row("pin/4k", 500, clock="ns")]
        text = bench_report.text(Report("x86_64", "base", "s", "ns",
                                        bench_compare.compare([rows], [rows])))
        self.assertIn("pin_user_pages(FOLL_WRITE), ns a page", text)
        self.assertEqual(text[-1], "x86_64: 1 rows, 0 faster, 0 slower, nothing red")


class Kernels(TempCase):
    """What BASE and HEAD may be."""

    def test_specs(self) -> None:
        for name in ("one/0001-a.patch", "one/0000-cover.patch", "two/0001-b.patch", "c.patch"):
            path = self.dir / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("--- a/mm/gup.c\n")
        (self.dir / "series").write_text("one\ntwo\n")
        both = bench.kernel_of("head", "", self.dir)
        self.assertEqual([path.name for path in both.patches], ["0001-a.patch", "0001-b.patch"])
        self.assertEqual(both.series, ("one", "two"))
        some = bench.kernel_of("head", f"two,{self.dir / 'c.patch'}", self.dir)
        self.assertEqual([path.name for path in some.patches], ["0001-b.patch", "c.patch"])
        self.assertEqual(some.series, ("two", "c.patch"))
        self.assertEqual(bench.kernel_of("base", "base").patches, ())
        with self.assertRaises(Trouble):
            bench.kernel_of("head", "three", self.dir)

    def test_suites(self) -> None:
        self.assertEqual(bench.scan()["bench_reuse"], {"bench_reuse_rows": True})
        with self.assertRaises(Trouble):
            bench.scan(self.dir)

    def test_nothing_kept(self) -> None:
        with self.assertRaises(Trouble):
            bench.compare_again(self.dir, Path("/nonexistent"))
        (self.dir / "a" / "arm64").mkdir(parents=True)
        with self.assertRaises(Trouble):
            bench.compare_again(self.dir / "a", self.dir / "a")


if __name__ == "__main__":
    unittest.main()
