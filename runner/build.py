# SPDX-License-Identifier: GPL-2.0
"""Building one kernel with the tree's own kunit.py."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import proc
from runner.errors import Trouble
from runner.packages import compiler_version, read_lines
from runner.paths import GIB, REPO, Cache, need_space, remove
from runner.progress import Progress
from runner.tree import Tree
from runner.variants import Arch, Variant

CCACHE_LINKS = "/usr/lib/ccache"
NEED_COLD = 2 * GIB
NEED_WARM = GIB // 4
COUNT_PERIOD = 3.0  # seconds between two looks at how many objects there are


@dataclass(frozen=True)
class Build:
    """A build that was made, or tried: ok tells which."""

    ok: bool
    folder: Path
    log: Path
    compiler: str


def environment(cache: Cache) -> dict[str, str]:
    """The environment that compiles through ccache, the same for every tree."""
    keep = {key: value for key, value in os.environ.items()
            if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARCH", "CROSS_COMPILE",
                           "KDIR", "OUT", "KBUILD_OUTPUT", "O", "V", "C", "W")}
    return keep | {"PATH": f"{CCACHE_LINKS}:{keep.get('PATH', '/usr/bin:/bin')}",
                   "CCACHE_DIR": str(cache.ccache), "CCACHE_NOHASHDIR": "1",
                   "CCACHE_MAXSIZE": "5G", "LC_ALL": "C",
                   # No "+" for a tree that git calls changed.
                   "LOCALVERSION": "", "PYTHONDONTWRITEBYTECODE": "1",
                   # What changes with every build keeps ccache from hitting.
                   "KBUILD_BUILD_USER": "ptebatch", "KBUILD_BUILD_HOST": "ptebatch"}


def kunitconfig(repo: Path = REPO) -> Path:
    """The base configuration; raises Trouble if this checkout lacks it."""
    path = repo / ".kunitconfig"
    if not path.exists():
        raise Trouble(f"{path} is missing: this checkout is not complete")
    return path


def fragment_options(fragment: Path) -> list[str]:
    """A variant's options as kunit.py's --kconfig_add wants them.

    Two --kunitconfig files that disagree would be refused; an added option
    overrides.
    """
    options = []
    for line in read_lines(fragment):
        unset = re.match(r"# (CONFIG_\w+) is not set", line)
        if unset:
            options.append(f"{unset.group(1)}=n")
        elif line.startswith("CONFIG_"):
            options.append(line.strip())
    return options


def check_configured(variant: Variant) -> None:
    """Raise Trouble if this checkout lacks the variant's configuration."""
    kunitconfig()
    if variant.kernel != "plain" and not variant.fragment.exists():
        raise Trouble(f"{variant.fragment} is missing: this checkout is not complete")


def arguments(tree: Tree, arch: Arch, variant: Variant, jobs: int) -> list[str]:
    """The kunit.py command that builds this kernel."""
    check_configured(variant)
    return [sys.executable, "./tools/testing/kunit/kunit.py", "build", f"--arch={arch.name}",
            *([f"--cross_compile={arch.prefix}"] if arch.prefix else []),
            f"--build_dir={tree.build_dir(arch.name, variant.kernel)}",
            f"--kunitconfig={kunitconfig()}", f"--jobs={jobs}",
            *(f"--kconfig_add={option}" for option in fragment_options(variant.fragment))]


def objects(folder: Path) -> int:
    """Count the object files below folder."""
    return sum(name.endswith(".o") for _, _, names in os.walk(folder) for name in names)


def forget_half_made(folder: Path, marker: Path) -> None:
    """After a build that was killed: remove what it was writing when it died.

    make trusts a file by its time stamp alone, so an object half written would
    stay. What goes comes back from ccache.
    """
    if not marker.exists():
        return
    begun = marker.stat().st_mtime - 1
    for where, _, names in os.walk(folder):
        for name in names:
            path = Path(where, name)
            if not path.is_symlink() and path.stat().st_mtime >= begun and \
                    (path.suffix in (".o", ".a", ".so", ".gz") or "." not in name):
                remove(path)


def build(cache: Cache, tree: Tree, arch: Arch, variant: Variant, log: Path,
          lock: int, jobs: int = 0) -> Build:
    """Build the kernel; what the tools say goes to log.

    lock is the cache lock's descriptor, which the build inherits. Returns a
    Build that may have failed; raises Trouble for what is no fault of the
    code: no compiler, a full disk.
    """
    compiler = compiler_version(arch)
    folder = tree.build_dir(arch.name, variant.kernel)
    need_space(folder, NEED_WARM if (folder / "vmlinux").exists() else NEED_COLD)
    command = arguments(tree, arch, variant, jobs or os.cpu_count() or 2)
    marker = folder / ".ptebatch-building"
    forget_half_made(folder, marker)
    folder.mkdir(exist_ok=True)
    marker.touch()
    before = objects(folder)
    with Progress(f"building {arch.name} {variant.kernel}") as progress:
        seen, looked = before, 0.0

        def tick() -> None:
            nonlocal seen, looked
            if progress.seconds() - looked > COUNT_PERIOD:
                looked = progress.seconds()
                seen = objects(folder)
            progress.tick(f"{seen} objects")

        status = proc.run_logged(command, log, cwd=tree.path, env=environment(cache),
                                 keep_fds=(lock,), tick=tick)
        progress.say(f"{objects(folder)} objects" if status == 0 else "failed")
    marker.unlink()
    if status and any("No space left on device" in line for line in read_lines(log)):
        raise Trouble(f"the disk got full while building in {folder}: free some space, "
                      "or set PTEBATCH_CACHE to a folder on a larger disk")
    return Build(status == 0, folder, log, compiler)


ERROR = re.compile(r"error:|Error \d|\*\*\*|undefined reference|Missing: |ERROR|"
                   r"not in the \.config|Specified kunitconfig")


def first_errors(log: Path, limit: int = 12) -> Sequence[str]:
    """The lines of a build log that say what is wrong, first things first."""
    lines = [line.removeprefix("ERROR:root:") for line in read_lines(log)]
    wrong = [line for line in lines if ERROR.search(line)]
    compiler = [line for line in wrong if " error: " in line or "undefined reference" in line]
    return (compiler or wrong or lines[-limit:])[:limit]
