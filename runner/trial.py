# SPDX-License-Identifier: GPL-2.0
"""One kernel under test: built, booted, everything kept, judged."""

import hashlib
import json
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner import boot, build, compare, expected, judge, packages, parts, results, tree
from runner.batched import Demand
from runner.build import Build
from runner.judge import Judgement
from runner.paths import REPO, Cache
from runner.progress import Progress
from runner.tree import Tree
from runner.variants import Arch, Variant

SKIPS = REPO / "configs" / "skips"
RESULT = re.compile(rb" ok \d| not ok \d")  # good enough to see that it moves
SUITE = ("kunit/*.[ch]", "lib/*.[ch]", "configs/*", "Kbuild", "Kconfig", ".kunitconfig")


@dataclass(frozen=True)
class Trial:
    """What to build and boot, and what its result is held against.

    args are kernel arguments beyond those every boot gets.
    """

    tree: Tree
    arch: Arch
    variant: Variant
    cases: expected.Cases
    seed: int
    glob: str = ""
    patience: float = 1.0
    patches: tuple[Path, ...] = ()
    args: Mapping[str, str] = field(default_factory=dict)
    demand: Demand | None = None
    base: compare.Base | None = None

    @property
    def name(self) -> str:
        """ARCH-VARIANT, as folders are called."""
        return f"{self.arch.name}-{self.variant.name}"

    def build(self, cache: Cache, lock: int) -> Build:
        """Build the kernel, whose tree is checked out; needs the cache's lock."""
        log = cache.root / "build.log"
        log.unlink(missing_ok=True)
        return build.build(cache, self.tree, self.arch, self.variant, log, lock)

    def run(self, made: Build, final: Path) -> Judgement:
        """Boot every part once (if there is something to boot), keep everything in final, judge it."""
        with results.new_folder(final) as folder:
            self._keep(folder, made)
            facts = self.facts(made)
            if made.ok:
                facts |= self._boot(made, folder)
            results.write_json(folder / "run.json", facts)
            result = judge.judge(folder)
            results.write(folder, result)
        return result

    def _keep(self, folder: Path, made: Build) -> None:
        """Put beside the result what judging and understanding it later takes."""
        for source, name in ((made.log, "build.log"), (made.folder / ".config", "config")):
            if source.exists():
                shutil.copyfile(source, folder / name)
        if self.patches:
            (folder / "patches").write_bytes(b"".join(
                patch.read_bytes() for patch in tree.expand(self.patches)))
        self.keep_measures(folder)

    def keep_measures(self, folder: Path) -> None:
        """Put beside the result what it is judged by."""
        results.write_json(folder / "expected.json", self.cases)
        if SKIPS.exists():
            shutil.copyfile(SKIPS, folder / "skips")
        if self.demand is not None:
            (folder / "demand").write_text("".join(f"{line}\n" for line in self.demand.lines()))
        if self.base is not None:
            results.write_json(folder / "base.json", compare.dump(self.base))

    def facts(self, made: Build) -> dict[str, Any]:
        """What is tested, and with what."""
        commit, dirty = tree.our_commit()
        return {
            "arch": self.arch.name, "variant": self.variant.name, "filter": self.glob,
            "build_ok": made.ok, "smp": self.variant.smp, "seed": self.seed,
            "kernel": {"version": tree.kernel_version(self.tree.path),
                       "origin": self.tree.origin, "commit": self.tree.commit,
                       "tree": self.tree.id, "notes": list(self.tree.notes),
                       "patches": [str(patch) for patch in self.patches]},
            "ptebatch": {"commit": commit, "dirty": dirty, "suite": suite_digest()},
            "args": dict(self.args),
            "compiler": made.compiler, "qemu": packages.qemu_version(self.arch),
            "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }

    def identity(self) -> dict[str, Any]:
        """Those of the facts that make two results comparable: all but the seed."""
        return {"tree": self.tree.id, "suite": suite_digest(), "arch": self.arch.name,
                "variant": self.variant.name, "filter": self.glob, "args": dict(self.args),
                "compiler": packages.compiler_version(self.arch),
                "qemu": packages.qemu_version(self.arch)}

    def command(self, what: boot.Machine, accel: str, image: Path, args: str,
                folder: Path) -> list[str]:
        """The QEMU command line of one boot, whose results go to folder."""
        del folder
        return boot.qemu_command(what, self.arch, self.variant, accel, image, args)

    def _boot(self, made: Build, folder: Path) -> dict[str, Any]:
        """Boot, part by part, into folder; returns what is to be remembered about it."""
        what = boot.machine(self.tree.path, self.arch)
        image = made.folder / what.kernel
        accel, why = boot.accelerator(self.arch, self.tree.path, image)
        limits = boot.Limits.of(accel, self.patience)
        pieces = parts.split(self.cases, parts.slow_suites())
        lines = [boot.kernel_args(what, self.variant, self.seed, self.glob,
                                  [*self.arch.args,
                                   *(f"{name}={value}" for name, value in self.args.items()),
                                   *part.args]) for part in pieces]
        commands = [self.command(what, accel, image, line, folder) for line in lines]
        phase = f"booting {self.arch.name} {self.variant.name}, {accel.upper()}, seed {self.seed}"
        with Progress(phase) as progress:
            count, rest = 0, [b""] * len(pieces)

            def tick(number: int, data: bytes) -> None:
                # The console comes in dribs and drabs: only whole lines count.
                nonlocal count
                whole, _, rest[number] = (rest[number] + data).rpartition(b"\n")
                count += len(RESULT.findall(whole))
                progress.tick(f"{count} results")

            ended = boot.run_all([(command, folder / part.log)
                                  for command, part in zip(commands, pieces)], limits, tick)
            progress.say(f"{count} results, "
                         + ", ".join(dict.fromkeys(one.end for one in ended)))
        return {"accel": accel.upper(), "accel_why": why, "boots": [
            {"log": part.log, "suites": part.suites, "kernel_args": line,
             "qemu_command": command, "end": one.end, "status": one.status,
             "seconds": round(one.seconds, 2),
             "limit": limits.silence if one.end == boot.SILENT else limits.total}
            for part, line, command, one in zip(pieces, lines, commands, ended)]}


def suite_digest(repo: Path = REPO) -> str:
    """A digest of all files that decide what the suite does and how it is judged."""
    total = hashlib.sha256()
    for pattern in SUITE:
        for path in sorted(repo.glob(pattern)):
            total.update(f"{path.relative_to(repo)}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()


def identity_of(folder: Path) -> dict[str, Any] | None:
    """The identity of the result kept in folder, None if there is none."""
    try:
        facts = json.loads((folder / "run.json").read_text())
        return {"tree": facts["kernel"]["tree"], "suite": facts["ptebatch"]["suite"],
                "args": facts["args"], **{key: facts[key] for key in
                ("arch", "variant", "filter", "compiler", "qemu")}}
    except (OSError, ValueError, KeyError):
        return None


def seed_of(folder: Path) -> int | None:
    """The seed of the result kept in folder, None if there is none."""
    try:
        return int(json.loads((folder / "run.json").read_text())["seed"])
    except (OSError, ValueError, KeyError):
        return None
