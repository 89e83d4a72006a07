# SPDX-License-Identifier: GPL-2.0
"""Series of patches on a fake kernel: applying, every patch on the way, resuming."""

import contextlib
import io
import json
from pathlib import Path
from unittest import mock

from runner import am, series, stack, tree
from runner.errors import Trouble
from runner.paths import Cache
from runner.tests.fakes import (GREEN, SKIPS, TempCase, checkout, fake_tools, git, play_by_kernel,
                                ptebatch, replace)

ROW = "beta.rows:[w*16] slow pin"
LINE = "        ok 1 [w*16] slow pin"
XFAIL = replace(GREEN, LINE, f"{LINE} # SKIP XFAIL: not batched")
RED = [line.replace("ok ", "not ok ", 1) if line in ("    ok 2 two", "ok 1 alpha") else line
       for line in XFAIL]
QEMU = play_by_kernel({"wrong": RED, "batched": GREEN}, XFAIL)


class SeriesCase(TempCase):
    """With a kernel, and series made by changing its mm/gup.c."""

    def setUp(self) -> None:
        super().setUp()
        self.linux = checkout(self.dir / "linux")
        self.root = self.dir / "mm-patches"
        self.root.mkdir()

    def make(self, name: str, *texts: str, expect: str = "", file: str = "mm/gup.c") -> Path:
        """Make a series whose patches turn the file into those texts."""
        folder = self.root / name
        git(self.linux, "checkout", "-q", "--detach", "master")
        for text in texts:
            (self.linux / file).write_text(text)
            git(self.linux, "commit", "-qam", f"mm: {text.strip()}")
        git(self.linux, "format-patch", "-q", "--cover-letter", "-o", str(folder), "master")
        git(self.linux, "checkout", "-q", "master")
        if expect:
            (folder / "expect").write_text(expect)
        with open(self.root / "series", "a", encoding="utf-8") as out:
            out.write(f"{name}\n")
        return folder


class Apply(SeriesCase):
    """git am, and which kernels there are to test."""

    def points(self, *names: str, each: bool = False) -> tuple[list[stack.Point], str]:
        """All kernels for those names, and what was said about them."""
        cache, said = Cache(self.dir / "cache"), io.StringIO()
        with contextlib.redirect_stdout(said), cache.locked():
            origin = tree.open_origin(cache, str(self.linux))
            return list(stack.points(cache, origin, series.load(self.root), names, each)), \
                said.getvalue()

    def shown(self, point: stack.Point) -> str:
        """The kernel's mm/gup.c."""
        assert point.tree
        return git(point.tree.path, "show", f"{point.tree.id}:mm/gup.c")

    def test_every_patch_and_all_together(self) -> None:
        self.make("one", "int a;\n", "int b;\n", expect=f"0001 span=16\n0002 {ROW}\n")
        self.make("two", "int x;\n", file="mm/Kconfig")
        way, _ = self.points()
        self.assertEqual([(point.series, point.place) for point in way], [
            ("base", "base"), ("one", "one/0001"), ("one", "one/0002"), ("two", "two/0001"),
            ("combined", "combined")])
        self.assertEqual([self.shown(point) for point in way],
                         ["int gup;\n", "int a;\n", "int b;\n", "int gup;\n", "int b;\n"])
        self.assertEqual([point.args for point in way],
                         [{}, *[{"ptebatch.span": "16"}] * 2, {}, {"ptebatch.span": "16"}])
        self.assertEqual([len(point.passing) for point in way], [0, 0, 1, 0, 1])
        self.assertEqual(way[-1].name, "all 3 patches")
        self.assertFalse(list(self.dir.glob("cache/trees/am*")))
        self.assertEqual([point.place for point in self.points("two")[0]], ["base", "two/0001"])
        self.assertEqual([point.place for point in self.points("combined", each=True)[0]],
                         ["base", "combined/0001", "combined/0002", "combined/0003"])
        with self.assertRaisesRegex(Trouble, "no series 'three': choose from one, two"):
            self.points("three")

    def test_a_patch_in_two_series(self) -> None:
        self.make("one", "int a;\n")
        self.make("two", "int a;\n", "int b;\n", expect="0001 span=1\n0002 span=2\n")
        way, said = self.points("combined", each=True)
        self.assertEqual([self.shown(point) for point in way],
                         ["int gup;\n", "int a;\n", "int b;\n"])
        self.assertIn("combined: two/0001-mm-int-a.patch is what an earlier patch does", said)
        self.assertEqual([point.args.get("ptebatch.span") for point in way], [None, None, "2"])

    def test_a_patch_that_does_not_apply(self) -> None:
        self.make("one", "int a;\n", "int b;\n", "int c;\n")
        self.make("two", "int z;\n")
        bad = self.root / "one/0002-mm-int-b.patch"
        bad.write_text(bad.read_text().replace("-int a;", "-int q;"))
        way, _ = self.points()
        self.assertEqual([(point.place, point.error.partition(":")[0]) for point in way], [
            ("base", ""), ("one/0001", ""), ("one/0002", "0002-mm-int-b.patch"),
            ("one/0003", "0003-mm-int-c.patch"), ("two/0001", ""),
            ("combined", "0001-mm-int-z.patch")])
        self.assertIn("patch failed: mm/gup.c:1", way[2].error)
        self.assertIn("one before it", way[3].error)

    def test_no_fuzz(self) -> None:
        folder = self.make("one", "int a;\n", "int a;\n\nint b;\n")
        bad = folder / "0002-mm-int-a.patch"
        self.assertIn(" int a;", next(folder.glob("0002*")).read_text())
        bad = next(folder.glob("0002*"))
        bad.write_text(bad.read_text().replace("\n int a;", "\n int A;"))
        self.assertNotEqual(self.points()[0][2].error, "")

    def test_not_a_mail(self) -> None:
        folder = self.make("one", "int a;\n")
        patch = next(folder.glob("0001*"))
        text = patch.read_text()
        patch.write_text(text[text.index("diff --git"):])
        self.assertNotEqual(self.points()[0][1].error, "")

    def test_patch_without_a_change(self) -> None:
        patch = self.dir / "0001-x.patch"
        patch.write_text("From: A <a@localhost>\nSubject: x\n\nnothing\n")
        cache = Cache(self.dir / "cache")
        with contextlib.redirect_stdout(io.StringIO()), cache.locked():
            origin = tree.open_origin(cache, str(self.linux))
            with self.assertRaisesRegex(Trouble, "changes nothing"):
                am.apply(cache, origin, [patch])

    def test_incomplete_folders(self) -> None:
        folder = self.make("one", "int a;\n", "int b;\n")
        next(folder.glob("0001*")).unlink()
        with self.assertRaisesRegex(Trouble, "without a gap"):
            series.load(self.root)
        with self.assertRaisesRegex(Trouble, "names no series"):
            series.load(self.dir)

    def test_declared(self) -> None:
        folder = self.make("one", "int a;\n", expect=f"0001 span=16\n0001 {ROW}\n")
        silent = self.make("two", "int a;\n")
        args, demand = series.declared([folder])
        assert demand
        self.assertEqual((args, [str(row) for row in demand.passing], demand.strict),
                         ({"ptebatch.span": "16"}, [ROW], True))
        args, demand = series.declared([folder, silent])
        assert demand
        self.assertFalse(demand.strict)
        self.assertEqual(series.declared([silent]), ({}, None))
        self.assertEqual(series.declared([]), ({}, None))


class CommandLine(SeriesCase):
    """./ptebatch series and run --patch, from arguments to files."""

    def setUp(self) -> None:
        super().setUp()
        self.out = self.dir / "out"
        self.tools = fake_tools(self.dir / "bin", QEMU)
        skips = self.dir / "skips"
        skips.write_text("* * beta.rows:*slow* # XFAIL: not batched\n")
        patch = mock.patch.dict("os.environ", {SKIPS: str(skips)})
        patch.start()
        self.addCleanup(patch.stop)

    def start(self, command: str, *args: str | Path) -> tuple[int, str]:
        """Run a command on the fakes."""
        with ptebatch([command, *args, "--kdir", self.linux, "--out", self.out,
                       "--arch", "arm64"], cache=self.dir / "cache", tools=self.tools) as child:
            text = child.communicate()[0]
            return child.returncode, text

    def series(self, *args: str | Path) -> tuple[int, str]:
        """Run 'series' on the fakes."""
        return self.start("series", *args, "--root", self.root)

    def table(self, text: str) -> list[str]:
        """The table's lines, blanks squeezed."""
        lines = text.splitlines()
        start = next(index for index, line in enumerate(lines) if line.startswith("  series "))
        return [" ".join(line.split()) for line in lines[start + 1:lines.index("", start) - 1]]

    def facts(self, place: str) -> dict[str, object]:
        """What was recorded of one kernel."""
        found: dict[str, object] = json.loads(
            (self.out / place / "arm64-plain/result.json").read_text())
        return found

    def two(self) -> None:
        """Two series; the second begins to batch with its second patch."""
        self.make("one", "int a;\n", file="mm/Kconfig")
        self.make("two", "int first;\n", "int batched;\n",
                  expect=f"0001 span=16\n0002 {ROW}\n")

    def test_green(self) -> None:
        self.two()
        status, text = self.series("--seed", "5")
        self.assertEqual(status, 0, text)
        counts = "pass 3/0/1"
        self.assertEqual(self.table(text), [
            f"base {self.linux} at {git(self.linux, 'rev-parse', 'HEAD')[:12]} {counts}",
            f"one 0001-mm-int-a.patch {counts}", f"two 0001-mm-int-first.patch {counts}",
            "two 0002-mm-int-batched.patch pass 4/0/0", "combined all 3 patches pass 4/0/0"])
        self.assertRegex(text.splitlines()[-1], r"^5 of 5 kernels green, .*; /.*/out$")
        self.assertEqual(self.facts("two/0001")["args"], {"ptebatch.span": "16"})
        self.assertIn("ptebatch.span=16", str(self.facts("combined")["boots"]))
        self.assertEqual(self.facts("two/0002")["base"], {"verdict": "pass", "differences": [
            {"name": ROW.replace(":", ": "), "base": "skip", "patched": "pass",
             "base_reason": "XFAIL: not batched", "reason": ""}]})
        self.assertEqual([cell["verdict"] for cell in
                          json.loads((self.out / "series.json").read_text())], ["pass"] * 5)
        status, again = self.start_judge()
        self.assertEqual(status, 0, again)

    def start_judge(self) -> tuple[int, str]:
        """Judge all of OUT again."""
        with ptebatch(["judge", self.out], cache=self.dir / "cache", tools=self.tools) as child:
            text = child.communicate()[0]
            return child.returncode, text

    def verdicts(self, expect: str, *texts: str) -> list[str]:
        """The verdicts of the base and of a series with that file 'expect'."""
        self.make("one", *texts, expect=expect)
        status, text = self.series("one")
        verdicts = [str(cell["verdict"]) for cell in
                    json.loads((self.out / "series.json").read_text())]
        self.assertEqual(status, 0 if set(verdicts) == {"pass"} else 1, text)
        return verdicts

    def test_passes_too_early(self) -> None:
        self.assertEqual(self.verdicts(f"0002 {ROW}\n", "int batched;\n", "int batched2;\n"),
                         ["pass", "passed too early", "pass"])

    def test_never_passes(self) -> None:
        self.assertEqual(self.verdicts(f"0001 {ROW}\n", "int a;\n", "int batched;\n"),
                         ["pass", "not batched", "pass"])

    def test_passes_without_a_word(self) -> None:
        self.assertEqual(self.verdicts("", "int batched;\n"), ["pass", "passed too early"])

    def test_names_no_row(self) -> None:
        self.assertEqual(self.verdicts("0001 beta.rows:typo\n", "int a;\n"), ["case missing"] * 2)

    def test_one_red_patch(self) -> None:
        self.assertEqual(self.verdicts("", "int wrong;\n", "int right;\n"),
                         ["pass", "failed case", "pass"])

    def test_does_not_apply(self) -> None:
        self.make("one", "int a;\n", "int b;\n")
        bad = self.root / "one/0002-mm-int-b.patch"
        bad.write_text(bad.read_text().replace("-int a;", "-int q;"))
        status, text = self.series("one")
        self.assertEqual(status, 1)
        self.assertIn("one 0002-mm-int-b.patch FAIL: does not apply 0/1/0", self.table(text))

    def test_resume(self) -> None:
        self.two()
        self.assertEqual(self.series("one", "two")[0], 0)
        kept = "judged before: the kept result is taken"
        text = self.series("one", "two")[1]
        self.assertEqual(text.count(kept), 0)
        status, text = self.series("--resume")
        self.assertEqual((status, text.count(kept)), (0, 4))  # all but the combined one
        (self.root / "two/0002-mm-int-batched.patch").unlink()
        (self.root / "two/expect").write_text("0001 span=32\n")
        status, text = self.series("--resume", "two")
        self.assertEqual((status, text.count(kept)), (0, 1))  # the base: other arguments
        # What it is judged by is of today.
        (self.root / "two/expect").write_text(f"0001 span=32\n0001 {ROW}\n")
        status, text = self.series("--resume", "two")
        self.assertEqual((status, text.count(kept)), (1, 2))
        self.assertIn("FAIL (not batched)", text)
        status, text = self.series("--resume", "two", "--seed", "9")
        self.assertEqual(text.count(kept), 0)

    def test_run_shows_the_base_beside_the_patched_kernel(self) -> None:
        folder = self.make("one", "int batched;\n", expect=f"0001 span=16\n0001 {ROW}\n")
        status, text = self.start("run", "--patch", folder)
        self.assertEqual(status, 0, text)
        self.assertIn("base: PASS: 3 passed, 0 failed, 1 skipped; ", text)
        self.assertRegex(text, r"beta +1 case +1 passed, 1 skipped +2 passed ")
        self.assertIn(f"  {ROW.replace(':', ': ')}: skip on the base, pass here\n", text)
        self.assertEqual(text.count("booting"), 4)
        status, text = self.start("run", "--patch", folder)   # the base is known
        self.assertEqual((status, text.count("booting")), (0, 2))
        status, text = self.start("run", "--patch", folder, "--filter", "*")
        self.assertEqual((status, text.count("booting")), (0, 4))

    def test_run_is_red_where_a_row_is_skipped_that_ran(self) -> None:
        folder = self.make("one", "int a;\n")
        self.tools = fake_tools(self.dir / "bin", play_by_kernel({"int a": XFAIL}, GREEN))
        status, text = self.start("run", "--patch", folder)
        self.assertEqual(status, 1)
        self.assertIn("ran on the base kernel: XFAIL", text)


