# SPDX-License-Identifier: GPL-2.0
"""The kernels to test, as data."""

import platform
from dataclasses import dataclass
from pathlib import Path

from runner.errors import Trouble
from runner.paths import REPO

BOTH = ("arm64", "x86_64")


@dataclass(frozen=True)
class Arch:
    """An architecture: kunit.py's name for it, QEMU's, and its compiler."""

    name: str
    machine: str       # as uname -m says it, and QEMU
    cross: str         # prefix of the cross compiler
    compiler: str      # Debian package of the cross compiler
    qemu: str          # Debian package of QEMU
    args: tuple[str, ...] = ()  # of its kernels

    @property
    def native(self) -> bool:
        """Is this the host's own architecture?"""
        return platform.machine() == self.machine

    @property
    def prefix(self) -> str:
        """CROSS_COMPILE for this host."""
        return "" if self.native else self.cross


ARCHES = {
    "arm64": Arch("arm64", "aarch64", "aarch64-linux-gnu-", "gcc-aarch64-linux-gnu",
                  "qemu-system-arm"),
    # check_timer() counts loops against an emulated timer, and panics on a busy host.
    "x86_64": Arch("x86_64", "x86_64", "x86_64-linux-gnu-", "gcc-x86-64-linux-gnu",
                   "qemu-system-x86", ("no_timer_check",)),
}

# What every boot gets, on top of what kunit.py's own configuration asks for.
# printk.time gives the cases their durations, panic=-1 ends QEMU at once.
KERNEL_ARGS = ("kunit.enable=1", "kunit_shutdown=reboot", "printk.time=1", "panic=-1",
               "movablecore=128M")


@dataclass(frozen=True)
class Variant:
    """One kernel configuration and the machine it boots on.

    base names the variant whose kernel it boots, if it has none of its own;
    glob the suites that it is for, if not all.
    """

    name: str
    what: str
    arches: tuple[str, ...] = BOTH
    args: tuple[str, ...] = ()
    smp: int = 1
    memory: int = 1024  # MiB
    base: str = ""
    glob: str = ""

    @property
    def kernel(self) -> str:
        """The variant whose kernel it is, as build folders are called."""
        return self.base or self.name

    @property
    def fragment(self) -> Path:
        """Options that differ from .kunitconfig; plain has no such file."""
        return REPO / "configs" / f"{self.kernel}.config"


VARIANTS = {variant.name: variant for variant in (
    Variant("plain", "what the stock kunit.py command builds"),
    Variant("race", "plain's kernel on two CPUs: what needs them", smp=2, base="plain",
            glob="gup_race.*"),
    Variant("nocontpte", "arm64 without contiguous PTEs", arches=("arm64",)),
    Variant("memcg", "with memory cgroups"),
    Variant("lrugen", "with the multi-generational LRU", smp=2),
    Variant("nomapcount", "CONFIG_NO_PAGE_MAPCOUNT"),
    Variant("nosplitptl", "NR_CPUS=2, so no split page-table locks", smp=2),
    Variant("lockdep", "with PROVE_LOCKING", smp=2),
    Variant("swap", "with a swap device, and A/D bits in migration entries"),
    Variant("nosmp", "one CPU, !SMP", arches=("x86_64",), smp=1),  # arm64 is always SMP
)}

# What make test and make test-all boot, in this order.
TEST = (("arm64", "plain"), ("arm64", "race"), ("arm64", "nocontpte"),
        ("x86_64", "plain"), ("x86_64", "race"))
TEST_ALL = TEST + tuple((arch, variant.name) for variant in VARIANTS.values()
                        for arch in variant.arches if (arch, variant.name) not in TEST)


def pick(arch: str, variant: str) -> tuple[Arch, Variant]:
    """Look both up by name; raises Trouble with the names there are."""
    if arch not in ARCHES:
        raise Trouble(f"no architecture {arch!r}: choose from {', '.join(ARCHES)}")
    if variant not in VARIANTS:
        raise Trouble(f"no variant {variant!r}: choose from {', '.join(VARIANTS)}")
    if arch not in VARIANTS[variant].arches:
        raise Trouble(f"variant {variant} does not exist on {arch}: it does on "
                      f"{', '.join(VARIANTS[variant].arches)}")
    return ARCHES[arch], VARIANTS[variant]
