# SPDX-License-Identifier: GPL-2.0
"""Where things live: this repository, and one cache folder for all else."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from runner.errors import Trouble

REPO = Path(__file__).resolve().parent.parent
GIB = 1 << 30

# Anything that is still being made has this in its name, and is removed by
# the next run that holds the lock: a half-made tree is never trusted.
TEMP_MARK = ".making-"


class Cache:
    """The cache folder, ~/.cache/ptebatch or $PTEBATCH_CACHE."""

    def __init__(self, root: Path | None = None) -> None:
        env = os.environ.get("PTEBATCH_CACHE")
        self.root = root or home(env or "~/.cache/ptebatch")
        self.src = self.root / "src"
        self.trees = self.root / "trees"
        self.ccache = self.root / "ccache"
        self.results = self.root / "results"
        self.lock_file = self.root / "lock"

    def temp_beside(self, path: Path) -> Path:
        """Return an unused name beside path, to be renamed to it once complete."""
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.with_name(f"{path.name}{TEMP_MARK}{os.getpid()}")

    def sweep(self) -> None:
        """Remove what earlier, killed runs left half-made. Needs the lock."""
        for parent in (self.root, self.src, self.trees, self.results):
            if parent.is_dir():
                for entry in parent.glob(f"*{TEMP_MARK}*"):
                    remove(entry)

    @contextlib.contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the cache for one run at a time; yields the lock's descriptor.

        Builds inherit that descriptor, so that a build which outlives a killed
        runner still keeps other runs out of its folder. Waits for another run
        to end, and says so.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise Trouble(f"cannot use {self.root} ({error.strerror}): make it writable "
                          "or set PTEBATCH_CACHE to another folder") from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.pread(lock, 32, 0).decode(errors="replace").strip() or "?"
                print(f"waiting for another run (process {owner}) that uses {self.root}",
                      flush=True)
                fcntl.flock(lock, fcntl.LOCK_EX)
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            self.sweep()
            yield lock
        finally:
            os.close(lock)


def home(text: str) -> Path:
    """The absolute path that text means, ~ and ~user included where there is such a user."""
    return Path(os.path.expanduser(text)).absolute()


def remove(path: Path) -> None:
    """Remove a file, link or whole folder; fine if it is not there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def need_space(folder: Path, need: int) -> None:
    """Raise Trouble unless folder's file system has need bytes free."""
    probe = folder
    while not probe.exists():
        probe = probe.parent
    free = shutil.disk_usage(probe).free
    if free < need:
        raise Trouble(f"only {free / GIB:.1f} GB free at {folder}, {need / GIB:.1f} GB needed: "
                      "free some, or set PTEBATCH_CACHE to a folder on a larger disk")
