# SPDX-License-Identifier: GPL-2.0
"""make series: every patch of every series, built, booted and judged."""

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from runner import am, batched, expected, judge, packages, place, report, results, series, \
    tree, trial
from runner.baseline import compared
from runner.batched import Demand
from runner.build import check_configured
from runner.errors import Trouble
from runner.judge import PASSED, Judgement
from runner.paths import Cache
from runner.place import Place
from runner.progress import elapsed
from runner.series import Series
from runner.session import new_seed
from runner.tree import Tree
from runner.trial import Trial, identity_of, seed_of, suite_digest
from runner.variants import Arch, Variant, pick

COMBINED = "combined"
BASE = "base"
NOT_APPLIED = "does not apply"


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    names: Sequence[str] = ()
    kdir: str | None = None
    arches: Sequence[str] = ()
    variant: str = "plain"
    glob: str = ""
    seed: int | None = None
    out: Path | None = None
    patience: float = 1.0
    resume: bool = False
    each: bool = False      # of the combined series, too, every patch
    root: Path | None = None


@dataclass(frozen=True)
class Point:
    """A kernel on the way: the base, or what is there after one more patch.

    error says why there is no such kernel; args and passing are what the
    series declares up to here.
    """

    series: str
    name: str
    place: str              # its folder in OUT
    tree: Tree | None
    error: str = ""
    patches: tuple[Path, ...] = ()
    args: dict[str, str] = field(default_factory=dict)
    passing: tuple[batched.Row, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One kernel on one architecture, as the table shows it."""

    series: str
    name: str
    arch: str
    verdict: str
    counts: tuple[int, int, int]
    place: str

    @property
    def green(self) -> bool:
        """Is it as it should be?"""
        return self.verdict == PASSED


def points(cache: Cache, origin: tree.Origin, known: Sequence[Series], names: Sequence[str],
           each: bool) -> Iterator[Point]:
    """All kernels to test, the base first; applies the patches. Needs the cache's lock.

    names are those of series, and perhaps COMBINED for all of the named ones
    (or simply all) together; no name stands for everything.
    """
    single = [name for name in names if name != COMBINED]
    chosen = series.choose(known, single)
    yield Point(BASE, origin.name, BASE, origin.tree())
    for one in chosen if single or not names else ():
        yield from _stacked(cache, origin, [one], one.name, each=True)
    if COMBINED in names or not names:
        yield from _stacked(cache, origin, chosen, COMBINED, each=each)


def _stacked(cache: Cache, origin: tree.Origin, stack: Sequence[Series], name: str,
             each: bool) -> Iterator[Point]:
    """The kernels after each patch, or only after the last one, of a stack of series."""
    steps = iter(am.apply(cache, origin, [patch for one in stack for patch in one.patches]))
    applied: list[Path] = []
    args: dict[str, str] = {}
    passing: list[batched.Row] = []
    for one in stack:
        for patch, step in zip(one.patches, steps):
            count = series.number(patch)
            if step.seen:
                print(f"{name}: {one.name}/{patch.name} is what an earlier patch does: "
                      "left out", flush=True)
            else:
                applied.append(patch)
            last = patch == stack[-1].patches[-1]
            short = patch.name if each else f"all {len(applied)} patches"
            place = f"{name}/{len(applied):04}" if each else name
            if step.error and (each or last):
                yield Point(name, short, place, None, f"{patch.name}: {step.error}")
            elif (each and not step.seen) or (last and not each):
                yield Point(name, short, place, origin.tree_of(step.commit, len(applied)), "",
                            tuple(applied), args | one.expect.args(count),
                            tuple(passing + one.expect.passing(count)))
        args |= one.expect.args(one.last)
        passing += one.expect.passing(one.last)


@dataclass
class Stack:
    """One run of the command."""

    options: Options
    here: Place
    cases: expected.Cases
    rows: tuple[batched.Row, ...]   # all that any series names
    seed: int
    suite: str = field(default_factory=suite_digest)
    base: dict[str, Judgement] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)

    def visit(self, point: Point, arch: Arch, variant: Variant) -> Cell:
        """Build, boot and judge one kernel, or take the result that is there."""
        if suite_digest() != self.suite:
            raise Trouble("the suite was changed while it ran: start again")
        if point.tree is None:
            print(f"{point.error}\nFAIL ({NOT_APPLIED})", flush=True)
            return Cell(point.series, point.name, arch.name, NOT_APPLIED, (0, 1, 0), "")
        trial = self.trial(point, point.tree, arch, variant)
        kept = self.here.out / point.place / trial.name
        result = self.again(trial, kept) if self.options.resume else None
        if result is None:
            point.tree.check_out()
            result = trial.run(trial.build(self.here.cache, self.here.lock), kept)
        if result.verdict == PASSED:
            print(report.verdict_line(result, kept), flush=True)
        else:
            report.show(result, kept)
        if point.series == BASE:
            self.base[arch.name] = result
        return Cell(point.series, point.name, arch.name, result.verdict, result.counts(),
                    f"{point.place}/{trial.name}")

    def trial(self, point: Point, kernel: Tree, arch: Arch, variant: Variant) -> Trial:
        """What to build and boot, and what to hold it against."""
        demand = Demand(point.passing, self.rows, strict=True)
        glob = self.options.glob or variant.glob
        trial = Trial(kernel, arch, variant, expected.select(self.cases, glob), self.seed, glob,
                      self.options.patience, point.patches, point.args, demand)
        base = self.base.get(arch.name)
        return compared(trial, base) if base else trial

    def again(self, trial: Trial, kept: Path) -> Judgement | None:
        """The result of an earlier run of the same, judged anew, None if there is none."""
        if identity_of(kept) != trial.identity() or seed_of(kept) != trial.seed:
            return None
        print("judged before: the kept result is taken", flush=True)
        with results.new_folder(kept) as folder:
            shutil.copytree(kept, folder, dirs_exist_ok=True)
            trial.keep_measures(folder)
            result = judge.judge(folder)
            results.write(folder, result)
        return result


def run(options: Options) -> int:
    """Test everything asked for, print the table; returns the exit status."""
    kernels = [pick(arch, options.variant) for arch in options.arches]
    for _, variant in kernels:
        check_configured(variant)
    known = series.load(options.root)
    series.choose(known, [name for name in options.names if name != COMBINED])
    cases = expected.select(expected.scan(), options.glob)
    # Mistakes show now, not after a build.
    tree.look(options.kdir)
    expected.parse_skips(packages.read_lines(trial.SKIPS))
    start = time.monotonic()
    with place.opened(_out(options), packages.wanted([arch for arch, _ in kernels])) as here:
        origin = tree.open_origin(here.cache, options.kdir)
        for note in origin.notes:
            print(f"note: {note}")
        way = list(points(here.cache, origin, known, options.names, options.each))
        rows = tuple(row for one in known for _, row in one.expect.rows)
        stack = Stack(options, here, cases, rows, _seed(options, here.out, kernels))
        total = len(way) * len(kernels)
        for point in way:
            for arch, variant in kernels:
                print(f"\n[{len(stack.cells) + 1}/{total}] {point.series} {point.name} "
                      f"{arch.name}", flush=True)
                stack.cells.append(stack.visit(point, arch, variant))
                results.write_json(here.out / "series.json", [vars(cell) for cell in stack.cells])
    print("\n".join(["", *table(stack.cells), ""]))
    green = sum(cell.green for cell in stack.cells)
    print(f"{green} of {total} kernels green, {elapsed(time.monotonic() - start)}; {here.out}")
    return 0 if green == total else 1


def _out(options: Options) -> Path | None:
    """Where results go; to resume, by default where the last run of this kind left off."""
    if options.resume and options.out is None:
        return next((path.parent for path in sorted(Cache().results.glob(f"*/{BASE}"),
                                                    reverse=True)), None)
    return options.out


def _seed(options: Options, out: Path, kernels: Sequence[tuple[Arch, Variant]]) -> int:
    """One seed for all, so that results can be compared; to resume, the one before."""
    if options.seed is not None:
        return options.seed
    before = [seed_of(out / BASE / f"{arch.name}-{variant.name}") for arch, variant in kernels] \
        if options.resume else []
    return next((seed for seed in before if seed is not None), new_seed())


def table(cells: Sequence[Cell]) -> list[str]:
    """Patch by architecture: the verdict and the counts."""
    arches = list(dict.fromkeys(cell.arch for cell in cells))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for cell in cells:
        counts = "/".join(map(str, cell.counts))
        rows.setdefault((cell.series, cell.name), {})[cell.arch] = \
            f"{'pass' if cell.green else f'FAIL: {cell.verdict}'}  {counts}"
    head = ["series", "patch", *arches]
    lines = [head, *([*key, *(row.get(arch, "") for arch in arches)]
                     for key, row in rows.items())]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return ["  " + "  ".join(f"{text:{width}}" for text, width in zip(line, widths)).rstrip()
            for line in lines] + ["  (rows passed/failed/skipped)"]
