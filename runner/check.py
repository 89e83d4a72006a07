# SPDX-License-Identifier: GPL-2.0
"""make check: what the kernel's own checkers say about kunit/ and lib/."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import build, packages, proc, sparse, tree
from runner.errors import Trouble
from runner.paths import REPO, Cache, remove
from runner.progress import Progress
from runner.tree import HOOK, Tree
from runner.variants import ARCHES, VARIANTS, Arch, Variant

# A build folder of its own: W=1 changes every command, so in the folder the
# tests use it would have everything of ours compiled again.
CHECK = Variant("check", "for make check")
OURS = re.compile(rf"(?:^|[\s/.]){re.escape(HOOK)}/|{re.escape(str(REPO))}/(?:lib|kunit)/")
COMPLAINT = re.compile(r"\b(warning|error|WARNING|ERROR)\b|\bCHECK:")


@dataclass(frozen=True)
class Row:
    """One tool's answer: what it looked at, and the lines it complained with."""

    tool: str
    scope: str
    findings: tuple[str, ...]


def sources(*patterns: str) -> list[str]:
    """Our files that match, as paths below a kernel tree."""
    return sorted(f"{HOOK}/{path.relative_to(REPO)}" for pattern in patterns
                  for path in REPO.glob(pattern))


def main(kdir: str | None, patches: Sequence[Path]) -> int:
    """Run every checker, print a table and all findings; returns the exit status."""
    tree.look(kdir, patches)
    cache = Cache()
    arches = list(ARCHES.values())
    packages.ensure(packages.wanted(arches, check=True), cache)
    with cache.locked() as lock:
        under_test = tree.prepare(cache, kdir, patches)
        rows = [checkpatch(under_test), kernel_doc(under_test)]
        for arch in arches:
            rows += compiled(cache, under_test, arch, lock)
    print("\n".join(table(rows)), flush=True)
    return 1 if any(row.findings for row in rows) else 0


def table(rows: Sequence[Row]) -> list[str]:
    """The answers as text, findings last."""
    lines = [f"  {'tool':18} {'on':24} result"]
    lines += [f"  {row.tool:18} {row.scope:24} "
              f"{f'{len(row.findings)} finding(s)' if row.findings else 'clean'}" for row in rows]
    for row in rows:
        if row.findings:
            lines += ["", f"{row.tool}:", *(f"  {finding}" for finding in row.findings)]
    return lines


def findings(text: str, status: int, only_ours: bool) -> tuple[str, ...]:
    """The lines of a checker's output that count.

    A checker that fails without a word about our files has found something too.
    """
    lines = [line.strip() for line in text.splitlines() if COMPLAINT.search(line)]
    ours = [line for line in lines if not only_ours or OURS.search(line)]
    if status and not ours:
        ours = lines[:5] or [line for line in text.splitlines() if line][-5:] or \
            [f"failed with status {status}"]
    return tuple(dict.fromkeys(ours))


def checkpatch(under_test: Tree) -> Row:
    """checkpatch.pl --strict on every file."""
    files = sources("kunit/*.[ch]", "lib/*.[ch]")
    command = ["perl", "scripts/checkpatch.pl", "--strict", "--terse", "--no-summary",
               "--show-types", "-f", *files]
    done = proc.capture(command, cwd=under_test.path)
    return Row("checkpatch", f"{len(files)} files",
               findings(done.stdout + done.stderr, done.returncode, only_ours=False))


def kernel_doc(under_test: Tree) -> Row:
    """kernel-doc on the headers."""
    files = sources("lib/*.h")
    done = proc.capture(["scripts/kernel-doc", "-none", *files], cwd=under_test.path,
                        env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    return Row("kernel-doc", f"{len(files)} headers",
               findings(done.stdout + done.stderr, done.returncode, only_ours=False))


def compiled(cache: Cache, under_test: Tree, arch: Arch, lock: int) -> list[Row]:
    """A W=1 build and a sparse run over our directory, for one architecture."""
    packages.compiler_version(arch)
    folder = under_test.build_dir(arch.name, CHECK.name)
    env = build.environment(cache)
    command = build.arguments(under_test, arch, VARIANTS["plain"], os.cpu_count() or 2)
    command[command.index("build")] = "config"
    command = [f"--build_dir={folder}" if part.startswith("--build_dir=") else part
               for part in command if not part.startswith("--jobs=")]
    command.append("--kconfig_add=CONFIG_PTEBATCH_BENCH=y")     # all files there are
    rows = []
    with Progress(f"checking for {arch.name}") as progress:
        log = cache.root / "check.log"
        log.unlink(missing_ok=True)
        if proc.run_logged(command, log, cwd=under_test.path, env=env, keep_fds=(lock,),
                           tick=progress.tick):
            raise Trouble(f"cannot configure for {arch.name}: "
                          f"{build.first_errors(log)[0]} (see {log})")
        # What is compiled already would not be looked at again.
        remove(folder / HOOK)
        for tool, option in (("W=1", "W=1"), ("sparse", "C=2")):
            log.unlink(missing_ok=True)
            make = ["make", f"O={folder}", f"ARCH={arch.name}", f"CROSS_COMPILE={arch.prefix}",
                    f"-j{os.cpu_count() or 2}", "-k", option, sparse.CHECK, f"{HOOK}/"]
            status = proc.run_logged(make, log, cwd=under_test.path, env=env,
                                     keep_fds=(lock,), tick=progress.tick)
            text = "\n".join(packages.read_lines(log))
            sparse.must_have_run(text)
            rows.append(Row(f"{tool} {arch.name}", f"{HOOK}/",
                            findings(sparse.without_mistakes(text), status, True)))
    return rows
