# SPDX-License-Identifier: GPL-2.0
"""The whole command line on a fake kernel tree, a fake kunit.py and a fake QEMU."""

import json
import os
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

from runner import results, unit
from runner.errors import Trouble
from runner.tests.fakes import GREEN, TempCase, checkout, fake_tools, play, ptebatch, replace
from runner.tests.test_boot import alive

HANG = "print(os.getpid(), flush=True)\nsubprocess.Popen(['sleep', '600'])\ntime.sleep(600)\n"


class CommandLine(TempCase):
    """./ptebatch, from arguments to files."""

    def setUp(self) -> None:
        super().setUp()
        self.cache = self.dir / "cache"
        self.out = self.dir / "out"

    def start(self, *args: str, qemu: str = play(GREEN), mode: str = "") -> tuple[int, str]:
        """Run 'run' on the fakes; returns its exit status and output."""
        if not (self.dir / "linux").exists():
            checkout(self.dir / "linux", mode=mode)
        tools = fake_tools(self.dir / "bin", qemu)
        with ptebatch(["run", "--kdir", self.dir / "linux", "--out", self.out, *args],
                      cache=self.cache, tools=tools) as child:
            text = child.communicate()[0]
            return child.returncode, text

    def test_green(self) -> None:
        status, text = self.start("--seed", "42")
        self.assertEqual(status, 0, text)
        self.assertEqual(text.splitlines()[-1], "4 passed, 0 failed, 0 skipped")
        folder = self.out / "arm64-plain"
        self.assertEqual({path.name for path in folder.iterdir()},
                         {"console.log", "ktap.txt", "build.log", "config", "result.json",
                          "junit.xml", "run.json", "expected.json"})
        result = json.loads((folder / "result.json").read_text())
        self.assertEqual(result["verdict"], "pass")
        self.assertEqual((result["seed"], result["compiler"]), (42, "fake-gcc 12"))
        self.assertIn("ptebatch.seed=42", result["boots"][0]["kernel_args"])
        self.assertEqual(result["kernel"]["version"], "7.3.4")
        self.assertEqual(len(result["kernel"]["commit"]), 40)
        self.assertEqual([case["case"] for case in result["cases"]],
                         ["one", "two", "rows", "rows"])
        top = ET.parse(folder / "junit.xml").getroot()
        self.assertEqual((top.get("tests"), top.get("failures")), ("4", "0"))

    def test_red_shows_the_picture_and_can_be_judged_again(self) -> None:
        lines = replace(GREEN, "    ok 2 two", "    # two: EXPECTATION FAILED",
                        "    expected [ww]", "    found    [wr]", "    not ok 2 two")
        status, text = self.start(qemu=play(replace(lines, "ok 1 alpha", "not ok 1 alpha")))
        self.assertEqual(status, 1)
        self.assertIn("FAILED CASE alpha.two\n    |     # two: EXPECTATION FAILED\n"
                      "    |     expected [ww]\n", text)
        self.assertEqual(text.splitlines()[-1], "3 passed, 1 failed, 0 skipped")
        status, again = self.judge()
        self.assertEqual(status, 1)
        self.assertEqual(again.splitlines()[-1], "3 passed, 1 failed, 0 skipped")

    def judge(self) -> tuple[int, str]:
        """Judge what is in OUT again."""
        with ptebatch(["judge", self.out], cache=self.cache, tools=self.dir / "bin") as child:
            return child.wait(60), child.communicate()[0]

    def test_damaged_results(self) -> None:
        self.start()
        path = self.out / "arm64-plain" / "run.json"
        good = json.loads(path.read_text())
        for key, value in (("build_ok", None), ("boots", {}), ("boots", []), ("seed", None),
                           ("kernel", 1), ("boots", good["boots"] * 2), ("boots", ["x"])):
            facts = good | {key: value}
            if value is None:
                del facts[key]
            path.write_text(json.dumps(facts))
            status, text = self.judge()
            self.assertNotEqual(status, 0, f"{key}: {value}")
            self.assertNotIn("Traceback", text)
        path.write_text("[" * 100000)
        self.assertEqual(self.judge()[0], 2)

    def test_boots(self) -> None:
        status, text = self.start("--boots", "3")
        self.assertEqual(status, 0, text)
        self.assertEqual(len(list(self.out.glob("arm64-plain/boot-*/result.json"))), 3)
        self.assertEqual(text.splitlines()[-1], "12 passed, 0 failed, 0 skipped")

    def test_out_is_a_file(self) -> None:
        self.out.write_text("x")
        status, text = self.start()
        self.assertEqual(status, 2)
        self.assertEqual(text.splitlines()[-1], f"ptebatch: {self.out} is no folder: "
                                                "name one for the results (OUT=)")
        self.assertEqual(self.out.read_text(), "x")

    def test_results_replace_results_only(self) -> None:
        folder = self.out / "arm64-plain"
        for more in ((), ("--boots", "2"), ()):
            status, text = self.start(*more)
            self.assertEqual(status, 0, text)
            self.assertEqual((folder / "run.json").exists(), not more)
        self.assertFalse((folder / "boot-01").exists())
        (folder / "run.json").unlink()
        for more in ((), ("--boots", "2")):
            status, text = self.start(*more)
            self.assertEqual(status, 2)
            self.assertEqual(text, f"ptebatch: {folder} is in the way and holds no result "
                             "(no run.json): remove it, or name another OUT\n")
        self.assertTrue((folder / "console.log").exists())

    def test_one_red_boot_among_green_ones(self) -> None:
        count = self.dir / "count"
        qemu = (f"open({str(count)!r}, 'a').write('x')\n"
                f"if os.path.getsize({str(count)!r}) == 1: sys.exit(0)\n" + play(GREEN))
        status, text = self.start("--boots", "2", qemu=qemu)
        self.assertEqual(status, 1)
        self.assertIn("boot failed", text)

    def test_filter(self) -> None:
        self.assertEqual(self.start("--filter", "nothing")[0], 2)
        status, text = self.start("--filter", "beta")
        self.assertEqual(status, 1)  # the fake QEMU runs alpha all the same
        self.assertIn("EXTRA CASE alpha", text)

    def test_build_failure(self) -> None:
        status, text = self.start(mode="fail")
        self.assertEqual(status, 1)
        self.assertIn("BUILD FAILED: ../mm/gup.c:12:3: error: implicit declaration", text)
        self.assertEqual(text.splitlines()[-1], "0 passed, 1 failed, 0 skipped")

    def test_disk_full_during_the_build(self) -> None:
        status, text = self.start(mode="full")
        self.assertEqual(status, 2)
        self.assertRegex(text, "ptebatch: the disk got full while building.*PTEBATCH_CACHE")

    def test_hang(self) -> None:
        status, text = self.start("--patience", "0.005", qemu=HANG)
        self.assertEqual(status, 1)
        self.assertIn("BOOT FAILED: said nothing more for", text)
        pid = (self.out / "arm64-plain/console.log").read_text().split()[0]
        self.assertFalse(alive(int(pid)))

    def test_bad_kdir_is_one_line(self) -> None:
        (self.dir / "linux").mkdir()
        status, text = self.start()
        self.assertEqual(status, 2)
        self.assertRegex(text.splitlines()[-1], r"^ptebatch: KDIR=.* is not a Linux source tree")

    def test_trouble_in_make_test_still_ends_with_counts(self) -> None:
        (self.dir / "linux").mkdir()
        with ptebatch(["test", "--kdir", self.dir / "linux", "--filter", "alpha"],
                      cache=self.cache, tools=fake_tools(self.dir / "bin", "")) as child:
            lines = child.communicate()[0].splitlines()
        self.assertEqual(child.returncode, 2)
        self.assertRegex(lines[-2], "^ptebatch: .*(KDIR|missing)")
        self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")

    def interrupted(self, number: int, ready: str, **how: str) -> str:
        """Interrupt a run once its output or files show ready; returns its output."""
        checkout(self.dir / "linux", mode=how.get("mode", ""))
        tools = fake_tools(self.dir / "bin", how.get("qemu", play(GREEN)))
        with ptebatch(["run", "--kdir", self.dir / "linux", "--out", self.out],
                      cache=self.cache, tools=tools, wait=False) as child:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and not list(self.dir.glob(ready)):
                time.sleep(0.05)
            time.sleep(0.3)
            os.kill(child.pid, number)
            text = child.communicate(timeout=20)[0]
        self.assertEqual(child.returncode, 130, text)
        self.assertIn(f"stopped by {signal.Signals(number).name}; nothing half-made was kept", text)
        self.assertFalse(self.out.exists())
        return text

    def running(self, word: str) -> list[str]:
        """Command lines of processes that mention this test's folder and word."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(self.dir) in line and word in line:
                found.append(line)
        return found

    def test_ctrl_c_during_a_boot_leaves_nothing(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                self.tearDown_tree()
                self.interrupted(number, "out/*/console.log", qemu=HANG)
                self.assertEqual(self.running("qemu-system"), [])

    def test_ctrl_c_during_a_build_leaves_nothing(self) -> None:
        self.interrupted(signal.SIGINT, "cache/trees/*/.kunit-*/one.o", mode="slow")
        self.assertEqual(self.running("kunit.py"), [])

    def test_after_kill_9_the_next_run_trusts_nothing(self) -> None:
        checkout(self.dir / "linux")
        tools = fake_tools(self.dir / "bin", HANG)
        with ptebatch(["run", "--kdir", self.dir / "linux", "--out", self.out],
                      cache=self.cache, tools=tools, wait=False) as child:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and not list(self.out.glob("*/console.log")):
                time.sleep(0.05)
            child.kill()
            child.communicate()
        time.sleep(0.3)
        self.assertEqual(self.running("qemu-system"), [])
        self.assertEqual([path for path in self.out.iterdir() if ".making-" not in path.name], [])
        status, text = self.start()
        self.assertEqual(status, 0, text)
        self.assertEqual([path.name for path in self.out.iterdir()], ["arm64-plain"])

    def test_nohup(self) -> None:
        checkout(self.dir / "linux")
        tools = fake_tools(self.dir / "bin", "time.sleep(1)\n" + play(GREEN))
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with ptebatch(["run", "--kdir", self.dir / "linux", "--out", self.out],
                          cache=self.cache, tools=tools, wait=False) as child:
                deadline = time.monotonic() + 30
                while time.monotonic() < deadline and not list(self.out.glob("*/console.log")):
                    time.sleep(0.05)
                os.kill(child.pid, signal.SIGHUP)
                text = child.communicate(timeout=20)[0]
        finally:
            signal.signal(signal.SIGHUP, before)
        self.assertEqual(child.returncode, 0, text)

    def test_no_results_no_folder(self) -> None:
        self.out = self.dir / "a" / "out"
        (self.dir / "a").write_text("x")
        status, text = self.start()
        self.assertEqual((status, text.count("\n")), (2, 1), text)
        self.assertRegex(text, "^ptebatch: cannot put results into .*OUT=")
        kept = self.cache / "results"
        patch = self.dir / "no.patch"
        patch.write_text("--- a/no\n+++ b/no\n@@ -1 +1 @@\n-a\n+b\n")
        for more, names in (("--patch=" + str(patch), ()), ("--boots=1", ("latest",))):
            with ptebatch(["run", "--kdir", self.dir / "linux", more], cache=self.cache,
                          tools=self.dir / "bin") as child:
                child.communicate()
            found = sorted(path.name for path in kept.iterdir())
            self.assertEqual(found[1:], list(names))
            self.assertEqual(len(found), 2 * len(names))
        self.assertTrue((kept / "latest" / "arm64-plain" / "run.json").exists())

    def test_mistakes_show_before_anything_is_done(self) -> None:
        for args, says in ((("--seed", "-1"), "from 0 to"), (("--seed", str(1 << 32)), "from 0 to"),
                           (("--boots", "x"), "from 1 to"), (("--boots", "9" * 5000), "from 1"),
                           (("--kdir", "~nosuch/x"), "is not a folder"),
                           (("--out", "/" + "x" * 300), "File name too long"),
                           (("--patch", __file__), "holds no diff"), (("--patience", "nan"), "above 0"),
                           (("--patience", "0"), "above 0"),
                           (("--patch", "/nonexistent"), "no patch at /nonexistent")):
            with self.subTest(args):
                status, text = self.start(*args)
                self.assertEqual(status, 2)
                self.assertIn(says, text.splitlines()[-1])
                self.assertFalse(self.cache.exists())

    def tearDown_tree(self) -> None:
        """Start over with no kernel tree."""
        for name in ("linux", "out", "cache", "bin"):
            if (self.dir / name).exists():
                (self.dir / name).rename(self.dir / f"{name}.{time.monotonic_ns()}")

    def test_kernel_prints_the_stock_command(self) -> None:
        checkout(self.dir / "linux")
        with ptebatch(["kernel", "--kdir", self.dir / "linux"], cache=self.cache,
                      tools=fake_tools(self.dir / "bin", "")) as child:
            text = child.communicate()[0]
        self.assertEqual(child.returncode, 0, text)
        self.assertRegex(text.splitlines()[-1],
                         r"^cd \S+ && \./tools/testing/kunit/kunit.py run --arch=arm64 "
                         r"--cross_compile=aarch64-linux-gnu- "
                         r"--kunitconfig=mm/ptebatch/.kunitconfig$")


class Folders(TempCase):
    """What results.new_folder() removes, and what it leaves alone."""

    def setUp(self) -> None:
        super().setUp()
        self.final = self.dir / "arm64-plain"
        with subprocess.Popen(["true"]) as child:
            self.dead = child.pid

    def fill(self, name: str, *files: str) -> Path:
        """A folder with those files in it."""
        folder = self.dir / name
        folder.mkdir(parents=True)
        for file in files:
            (folder / file).write_text("x")
        return folder

    def make(self) -> None:
        """Make a result."""
        with results.new_folder(self.final) as folder:
            (folder / "run.json").write_text("{}")

    def test_sweep(self) -> None:
        gone = [self.fill(f"arm64-plain.making-{self.dead}", "console.log", "run.json",
                          f".result.json.making-{self.dead}"),
                self.fill(f"arm64-plain.making-{os.getpid()}", "config")]
        kept = [self.fill(f"arm64-plain.making-{os.getppid()}", "console.log"),
                self.fill(f"arm64-plain.making-0{self.dead}", "console.log", "thesis.tex"),
                self.fill(f"arm64-plain.making-00{self.dead}/config"),
                self.fill("arm64-plain.making-of", "console.log"),
                self.fill(f"arm64-plain.making-x.making-{self.dead}", "console.log")]
        link = self.dir / f"arm64-plain.making-000{self.dead}"
        link.symlink_to(self.fill("else", "console.log"))
        self.make()
        self.assertEqual([path for path in gone if path.exists()], [])
        self.assertEqual([path for path in [*kept, link] if not path.exists()], [])
        self.assertTrue((self.final / "run.json").exists())

    def test_in_the_way(self) -> None:
        mine = self.fill(f"arm64-plain.making-{os.getpid()}", "thesis.tex")
        with self.assertRaisesRegex(Trouble, "making-.* is in the way"):
            self.make()
        self.assertTrue((mine / "thesis.tex").exists())
        (mine / "thesis.tex").unlink()
        self.final.write_text("x")
        with self.assertRaisesRegex(Trouble, "arm64-plain is in the way"):
            self.make()
        self.final.unlink()
        self.fill("arm64-plain")  # empty
        self.make()
        self.make()

    def test_in_the_way_of_boots(self) -> None:
        self.fill("arm64-plain/boot-01", "run.json")
        self.fill(f"arm64-plain/boot-02.making-{self.dead}", "console.log")
        results.check_replaceable(self.final)
        self.fill("arm64-plain/boot-camp", "run.json")
        with self.assertRaises(Trouble):
            results.discard(self.final)
        self.assertTrue((self.final / "boot-01/run.json").exists())

    def test_one_that_appears_meanwhile(self) -> None:
        with self.assertRaises(Trouble), results.new_folder(self.final):
            self.fill("arm64-plain", "thesis.tex")
        self.assertEqual([path.name for path in self.dir.iterdir()], ["arm64-plain"])


class Counts(unittest.TestCase):
    """unit.counts()"""

    def test_unittest_counts(self) -> None:
        self.assertEqual(unit.counts("..\nRan 7 tests in 0.1s\n\nOK (skipped=2)\n"), (5, 0, 2))
        self.assertEqual(unit.counts("Ran 7 tests in 0.1s\n\nFAILED (failures=1, errors=2)\n"),
                         (4, 3, 0))
        self.assertEqual(unit.counts("Segmentation fault"), (0, 1, 0))
