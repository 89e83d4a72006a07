# SPDX-License-Identifier: GPL-2.0
"""Booting one kernel in QEMU, under a watchdog, keeping all it says.

Not kunit.py's own boot: that cannot leave out a KVM that opens but does not
run the guest, and it notices neither silence nor a hang.
"""

import contextlib
import functools
import importlib
import os
import re
import select
import subprocess
import sys
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from runner import packages, proc
from runner.errors import Trouble
from runner.paths import REPO, Cache
from runner.variants import KERNEL_ARGS, Arch, Variant

PROBE_SECONDS = 10.0
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
ENDED, SILENT, OVERTIME = "ended", "silent", "overtime"


@dataclass(frozen=True)
class Machine:
    """What QEMU is to emulate, as the kernel tree's own qemu_configs say."""

    kernel: str             # path below the build folder
    args: str               # kernel command line
    options: tuple[str, ...]


@dataclass(frozen=True)
class Limits:
    """How long a boot may take, and how long it may say nothing; in seconds."""

    total: float
    silence: float

    @staticmethod
    def of(accel: str, patience: float = 1.0) -> "Limits":
        """Limits for that accelerator; patience scales them for a slow host.

        A case that hangs says nothing until its own deadline ends it, and that
        is as long with KVM. The boot must outlive it, or one case that hangs
        takes all the cases after it along.
        """
        total = 600.0 if accel == "kvm" else 1200.0
        return Limits(total * patience, (case_deadline() + 60.0) * patience)


@dataclass(frozen=True)
class Boot:
    """How a boot ended: ended by itself, or silent or overtime and killed."""

    end: str
    status: int | None
    seconds: float


def case_deadline(header: Path = REPO / "lib" / "session.h") -> float:
    """Seconds after which the suites end a case; raises Trouble if header does not say."""
    text = header.read_text(errors="replace") if header.exists() else ""
    found = re.search(r"^#define\s+PTB_DEADLINE\s+(\d+)", text, re.M)
    if not found:
        raise Trouble(f"{header} defines no PTB_DEADLINE: this checkout is not complete")
    return float(found.group(1))


def machine(tree: Path, arch: Arch) -> Machine:
    """Read the tree's qemu_configs for that architecture."""
    # These modules import relatively from above their own package, so they
    # need a package above that is only a path.
    name = "ptebatch_kunit_tool"
    package = types.ModuleType(name)
    package.__path__ = [str(tree / "tools" / "testing" / "kunit")]
    sys.modules[name] = package
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        params = importlib.import_module(f"{name}.qemu_configs.{arch.name}").QEMU_ARCH
    except (ImportError, AttributeError) as error:
        raise Trouble(f"{tree} has no usable tools/testing/kunit/qemu_configs/{arch.name}.py "
                      f"({error}): use Linux 7.3 or later") from error
    finally:
        sys.dont_write_bytecode = before
        for module in [module for module in sys.modules if module.startswith(name)]:
            del sys.modules[module]
    return Machine(params.kernel_path, params.kernel_command_line,
                   tuple(params.extra_qemu_params))


def kernel_args(what: Machine, variant: Variant, seed: int, glob: str,
                extra: Sequence[str] = ()) -> str:
    """The kernel command line of one boot."""
    args = [*what.args.split(), *KERNEL_ARGS, *variant.args, f"ptebatch.seed={seed}"]
    if glob:
        args.append(f"kunit.filter_glob={glob}")
    return " ".join([*args, *extra])


def qemu_command(what: Machine, arch: Arch, variant: Variant, accel: str, image: Path,
                 args: str) -> list[str]:
    """The QEMU command line of one boot."""
    options = list(what.options)
    if "max" in options:
        # Emulating pointer authentication as the architecture defines it
        # costs half the time of a boot; and KVM wants the host's CPU.
        options[options.index("max")] = "max,pauth-impdef=on" if accel == "tcg" else "host"
    return [f"qemu-system-{arch.machine}", "-nodefaults", "-m", str(variant.memory),
            "-smp", str(variant.smp), "-kernel", str(image), "-append", args, "-no-reboot",
            "-nographic", "-accel", accel, "-serial", "stdio", *options]


def run(command: Sequence[str], console: Path, limits: Limits,
        tick: Callable[[bytes], None] = lambda _: None) -> Boot:
    """Run one QEMU; see run_all()."""
    return run_all([(command, console)], limits, lambda _, data: tick(data))[0]


@dataclass
class _Guest:
    """A QEMU that runs, or has ended."""

    child: subprocess.Popen[bytes]
    out: BinaryIO
    heard: float
    boot: Boot | None = None

    @property
    def source(self) -> int:
        """Where its console is read from."""
        assert self.child.stdout
        return self.child.stdout.fileno()


def run_all(jobs: Sequence[tuple[Sequence[str], Path]], limits: Limits,
            tick: Callable[[int, bytes], None] = lambda number, data: None) -> list[Boot]:
    """Run QEMUs side by side until each ends or the watchdog ends it.

    jobs are commands, and where the console of each goes. tick() gets the number
    of a guest and what it said since the last call, about five times a second.
    Nothing of them is left running, whichever way this function is left.
    """
    start = time.monotonic()
    guests: list[_Guest] = []
    with contextlib.ExitStack() as stack:
        for command, console in jobs:
            out = stack.enter_context(open(console, "wb", buffering=0))
            child = stack.enter_context(proc.group(command, stdout=subprocess.PIPE))
            guests.append(_Guest(child, out, start))
        while alive := {guest.source: number for number, guest in enumerate(guests)
                        if not guest.boot}:
            ready, _, _ = select.select(list(alive), [], [], 0.2)
            for source, number in alive.items():
                _attend(guests[number], source in ready, start, limits,
                        functools.partial(tick, number))
    return [guest.boot for guest in guests if guest.boot]


def _attend(guest: _Guest, ready: bool, start: float, limits: Limits,
            tick: Callable[[bytes], None]) -> None:
    """Read what a guest says; note how it ended, if it did, or end it."""
    now, data = time.monotonic(), b""
    if ready:
        data = os.read(guest.source, 65536)
        guest.out.write(data)
        guest.heard = now
    tick(data)
    # A grandchild may hold the pipe open after QEMU itself is gone.
    if (ready and not data) or (not ready and guest.child.poll() is not None):
        with contextlib.suppress(subprocess.TimeoutExpired):
            guest.child.wait(proc.GRACE)
        guest.boot = Boot(ENDED, guest.child.returncode, time.monotonic() - start)
    elif now - guest.heard > limits.silence:
        guest.boot = Boot(SILENT, None, now - start)
    elif now - start > limits.total:
        guest.boot = Boot(OVERTIME, None, now - start)
    if guest.boot and guest.boot.end != ENDED:
        guest.child.kill()


_chosen: dict[str, tuple[str, str]] = {}


def accelerator(arch: Arch, tree: Path, image: Path) -> tuple[str, str]:
    """Choose kvm or tcg, and say why; asks a real boot, unless that is known to fail here.

    A KVM that opens may still not run a stock kernel: on some nested hosts
    the guest hangs at its first instruction.
    """
    if arch.name not in _chosen:
        _chosen[arch.name] = _choose(arch, tree, image)
        print(f"{arch.name}: {_chosen[arch.name][1]}", flush=True)
    return _chosen[arch.name]


def _choose(arch: Arch, tree: Path, image: Path) -> tuple[str, str]:
    if not arch.native:
        return "tcg", "emulated (TCG)"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg", "emulated (TCG): no usable /dev/kvm"
    what = machine(tree, arch)
    why = f"emulated (TCG): /dev/kvm opens, but a guest said nothing in {PROBE_SECONDS:.0f} s"
    # That costs time to find out, and does not change until the host or QEMU does.
    known = Cache().root / "no-kvm"
    here = f"{packages.qemu_version(arch)}, boot {BOOT_ID.read_text().strip()}"
    if here in packages.read_lines(known):
        return "tcg", why
    command = qemu_command(what, arch, Variant("probe", "", smp=1), "kvm", image,
                           f"{what.args} panic=-1 kunit.enable=0")
    if kvm_boots(command):
        return "kvm", "KVM"
    known.write_text(f"{here}\n")
    return "tcg", why


def kvm_boots(command: Sequence[str], patience: float = PROBE_SECONDS) -> bool:
    """Does that QEMU command bring a kernel to its first line in time?"""
    deadline = time.monotonic() + patience
    seen = b""
    with proc.group(command, stdout=subprocess.PIPE) as child:
        assert child.stdout
        while time.monotonic() < deadline:
            if select.select([child.stdout], [], [], 0.2)[0]:
                data = os.read(child.stdout.fileno(), 65536)
                if not data:
                    return False
                seen += data
                if b"Linux version" in seen:
                    return True
    return False
