# SPDX-License-Identifier: GPL-2.0
"""The Debian packages a run needs, and getting the missing ones."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import proc
from runner.errors import Trouble
from runner.paths import Cache
from runner.progress import Progress
from runner.variants import Arch


@dataclass(frozen=True)
class Package:
    """A Debian package and a file or command that shows it is there.

    Looking for that costs nothing on a warm run; asking dpkg would.
    """

    name: str
    shows: str

    def present(self) -> bool:
        """Is what the package brings there, packaged or not?"""
        if self.shows.startswith("/"):
            return os.path.exists(self.shows)
        return shutil.which(self.shows) is not None


BUILD = (
    Package("bc", "bc"), Package("binutils", "ld"), Package("bison", "bison"),
    Package("ccache", "ccache"), Package("flex", "flex"), Package("gcc", "gcc"),
    Package("git", "git"), Package("libc6-dev", "/usr/include/stdio.h"),
    Package("libelf-dev", "/usr/include/libelf.h"),
    Package("libssl-dev", "/usr/include/openssl/ssl.h"), Package("make", "make"),
    Package("perl", "perl"), Package("python3", "python3"), Package("xz-utils", "xz"),
    Package("debian-archive-keyring", "/usr/share/keyrings/debian-archive-keyring.gpg"),
)
CHECK = (Package("sparse", "sparse"),)


def wanted(arches: Sequence[Arch], check: bool = False) -> list[Package]:
    """List the packages for building and booting those architectures."""
    need = list(BUILD) + (list(CHECK) if check else [])
    for arch in arches:
        need.append(Package(arch.qemu, f"qemu-system-{arch.machine}"))
        if arch.prefix:
            need.append(Package(arch.compiler, f"{arch.prefix}gcc"))
    return need


def ensure(need: Sequence[Package], cache: Cache) -> None:
    """Install what is missing; raises Trouble with the command to type if it cannot."""
    missing = sorted({package.name for package in need if not package.present()})
    if not missing:
        return
    by_hand = f"apt-get install {' '.join(missing)}"
    if not shutil.which("apt-get"):
        raise Trouble(f"missing, and no apt-get here to install it: {' '.join(missing)}")
    prefix = _as_root()
    if prefix is None:
        raise Trouble(f"missing packages; as root, type: {by_hand}")
    cache.root.mkdir(parents=True, exist_ok=True)
    log = cache.root / "apt.log"
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive", LC_ALL="C")
    install = [*prefix, "apt-get", "install", "-y", "-q", "--no-install-recommends", *missing]
    with Progress(f"installing {' '.join(missing)}") as progress:
        # The package lists may be absent or stale; a dry run tells, for free.
        if proc.capture([*prefix, "apt-get", "install", "-s", *missing], env=env).returncode:
            proc.run_logged([*prefix, "apt-get", "update", "-q"], log, env=env,
                            tick=progress.tick)
        # The download may be stopped at any time; dpkg, killed at its work,
        # leaves the user's system with half-configured packages.
        status = proc.run_logged([*install, "--download-only"], log, env=env,
                                 tick=progress.tick) \
            or proc.run_to_end(install, log, env=env, tick=progress.tick,
                               stopping=lambda: progress.note("stopping once apt-get is done"))
    still = sorted({package.name for package in need if not package.present()})
    if status or still:
        raise Trouble(f"could not install {' '.join(still or missing)} (see {log}): "
                      f"as root, type: apt-get update && {by_hand}")


def _as_root() -> list[str] | None:
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and proc.capture(["sudo", "-n", "true"]).returncode == 0:
        return ["sudo", "-n", "--preserve-env=DEBIAN_FRONTEND,LC_ALL"]
    return None


def compiler_version(arch: Arch) -> str:
    """Return the first line of the compiler's --version; raises Trouble if there is none."""
    gcc = f"{arch.prefix}gcc"
    if not shutil.which(gcc):
        raise Trouble(f"no compiler for {arch.name}: install {arch.compiler if arch.prefix else 'gcc'}"
                      f" (there is no {gcc} in PATH)")
    return proc.capture([gcc, "--version"]).stdout.partition("\n")[0]


def qemu_version(arch: Arch) -> str:
    """Return the first line of QEMU's --version."""
    return proc.capture([f"qemu-system-{arch.machine}", "--version"]).stdout.partition("\n")[0]


def read_lines(path: Path) -> list[str]:
    """Lines of a text file, [] if it is not there."""
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []
