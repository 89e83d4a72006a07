# SPDX-License-Identifier: GPL-2.0
"""A whole run: packages, tree, builds, boots, judgements, report."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from runner import expected, judge, packages, place, report, results, series, tree, trial, unit
from runner.baseline import baseline, compared
from runner.build import check_configured
from runner.errors import Trouble
from runner.judge import Judgement
from runner.paths import Cache
from runner.place import Place
from runner.progress import Progress
from runner.tree import Tree
from runner.trial import Trial
from runner.variants import Arch, Variant, pick


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
    compare: bool = False   # show the base beside a patched kernel


@dataclass
class Session:
    """One run of the command."""

    options: Options
    here: Place
    tree: Tree
    base: Tree | None       # to compare with
    cases: expected.Cases
    done: list[tuple[str, Judgement]] = field(default_factory=list)

    def one(self, arch: Arch, variant: Variant) -> Iterator[Judgement]:
        """Build one kernel and boot it as often as asked."""
        trial = self.trial(arch, variant)
        self.tree.check_out()
        made = trial.build(self.here.cache, self.here.lock)
        boots = self.options.boots if made.ok else 1
        for number in range(1, boots + 1):
            name = f"{trial.name}/boot-{number:02}" if boots > 1 else trial.name
            if number == 1 and boots > 1:
                results.discard(self.here.out / trial.name)
            if number > 1 and self.options.seed is None:
                trial = replace(trial, seed=new_seed())
            result = trial.run(made, self.here.out / name)
            self.done.append((name, result))
            report.show(result, self.here.out / name)
            yield result

    def trial(self, arch: Arch, variant: Variant) -> Trial:
        """What to build and boot, with the base's result if there is a base."""
        options = self.options
        glob = options.glob or variant.glob
        plain = Trial(self.tree, arch, variant, expected.select(self.cases, glob), glob=glob,
                      seed=new_seed() if options.seed is None else options.seed,
                      patience=options.patience)
        args, demand = series.declared(options.patches)
        patched = replace(plain, patches=tuple(options.patches), args=args, demand=demand)
        if self.base is None:
            return patched
        print("the base kernel, to compare with", flush=True)
        result, folder = baseline(replace(plain, tree=self.base), self.here.cache,
                                  self.here.lock, options.seed)
        print(f"base: {report.verdict_line(result, folder)}\nthe patched kernel", flush=True)
        return compared(patched, result)


def new_seed() -> int:
    """A seed that is not 0."""
    return random.SystemRandom().randrange(1, 1 << 31)


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
    return status or (1 if total[1] else 0)


def _run(options: Options, wanted: Sequence[tuple[str, str]],
         units: bool) -> Iterator[tuple[int, int, int]]:
    """The run itself; yields counts as it gets them."""
    kernels = [pick(arch, variant) for arch, variant in wanted]
    for _, variant in kernels:
        check_configured(variant)
    cases = expected.select(expected.scan(), options.glob)
    # Mistakes show now, not after a build.
    expected.parse_skips(packages.read_lines(trial.SKIPS))
    if options.out:
        for arch, variant in kernels:
            results.check_replaceable(options.out.absolute() / f"{arch.name}-{variant.name}")
    patches = tree.look(options.kdir, options.patches)
    need = packages.wanted(list(dict.fromkeys(arch for arch, _ in kernels)))
    with place.opened(options.out, need) as here:
        origin = tree.open_origin(here.cache, options.kdir)
        under_test = origin.tree(patches)
        for note in under_test.notes:
            print(f"note: {note}")
        base = origin.tree() if options.compare and options.patches else None
        under_test.check_out()
        tree.check_new_enough(under_test, options.kdir)
        if units:
            with Progress("unit tests") as progress:
                outcome = unit.run(under_test.path)
                progress.say(report.counts_line(*outcome))
            yield outcome
        session = Session(options, here, under_test, base, cases)
        for arch, variant in kernels:
            for result in session.one(arch, variant):
                yield result.counts()
    if len(session.done) > 1:
        print("\n".join(report.summary(session.done)))


def judge_again(folder: Path) -> int:
    """Judge every result at or below folder again, from what was kept."""
    if not any(judge.results_below(folder)):
        judge.judge(folder)  # says what is wrong with it
    total, red = [0, 0, 0], False
    for kept in judge.results_below(folder):
        try:
            result = judge.judge(kept)
            results.write(kept, result)
            report.show(result, kept)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise Trouble(f"{kept} is damaged, or from another version of ptebatch "
                          f"({type(error).__name__}: {error}): make run again") from error
        total = [sum(pair) for pair in zip(total, result.counts())]
        red = red or result.verdict != judge.PASSED
    print(report.counts_line(*total))
    return 1 if red else 0


def kernel(kdir: str | None, patches: Sequence[Path], name: str) -> int:
    """Prepare a tree for the stock tool and print the command, as it must be typed."""
    tree.look(kdir, patches)
    cache = Cache()
    arch, _ = pick(name, "plain")
    packages.ensure(packages.wanted([arch]), cache)
    with cache.locked():
        made = tree.prepare(cache, kdir, patches)
    for note in made.notes:
        print(f"note: {note}")
    print(tree.stock_command(made, arch))
    return 0


