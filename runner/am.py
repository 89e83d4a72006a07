# SPDX-License-Identifier: GPL-2.0
"""Applying series the way maintainers do: git am, patch after patch, no fuzz."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import Trouble
from runner.git import Repo
from runner.paths import Cache, remove
from runner.tree import Origin


@dataclass(frozen=True)
class Step:
    """One patch and what became of it.

    commit is what it made ("" if it did not apply: then error says why); seen
    tells that an earlier patch did the same, so that it was left out.
    """

    patch: Path
    commit: str
    seen: bool = False
    error: str = ""


def apply(cache: Cache, origin: Origin, patches: Sequence[Path]) -> list[Step]:
    """Apply patches one on the other; nothing applies after one that did not.

    git am gets an index of its own and an empty folder to work in, so that
    nothing on disk changes. Needs the cache's lock.
    """
    work = cache.temp_beside(cache.trees / "am")
    work.mkdir()
    repo = Repo(origin.repo.path, work=work, index="am-index")
    commit = repo("commit-tree", repo("rev-parse", f"{origin.snapshot}^{{tree}}"), "-m", "base")
    steps: list[Step] = []
    ids: set[str] = set()
    remove(repo.path / ".git" / "rebase-apply")
    try:
        repo("update-ref", "--no-deref", "HEAD", commit)
        repo("read-tree", "--reset", commit)
        for patch in patches:
            name = patch_id(repo, patch)
            if name in ids:
                steps.append(Step(patch, commit, seen=True))
                continue
            ids.add(name)
            done = repo.run("am", "-q", "--no-3way", patch)
            if done.returncode:
                reason = next((line for line in done.stderr.splitlines()
                               if line.startswith("error: ")), "no reason given")
                steps.append(Step(patch, "", error=reason.removeprefix("error: ")))
                break
            commit = repo("rev-parse", "HEAD")
            steps.append(Step(patch, commit))
    finally:
        remove(repo.path / ".git" / "rebase-apply")
        remove(work)
    return steps + [Step(patch, "", error="one before it does not apply")
                    for patch in patches[len(steps):]]


def patch_id(repo: Repo, patch: Path) -> str:
    """git's name for what a patch changes, whatever its text; raises Trouble without one."""
    name = repo("patch-id", "--stable", data=patch.read_bytes()).partition(" ")[0]
    if not name:
        raise Trouble(f"{patch} changes nothing: it is no patch")
    return name
