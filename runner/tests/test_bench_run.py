# SPDX-License-Identifier: GPL-2.0
"""make bench on a fake kernel tree, a fake kunit.py and a fake QEMU."""

import json
import unittest

from runner.tests.fakes import BOOT, END, TempCase, checkout, fake_tools, play, ptebatch

LINES = [*BOOT, "KTAP version 1", "1..1", "    KTAP version 1", "    # Subtest: bench_mremap",
         "    1..1", "        KTAP version 1", "        # Subtest: bench_mremap_rows",
         "        # bench_mremap_rows: bench-pass: n=1 50000",
         "        # bench_mremap_rows: bench: n=1 op=mremap-across row=4k clock=instructions tick=1 "
         "empty=10 pages=1000 calls=1 passes=1 faults=0 neighbours=999 page=1/1/1/1 "
         "call=50000/50000/50000/50000",
         "        ok 1 4k", "    # bench_mremap_rows: pass:1 fail:0 skip:0 total:1",
         "    ok 1 bench_mremap_rows", "ok 1 bench_mremap", *END]

# The plugin's file: one line a page more if the kernel is the patched one.
QEMU = """
import re
word = sys.argv[sys.argv.index('-plugin') + 1]
image = open(sys.argv[sys.argv.index('-kernel') + 1]).read()
lines = 1250 if 'patched' in image else 250
open(re.search('out=(.*)', word).group(1), 'w').write(
    'count n=1 pass=0 calls=1 insns=50000 loads=1 stores=1 atomics=8 barriers=0 flushes=0 '
    f'lines={lines} page_lines=0 table_lines=250 holds=2 hold=9\\n')
"""

HEAD = ("From 0 Mon Sep 17 00:00:00 2001\nFrom: U <u@localhost>\n"
        "Date: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] ")
PATCH = """\
patched
---
diff --git a/mm/gup.c b/mm/gup.c
--- a/mm/gup.c
+++ b/mm/gup.c
@@ -1 +1 @@
-int gup;
+int patched;
"""


class Run(TempCase):
    """./ptebatch bench, from arguments to files."""

    def setUp(self) -> None:
        super().setUp()
        checkout(self.dir / "linux")
        (self.dir / "p.patch").write_text(HEAD + PATCH)
        (self.dir / "bare.patch").write_text(PATCH)
        self.tools = fake_tools(self.dir / "bin", QEMU + play(LINES))

    def start(self, *args: object) -> tuple[int, str]:
        """Run a command; returns its exit status and output."""
        with ptebatch([str(arg) for arg in args], cache=self.dir / "cache",
                      tools=self.tools) as child:
            text = child.communicate()[0]
            return child.returncode, text

    def bench(self, head: object, out: str) -> tuple[int, str]:
        """Measure base against head."""
        return self.start("bench", "base", head, "--kdir", self.dir / "linux", "--arch", "arm64",
                          "--filter", "bench_mremap", "--out", self.dir / out)

    def test_a_line_a_page_is_red(self) -> None:
        status, text = self.bench(self.dir / "p.patch", "out")
        self.assertEqual(status, 1, text)
        self.assertIn("4k             |    50.00 |    50.00 |       = |    0.25 > 1.25 |", text)
        self.assertIn("RED mremap-across/4k: +1.00 lines a page at order 0", text)
        out = self.dir / "out"
        self.assertTrue((out / "bench.html").read_text().startswith("<!doctype html>"))
        run = json.loads((out / "head/arm64/boot-2/run.json").read_text())
        booted, = run["boots"]
        self.assertIn("-icount", booted["qemu_command"])
        self.assertIn("max,pauth-impdef=on,cntfrq=1000000000", booted["qemu_command"])
        self.assertIn("ptebatch.clock=icount", booted["kernel_args"])
        status, again = self.start("compare", out / "base", out / "head")
        self.assertEqual(status, 1, again)
        self.assertIn("+1.00 lines a page", again)

    def test_a_bare_diff(self) -> None:
        status, text = self.bench(self.dir / "bare.patch", "out")
        self.assertEqual(status, 1, text)
        self.assertIn("+1.00 lines a page at order 0", text)

    def test_the_same_is_green(self) -> None:
        status, text = self.bench("base", "out")
        self.assertEqual(status, 0, text)
        self.assertIn("arm64: 1 rows, 0 faster, 0 slower, nothing red", text)

    def test_what_does_not_apply(self) -> None:
        (self.dir / "p.patch").write_text((self.dir / "p.patch").read_text()
                                          .replace("-int gup;", "-int nothing;"))
        status, text = self.bench(self.dir / "p.patch", "out")
        self.assertEqual(status, 2, text)
        self.assertIn("p.patch does not apply", text)


if __name__ == "__main__":
    unittest.main()
