# SPDX-License-Identifier: GPL-2.0
"""The user programs of a guest: the kernel's mm selftests, and busybox to run them."""

import os
from collections.abc import Sequence
from pathlib import Path

from runner import apt, build, proc
from runner.errors import Trouble
from runner.initramfs import Archive
from runner.packages import Package
from runner.paths import REPO, Cache, remove
from runner.progress import Progress
from runner.tree import Tree
from runner.variants import Arch

INIT = REPO / "runner" / "guest" / "init"
SECONDS_EACH = 600  # before a program is killed
SUITES = ("bookworm", "trixie", "sid")  # where busybox-static comes from

# folder below tools/testing/selftests -> programs, in the order they run
PROGRAMS = {
    "mm": ("cow", "gup_longterm", "gup_test", "mremap_test", "split_huge_page_test",
           "soft-dirty", "madv_populate", "mkdirty", "pagemap_ioctl"),
    "mincore": ("mincore_selftest",),
}
ABSENT = {"arm64": ("soft-dirty",)}  # the kernel's own Makefile does not build it there

LIBC = {
    "arm64": ("libc6-dev-arm64-cross", "/usr/aarch64-linux-gnu/lib/libc.a"),
    "x86_64": ("libc6-dev-amd64-cross", "/usr/x86_64-linux-gnu/lib/libc.a"),
}
DEBIAN = {"arm64": "arm64", "x86_64": "amd64"}


def packages(arches: Sequence[Arch]) -> list[Package]:
    """What compiling the programs needs besides a compiler."""
    return [Package(*LIBC[arch.name]) for arch in arches if arch.prefix]


def programs(arch: Arch) -> list[tuple[str, str]]:
    """The programs there are on that architecture, each with its folder."""
    return [(folder, name) for folder, names in PROGRAMS.items() for name in names
            if name not in ABSENT.get(arch.name, ())]


def initramfs(cache: Cache, tree: Tree, arch: Arch, folder: Path, lock: int) -> Path:
    """Build all programs from tree (checked out, configured in folder) into an initramfs.

    Raises Trouble if one does not build.
    """
    place = cache.root / "selftests" / arch.name
    place.mkdir(parents=True, exist_ok=True)
    _compile(cache, tree, arch, folder, place, lock)
    busybox = _busybox(cache, arch)
    archive = Archive()
    for name in ("bin", "dev", "dev/shm", "proc", "sys", "tests", "tmp"):
        archive.folder(name)
    for name, device in (("console", (5, 1)), ("null", (1, 3)), ("zero", (1, 5))):
        archive.device(f"dev/{name}", *device)
    archive.file("bin/busybox", busybox.read_bytes())
    archive.link("bin/sh", "busybox")
    for source, name in programs(arch):
        archive.file(f"tests/{name}", (place / source / name).read_bytes())
    settings = f"PROGRAMS='{' '.join(name for _, name in programs(arch))}'\n" \
               f"SECONDS_EACH={SECONDS_EACH}\n"
    first, _, rest = INIT.read_text().partition("\n")
    archive.file("init", f"{first}\n{settings}{rest}".encode())
    path = place / "initramfs.cpio"
    archive.write(path)
    return path


def _compile(cache: Cache, tree: Tree, arch: Arch, folder: Path, place: Path,
             lock: int) -> None:
    """Build the programs statically with their own Makefiles."""
    log = cache.root / "selftests.log"
    log.unlink(missing_ok=True)
    kernel = [f"ARCH={arch.name}", f"CROSS_COMPILE={arch.prefix}",
              f"-j{os.cpu_count() or 2}"]
    commands = [["make", f"O={folder}", *kernel, "headers"]]
    for source in PROGRAMS:
        out = place / source
        out.mkdir(exist_ok=True)
        commands.append(["make", "-C", f"tools/testing/selftests/{source}", *kernel,
                         f"OUTPUT={out}", f"KHDR_INCLUDES=-isystem {folder}/usr/include",
                         "USERLDFLAGS=-static",
                         *(str(out / name) for where, name in programs(arch) if where == source)])
    with Progress(f"building the selftests for {arch.name}") as progress:
        for command in commands:
            if proc.run_logged(command, log, cwd=tree.path, env=build.environment(cache),
                               keep_fds=(lock,), tick=progress.tick):
                raise Trouble(f"the selftests do not build for {arch.name}: "
                              f"{build.first_errors(log)[0]} (see {log})")


def _busybox(cache: Cache, arch: Arch) -> Path:
    """A static busybox, fetched once."""
    kept = cache.src / f"busybox-{arch.name}"
    if kept.exists():
        return kept
    log = cache.root / "fetch.log"
    log.unlink(missing_ok=True)
    state = cache.temp_beside(cache.src / "apt")
    try:
        with Progress(f"fetching busybox for {arch.name}"):
            for deb in apt.downloads("busybox-static", SUITES, state, log, DEBIAN[arch.name]):
                if proc.run_logged(["dpkg-deb", "-x", deb, state / "x"], log) == 0:
                    os.replace(next((state / "x").rglob("bin/busybox")), kept)
                    return kept
    finally:
        remove(state)
    raise Trouble(f"busybox-static for {arch.name} could not be fetched (see {log}): "
                  "connect to the network")
