# SPDX-License-Identifier: GPL-2.0
"""make series-check: what the kernel's checkers and compilers say of every patch."""

import os
import platform
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner import build, packages, proc, series, sparse, tree, warnings
from runner.errors import Trouble
from runner.paths import GIB, Cache, need_space, remove
from runner.progress import Progress, elapsed
from runner.stack import BASE, COMBINED, Point, points
from runner.targets import TARGETS, Target
from runner.tree import Tree

NEED = 6 * GIB
TOUCHED = re.compile(r"^\+\+\+ b/(\S+)", re.M)
# One commit is all the history the base kernel has here. Review in mm asks for two
# tabs where an argument list goes on. And a pointer to a lock is not a lock.
IGNORED = "UNKNOWN_COMMIT_ID,PARENTHESIS_ALIGNMENT,UNCOMMENTED_DEFINITION"


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    names: Sequence[str] = ()
    kdir: str | None = None
    root: Path | None = None
    targets: Sequence[str] = ()     # names; all without any


@dataclass
class Row:
    """One patch, or all of them together: for each check what is new."""

    series: str
    name: str
    checks: dict[str, list[str]] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Has no check found anything?"""
        return not any(self.checks.values())

    def result(self) -> str:
        """In a few words."""
        bad = [f"{check} {len(found)}" for check, found in self.checks.items() if found]
        return ", ".join(bad) if bad else f"clean ({len(self.checks)} checks)"


def touched(patches: Sequence[Path]) -> list[str]:
    """The files that those patches change or make."""
    return list(dict.fromkeys(name for patch in patches
                              for name in TOUCHED.findall(patch.read_text(errors="replace"))))


@dataclass
class Checker:
    """One run of the command, holding the cache's lock."""

    cache: Cache
    lock: int
    targets: Sequence[Target]
    files: list[str]                    # that any patch touches
    base: dict[str, list[str]] = field(default_factory=dict)    # what the base complains of

    def check_base(self, kernel: Tree) -> None:
        """Compile the base for every target, and remember what it complains about."""
        kernel.check_out()
        with Progress("kernel-doc on the base"):
            self.base["kernel-doc"] = self.kernel_doc(kernel, self.files)
        for number, target in enumerate(self.targets, 1):
            with Progress(f"base [{number}/{len(self.targets)}] {target.name}") as progress:
                self.configure(kernel, target)
                # What is compiled already would not be looked at again.
                for goal in self.goals(kernel, target):
                    remove(self.folder(kernel, target) / goal)
                found = self.compile(kernel, target, progress)
                if not list((self.folder(kernel, target) / "mm").glob("*.o")):
                    raise Trouble(f"the base does not compile for {target.name}: "
                                  f"{(found or ['no reason given'])[0]}")
                self.base[target.name] = found
                progress.say(f"{len(found)} warnings")

    def check(self, point: Point, patches: Sequence[Path], last: bool) -> Row:
        """Check one kernel, which patches led to from the one before; last of its series?"""
        row = Row(point.series, point.name)
        row.checks["git am"] = [point.error] if point.error else []
        if point.tree is None:
            return row
        kernel = point.tree
        targets = [target for target in self.targets if last or not target.whole]
        with Progress(f"{point.series} {point.name}") as progress:
            kernel.check_out()
            if point.series != COMBINED:
                row.checks["checkpatch"] = [found for patch in patches
                                            for found in self.checkpatch(kernel, patch)]
            row.checks["kernel-doc"] = warnings.new(
                self.base["kernel-doc"], self.kernel_doc(kernel, touched(patches)))
            for target in targets:
                progress.tick(target.name)
                row.checks[target.name] = warnings.new(
                    self.base[target.name], self.compile(kernel, target, progress))
            progress.say(row.result())
        return row

    @staticmethod
    def checkpatch(kernel: Tree, patch: Path) -> list[str]:
        """checkpatch.pl --strict on a patch."""
        done = proc.capture(["perl", "scripts/checkpatch.pl", "--strict", "--terse",
                             "--no-summary", "--show-types", "--ignore", IGNORED, patch],
                            cwd=kernel.path)
        return warnings.complaints(done.stdout + done.stderr, done.returncode)

    @staticmethod
    def kernel_doc(kernel: Tree, files: Sequence[str]) -> list[str]:
        """kernel-doc on those of the files that are there and are C."""
        there = [name for name in files if name.endswith((".c", ".h"))
                 and (kernel.path / name).exists()]
        if not there:
            return []
        done = proc.capture(["scripts/kernel-doc", "-none", *there], cwd=kernel.path,
                            env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
        return warnings.complaints(done.stdout + done.stderr)

    @staticmethod
    def folder(kernel: Tree, target: Target) -> Path:
        """Where a target is compiled: right below the tree, for relative paths."""
        return kernel.path / f".check-{target.name}"

    def make(self, kernel: Tree, target: Target) -> list[str | Path]:
        """The make command for a target, without goals."""
        return ["make", f"O={self.folder(kernel, target)}", f"ARCH={target.arch}",
                f"CROSS_COMPILE={target.compiler(platform.machine())}",
                f"-j{os.cpu_count() or 2}"]

    def configure(self, kernel: Tree, target: Target) -> None:
        """Write .config; raises Trouble if the tree cannot have what makes the target."""
        folder = self.folder(kernel, target)
        folder.mkdir(exist_ok=True)
        wanted = folder / "wanted.config"
        wanted.write_text(target.config())
        log = self.cache.root / "check.log"
        log.unlink(missing_ok=True)
        command = [*self.make(kernel, target), f"KCONFIG_ALLCONFIG={wanted}", "allnoconfig"]
        if proc.run_logged(command, log, cwd=kernel.path, env=build.environment(self.cache),
                           keep_fds=(self.lock,)):
            raise Trouble(f"cannot configure for {target.name}: {build.first_errors(log)[0]} "
                          f"(see {log})")
        have = (folder / ".config").read_text().splitlines()
        for line in target.own():
            option = line.removeprefix("# ").partition("=")[0].partition(" ")[0]
            there = line in have if not line.startswith("#") else \
                not any(other.startswith(f"{option}=") for other in have)
            if not there:
                raise Trouble(f"{target.name} cannot be configured: no '{line}' in this tree")

    def goals(self, kernel: Tree, target: Target) -> list[str]:
        """What to compile: mm/, and the folders of what the patches touch elsewhere.

        A folder and not a file, for the configuration says which of them it has.
        """
        goals = []
        for name in self.files:
            outside = name.endswith(".c") and not name.startswith(("mm/", "tools/", "lib/test"))
            foreign = name.startswith("arch/") and not name.startswith(f"arch/{target.folder}/")
            if outside and not foreign and (kernel.path / name).exists():
                goals.append(f"{name.rpartition('/')[0]}/")
        return list(dict.fromkeys(["mm/", *goals]))

    def compile(self, kernel: Tree, target: Target, progress: Progress) -> list[str]:
        """Compile what is not up to date, with W=1 (and sparse); returns the complaints."""
        log = self.cache.root / "check.log"
        log.unlink(missing_ok=True)
        checker = ["C=1", sparse.CHECK] if target.sparse else []
        command = [*self.make(kernel, target), "-k", "W=1", *checker,
                   *self.goals(kernel, target)]
        status = proc.run_logged(command, log, cwd=kernel.path,
                                 env=build.environment(self.cache), keep_fds=(self.lock,),
                                 tick=lambda: progress.tick(target.name))
        text = "\n".join(packages.read_lines(log))
        sparse.must_have_run(text)
        return warnings.complaints(text, status)


def choose(names: Sequence[str]) -> list[Target]:
    """The targets of those names, all without any; raises Trouble."""
    known = {target.name: target for target in TARGETS}
    for name in names:
        if name not in known:
            raise Trouble(f"no target {name!r}: choose from {', '.join(known)}")
    return [target for target in TARGETS if not names or target.name in names]


def run(options: Options) -> int:
    """Check everything asked for, print what was found; returns the exit status."""
    targets = choose(options.targets)
    known = series.load(options.root)
    series.choose(known, [name for name in options.names if name != COMBINED])
    tree.look(options.kdir)
    cache = Cache()
    machine = platform.machine()
    packages.ensure([*packages.BUILD, *packages.CHECK,
                     *(need for target in targets for need in target.need(machine))], cache)
    start = time.monotonic()
    rows = []
    with cache.locked() as lock:
        origin = tree.open_origin(cache, options.kdir)
        need_space(cache.root, NEED)
        way = list(points(cache, origin, known, options.names, each=False))
        patches = list(dict.fromkeys(patch for point in way for patch in point.patches))
        checker = Checker(cache, lock, targets, touched(patches))
        assert way[0].series == BASE and way[0].tree
        checker.check_base(way[0].tree)
        for point, after in zip(way[1:], [*way[2:], None]):
            own = point.patches if point.series == COMBINED else point.patches[-1:]
            last = after is None or after.series != point.series
            rows.append(checker.check(point, own, last))
    print("\n".join(["", *table(rows), ""]))
    clean = sum(row.clean for row in rows)
    print(f"{clean} of {len(rows)} clean, {elapsed(time.monotonic() - start)}")
    return 0 if clean == len(rows) else 1


def table(rows: Sequence[Row]) -> list[str]:
    """One line a patch, then everything that was found."""
    widths = [max((len(text) for text in column), default=0)
              for column in ([row.series for row in rows], [row.name for row in rows])]
    lines = [f"  {row.series:{widths[0]}}  {row.name:{widths[1]}}  {row.result()}"
             for row in rows]
    for row in rows:
        for check, found in row.checks.items():
            if found:
                lines += ["", f"{row.series} {row.name}: {check}",
                          *(f"  {line}" for line in found)]
    return lines
