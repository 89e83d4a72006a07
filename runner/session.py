# SPDX-License-Identifier: GPL-2.0
"""A whole run: packages, tree, builds, boots, judgements, report."""

import os
import random
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner import boot, expected, judge, packages, report, results, tree, unit
from runner.build import Build, build, check_configured
from runner.errors import Trouble
from runner.judge import Judgement
from runner.paths import REPO, Cache
from runner.progress import Progress
from runner.tree import Tree
from runner.variants import Arch, Variant, pick

SKIPS = REPO / "configs" / "skips"
RESULT = re.compile(rb" ok \d| not ok \d")  # good enough to see that it moves


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    kdir: str | None = None
    patches: Sequence[Path] = ()
    glob: str = ""
    boots: int = 1
    seed: int | None = None
    out: Path | None = None
    patience: float = 1.0


@dataclass
class Session:
    """One run of the command, holding the cache's lock."""

    options: Options
    cache: Cache
    lock: int
    tree: Tree
    out: Path
    cases: expected.Cases
    done: list[tuple[str, Judgement]] = field(default_factory=list)

    def one(self, arch: Arch, variant: Variant) -> Iterator[Judgement]:
        """Build one kernel and boot it as often as asked."""
        name = f"{arch.name}-{variant.name}"
        log = self.cache.root / "build.log"
        log.unlink(missing_ok=True)
        made = build(self.cache, self.tree, arch, variant, log, self.lock)
        boots = self.options.boots if made.ok else 1
        for number in range(1, boots + 1):
            place = f"{name}/boot-{number:02}" if boots > 1 else name
            if number == 1 and boots > 1:
                results.discard(self.out / name)
            result = self.boot(arch, variant, made, self.out / place)
            self.done.append((place, result))
            report.show(result, self.out / place)
            yield result

    def boot(self, arch: Arch, variant: Variant, made: Build, final: Path) -> Judgement:
        """Boot once (if there is something to boot), keep everything, judge it."""
        with results.new_folder(final) as folder:
            self.keep(folder, made)
            facts = self.facts(arch, variant, made)
            if made.ok:
                facts |= self.boot_facts(arch, variant, made, folder, facts["seed"])
            results.write_json(folder / "run.json", facts)
            result = judge.judge(folder)
            results.write(folder, result)
        return result

    def keep(self, folder: Path, made: Build) -> None:
        """Put beside the result what judging and understanding it later takes."""
        results.write_json(folder / "expected.json", self.cases)
        for source, name in ((made.log, "build.log"), (made.folder / ".config", "config"),
                             (SKIPS, "skips")):
            if source.exists():
                shutil.copyfile(source, folder / name)

    def facts(self, arch: Arch, variant: Variant, made: Build) -> dict[str, Any]:
        """What was tested, and with what."""
        commit, dirty = tree.our_commit()
        seed = self.options.seed
        return {
            "arch": arch.name, "variant": variant.name, "filter": self.options.glob,
            "build_ok": made.ok, "smp": variant.smp,
            "seed": random.SystemRandom().randrange(1, 1 << 31) if seed is None else seed,
            "kernel": {"version": tree.kernel_version(self.tree.path),
                       "origin": self.tree.origin, "commit": self.tree.commit,
                       "notes": list(self.tree.notes),
                       "patches": [str(patch) for patch in self.options.patches]},
            "ptebatch": {"commit": commit, "dirty": dirty},
            "compiler": made.compiler, "qemu": packages.qemu_version(arch),
            "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }

    def boot_facts(self, arch: Arch, variant: Variant, made: Build, folder: Path,
                   seed: int) -> dict[str, Any]:
        """Boot into folder's console.log; returns what is to be remembered about it."""
        what = boot.machine(self.tree.path, arch)
        image = made.folder / what.kernel
        accel, why = boot.accelerator(arch, self.tree.path, image)
        limits = boot.Limits.of(accel, self.options.patience)
        args = boot.kernel_args(what, variant, seed, self.options.glob)
        command = boot.qemu_command(what, arch, variant, accel, image, args)
        with Progress(f"booting {arch.name} {variant.name}, {why}, seed {seed}") as progress:
            count, rest = 0, b""

            def tick(data: bytes) -> None:
                # The console comes in dribs and drabs: only whole lines count.
                nonlocal count, rest
                lines, _, rest = (rest + data).rpartition(b"\n")
                count += len(RESULT.findall(lines))
                progress.tick(f"{count} results")

            ended = boot.run(command, folder / "console.log", limits, tick)
            progress.say(f"{count} results, {ended.end}")
        return {"accel": accel.upper(), "accel_why": why, "qemu_command": command,
                "kernel_args": args,
                "boot": {"end": ended.end, "status": ended.status,
                         "seconds": round(ended.seconds, 2),
                         "limit": limits.silence if ended.end == boot.SILENT else limits.total}}


def run(options: Options, wanted: Sequence[tuple[str, str]], units: bool) -> int:
    """Build, boot and judge the wanted kernels; returns the exit status.

    With units, the runner's unit tests come first and count, and so does
    trouble: the counts are the last line whatever happens. Raises Trouble.
    """
    counts: list[tuple[int, int, int]] = []
    status = 0
    try:
        for results_of_one in _run(options, wanted, units):
            counts.append(results_of_one)
    except Trouble as trouble:
        if not units:
            raise
        print(f"ptebatch: {trouble}", flush=True)
        counts.append((0, 1, 0))
        status = 2
    total = [sum(column) for column in zip(*counts)]
    print(report.counts_line(*total), flush=True)
    return status or (1 if total[1] or not total[0] else 0)


def _run(options: Options, wanted: Sequence[tuple[str, str]],
         units: bool) -> Iterator[tuple[int, int, int]]:
    """The run itself; yields counts as it gets them."""
    kernels = [pick(arch, variant) for arch, variant in wanted]
    for _, variant in kernels:
        check_configured(variant)
    cases = expected.select(expected.scan(), options.glob)
    # Mistakes show now, not after a build.
    expected.parse_skips(packages.read_lines(SKIPS))
    if options.out:
        for arch, variant in kernels:
            results.check_replaceable(options.out.absolute() / f"{arch.name}-{variant.name}")
    cache = Cache()
    packages.ensure(packages.wanted(list(dict.fromkeys(arch for arch, _ in kernels))), cache)
    with cache.locked() as lock:
        under_test = tree.prepare(cache, options.kdir, options.patches)
        for note in under_test.notes:
            print(f"note: {note}")
        if units:
            with Progress("unit tests") as progress:
                outcome = unit.run(under_test.path)
                progress.say(report.counts_line(*outcome))
            yield outcome
        session = Session(options, cache, lock, under_test, _out(options, cache), cases)
        for arch, variant in kernels:
            for result in session.one(arch, variant):
                yield result.counts()
    if len(session.done) > 1:
        print("\n".join(report.summary(session.done)))


def _out(options: Options, cache: Cache) -> Path:
    """The folder for this run's results; results/latest leads to it."""
    if options.out:
        if options.out.exists() and not options.out.is_dir():
            raise Trouble(f"{options.out} is no folder: name one for the results (OUT=)")
        return options.out.absolute()
    out = cache.results / time.strftime("%Y%m%d-%H%M%S")
    out.mkdir(parents=True, exist_ok=True)
    latest = cache.results / "latest"
    latest.unlink(missing_ok=True)
    os.symlink(out.name, latest)
    return out


def judge_again(folder: Path) -> int:
    """Judge every result at or below folder again, from what was kept."""
    if not any(judge.results_below(folder)):
        judge.judge(folder)  # says what is wrong with it
    total, red = [0, 0, 0], False
    for place in judge.results_below(folder):
        result = judge.judge(place)
        results.write(place, result)
        report.show(result, place)
        total = [sum(pair) for pair in zip(total, result.counts())]
        red = red or result.verdict != judge.PASSED
    print(report.counts_line(*total))
    return 1 if red or not total[0] else 0


def kernel(kdir: str | None, patches: Sequence[Path]) -> int:
    """Prepare a tree for the stock tool and print the command, as it must be typed."""
    cache = Cache()
    arch, _ = pick("arm64", "plain")
    packages.ensure(packages.wanted([arch]), cache)
    with cache.locked():
        made = tree.prepare(cache, kdir, patches)
    for note in made.notes:
        print(f"note: {note}")
    print(tree.stock_command(made))
    return 0


