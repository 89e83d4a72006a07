# SPDX-License-Identifier: GPL-2.0
"""make selftests: the kernel's own mm selftests on the base and with all series."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import am, boot, build, console, packages, place, programs, results, series, \
    tree, userland
from runner.errors import Trouble
from runner.paths import Cache
from runner.place import Place
from runner.programs import Difference, Outcome
from runner.progress import Progress, elapsed
from runner.tree import Origin, Tree
from runner.variants import Arch, Variant, pick

GUEST = Variant("selftests", "for make selftests", smp=2, memory=2048)
ARGS = ("kunit.enable=0", "panic=-1", "printk.time=1", "loglevel=5")
TOTAL = 3600.0
SHOWN = 40


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    kdir: str | None = None
    patches: Sequence[Path] = ()    # instead of all series
    arches: Sequence[str] = ()
    out: Path | None = None
    patience: float = 1.0


@dataclass(frozen=True)
class Report:
    """What came out on one architecture."""

    arch: str
    base: Outcome
    patched: Outcome
    unstable: list[Difference]
    different: list[Difference]

    @property
    def problems(self) -> list[str]:
        """What makes it red."""
        found = [f"{one.program or 'boot'}: {one.what}: {one.before} on the base, {one.after} here"
                 for one in self.different]
        if not self.base.done:
            found.append("the base kernel did not get through all programs")
        if not self.patched.done:
            found.append("the patched kernel did not get through all programs")
        return found


def run(options: Options) -> int:
    """Build, boot and compare; returns the exit status."""
    arches = [pick(name, "plain")[0] for name in options.arches]
    files = tree.look(options.kdir, options.patches)
    build.check_configured(GUEST)
    start = time.monotonic()
    reports = []
    with place.opened(options.out, [*packages.wanted(arches),
                                    *userland.packages(arches)]) as here:
        origin = tree.open_origin(here.cache, options.kdir)
        patched = _patched(here.cache, origin, files)
        for arch in arches:
            reports.append(_one(here, origin.tree(), patched, arch, options.patience))
            print("\n".join(lines(reports[-1])), flush=True)
    print(f"{len([report for report in reports if not report.problems])} of {len(reports)} "
          f"architectures as on the base, {elapsed(time.monotonic() - start)}; {here.out}")
    return 1 if any(report.problems for report in reports) else 0


def _patched(cache: Cache, origin: Origin, patches: Sequence[Path]) -> Tree:
    """The tree with the given patches, or else with all series in order."""
    if patches:
        return origin.tree(patches)
    steps = am.apply(cache, origin, [patch for one in series.load() for patch in one.patches])
    wrong = next((step for step in steps if step.error), None)
    if wrong:
        raise Trouble(f"{wrong.patch.name} does not apply: {wrong.error}; see make series")
    return origin.tree_of(steps[-1].commit, sum(not step.seen for step in steps))


def _one(here: Place, base: Tree, patched: Tree, arch: Arch, patience: float) -> Report:
    """Both kernels of one architecture."""
    cache, lock, out = here.cache, here.lock, here.out / arch.name
    out.mkdir(exist_ok=True)
    base.check_out()
    image = _kernel(cache, base, arch, out / "kernel-base", lock)
    programs_of = base.build_dir(arch.name, GUEST.name)
    archive = userland.initramfs(cache, base, arch, programs_of, lock)
    outcomes = [_boot(base, arch, image, archive, out / f"{name}.log", patience)
                for name in ("base-1", "base-2")]
    patched.check_out()
    image = _kernel(cache, patched, arch, out / "kernel-patched", lock)
    outcomes.append(_boot(patched, arch, image, archive, out / "patched.log", patience))
    unstable, different = programs.verdict(*outcomes)
    report = Report(arch.name, outcomes[0], outcomes[2], unstable, different)
    results.write_json(out / "selftests.json", {
        "base": base.origin, "patched": patched.origin, "problems": report.problems,
        "unstable": [vars(one) for one in unstable], "different": [vars(one) for one in different],
        "counts": [outcome.count() for outcome in outcomes]})
    return report


def _kernel(cache: Cache, kernel: Tree, arch: Arch, image: Path, lock: int) -> Path:
    """Build the checked out kernel and put a copy of its image away."""
    log = image.with_suffix(".build.log")
    log.unlink(missing_ok=True)
    print(f"{arch.name}: {kernel.origin}", flush=True)
    made = build.build(cache, kernel, arch, GUEST, log, lock)
    if not made.ok:
        raise Trouble(f"{kernel.origin} does not build for {arch.name}: "
                      f"{build.first_errors(log)[0]} (see {log})")
    shutil.copyfile(made.folder / boot.machine(kernel.path, arch).kernel, image)
    return image


def _boot(kernel: Tree, arch: Arch, image: Path, archive: Path, log: Path,
          patience: float) -> Outcome:
    """Run all programs on that kernel."""
    what = boot.machine(kernel.path, arch)
    accel, _ = boot.accelerator(arch, kernel.path, image)
    command = boot.qemu_command(what, arch, GUEST, accel, image, " ".join([what.args, *arch.args, *ARGS]))
    command += ["-initrd", str(archive)]
    limits = boot.Limits(TOTAL * patience, (userland.SECONDS_EACH + 60.0) * patience)
    with Progress(f"{arch.name}: {log.stem}, {accel.upper()}") as progress:
        count, rest = 0, b""

        def tick(data: bytes) -> None:
            nonlocal count, rest
            whole, _, rest = (rest + data).rpartition(b"\n")
            count += whole.count(b"@end ")
            progress.tick(f"{count} programs")

        ended = boot.run(command, log, limits, tick)
        progress.say(f"{count} programs, {ended.end}")
    text = log.read_bytes().decode(errors="backslashreplace")
    return programs.read(console.parse(text))


def lines(report: Report) -> list[str]:
    """One architecture as text."""
    found = [f"== {report.arch}: {len(report.base.programs)} programs"]
    for name, outcome in (("base", report.base), ("patched", report.patched)):
        counts = ", ".join(f"{number} {status}" for status, number in outcome.count().items())
        found.append(f"  {name:8} {counts}")
    found += [f"  not stable on the base: {one.program}: {one.what}: {one.before}, then {one.after}"
              for one in report.unstable[:SHOWN]]
    if len(report.unstable) > SHOWN:
        found.append(f"  ... and {len(report.unstable) - SHOWN} more that are not stable")
    problems = report.problems
    found += [f"  DIFFERS: {problem}" for problem in problems[:SHOWN]]
    if len(problems) > SHOWN:
        found.append(f"  ... and {len(problems) - SHOWN} more, in selftests.json")
    return [*found, f"  {'FAIL' if problems else 'PASS'}: {len(problems)} differ, "
                    f"{len(report.unstable)} not stable on the base"]
