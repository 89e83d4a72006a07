# SPDX-License-Identifier: GPL-2.0
"""What people read: per suite a line, what failed with all it said, a verdict."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from runner import compare, parts
from runner.judge import FAILED, PASSED, SPLAT, Judgement, Problem
from runner.ktap import FAIL, PASS, SKIP
from runner.progress import elapsed

SHOWN = 20       # problems shown in full; the rest is in the files
SPLAT_LINES = 30
NUMBER = re.compile(r"\b(0x)?[0-9a-f]{5,}\b")


def counts_line(passed: int, failed: int, skipped: int) -> str:
    """The line every test command ends with."""
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def show(result: Judgement, folder: Path, out: TextIO | None = None) -> None:
    """Print the outcome of one boot, kept in folder."""
    out = out or sys.stdout
    for line in [*heading(result), *suite_lines(result), *difference_lines(result),
                 *problem_lines(result), *(f"  note: {note}" for note in result.notes),
                 verdict_line(result, folder)]:
        print(line, file=out)
    out.flush()


def heading(result: Judgement) -> list[str]:
    """What was booted: one line."""
    facts = result.facts
    words = [f"Linux {facts['kernel']['version']}"
             + (", patched" if facts["kernel"].get("patches") else "")]
    if facts["build_ok"]:
        words += [facts["accel"], f"{facts['smp']} CPU{'s' if facts['smp'] > 1 else ''}",
                  f"seed {facts['seed']}", elapsed(parts.seconds(facts))]
    return [f"== {facts['arch']} {facts['variant']}: {', '.join(words)}"]


def suite_lines(result: Judgement) -> list[str]:
    """One line a suite; with a base, what that gave stands before what this one gave."""
    names = list(dict.fromkeys(leaf.suite for leaf in result.leaves))
    if result.base and names:
        names = list(dict.fromkeys([*(entry.suite for entry in result.base.entries), *names]))
    rows = []
    for name in names:
        leaves = [leaf for leaf in result.leaves if leaf.suite == name]
        judged = [leaf.judged for leaf in leaves]
        cases = len({leaf.case for leaf in leaves})
        seconds = result.suites.get(name)
        rows.append([name, f"{cases:3} case{'s' if cases != 1 else ' '}",
                     *([_counts(result.base.counts(name))] if result.base else []),
                     _counts({status: judged.count(status) for status in set(judged)}),
                     f"{seconds:.2f} s" if seconds is not None else ""])
    if result.base and rows:
        rows.insert(0, ["", "", "base", "patched", ""])
    # The figures at the end need no padding, except to stand below each other.
    fixed = 4 if result.base else 2
    widths = [max(len(row[column]) for row in rows) if column < fixed else 0
              for column in range(len(rows[0]))] if rows else []
    return ["  " + "  ".join(f"{text:{width}}" for text, width in zip(row, widths)).rstrip()
            for row in rows]


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[status]} {word}" for status, word in
                     ((PASS, "passed"), (FAIL, "FAILED"), (SKIP, "skipped"))
                     if counts.get(status)) or "nothing"


def difference_lines(result: Judgement) -> list[str]:
    """The cases and rows that did not give the same on the base."""
    if result.base is None or not result.leaves:
        return []
    found = compare.differences(result.base, result.leaves)
    both = [one for one in found if compare.ABSENT not in (one.base, one.patched)]
    lines = [f"  {one.name}: {one.base} on the base, {one.patched} here" for one in both[:SHOWN]]
    if len(both) > SHOWN:
        lines.append(f"  ... and {len(both) - SHOWN} more, in result.json")
    if len(found) > len(both):
        lines.append(f"  {len(found) - len(both)} gave a result on one of the kernels only")
    return lines or ["  no case or row differs from the base"]


def problem_lines(result: Judgement) -> list[str]:
    """Everything that is wrong, what the kernel printed about it verbatim."""
    lines: list[str] = []
    alike: set[str] = set()
    for problem in result.problems[:SHOWN]:
        lines += ["", *_problem(problem, alike)]
    rest = len(result.problems) - SHOWN
    if rest > 0:
        lines += ["", f"  ... and {rest} more, in result.json"]
    return lines + [""] if lines else []


def _problem(problem: Problem, alike: set[str]) -> list[str]:
    """One problem; splats that differ in numbers only are shown in full once."""
    what = "" if problem.kind == FAILED and problem.text == "not ok" else f": {problem.text}"
    where = f" {problem.where}" if problem.where else ""
    shown = problem.lines
    if problem.kind == SPLAT:
        title = NUMBER.sub("", problem.text)
        if title in alike:
            shown = []
            what += " (like the one above)"
        elif len(shown) > SPLAT_LINES:
            shown = shown[:SPLAT_LINES] + [f"... {len(shown) - SPLAT_LINES} more lines"]
        alike.add(title)
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
