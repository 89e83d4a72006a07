# SPDX-License-Identifier: GPL-2.0
"""What people read: per suite a line, what failed with all it said, a verdict."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from runner.judge import FAILED, PASSED, SPLAT, Judgement, Problem
from runner.ktap import FAIL, PASS, SKIP
from runner.progress import elapsed

SHOWN = 20       # problems shown in full; the rest is in the files
SPLAT_LINES = 30


def counts_line(passed: int, failed: int, skipped: int) -> str:
    """The line every test command ends with."""
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def show(result: Judgement, folder: Path, out: TextIO | None = None) -> None:
    """Print the outcome of one boot, kept in folder."""
    out = out or sys.stdout
    for line in [*heading(result), *suite_lines(result), *problem_lines(result),
                 *(f"  note: {note}" for note in result.notes), verdict_line(result, folder)]:
        print(line, file=out)
    out.flush()


def heading(result: Judgement) -> list[str]:
    """What was booted: one line."""
    facts = result.facts
    parts = [f"Linux {facts['kernel']['version']}"]
    if facts["build_ok"]:
        parts += [facts["accel"], f"{facts['smp']} CPU{'s' if facts['smp'] > 1 else ''}",
                  f"seed {facts['seed']}", elapsed(facts["boot"]["seconds"])]
    return [f"== {facts['arch']} {facts['variant']}: {', '.join(parts)}"]


def suite_lines(result: Judgement) -> list[str]:
    """One line a suite."""
    names = list(dict.fromkeys(leaf.suite for leaf in result.leaves))
    width = max((len(name) for name in names), default=0)
    lines = []
    for name in names:
        leaves = [leaf for leaf in result.leaves if leaf.suite == name]
        judged = [leaf.judged for leaf in leaves]
        cases = len({leaf.case for leaf in leaves})
        parts = [f"{judged.count(status)} {word}" for status, word in
                 ((PASS, "passed"), (FAIL, "FAILED"), (SKIP, "skipped"))
                 if judged.count(status)]
        seconds = result.suites.get(name)
        lines.append(f"  {name:{width}}  {cases:3} case{'s' if cases != 1 else ' '}  "
                     f"{', '.join(parts)}{f'  {seconds:.2f} s' if seconds is not None else ''}")
    return lines


def problem_lines(result: Judgement) -> list[str]:
    """Everything that is wrong, what the kernel printed about it verbatim."""
    lines: list[str] = []
    for problem in result.problems[:SHOWN]:
        lines += ["", *_problem(problem)]
    rest = len(result.problems) - SHOWN
    if rest > 0:
        lines += ["", f"  ... and {rest} more, in result.json"]
    return lines + [""] if lines else []


def _problem(problem: Problem) -> list[str]:
    what = "" if problem.kind == FAILED and problem.text == "not ok" else f": {problem.text}"
    where = f" {problem.where}" if problem.where else ""
    shown = problem.lines
    if problem.kind == SPLAT and len(shown) > SPLAT_LINES:
        shown = shown[:SPLAT_LINES] + [f"... {len(shown) - SPLAT_LINES} more lines"]
    return [f"  {problem.kind.upper()}{where}{what}", *(f"    | {line}" for line in shown)]


def verdict_line(result: Judgement, folder: Path) -> str:
    """The boot's verdict, its counts, and where everything is."""
    word = "PASS" if result.verdict == PASSED else f"FAIL ({result.verdict})"
    return f"{word}: {counts_line(*result.counts())}; {folder}"


def summary(results: Sequence[tuple[str, Judgement]]) -> list[str]:
    """One line a boot, for runs with more than one."""
    width = max(len(name) for name, _ in results)
    return [f"  {name:{width}}  {result.verdict:16}  {counts_line(*result.counts())}"
            for name, result in results]
