# SPDX-License-Identifier: GPL-2.0
"""What counts as a new warning, what is compiled for what, and the command on fakes."""

import unittest
from pathlib import Path
from unittest import mock

from runner import seriescheck, sparse, warnings
from runner.errors import Trouble
from runner.seriescheck import Checker, Row
from runner.targets import TARGETS
from runner.tests.fakes import TempCase, checkout, git, ptebatch, script
from runner.tree import Tree

GUP = "mm/gup.c:12:3: warning: unused variable 'i'"


class Warnings(unittest.TestCase):
    """warnings.new() and warnings.complaints()"""

    def test_elsewhere_in_the_file_is_not_new(self) -> None:
        self.assertEqual(warnings.new([GUP], ["mm/gup.c:99:4: warning: unused variable 'i'"]), [])
        self.assertEqual(warnings.new(["WARNING: mm/gup.c:7 function x"],
                                      ["WARNING: mm/gup.c:9 function x"]), [])

    def test_new(self) -> None:
        other = GUP.replace("'i'", "'j'")
        self.assertEqual(warnings.new([GUP], [GUP, other]), [other])
        self.assertEqual(warnings.new([], [GUP]), [GUP])
        self.assertEqual(warnings.new([GUP], []), [])
        self.assertEqual(warnings.new([GUP], ["mm/memory.c:12:3: warning: unused variable 'i'"]),
                         ["mm/memory.c:12:3: warning: unused variable 'i'"])

    def test_once_more_is_new(self) -> None:
        again = GUP.replace("12", "13")
        self.assertEqual(warnings.new([GUP], [GUP, again]), [again])

    def test_complaints(self) -> None:
        text = ("  CC      mm/gup.o\n  CHECK   mm/gup.c\n../mm/gup.c: In function 'f':\n../" + GUP + "\n"
                "   12 |  int i;\nmake: Entering directory\n")
        self.assertEqual(warnings.complaints(text), [GUP])
        self.assertEqual(len(warnings.complaints("x.patch:3: CHECK:BRACES: ugly\n")), 1)
        self.assertEqual(warnings.complaints("  CC mm/gup.o\n", 2), ["failed with status 2"])
        self.assertEqual(warnings.complaints("make: *** [x] Error 1\n", 2),
                         ["make: *** [x] Error 1"])


    def test_where_sparse_errs(self) -> None:
        wrong = "../mm/x.c:26:1: error: bad constant expression\n"
        self.assertEqual(sparse.without_mistakes(f"{GUP}\n{wrong}{GUP}"), f"{GUP}\n{GUP}")

    def test_sparse_that_did_not_run(self) -> None:
        sparse.must_have_run("  CC mm/gup.o\n  CHECK   mm/gup.c\n")
        with self.assertRaisesRegex(Trouble, "sparse did not run .*not up to date"):
            sparse.must_have_run("x/Makefile:1311: C=1 specified, but sparse is not available "
                                 "or not up to date\n")


class Targets(TempCase):
    """The table, and what is compiled."""

    def test_table(self) -> None:
        names = [target.name for target in TARGETS]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual([target.name for target in seriescheck.choose(["x86_64", "arm"])],
                         ["x86_64", "arm"])
        self.assertEqual(len(seriescheck.choose([])), len(names))
        with self.assertRaisesRegex(Trouble, "no target 'vax'"):
            seriescheck.choose(["vax"])

    def test_config(self) -> None:
        target = next(target for target in TARGETS if target.name == "arm64-nothp")
        lines = target.config().splitlines()
        self.assertIn("# CONFIG_TRANSPARENT_HUGEPAGE is not set", lines)
        self.assertNotIn("CONFIG_TRANSPARENT_HUGEPAGE=y", lines)
        self.assertIn("CONFIG_SWAP=y", lines)
        self.assertEqual(target.own(), ["CONFIG_ARM64_4K_PAGES=y",
                                        "# CONFIG_TRANSPARENT_HUGEPAGE is not set"])

    def test_compilers(self) -> None:
        i386 = next(target for target in TARGETS if target.name == "i386")
        self.assertEqual((i386.compiler("x86_64"), i386.need("x86_64")), ("", []))
        self.assertEqual(i386.compiler("aarch64"), "x86_64-linux-gnu-")
        self.assertEqual([need.name for need in i386.need("aarch64")], ["gcc-x86-64-linux-gnu"])

    def test_goals(self) -> None:
        for name in ("kernel/fork.c", "arch/x86/mm/pgtable.c", "arch/arm64/mm/contpte.c",
                     "mm/gup.c", "include/linux/mm.h"):
            (self.dir / name).parent.mkdir(parents=True, exist_ok=True)
            (self.dir / name).write_text("")
        files = ["mm/gup.c", "include/linux/mm.h", "kernel/fork.c", "arch/x86/mm/pgtable.c",
                 "arch/arm64/mm/contpte.c", "kernel/gone.c", "tools/x.c"]
        checker = Checker(mock.Mock(), 0, (), files)
        kernel = Tree(self.dir, "", "")
        by_name = {target.name: checker.goals(kernel, target) for target in TARGETS}
        self.assertEqual(by_name["arm64-4k"], ["mm/", "kernel/", "arch/arm64/mm/"])
        self.assertEqual(by_name["i386-pae"], ["mm/", "kernel/", "arch/x86/mm/"])
        self.assertEqual(by_name["s390x"], ["mm/", "kernel/"])

    def test_touched(self) -> None:
        patch = self.dir / "0001-x.patch"
        patch.write_text("diff --git a/mm/a.c b/mm/a.c\n--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1 +1 @@\n"
                         "--- /dev/null\n+++ b/mm/new.h\n--- a/mm/old.c\n+++ /dev/null\n")
        self.assertEqual(seriescheck.touched([patch, patch]), ["mm/a.c", "mm/new.h"])

    def test_text(self) -> None:
        rows = [Row("one", "0001", {"git am": [], "x86_64": []}),
                Row("one", "0002", {"git am": [], "x86_64": [GUP]})]
        self.assertEqual(seriescheck.table(rows), [
            "  one  0001  clean (2 checks)", "  one  0002  x86_64 1", "",
            "one 0002: x86_64", f"  {GUP}"])


MAKE = """\
#!/usr/bin/env python3
# Configures everything it is asked for; warns about each 'bad' in mm/gup.c.
import pathlib, sys
args = dict(arg.split("=", 1) for arg in sys.argv[1:] if "=" in arg)
out = pathlib.Path(args["O"])
if "allnoconfig" in sys.argv:
    (out / ".config").write_text(pathlib.Path(args["KCONFIG_ALLCONFIG"]).read_text())
else:
    (out / "mm").mkdir(exist_ok=True)
    (out / "mm/gup.o").write_text("")
    for number, line in enumerate(pathlib.Path("mm/gup.c").read_text().splitlines()):
        if "bad" in line:
            print(f"../mm/gup.c:{number}:1: warning: {line}")
"""


class CommandLine(TempCase):
    """./ptebatch series-check"""

    def setUp(self) -> None:
        super().setUp()
        self.linux = checkout(self.dir / "linux")
        script(self.linux / "scripts/kernel-doc", "#!/bin/sh\nexit 0\n")
        script(self.linux / "scripts/checkpatch.pl",
               "open(F, $ARGV[-1]); while (<F>) { print \"x:$.: WARNING: ugly\\n\" if /ugly/ }\n")
        self.commit("bad base")
        git(self.linux, "branch", "base")
        self.tools = self.dir / "bin"
        script(self.tools / "make", MAKE)

    def commit(self, line: str) -> None:
        """Append a line to mm/gup.c, and commit."""
        path = self.linux / "mm/gup.c"
        path.write_text(f"{path.read_text()}{line}\n")
        git(self.linux, "add", "-A")
        git(self.linux, "commit", "-qm", f"mm: {line}")

    def check(self, *args: str) -> tuple[int, list[str]]:
        """Run the command on a series made of what has been committed; the last lines."""
        root = self.dir / "mm-patches"
        git(self.linux, "format-patch", "-q", "-o", str(root / "one"), "base")
        git(self.linux, "checkout", "-q", "--detach", "base")
        (root / "series").write_text("one\n")
        with ptebatch(["series-check", "--kdir", self.linux, "--root", root, *args],
                      cache=self.dir / "cache", tools=self.tools) as child:
            text = child.communicate()[0]
        return child.returncode, text.splitlines()

    def test_clean(self) -> None:
        self.commit("good")
        status, lines = self.check("one")
        self.assertEqual(status, 0, lines)
        # git am, checkpatch, kernel-doc and every target, for it is the last of its series
        self.assertIn(f"  one  0001-mm-good.patch  clean ({3 + len(TARGETS)} checks)", lines)
        self.assertRegex(lines[-1], r"^1 of 1 clean, ")

    def test_findings(self) -> None:
        self.commit("good")
        self.commit("bad new")
        self.commit("ugly")
        status, lines = self.check("--target", "x86_64", "--target", "arm", "one")
        self.assertEqual(status, 1)
        table = [line.strip() for line in lines if line.startswith("  one")]
        self.assertEqual(table, ["one  0001-mm-good.patch     clean (4 checks)",
                                 "one  0002-mm-bad-new.patch  x86_64 1",
                                 "one  0003-mm-ugly.patch     checkpatch 2, x86_64 1, arm 1"])
        self.assertIn("  mm/gup.c:3:1: warning: bad new", lines)

    def test_does_not_apply(self) -> None:
        self.commit("good")
        git(self.linux, "checkout", "-q", "master")
        self.check()
        patch = next(Path(self.dir / "mm-patches/one").glob("0001*"))
        patch.write_text(patch.read_text().replace(" bad base", " bad luck"))
        with ptebatch(["series-check", "--kdir", self.linux, "--root", self.dir / "mm-patches",
                       "one"], cache=self.dir / "cache", tools=self.tools) as child:
            text = child.communicate()[0]
        self.assertEqual(child.returncode, 1)
        self.assertIn("git am 1", text)
