# SPDX-License-Identifier: GPL-2.0
"""A git repository of our own that borrows another's objects."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import proc
from runner.errors import Trouble
from runner.paths import remove
from runner.source import git_env


@dataclass(frozen=True)
class Repo:
    """The repository at path/.git with its files in path.

    work may name somebody else's folder: git then reads files there, while
    everything it writes (index, objects) still goes to ours.
    """

    path: Path
    work: Path | None = None
    index: str = "index"

    def run(self, *args: str | Path, data: bytes | None = None,
            extra: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        """Run one git command here and return what came out of it."""
        env = git_env() | {"GIT_DIR": str(self.path / ".git"),
                           "GIT_WORK_TREE": str(self.work or self.path),
                           "GIT_INDEX_FILE": str(self.path / ".git" / self.index)}
        # Their attributes and excludes count, their hooks and helpers do not.
        safe = ("-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "core.autocrlf=false",
                "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")
        return proc.capture(["git", *safe, *args], cwd=self.work or self.path,
                            env=env | dict(extra or {}), data=data)

    def __call__(self, *args: str | Path, data: bytes | None = None) -> str:
        """Run one git command that must work; returns its output, stripped."""
        done = self.run(*args, data=data)
        if done.returncode:
            reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
            raise Trouble(f"git {args[0]} failed in {self.path}: {reason[0]}; if that stays, remove "
                          "linux-7.3 and trees from the cache folder: they are made anew")
        return done.stdout.strip()

    def create(self, objects: Sequence[Path]) -> None:
        """Make the repository if it is not there, and borrow from those object stores."""
        if not (self.path / ".git" / "HEAD").exists():
            remove(self.path / ".git")
            self.path.mkdir(parents=True, exist_ok=True)
            # The caller renames the whole folder into place, or trusts nothing in it.
            self("init", "-q", ".")
        info = self.path / ".git" / "objects" / "info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "alternates").write_text("".join(f"{store}\n" for store in objects))
        # A killed run may have left git's own lock; we hold the cache's.
        for stale in (self.path / ".git").glob("*.lock"):
            remove(stale)

    def blob(self, data: bytes) -> str:
        """Store data and return its name; writes nothing if it is known already."""
        name = self("hash-object", "--stdin", data=data)
        if self.run("cat-file", "-e", name).returncode:
            self("hash-object", "-w", "--stdin", data=data)
        return name


def ask(folder: Path, *args: str) -> str | None:
    """Ask somebody else's repository a question that changes nothing in it.

    Returns None if git has no answer.
    """
    env = git_env() | {"GIT_OPTIONAL_LOCKS": "0"}
    done = proc.capture(["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false",
                         *args], cwd=folder, env=env)
    return done.stdout.strip() if done.returncode == 0 else None
