# SPDX-License-Identifier: GPL-2.0
"""The base kernel's result, for comparison: from the cache if it is there, else made."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from runner import compare, judge, results
from runner.judge import Judgement
from runner.paths import TEMP_MARK, Cache, remove
from runner.trial import Trial, identity_of, seed_of

KEPT = 20  # results in the cache, the newest


def baseline(trial: Trial, cache: Cache, lock: int, seed: int | None) -> tuple[Judgement, Path]:
    """The base's result for trial, and the folder it is kept in; needs the cache's lock.

    trial.tree is the base's, and is checked out if a kernel must be built. A
    kept result is taken if everything but its seed is the same, and that too
    if seed is given.
    """
    name = hashlib.sha256(json.dumps(trial.identity(), sort_keys=True).encode()).hexdigest()
    folder = cache.root / "base" / f"{trial.name}-{name[:16]}"
    if identity_of(folder) == trial.identity() and seed in (None, seed_of(folder)):
        return judge.judge(folder), folder
    trial.tree.check_out()
    made = trial.build(cache, lock)
    result = trial.run(made, folder)
    _prune(folder.parent)
    return result, folder


def compared(trial: Trial, base: Judgement) -> Trial:
    """The trial that is held against that result, with the same seed."""
    recorded = compare.record(base.verdict, base.facts["seed"], base.leaves)
    return replace(trial, base=recorded, seed=recorded.seed)


def _prune(folder: Path) -> None:
    """Keep the newest results; folder is ours alone."""
    entries = [entry for entry in folder.iterdir()
               if TEMP_MARK not in entry.name and (entry / "run.json").exists()]
    entries.sort(key=lambda entry: (entry / "run.json").stat().st_mtime)
    for entry in entries[:-KEPT]:
        results.check_replaceable(entry)
        remove(entry)
