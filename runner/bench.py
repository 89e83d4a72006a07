# SPDX-License-Identifier: GPL-2.0
"""make bench: two kernels built and measured in one run, alternately, and compared.

Everything that was measured is kept, so that old results can be compared again.
"""

import json
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runner import am, bench_compare, bench_data, bench_html, bench_report, boot, build, \
    expected, packages, place, proc, report, results, series, tree
from runner.bench_data import Row
from runner.bench_report import Report
from runner.errors import Trouble
from runner.judge import PASSED
from runner.paths import REPO, Cache
from runner.place import Place
from runner.progress import elapsed
from runner.tree import Tree
from runner.trial import Trial
from runner.variants import Arch, Variant, pick

BASE, HEAD = "base", "head"
TARGETS = REPO / "configs" / "targets"
PLUGIN = REPO / "qemu" / "count.c"
COUNTS, ROWS = "counts.txt", "rows.json"
SUITE = re.compile(r"^BENCH_SUITE\((\w+),", re.M)

BENCH = Variant("bench", "what is measured", smp=2, memory=2048)
SEED = 1    # nothing in a benchmark is to differ from boot to boot


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    base: str = BASE
    head: str = ""
    kdir: str | None = None
    arches: Sequence[str] = ()
    glob: str = ""
    boots: int = 2
    out: Path | None = None
    patience: float = 1.0
    root: Path | None = None


@dataclass(frozen=True)
class Kernel:
    """One of the two kernels: what it is called and made of.

    series are those whose promises it has to keep.
    """

    side: str
    label: str
    patches: tuple[Path, ...] = ()
    series: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measuring(Trial):
    """A trial that measures: under an emulator, in instructions and with the plugin."""

    plugin: Path | None = None

    def command(self, what: boot.Machine, accel: str, image: Path, args: str,
                folder: Path) -> list[str]:
        """The QEMU command line of one boot."""
        command = super().command(what, accel, image, args, folder)
        if accel != "tcg":
            return command
        # A nanosecond an instruction, also for arm64's counter, and no random number.
        exact = {"max,pauth-impdef=on": "max,pauth-impdef=on,cntfrq=1000000000",
                 "virt": "virt,dtb-randomness=off"}
        command = [exact.get(word, word) for word in command]
        return [*command, "-icount", "shift=0,sleep=off", "-seed", str(SEED),
                "-plugin", f"{self.plugin},out={folder / COUNTS}"]


def scan(folder: Path = REPO / "kunit") -> expected.Cases:
    """Find the suites in folder's *_bench.c; raises Trouble if there are none."""
    suites = {name: {f"{name}_rows": True} for path in sorted(folder.glob("*_bench.c"))
              for name in SUITE.findall(path.read_text(errors="replace"))}
    if not suites:
        raise Trouble(f"no benchmark in {folder}: this checkout is not complete")
    return suites


def kernel_of(side: str, spec: str, root: Path | None = None) -> Kernel:
    """Understand BASE or HEAD: 'base', or series, patches and folders joined by commas.

    Nothing at all stands for every series of ours. Raises Trouble for what is
    none of these.
    """
    if spec == BASE:
        return Kernel(side, spec)
    if not spec:
        known = series.load(root)
        return Kernel(side, "all series", tuple(patch for one in known for patch in one.patches),
                      tuple(one.name for one in known))
    patches: list[Path] = []
    names: list[str] = []
    for word in spec.split(","):
        folder = (root or series.ROOT) / word
        # A folder is taken for what it is named, wherever it stands.
        path = folder if folder.is_dir() and "/" not in word else Path(word)
        if not path.exists():
            raise Trouble(f"{side.upper()}={word} is no series, patch or folder of patches: the "
                          f"series are {', '.join(one.name for one in series.load(root))} "
                          "(nothing stands for all of them)")
        patches += tree.expand([path])
        names.append(path.resolve().name)
    return Kernel(side, spec, tuple(patches), tuple(names))


def tree_of(cache: Cache, origin: tree.Origin, kernel: Kernel) -> Tree:
    """The kernel's tree, not checked out; raises Trouble if a patch does not apply.

    Mails go through git am, which leaves out what an earlier series did; a bare diff
    is taken as it is.
    """
    if not all(patch.read_bytes().startswith(b"From ") for patch in kernel.patches):
        return origin.tree(kernel.patches)
    steps = am.apply(cache, origin, kernel.patches)
    wrong = next((step for step in steps if step.error), None)
    if wrong:
        raise Trouble(f"{kernel.side}: {wrong.patch.name} does not apply ({wrong.error})")
    return origin.tree_of(steps[-1].commit, len(steps)) if steps else origin.tree()


def build_plugin(cache: Cache) -> Path:
    """Compile the plugin; raises Trouble with what the compiler said."""
    made = cache.root / "count.so"
    done = proc.capture(["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-o", made, PLUGIN])
    if done.returncode:
        raise Trouble(f"cannot build {PLUGIN}: {done.stderr.strip().splitlines()[:1]}")
    return made


@dataclass
class Bench:
    """One run of the command."""

    options: Options
    here: Place
    cases: expected.Cases
    kernels: tuple[Kernel, Kernel]
    plugin: Path
    trees: dict[str, Tree] = field(default_factory=dict)
    made: dict[tuple[str, str], tuple[Trial, build.Build]] = field(default_factory=dict)

    def build_all(self, arches: Sequence[Arch]) -> None:
        """Build both kernels for all architectures, and put what boots aside."""
        for kernel in self.kernels:
            made_of = self.trees[kernel.side]
            made_of.check_out()
            for arch in arches:
                trial = Measuring(made_of, arch, BENCH, self.cases, SEED, self.options.glob,
                                  self.options.patience * 4, kernel.patches,
                                  plugin=self.plugin)
                made = trial.build(self.here.cache, self.here.lock)
                if not made.ok:
                    lines = build.first_errors(made.log)
                    raise Trouble(f"{kernel.side} does not build for {arch.name}: "
                                  f"{lines[0] if lines else made.log}")
                self.made[kernel.side, arch.name] = (trial, self.aside(kernel, trial, made))

    def aside(self, kernel: Kernel, trial: Trial, made: build.Build) -> build.Build:
        """Copy what is needed to boot to a folder where the next build leaves it alone."""
        folder = self.here.cache.root / "bench" / f"{trial.name}-{kernel.side}"
        image = boot.machine(trial.tree.path, trial.arch).kernel
        for name in (image, ".config"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made.folder / name, folder / name)
        log = folder / "build.log"
        shutil.copyfile(made.log, log)
        return replace(made, folder=folder, log=log)

    def measure(self, kernel: Kernel, arch: Arch, number: int) -> list[str]:
        """Boot once, keep everything; returns what went wrong."""
        trial, made = self.made[kernel.side, arch.name]
        image = made.folder / boot.machine(trial.tree.path, arch).kernel
        accel, _ = boot.accelerator(arch, trial.tree.path, image)
        trial = replace(trial, args={"ptebatch.clock": "icount" if accel == "tcg" else "ns"})
        kept = self.here.out / kernel.side / arch.name / f"boot-{number}"
        print(f"\n{kernel.side} ({kernel.label}), boot {number} of {self.options.boots}",
              flush=True)
        result = trial.run(made, kept)
        wrong = []
        if result.verdict != PASSED:
            report.show(result, kept)
            wrong.append(f"{kernel.side}, boot {number}: {result.verdict}, see {kept}")
        try:
            rows = bench_data.read(packages.read_lines(kept / "ktap.txt"),
                                   packages.read_lines(kept / COUNTS))
        except ValueError as error:
            return wrong + [f"{kernel.side}, boot {number}: {error}"]
        results.write_json(kept / ROWS, bench_data.to_json(rows))
        return wrong

    def facts(self, arch: Arch) -> list[str]:
        """What a reader has to know about the figures."""
        trial, made = self.made[BASE, arch.name]
        run = json.loads((self.here.out / BASE / arch.name / "boot-1" / "run.json").read_text())
        return [f"Linux {run['kernel']['version']}, {made.compiler}",
                f"{run['accel']}, {BENCH.smp} CPUs, {BENCH.memory} MiB; "
                f"{run['qemu'].replace('emulator version ', '')}",
                f"configuration: .kunitconfig and configs/{BENCH.name}.config; "
                f"{self.options.boots} boots of each kernel"]


def run(options: Options) -> int:
    """Build, measure, compare, report; returns the exit status."""
    arches = [replace_variant(name) for name in options.arches]
    kernels = (kernel_of(BASE, options.base, options.root),
               kernel_of(HEAD, options.head, options.root))
    cases = expected.select(scan(), options.glob)
    # Mistakes show now, not after a build.
    tree.look(options.kdir)
    targets(())
    start = time.monotonic()
    with place.opened(options.out, packages.wanted(arches)) as here:
        origin = tree.open_origin(here.cache, options.kdir)
        bench = Bench(options, here, cases, kernels, build_plugin(here.cache))
        bench.trees = {kernel.side: tree_of(here.cache, origin, kernel) for kernel in kernels}
        bench.build_all(arches)
        reports = []
        for arch in arches:
            problems: list[str] = []
            for number in range(1, options.boots + 1):
                for kernel in kernels:
                    problems += bench.measure(kernel, arch, number)
            results.write_json(here.out / f"{arch.name}.json", {
                "arch": arch.name, "base": kernels[0].label, "head": kernels[1].label,
                "series": kernels[1].series, "filter": options.glob,
                "facts": bench.facts(arch), "problems": problems})
            reports.append(load(here.out / BASE, here.out / HEAD, here.out, arch.name))
    return finish(reports, here.out, elapsed(time.monotonic() - start))


def replace_variant(name: str) -> Arch:
    """The architecture of that name; raises Trouble with the names there are."""
    return pick(name, "plain")[0]


def targets(names: Iterable[str]) -> list[bench_compare.Target]:
    """What those series promise; raises Trouble for a line that cannot be understood."""
    wanted = set(names)
    return [target for target in bench_compare.parse_targets(packages.read_lines(TARGETS))
            if target.series in wanted]


def boots_of(folder: Path) -> list[list[Row]]:
    """What the boots below folder measured; raises Trouble if that is nothing."""
    found = []
    for kept in sorted(folder.glob(f"boot-*/{ROWS}")):
        try:
            found.append(bench_data.from_json(json.loads(kept.read_text())))
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise Trouble(f"{kept} is damaged, or from another version of ptebatch "
                          f"({type(error).__name__}: {error}): make bench again") from error
    if not found:
        raise Trouble(f"no {ROWS} of any boot below {folder}: name a result of make bench")
    return found


def load(base: Path, head: Path, info: Path | None, arch: str) -> Report:
    """Compare two kept sides of one architecture."""
    about: dict[str, Any] = {"base": str(base), "head": str(head), "series": [], "facts": [],
                             "problems": []}
    if info:
        about |= json.loads((info / f"{arch}.json").read_text())
    lines = bench_compare.compare(boots_of(base / arch), boots_of(head / arch))
    wanted = targets(about["series"])
    if about.get("filter"):
        # What was not asked for is not missed.
        measured = {line.op for line in lines}
        wanted = [one for one in wanted if one.key.partition("/")[0] in measured]
    found = bench_compare.check_targets(wanted, about["series"], arch, lines)
    clock = lines[0].clock if lines else ""
    return Report(arch, about["base"], about["head"], clock, lines, about["facts"], found,
                  about["problems"])


def finish(reports: Sequence[Report], out: Path, took: str) -> int:
    """Write all forms of the report, print the text; returns the exit status."""
    texts = [line for one in reports for line in [*bench_report.text(one), ""]]
    (out / "bench.txt").write_text("\n".join(texts))
    (out / "bench.md").write_text("\n".join(
        line for one in reports for line in [*bench_report.markdown(one), ""]))
    (out / "bench.csv").write_text(bench_report.rows_csv(reports))
    (out / "bench.html").write_text(bench_html.page(reports))
    print("\n".join(["", *texts]))
    print(f"{took}; {out}/bench.html and .txt, .md, .csv", flush=True)
    return 1 if any(one.red for one in reports) else 0


def compare_again(base: Path, head: Path) -> int:
    """Compare what two earlier runs measured; DIR is a run, or a side of one."""
    sides = []
    for folder, side in ((base, HEAD), (head, HEAD)):
        sides.append(folder / side if (folder / side).is_dir() else folder)
    arches = [path.name for path in sorted(sides[0].iterdir()) if (sides[1] / path.name).is_dir()] \
        if sides[0].is_dir() and sides[1].is_dir() else []
    if not arches:
        raise Trouble(f"{base} and {head} have measured no architecture in common: "
                      "name two results of make bench")
    reports = [load(sides[0], sides[1], None, arch) for arch in arches]
    for one in reports:
        print("\n".join(bench_report.text(one)))
    return 1 if any(one.red for one in reports) else 0
