# SPDX-License-Identifier: GPL-2.0
"""What a command needs before it begins: a folder for results, packages, the cache."""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import packages
from runner.errors import Trouble
from runner.packages import Package
from runner.paths import Cache


@dataclass(frozen=True)
class Place:
    """Where a command works: the cache, its lock's descriptor, the folder for results."""

    cache: Cache
    lock: int
    out: Path


@contextlib.contextmanager
def opened(wanted: Path | None, need: Sequence[Package]) -> Iterator[Place]:
    """Open the folder for results, install what is missing, take the cache's lock.

    In this order, so that a mistake shows before anything is fetched or built.
    wanted is the folder, None for one in the cache. Raises Trouble.
    """
    cache = Cache()
    with _results(wanted, cache) as out:
        packages.ensure(need, cache)
        with cache.locked() as lock:
            yield Place(cache, lock, out)


@contextlib.contextmanager
def _results(wanted: Path | None, cache: Cache) -> Iterator[Path]:
    """The folder for results; one in the cache has the time as its name.

    If there is nothing in it at the end it goes again; else results/latest leads
    to it, unless wanted. Raises Trouble.
    """
    out = wanted.absolute() if wanted else cache.results / time.strftime("%Y%m%d-%H%M%S")
    if not wanted and out.exists():
        out = out.with_name(f"{out.name}-{os.getpid()}")
    made = not out.exists()
    if not made and not out.is_dir():
        raise Trouble(f"{out} is no folder: name one for the results (OUT=)")
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise Trouble(f"cannot put results into {out} ({error.strerror}): choose another place "
                      f"({'OUT=' if wanted else 'OUT= or PTEBATCH_CACHE'})") from error
    try:
        yield out
    finally:
        if made and not any(out.iterdir()):
            out.rmdir()
        elif not wanted:
            latest = cache.results / "latest"
            latest.unlink(missing_ok=True)
            os.symlink(out.name, latest)
