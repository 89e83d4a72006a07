# SPDX-License-Identifier: GPL-2.0
"""The selftests' guest: its archive, what it prints, and how two boots are compared."""

import subprocess
from collections.abc import Sequence

from runner import console, programs, selftests, userland
from runner.initramfs import Archive
from runner.programs import Outcome
from runner.tests.fakes import WARN, TempCase, insert, replace, stamped
from runner.variants import ARCHES

CONSOLE = ["Linux version 7.3.4", "@begin cow", "@ TAP version 13", "@ 1..4",
           "@ # [RUN] Basic COW after fork() ... with base page", "@ ok 1 No leak",
           "@ not ok 2 leak into parent", "@ ok 3 # SKIP need liburing",
           "@ not ok 4 # XFAIL with 12 pages", "", "@end 1",
           "@begin gup_test -L", "@ # PIN_LONGTERM_BENCHMARK: Time: get:52 put:8 us",
           "@ ok 1 ioctl status 0", "", "@end 0", "@done", "reboot: Restarting system"]


def read(lines: Sequence[str]) -> Outcome:
    """Read a console."""
    return programs.read(console.parse(stamped(lines)))


class Reading(TempCase):
    """programs.read() and programs.verdict()"""

    def differ(self, *lines: str, base: Sequence[str] = CONSOLE) -> list[str]:
        """What differs on a patched kernel whose console that is."""
        _, found = programs.verdict(read(base), read(base), read(lines))
        return [f"{one.program}: {one.what}: {one.before}, {one.after}" for one in found]

    def test_results(self) -> None:
        outcome = read(CONSOLE)
        self.assertTrue(outcome.done)
        self.assertEqual([(one.name, one.status) for one in outcome.programs],
                         [("cow", 1), ("gup_test -L", 0)])
        self.assertEqual(outcome.programs[0].results, {
            1: ("ok", "No leak"), 2: ("not ok", "leak into parent"),
            3: ("ok # SKIP", "need liburing"), 4: ("not ok # XFAIL", "with 12 pages")})
        self.assertEqual(outcome.count(),
                         {"not ok": 1, "not ok # XFAIL": 1, "ok": 2, "ok # SKIP": 1})

    def test_the_same(self) -> None:
        self.assertEqual(self.differ(*CONSOLE), [])
        # What is measured may differ, and how many pages a text names.
        lines = replace(CONSOLE, "@ not ok 4 # XFAIL with 12 pages",
                        "@ not ok 4 # XFAIL with 13 pages")
        lines = replace(lines, "@ # PIN_LONGTERM_BENCHMARK: Time: get:52 put:8 us",
                        "@ # PIN_LONGTERM_BENCHMARK: Time: get:5 put:8 us")
        self.assertEqual(self.differ(*lines), [])

    def test_every_difference_counts(self) -> None:
        for old, new, what in (
                ("@ ok 1 No leak", "@ not ok 1 No leak", "cow: result 1: ok, not ok"),
                ("@ not ok 2 leak into parent", "@ ok 2 leak into parent",
                 "cow: result 2: not ok, ok"),
                ("@ ok 1 No leak", "@ ok 1 No luck", "cow: text of result 1: No leak, No luck"),
                ("@end 1", "@end 137", "cow: exit status: 1, 137"),
                ("@ # PIN_LONGTERM_BENCHMARK: Time: get:52 put:8 us",
                 "@ # PIN_LONGTERM_BENCHMARK: Time: get:5 put:8 us, truncated (size: 8)",
                 "gup_test -L: cut short: 0, 1"),
                ("@done", "", ": all programs ran: yes, no")):
            with self.subTest(new):
                self.assertEqual(self.differ(*replace(CONSOLE, old, new)), [what])

    def test_what_is_missing(self) -> None:
        lines = [line for line in CONSOLE if line != "@ ok 3 # SKIP need liburing"]
        self.assertEqual(self.differ(*lines), [
            "cow: result 3: ok # SKIP, absent", "cow: text of result 3: need liburing, absent"])
        self.assertIn("gup_test -L: exit status: 0, absent", self.differ(*CONSOLE[:11]))
        self.assertIn("gup_test -L: exit status: 0, None", self.differ(*CONSOLE[:13]))

    def test_splats(self) -> None:
        lines = insert(CONSOLE, "@end 0", WARN)
        self.assertEqual(len(self.differ(*lines)), 1)
        self.assertRegex(self.differ(*lines)[0], r"gup_test -L: WARN: .*: absent, 1 times")
        self.assertEqual(self.differ(*lines, base=lines), [])
        twice = insert(lines, "@end 1", WARN)
        self.assertEqual(len(self.differ(*twice, base=lines)), 1)
        self.assertRegex(self.differ(*insert(CONSOLE, "@begin cow", WARN))[0], "^: WARN")

    def test_not_stable(self) -> None:
        other = replace(CONSOLE, "@ ok 1 No leak", "@ not ok 1 No leak")
        for patched in (CONSOLE, other):
            unstable, different = programs.verdict(read(CONSOLE), read(other), read(patched))
            self.assertEqual([one.what for one in unstable], ["result 1"])
            self.assertEqual(different, [])

    def test_a_program_that_runs_twice(self) -> None:
        lines = [*CONSOLE[:-2], "@begin cow", "@ ok 1 No leak", "@end 0", *CONSOLE[-2:]]
        self.assertEqual(self.differ(*lines, base=lines), [])
        self.assertEqual(self.differ(*lines[:-3], "@end 2", *lines[-2:], base=lines),
                         ["cow (2): exit status: 0, 2"])

    def test_report(self) -> None:
        broken = read(CONSOLE[:-2])
        report = selftests.Report("arm64", broken, broken, [], [])
        self.assertEqual(len(report.problems), 2)   # the same on both is not good enough
        text = selftests.lines(report)
        self.assertEqual(text[-1], "  FAIL: 2 differ, 0 not stable on the base")
        good = selftests.Report("arm64", read(CONSOLE), read(CONSOLE), [], [])
        self.assertEqual(selftests.lines(good)[-1], "  PASS: 0 differ, 0 not stable on the base")


class Guest(TempCase):
    """What goes into the guest."""

    def test_archive(self) -> None:
        archive = Archive()
        archive.folder("dev")
        archive.device("dev/null", 1, 3)
        archive.file("odd", b"12345")
        archive.link("link", "odd")
        path = self.dir / "a.cpio"
        archive.write(path)
        data = path.read_bytes()
        entries, at = [], 0
        while True:     # as Documentation/driver-api/early-userspace/buffer-format.rst has it
            self.assertEqual(data[at:at + 6], b"070701")
            fields = [int(data[at + 6 + 8 * index:at + 14 + 8 * index], 16) for index in range(13)]
            name = data[at + 110:at + 110 + fields[11] - 1].decode()
            at = (at + 110 + fields[11] + 3) & ~3
            entries.append((name, oct(fields[1]), tuple(fields[9:11]), data[at:at + fields[6]]))
            at = (at + fields[6] + 3) & ~3
            if name == "TRAILER!!!":
                break
        self.assertEqual(at, len(data))
        self.assertEqual(entries[:-1], [
            ("dev", "0o40755", (0, 0), b""), ("dev/null", "0o20666", (1, 3), b""),
            ("odd", "0o100755", (0, 0), b"12345"), ("link", "0o120777", (0, 0), b"odd")])

    def test_init_is_a_script(self) -> None:
        done = subprocess.run(["sh", "-n", userland.INIT], check=False)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(userland.INIT.read_text().startswith("#!/bin/sh\n"))

    def test_programs(self) -> None:
        arm = [name for _, name in userland.programs(ARCHES["arm64"])]
        x86 = [name for _, name in userland.programs(ARCHES["x86_64"])]
        self.assertEqual(set(x86) - set(arm), {"soft-dirty"})
        self.assertEqual(len(x86), 10)
