# SPDX-License-Identifier: GPL-2.0
"""The configurations make series-check compiles for, as data."""

from collections.abc import Sequence
from dataclasses import dataclass

from runner.packages import Package

# What there is in mm, wherever an architecture has it; on top of allnoconfig,
# which leaves out what a configuration cannot have.
MM = """
EXPERT SMP MODULES PROC_FS PROC_PAGE_MONITOR SYSFS SYSCTL TMPFS DEBUG_FS DEBUG_KERNEL
TRANSPARENT_HUGEPAGE SHMEM HUGETLBFS MEMFD_CREATE SECRETMEM
USERFAULTFD KSM COMPACTION MIGRATION CMA SWAP ZSWAP BLOCK BLK_DEV CGROUPS MEMCG
LRU_GEN NUMA NUMA_MIGRATION NUMA_BALANCING MEMORY_HOTPLUG MEMORY_HOTREMOVE MEMORY_FAILURE
ZONE_DEVICE DEVICE_PRIVATE IDLE_PAGE_TRACKING CHECKPOINT_RESTORE
MEM_SOFT_DIRTY ADVISE_SYSCALLS CROSS_MEMORY_ATTACH GUP_TEST DAMON DAMON_VADDR
DAMON_PADDR PER_VMA_LOCK FUTEX EPOLL NET IO_URING AIO PERF_EVENTS BINFMT_ELF
ELF_CORE COREDUMP STACKTRACE BUG PRINTK
""".split()


@dataclass(frozen=True)
class Target:
    """One configuration: name, ARCH, folder below arch/, options beyond MM, compiler.

    An option is 'NAME' for on, '-NAME' for off. whole: compiled
    for whole series only, not patch by patch; sparse: sparse looks at it too.
    """

    name: str
    arch: str
    folder: str
    options: tuple[str, ...]
    cross: str
    package: str
    whole: bool = False
    sparse: bool = False

    def config(self) -> str:
        """All options as a configuration file."""
        return "".join(f"{line}\n" for line in _lines((*MM, *self.options)))

    def own(self) -> list[str]:
        """The lines of .config without which it is not that target."""
        return _lines(self.options)

    def compiler(self, machine: str) -> str:
        """CROSS_COMPILE on a host that calls itself machine."""
        return "" if self.cross.startswith(f"{machine}-") else self.cross

    def need(self, machine: str) -> list[Package]:
        """The packages it takes on such a host."""
        prefix = self.compiler(machine)
        return [Package(self.package, f"{prefix}gcc")] if prefix else []


def _lines(options: Sequence[str]) -> list[str]:
    lines = {}
    for option in options:
        name = option.removeprefix("-")
        lines[name] = f"# CONFIG_{name} is not set" if option.startswith("-") else \
            f"CONFIG_{name}=y"
    return list(lines.values())


ARM64 = ("aarch64-linux-gnu-", "gcc-aarch64-linux-gnu")
X86 = ("x86_64-linux-gnu-", "gcc-x86-64-linux-gnu")
ARM = ("arm-linux-gnueabihf-", "gcc-arm-linux-gnueabihf")

TARGETS = (
    Target("arm64-4k", "arm64", "arm64", ("ARM64_4K_PAGES", "ARM64_CONTPTE"), *ARM64,
           sparse=True),
    Target("arm64-16k", "arm64", "arm64", ("ARM64_16K_PAGES", "ARM64_CONTPTE"), *ARM64),
    Target("arm64-64k", "arm64", "arm64", ("ARM64_64K_PAGES", "ARM64_CONTPTE"), *ARM64),
    Target("arm64-nothp", "arm64", "arm64", ("ARM64_4K_PAGES", "-TRANSPARENT_HUGEPAGE"), *ARM64),
    Target("x86_64", "x86_64", "x86", ("64BIT", "X86_MCE"), *X86, sparse=True),
    Target("x86_64-nothp", "x86_64", "x86", ("64BIT", "-TRANSPARENT_HUGEPAGE"), *X86),
    Target("i386", "i386", "x86", ("-64BIT", "HIGHMEM4G"), *X86),
    Target("i386-pae", "i386", "x86", ("-64BIT", "X86_PAE"), *X86),
    Target("arm", "arm", "arm", ("MMU", "ARCH_MULTIPLATFORM", "ARCH_MULTI_V7", "-ARCH_MULTI_V6",
                                 "ARCH_VIRT", "ARM_LPAE"), *ARM, whole=True),
    Target("arm-nommu", "arm", "arm", ("-MMU", "ARM_SINGLE_ARMV7M", "ARCH_MPS2"), *ARM,
           whole=True),
    Target("riscv64", "riscv", "riscv", ("64BIT", "ARCH_RV64I", "MMU"),
           "riscv64-linux-gnu-", "gcc-riscv64-linux-gnu", whole=True),
    Target("powerpc64le", "powerpc", "powerpc",
           ("PPC64", "PPC_BOOK3S_64", "CPU_LITTLE_ENDIAN", "PPC_64K_PAGES", "PPC_PSERIES", "PPC_RADIX_MMU"),
           "powerpc64le-linux-gnu-", "gcc-powerpc64le-linux-gnu", whole=True),
    Target("s390x", "s390", "s390", ("MARCH_Z13",), "s390x-linux-gnu-", "gcc-s390x-linux-gnu",
           whole=True),
)
