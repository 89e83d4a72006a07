# SPDX-License-Identifier: GPL-2.0
"""Fakes for kernels: consoles, a kernel tree, its kunit.py, QEMU."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner import interfaces
from runner.paths import REPO

CASES = {"alpha": {"one": False, "two": False}, "beta": {"rows": True}}
SKIPS = "PTEBATCH_TEST_SKIPS"  # names the file that stands for configs/skips
OLD_CASES = {suite: list(names) for suite, names in CASES.items()}

BOOT = ["Booting Linux on physical CPU 0x0000000000 [0x000f0510]",
        "Linux version 7.3.4 (ptebatch@ptebatch) (gcc 12.2.0) #1 SMP"]

ALPHA = ["    KTAP version 1", "    # Subtest: alpha", "    1..2",
         "    ok 1 one", "    ok 2 two", "# alpha: pass:2 fail:0 skip:0 total:2",
         "# Totals: pass:2 fail:0 skip:0 total:2", "ok 1 alpha"]
BETA = ["    KTAP version 1", "    # Subtest: beta", "    1..1",
        "        KTAP version 1", "        # Subtest: rows", "        1..2",
        "        ok 1 [w*16] slow pin", "        ok 2 [ww|ww]. fast pin",
        "    # rows: pass:2 fail:0 skip:0 total:2", "    ok 1 rows", "ok 2 beta"]
END = ["reboot: Restarting system"]
GREEN = [*BOOT, "KTAP version 1", "1..2", *ALPHA, *BETA, *END]

WARN = ["------------[ cut here ]------------",
        "WARNING: mm/gup.c:1234 at try_grab_folio+0x10/0x20, CPU#0: kunit_try_catch/42",
        "Modules linked in:", "Call trace:", " try_grab_folio+0x10/0x20 (P)",
        "---[ end trace 0000000000000000 ]---"]


def stamped(lines: Iterable[str], step: float = 0.001) -> str:
    """Console text, each line with a printk time stamp."""
    return "".join(f"[{index * step:12.6f}] {line}\r\n" for index, line in enumerate(lines))


def insert(lines: Sequence[str], before: str, what: Iterable[str]) -> list[str]:
    """lines with what put in before the line that is before."""
    at = list(lines).index(before)
    return [*lines[:at], *what, *lines[at:]]


def replace(lines: Sequence[str], old: str, *new: str) -> list[str]:
    """lines with the line that is old replaced."""
    at = list(lines).index(old)
    return [*lines[:at], *new, *lines[at + 1:]]


def until(lines: Sequence[str], last: str) -> list[str]:
    """lines up to and including last."""
    return list(lines[:list(lines).index(last) + 1])


class TempCase(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        self.holder = tempfile.TemporaryDirectory(prefix="ptebatch-test-")
        self.addCleanup(self.holder.cleanup)
        self.dir = Path(self.holder.name)


def result_folder(folder: Path, lines: Iterable[str] | None, *, end: str = "ended",
                  status: int | None = 0, build_log: str = "", skips: str = "",
                  cases: Mapping[str, Any] | None = None) -> Path:
    """A folder as a run leaves it: lines on the console, or build_log and no boot at all."""
    folder.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {
        "arch": "arm64", "variant": "plain", "filter": "", "build_ok": lines is not None,
        "smp": 2, "seed": 7, "kernel": {"version": "7.3.4"}}
    if lines is not None:
        facts |= {"accel": "TCG", "boot": {"end": end, "status": status, "seconds": 3.0,
                                           "limit": 120.0}}
        (folder / "console.log").write_text(stamped(lines))
    (folder / "build.log").write_text(build_log)
    (folder / "skips").write_text(skips)
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "expected.json").write_text(json.dumps(CASES if cases is None else cases))
    return folder


def script(path: Path, text: str) -> Path:
    """An executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


KUNIT_PY = """\
import pathlib, sys, time
args = dict(arg[2:].split("=", 1) for arg in sys.argv[1:] if arg.startswith("--") and "=" in arg)
build = pathlib.Path(args["build_dir"])
image = build / "arch/arm64/boot/Image.gz"
image.parent.mkdir(parents=True, exist_ok=True)
(build / ".config").write_text("CONFIG_KUNIT=y\\n")
(build / "one.o").write_text("")
mode = pathlib.Path("mode").read_text() if pathlib.Path("mode").exists() else ""
if mode == "fail":
    print("../mm/gup.c:12:3: error: implicit declaration of function 'foo'", file=sys.stderr)
    sys.exit(1)
if mode == "full":
    print("cc1: fatal error: No space left on device", file=sys.stderr)
    sys.exit(1)
if mode == "slow":
    print("building", flush=True)
    time.sleep(600)
image.write_text(pathlib.Path("mm/gup.c").read_text())
(build / "vmlinux").write_text("")
"""

QEMU_CONFIG = """\
from ..qemu_config import QemuArchParams
QEMU_ARCH = QemuArchParams("arm64", "arch/arm64/boot/Image.gz", "console=ttyAMA0",
                           ["-machine", "virt", "-cpu", "max"])
"""
QEMU_CONFIG_BASE = """\
from collections import namedtuple
QemuArchParams = namedtuple("QemuArchParams",
                            "arch kernel_path kernel_command_line extra_qemu_params")
"""


def kernel_tree(path: Path, *, mode: str = "") -> Path:
    """A folder that looks like a kernel tree; its kunit.py does as mode says."""
    files = {"Makefile": "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\n", "Kbuild": "\n",
             "mm/Kconfig": 'menu "Memory"\n\nendmenu\n', "mm/Makefile": "obj-y := gup.o\n",
             "mm/gup.c": "int gup;\n", "tools/testing/kunit/kunit.py": KUNIT_PY,
             "tools/testing/kunit/qemu_config.py": QEMU_CONFIG_BASE,
             "tools/testing/kunit/qemu_configs/arm64.py": QEMU_CONFIG}
    for interface in interfaces.INTERFACES:
        name = interface.files[0]
        word = interface.pattern.replace(r"\b", "").replace("\\", "")
        files[name] = files.get(name, "") + f"{word}\n"
    if mode:
        files["mode"] = mode
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def git(folder: Path, *args: str) -> str:
    """Run git as a user would."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(["git", "-c", "user.name=U", "-c", "user.email=u@localhost", *args],
                          cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout


def checkout(path: Path, *, mode: str = "") -> Path:
    """The same as a git checkout with one commit."""
    kernel_tree(path, mode=mode)
    git(path, "init", "-q", ".")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "base")
    git(path, "repack", "-adq")
    return path


def fake_tools(folder: Path, qemu: str) -> Path:
    """A bin folder with a cross compiler and a QEMU that runs the given Python text."""
    script(folder / "aarch64-linux-gnu-gcc", "#!/bin/sh\necho fake-gcc 12\n")
    script(folder / "qemu-system-aarch64",
           f"#!{sys.executable}\nimport sys, time, os, subprocess\n"
           "if '--version' in sys.argv:\n    print('QEMU emulator version 7.2')\n    sys.exit()\n"
           + qemu)
    return folder


def play(lines: Iterable[str]) -> str:
    """QEMU text that prints a console and ends."""
    return f"sys.stdout.write({stamped(lines)!r})\n"


def play_by_kernel(consoles: Mapping[str, Iterable[str]], otherwise: Iterable[str]) -> str:
    """QEMU text that prints the console of the first word found in the fake kernel's mm/gup.c."""
    known = {word: stamped(lines) for word, lines in consoles.items()}
    return ("kernel = open(sys.argv[sys.argv.index('-kernel') + 1]).read()\n"
            f"known, otherwise = {known!r}, {stamped(otherwise)!r}\n"
            "sys.stdout.write(next((text for word, text in known.items() if word in kernel),"
            " otherwise))\n")


def ptebatch(args: Sequence[str | Path], *, cache: Path, tools: Path,
             wait: bool = True) -> "subprocess.Popen[str]":
    """Start the command line on fakes; its output is in stdout. The caller reaps it."""
    env = dict(os.environ, PTEBATCH_CACHE=str(cache), PYTHONDONTWRITEBYTECODE="1",
               PATH=f"{tools}:{os.environ.get('PATH', '/usr/bin:/bin')}")
    child = subprocess.Popen([sys.executable, "-m", "runner.tests.driver", *map(str, args)],
                             cwd=REPO, env=env, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
    if wait:
        child.wait(60)
    return child
