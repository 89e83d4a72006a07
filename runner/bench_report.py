# SPDX-License-Identifier: GPL-2.0
"""A comparison for people: text for a cover letter, Markdown, CSV."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.bench_compare import FASTER, MISSING, SLOWER, Line, Side, Target, fit, largest, noise
from runner.bench_data import INSTRUCTIONS

WIDTH = 80

# What people know the operations as.
TITLES = {
    "get": "get_user_pages(FOLL_WRITE)", "pin": "pin_user_pages(FOLL_WRITE)",
    "pin-longterm": "pin_user_pages(FOLL_WRITE | FOLL_LONGTERM)",
    "get-fast": "get_user_pages_fast(FOLL_WRITE)", "pin-fast": "pin_user_pages_fast(FOLL_WRITE)",
    "unpin": "unpin_user_pages()", "unpin-dirty": "unpin_user_pages_dirty_lock()",
    "populate": "MADV_POPULATE_WRITE of present pages",
    "reuse": "stores after a fork whose child is gone, ascending",
    "reuse-random": "the same in random order", "reuse-read": "the same after reading every page",
    "reuse-each-64k": "the same, one store per 64 kB",
    "reuse-each-2M": "the same, one store per 2 MB",
    "cow-copy": "stores after a fork whose child lives", "unshare": "unsharing faults",
    "fork": "dup_mmap()", "exit-child": "exit of the child of a fork", "unmap": "munmap()",
    "mincore": "mincore()", "mremap": "mremap() within page tables",
    "mremap-across": "mremap() across page tables, 64 kB off",
    "mremap-odd": "mremap() across page tables, 4 kB off",
    "mremap-tables": "mremap() of whole page tables",
    "mprotect-toggle": "mprotect() to read-only and back",
    "fill-4k": "MADV_POPULATE_WRITE of new 4 kB pages",
    "fill-64k": "MADV_POPULATE_WRITE of new 64 kB folios",
    "fill-2M": "MADV_POPULATE_WRITE of new 2 MB folios",
}


@dataclass
class Report:
    """One architecture's comparison and what it is of."""

    arch: str
    base: str
    head: str
    clock: str
    lines: list[Line]
    facts: list[str] = field(default_factory=list)
    targets: list[tuple[Target, str | None]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def red(self) -> bool:
        """Is anything wrong?"""
        return bool(self.problems) or any(line.red for line in self.lines) \
            or any(why for _, why in self.targets)


Cell = Callable[[Line], str]


def number(value: float) -> str:
    """A figure as short as it can be said."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def _side(get: Callable[[Side], float], side: Side | None) -> str:
    return number(get(side)) if side else "-"


def change(line: Line) -> str:
    """How much more a page costs, as text; '=' if that is nothing."""
    if line.verdict == MISSING:
        return "missing"
    if line.verdict in (FASTER, SLOWER):
        if line.change >= 9:
            return f"{1 + line.change:.1f}x"
        return f"{line.change:+.1%}" if abs(line.change) >= 0.01 else f"{line.change:+.2%}"
    return "="


def both(get: Callable[[Side], float | None],
         say: Callable[[float], str] = number) -> Cell:
    """A cell 'BASE > HEAD', or one figure where both are the same."""
    def cell(line: Line) -> str:
        texts = []
        for side in (line.base, line.head):
            value = get(side) if side else None
            texts.append("-" if value is None else say(value))
        return texts[0] if texts[0] == texts[1] else " > ".join(texts)
    return cell


COLUMNS: tuple[tuple[str, int, Cell], ...] = (
    ("Folio Size", 14, lambda line: line.row),
    ("base", 8, lambda line: _side(lambda side: side.cost, line.base)),
    ("New", 8, lambda line: _side(lambda side: side.cost, line.head)),
    ("Change", 7, change),
    ("lines a page", 14, both(lambda side: side.counts.get("lines"))),
    ("atomics a page", 14, both(lambda side: side.counts.get("atomics"))),
)


def _whole(value: float) -> str:
    return f"{value:.0f}" if value < 100000 else f"{value / 1000:.0f}k"


LONGEST: tuple[tuple[str, int, Cell], ...] = (
    *COLUMNS[:4],
    ("longest call", 15, both(lambda side: side.longest, _whole)),
    ("faults", 13, both(lambda side: side.rows[0].faults, str)),
)


def columns(lines: Sequence[Line]) -> tuple[tuple[str, int, Cell], ...]:
    """What there is to say: of faults, the longest one."""
    faults = any(side and side.rows[0].faults for line in lines
                 for side in (line.base, line.head))
    return LONGEST if faults else COLUMNS


def by_op(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Group by operation, in order."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.op, []).append(line)
    return groups


def unit(clock: str) -> str:
    """What a cost is, a page."""
    return f"{'instructions' if clock == INSTRUCTIONS else clock} a page"


def text(report: Report) -> list[str]:
    """Tables of at most 80 columns."""
    out = [f"{report.arch}: base = {report.base}, New = {report.head}", *report.facts]
    for op, lines in by_op(report.lines).items():
        table = columns(lines)
        out += ["", f"{TITLES.get(op, op)}, {unit(lines[0].clock)}",
                _row([name for name, _, _ in table], table),
                "-+-".join("-" * width for _, width, _ in table)]
        out += [_row([cell(line) for _, _, cell in table], table) for line in lines]
        out += notes(lines)
    return out + ["", *verdict(report)]


def notes(lines: Sequence[Line]) -> list[str]:
    """What an operation's rows say together: linear by size or not, how long locks are held."""
    out = []
    for name in ("4k", "64k"):
        sizes = {int(line.row.partition("/")[2]): line for line in lines
                 if line.row.startswith(f"{name}/") and line.base and line.head}
        fits = [fit({pages: getattr(line, side).cost for pages, line in sizes.items()})
                for side in ("base", "head")]
        if fits[0] and fits[1]:
            out.append(f"{name}: " + " > ".join(
                f"{one.call:.0f} a call + {one.page:.4g} a page" for one in fits if one)
                + f", off up to {max(one.off for one in fits if one):.1%}")
    shown = [line for line in lines if line.row in ("4k", "64k", "2M-pte")
             and line.base and line.head and line.base.per_hold and line.head.per_hold]
    if shown:
        out.append("pages a PTL hold: " + "; ".join(
            f"{line.row} {_figure(line.base.per_hold)} > {_figure(line.head.per_hold)}"
            for line in shown if line.base and line.head))
        out.append("longest PTL hold: " + "; ".join(
            f"{line.row} {line.base.counts['hold']:.0f} > {line.head.counts['hold']:.0f}"
            for line in shown if line.base and line.head))
    return out


def _figure(value: float | None) -> str:
    return f"{value or 0.0:.3g}"


def _row(cells: Sequence[str], table: Sequence[tuple[str, int, Cell]]) -> str:
    first = [f"{cells[0]:{table[0][1]}}"]
    rest = [f"{cell:>{width}}" for cell, (_, width, _) in zip(cells[1:], table[1:])]
    return " | ".join(first + rest).rstrip()


def verdict(report: Report) -> list[str]:
    """What is red, and why; or that nothing is."""
    out = []
    worst, where = noise(report.lines)
    if where:
        out.append(f"the same kernel's boots differ by up to {worst:.3%} ({where})")
    for what, lines in (("order-0 rows", [line for line in report.lines if line.order0]),
                        ("all rows", report.lines)):
        line = largest(lines)
        if line:
            out.append(f"largest change of {what}: {line.change:+.3%} ({line.key})")
    met = sum(why is None for _, why in report.targets)
    if report.targets:
        out.append(f"{met} of {len(report.targets)} targets met")
    out += [f"RED {problem}" for problem in report.problems]
    out += [f"RED {line.key}: {why}" for line in report.lines for why in line.red]
    out += [f"RED {target}: {why}" for target, why in report.targets
            if why and not any(line.key == target.key for line in report.lines)]
    counts = [sum(line.verdict == kind for line in report.lines)
              for kind in (FASTER, SLOWER)]
    out.append(f"{report.arch}: {len(report.lines)} rows, {counts[0]} faster, {counts[1]} slower, "
               f"{'RED' if report.red else 'nothing red'}")
    return out


def markdown(report: Report) -> list[str]:
    """The same as Markdown."""
    out = [f"## {report.arch}", "", f"base = {report.base}, New = {report.head}", ""]
    out += [f"- {fact}" for fact in report.facts]
    for op, lines in by_op(report.lines).items():
        table = columns(lines)
        out += ["", f"### {TITLES.get(op, op)}, {unit(lines[0].clock)}", "",
                "| " + " | ".join(name for name, _, _ in table) + " |",
                "| --- |" + " ---: |" * (len(table) - 1)]
        out += ["| " + " | ".join(cell(line) for _, _, cell in table) + " |" for line in lines]
        out += [text for note in notes(lines) for text in ("", note)]
    return out + ["", *(f"- {line}" for line in verdict(report))]


COUNTS = ("insns", "loads", "stores", "atomics", "barriers", "flushes", "lines", "page_lines",
          "table_lines", "holds", "hold")


def rows_csv(reports: Iterable[Report]) -> str:
    """Every figure, a line for each boot, and the repetitions as they came."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["arch", "side", "boot", "op", "row", "clock", "pages", "calls", "faults",
                     "neighbours", "cost_per_page", "longest_call", "verdict", "passes",
                     *(f"{name}_per_page" if name != "hold" else "longest_hold"
                       for name in COUNTS)])
    for report in reports:
        for line in report.lines:
            for name, side in (("base", line.base), ("head", line.head)):
                for boot, row in enumerate(side.rows if side else [], 1):
                    writer.writerow(_csv_row(report.arch, name, boot, line, row))
    return out.getvalue()


def _csv_row(arch: str, side: str, boot: int, line: Line, row: Any) -> list[Any]:
    counts = [row.counted(name) for name in COUNTS]
    return [arch, side, boot, row.op, row.row, row.clock, row.pages, row.calls, row.faults,
            row.neighbours, round(row.cost(), 3), row.longest, line.verdict,
            " ".join(map(str, row.passes)),
            *("" if value is None else value if name == "hold" else round(value / row.pages, 4)
              for name, value in zip(COUNTS, counts))]
