# SPDX-License-Identifier: GPL-2.0
"""The watchdog, and the command lines."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

from runner import boot, build, expected, packages, parts, proc
from runner.boot import Limits, Machine
from runner.errors import Trouble
from runner.paths import REPO
from runner.tests.fakes import TempCase, kernel_tree, script
from runner.variants import ARCHES, TEST, TEST_ALL, VARIANTS, Arch, pick

ARM64 = ARCHES["arm64"]
PLAIN = VARIANTS["plain"]


def alive(pid: int) -> bool:
    """Does that process still run (a zombie does not)?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Watchdog(TempCase):
    """boot.run() on fakes."""

    def fake(self, text: str) -> list[str]:
        """A command that runs that Python text."""
        return [str(script(self.dir / "qemu", f"#!{sys.executable}\n"
                           f"import os, subprocess, sys, time\n{text}"))]

    def run_fake(self, text: str, total: float = 20, silence: float = 20) -> boot.Boot:
        """Run it under the watchdog."""
        return boot.run(self.fake(text), self.dir / "console", Limits(total, silence))

    def test_ends_by_itself(self) -> None:
        result = self.run_fake("print('hello'); sys.exit(3)")
        self.assertEqual((result.end, result.status), (boot.ENDED, 3))
        self.assertEqual((self.dir / "console").read_text(), "hello\n")

    def test_two_side_by_side(self) -> None:
        # Each is there only as long as the other: one after the other would hang.
        jobs: list[tuple[list[str], Path]] = []
        for name, other in (("one", "two"), ("two", "one")):
            path = script(self.dir / name, f"#!{sys.executable}\nimport pathlib, sys, time\n"
                          f"here = pathlib.Path({str(self.dir)!r})\n"
                          f"(here / '{name}.up').touch()\n"
                          f"while not (here / '{other}.up').exists(): time.sleep(0.05)\n"
                          f"print('{name}')\nsys.exit({len(jobs)})\n")
            jobs.append(([str(path)], self.dir / f"{name}.log"))
        heard = {0: b"", 1: b""}

        def tick(number: int, data: bytes) -> None:
            heard[number] += data

        ended = boot.run_all(jobs, Limits(20, 20), tick)
        self.assertEqual([(one.end, one.status) for one in ended],
                         [(boot.ENDED, 0), (boot.ENDED, 1)])
        self.assertEqual(heard, {0: b"one\n", 1: b"two\n"})
        self.assertEqual((self.dir / "two.log").read_text(), "two\n")

    def test_one_of_two_hangs(self) -> None:
        hang = script(self.dir / "hang", f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
        jobs = [([str(hang)], self.dir / "hang.log"), (["echo", "done"], self.dir / "echo.log")]
        ended = boot.run_all(jobs, Limits(20, 0.5))
        self.assertEqual([one.end for one in ended], [boot.SILENT, boot.ENDED])

    def test_silence_kills_it_and_its_children(self) -> None:
        result = self.run_fake(
            "child = subprocess.Popen(['sleep', '600'])\n"
            "print(os.getpid(), child.pid, flush=True)\ntime.sleep(600)", silence=0.5)
        self.assertEqual(result.end, boot.SILENT)
        pids = [int(pid) for pid in (self.dir / "console").read_text().split()]
        self.assertEqual([pid for pid in pids if alive(pid)], [])

    def test_one_that_ignores_sigterm(self) -> None:
        result = self.run_fake("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                               "print(os.getpid(), flush=True)\ntime.sleep(600)", silence=0.5)
        self.assertEqual(result.end, boot.SILENT)
        self.assertFalse(alive(int((self.dir / "console").read_text())))

    def test_overtime_though_it_talks(self) -> None:
        result = self.run_fake("while True: print('x', flush=True); time.sleep(0.1)", total=0.6)
        self.assertEqual(result.end, boot.OVERTIME)
        self.assertLess(result.seconds, 5)

    def test_kvm_probe(self) -> None:
        good = self.fake("print('[0.0] Linux version 7.3', flush=True); time.sleep(600)")
        start = time.monotonic()
        self.assertTrue(boot.kvm_boots(good, 20))
        self.assertLess(time.monotonic() - start, 10)
        self.assertFalse(boot.kvm_boots(self.fake("time.sleep(600)"), 0.5))
        self.assertFalse(boot.kvm_boots(self.fake("print('cannot open KVM'); sys.exit(1)"), 20))

    def test_a_kvm_that_hangs_is_asked_once(self) -> None:
        asked: list[str] = []

        def boots(_: Sequence[str]) -> bool:
            asked.append("")
            return False

        for version, count in (("7.2", 1), ("7.2", 1), ("8.0", 2)):
            with mock.patch.dict(os.environ, {"PTEBATCH_CACHE": str(self.dir)}), \
                    mock.patch.dict(boot._chosen, clear=True), \
                    mock.patch.object(os, "access", lambda *_: True), \
                    mock.patch.object(boot, "machine", lambda *_: Machine("k", "", ())), \
                    mock.patch.object(Arch, "native", True), \
                    mock.patch.object(packages, "qemu_version", lambda _, told=version: told), \
                    mock.patch.object(boot, "kvm_boots", boots):
                accel, why = boot.accelerator(ARM64, self.dir, self.dir)
            self.assertEqual((accel, len(asked)), ("tcg", count))
            self.assertIn("said nothing", why)

    def test_patience(self) -> None:
        for accel in ("kvm", "tcg"):
            once, twice = Limits.of(accel), Limits.of(accel, 2.0)
            self.assertEqual((once.total * 2, once.silence * 2), (twice.total, twice.silence))

    def test_a_case_that_hangs_is_ended_before_the_boot_is(self) -> None:
        text = (REPO / "lib" / "session.h").read_text()
        deadline = int(text.split("#define PTB_DEADLINE")[1].split()[0])
        for accel in ("kvm", "tcg"):
            limits = Limits.of(accel)
            self.assertGreater(limits.silence, deadline)
            self.assertGreater(limits.total, limits.silence)
        header = self.dir / "session.h"
        header.write_text("/* watch.c */\n#define PTB_DEADLINE\t60\t/* seconds */\n")
        self.assertEqual(boot.case_deadline(header), 60)
        with self.assertRaisesRegex(Trouble, "PTB_DEADLINE"):
            boot.case_deadline(self.dir / "none.h")

    def test_missing_program(self) -> None:
        with self.assertRaisesRegex(Trouble, "qemu-not-there is not installed"):
            boot.run(["qemu-not-there"], self.dir / "console", Limits(1, 1))

    def test_children_die_with_us(self) -> None:
        pid = os.fork()
        if not pid:
            with proc.group(["sleep", "600"]) as child:
                (self.dir / "pid").write_text(str(child.pid))
                os._exit(0)  # as if killed: no clean-up runs
        os.waitpid(pid, 0)
        time.sleep(0.2)
        self.assertFalse(alive(int((self.dir / "pid").read_text())))


class ToTheEnd(TempCase):
    """proc.run_to_end()"""

    def start(self) -> "subprocess.Popen[str]":
        """Someone who runs a second's work to its end; work has begun."""
        work = script(self.dir / "work", "#!/bin/sh\ncd \"${0%/*}\"\n: >begun\nsleep 1\n"
                      ": >done\nexit 3\n")
        code = ("import sys; from pathlib import Path; from runner import errors, proc\n"
                "proc.stop_on_signals()\n"
                f"try: print(proc.run_to_end([{str(work)!r}], Path({str(self.dir / 'log')!r}),\n"
                "    tick=lambda: None, stopping=lambda: print('waiting', flush=True)))\n"
                "except errors.Stopped: print('stopped')\n")
        child = subprocess.Popen([sys.executable, "-B", "-c", code], cwd=REPO, text=True,
                                 stdout=subprocess.PIPE)
        self.wait_for("begun")
        return child

    def wait_for(self, name: str) -> None:
        """Wait until that file is there."""
        deadline = time.monotonic() + 20
        while not (self.dir / name).exists():
            self.assertLess(time.monotonic(), deadline, f"no {name}")
            time.sleep(0.02)

    def test_status(self) -> None:
        with self.start() as child:
            self.assertEqual(child.communicate()[0], "3\n")

    def test_a_stop_waits(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number), self.start() as child:
                os.kill(child.pid, number)
                time.sleep(0.1)
                os.kill(child.pid, signal.SIGINT)
                self.assertEqual(child.communicate()[0], "waiting\nstopped\n")
                self.assertTrue((self.dir / "done").exists())
            for name in ("begun", "done"):
                (self.dir / name).unlink()

    def test_it_outlives_us(self) -> None:
        with self.start() as child:
            child.kill()
        self.wait_for("done")


class KilledBuild(TempCase):
    """What a killed build was writing is not trusted by the next."""

    def test_half_made_objects_go(self) -> None:
        for name in ("mm/old.o", "mm/half.o", "mm/.half.o.cmd", "vmlinux", "Makefile.x"):
            (self.dir / name).parent.mkdir(exist_ok=True)
            (self.dir / name).write_text("x")
        os.utime(self.dir / "mm/old.o", (1, 1))
        marker = self.dir / ".ptebatch-building"
        build.forget_half_made(self.dir, marker)
        self.assertTrue((self.dir / "mm/half.o").exists())
        marker.touch()
        os.utime(marker, (time.time() - 5, time.time() - 5))
        build.forget_half_made(self.dir, marker)
        self.assertEqual(sorted(path.name for path in self.dir.rglob("*") if path.is_file()),
                         [".half.o.cmd", ".ptebatch-building", "Makefile.x", "old.o"])


class Commands(TempCase):
    """What QEMU and the kernel are told."""

    def test_machine_is_the_trees_own(self) -> None:
        what = boot.machine(kernel_tree(self.dir / "linux"), ARM64)
        self.assertEqual(what, Machine("arch/arm64/boot/Image.gz", "console=ttyAMA0",
                                       ("-machine", "virt", "-cpu", "max")))
        (self.dir / "linux/tools/testing/kunit/qemu_configs/arm64.py").unlink()
        with self.assertRaisesRegex(Trouble, "qemu_configs/arm64.py"):
            boot.machine(self.dir / "linux", ARM64)

    def test_command(self) -> None:
        what = Machine("Image", "console=ttyAMA0", ("-cpu", "max"))
        args = boot.kernel_args(what, PLAIN, 7, "gup*")
        command = boot.qemu_command(what, ARM64, PLAIN, "tcg", Path("/b/Image"), args)
        for part in ("max,pauth-impdef=on", "tcg", "-no-reboot", args):
            self.assertIn(part, command)
        for part in ("movablecore=128M", "ptebatch.seed=7", "kunit.filter_glob=gup*",
                     "panic=-1", "kunit_shutdown=reboot", "console=ttyAMA0"):
            self.assertIn(part, args.split())

    def test_variants(self) -> None:
        self.assertEqual(len(set(TEST_ALL)), len(TEST_ALL))
        self.assertEqual(TEST_ALL[:len(TEST)], TEST)
        for variant in VARIANTS.values():
            base = VARIANTS[variant.kernel]
            self.assertEqual((base.base, base.glob), ("", ""))
            self.assertTrue(set(variant.arches) <= set(base.arches))
        for arch, name in (("riscv", "plain"), ("arm64", "x"), ("arm64", "nosmp")):
            with self.assertRaises(Trouble):
                pick(arch, name)


class Expected(TempCase):
    """Which cases exist, and which skips are fine."""

    TEXT = """
    /* KUNIT_CASE(not_me) */
    static struct kunit_case gup_cases[] = {
        KUNIT_CASE(plain), // KUNIT_CASE(nor_me)
        KUNIT_CASE_PARAM(rows, gen),
        KUNIT_CASE_PARAM_WITH_INIT(more, gen, init, exit),
        KUNIT_CASE_SLOW(slow), KUNIT_CASE_ATTR(attr, {}),
        {}
\n};
    static struct kunit_suite gup_suite = {
        .name = "ptebatch_gup",
        .test_cases = gup_cases,
\n};
    """

    def test_scan(self) -> None:
        (self.dir / "gup_kunit.c").write_text(self.TEXT)
        (self.dir / "lib.c").write_text(self.TEXT.replace("ptebatch_gup", "other"))
        self.assertEqual(expected.scan(self.dir),
                         {"ptebatch_gup": {"plain": False, "rows": True, "more": True,
                                           "slow": False, "attr": False}})
        with self.assertRaisesRegex(Trouble, "no KUnit case"):
            expected.scan(self.dir / "none")

    def test_parts(self) -> None:
        (self.dir / "a_kunit.c").write_text(self.TEXT)
        slow = self.TEXT.replace("ptebatch_gup", "gup_slow").replace(
            ".test_cases", ".attr = { .speed = KUNIT_SPEED_SLOW },\n.test_cases")
        (self.dir / "b_kunit.c").write_text(slow)
        found = parts.slow_suites(self.dir)
        self.assertEqual(found, {"gup_slow"})
        self.assertEqual([(part.suites, part.args) for part in
                          parts.split(["ptebatch_gup", "gup_slow"], found)],
                         [(("ptebatch_gup",), ("kunit.filter=speed>slow",)),
                          (("gup_slow",), ("kunit.filter=speed<=slow",))])
        for one in ("ptebatch_gup", "gup_slow"):
            self.assertEqual(parts.split([one], found), [parts.Part(parts.WHOLE, (one,))])

    def test_filter(self) -> None:
        cases = {"gup_slow": {"a": False, "bb": True}, "gup_fast": {"a": False},
                 "fork": {"x": True}}
        self.assertEqual(expected.select(cases, ""), cases)
        self.assertEqual(expected.select(cases, "gup*"), {"gup_slow": {"a": False, "bb": True},
                                                         "gup_fast": {"a": False}})
        self.assertEqual(expected.select(cases, "gup_*.b*"), {"gup_slow": {"bb": True}})
        with self.assertRaisesRegex(Trouble, "no case matches 'zzz'.*gup_slow, gup_fast, fork"):
            expected.select(cases, "zzz")

    def test_load(self) -> None:
        cases = {"fork": {"x": True, "y": False}}
        self.assertEqual(expected.load(json.dumps(cases)), cases)
        self.assertEqual(expected.load('{"fork": ["x", "y"]}'),
                         {"fork": {"x": False, "y": False}})
        with self.assertRaises(ValueError):
            expected.load("[]")

    def test_skips(self) -> None:
        skips = expected.parse_skips([
            "# comment", "", "plain x86_64 gup.rows:[w*16] soft-dirty # not on (this|that)",
            "* * fork.* # anything"])
        self.assertTrue(skips[0].covers("plain", "x86_64", "gup.rows", "[w*16] soft-dirty",
                                        "soft-dirty is not on this"))
        self.assertFalse(skips[0].covers("plain", "x86_64", "gup.rows", "w16 soft-dirty",
                                         "not on this"))
        self.assertFalse(skips[0].covers("plain", "arm64", "gup.rows", "[w*16] soft-dirty",
                                         "not on this"))
        self.assertTrue(skips[1].covers("a", "b", "fork.c", "row", "for anything"))
        with self.assertRaisesRegex(Trouble, "line 1"):
            expected.parse_skips(["plain arm64 gup.rows"])
