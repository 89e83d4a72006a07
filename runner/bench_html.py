# SPDX-License-Identifier: GPL-2.0
"""A comparison as one HTML page with its charts in it, as plain SVG."""

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape

from runner.bench_compare import Line, Side
from runner.bench_report import TITLES, Report, by_op, columns, notes, unit, verdict

W, H = 520, 250                      # of a chart
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 14, 66
BASE, HEAD = "#8a8f98", "#0b63b5"

STYLE = f"""
body {{ font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 1120px; padding: 0 1em;
       color: #1c2026; }}
h1 {{ font-size: 1.5em; }} h2 {{ margin-top: 2.2em; border-bottom: 2px solid #d5d9df; }}
h3 {{ font-size: 1.02em; margin: 1.6em 0 .4em; }}
table {{ border-collapse: collapse; font-size: .87em; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .18em .7em; text-align: right; border-bottom: 1px solid #e3e6ea; }}
th:first-child, td:first-child {{ text-align: left; }}
tr.red td {{ background: #fde8e6; }} tr.faster td:nth-child(4) {{ color: #14733b; }}
tr.slower td:nth-child(4) {{ color: #b3261e; }}
.op {{ display: flex; flex-wrap: wrap; gap: 1.2em; align-items: flex-start; }}
.op p {{ font-size: .87em; margin: .4em .8em; }} .charts svg {{ display: block; }}
.facts {{ color: #4d535c; }} .RED {{ color: #b3261e; }}
svg text {{ font: 11px sans-serif; fill: #39404a; }} svg .grid {{ stroke: #e3e6ea; }}
svg .base {{ stroke: {BASE}; fill: {BASE}; }} svg .head {{ stroke: {HEAD}; fill: {HEAD}; }}
svg polyline {{ fill: none !important; stroke-width: 2; }}
.key i {{ display: inline-block; width: .9em; height: .9em; margin: 0 .35em 0 1em; }}
"""

Point = tuple[float, float]
Curve = tuple[str, Sequence[Point]]   # base or head, its points


class Scale:
    """A logarithmic scale with marks at 1, 2 and 5 of each power of ten."""

    def __init__(self, values: Iterable[float], start: float, end: float) -> None:
        found = [value for value in values if value > 0] or [1.0]
        self.low, self.high = min(found) / 1.25, max(found) * 1.25
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        """Where value stands."""
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def marks(self) -> list[float]:
        """Values to mark, not more than ten."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for digits in ((1, 2, 5), (1, 3), (1,)):
            values = [digit * 10.0 ** power for power in powers for digit in digits]
            values = [value for value in values if self.low <= value <= self.high]
            if len(values) <= 10:
                break
        return values


def _mark(value: float) -> str:
    return f"{value:g}" if value < 10000 else f"{value / 1000:g}k"


def _frame(inner: Sequence[str], title: str) -> str:
    return (f'<svg width="{W}" height="{H}" viewBox="0 0 {W} {H}" role="img" '
            f'aria-label="{escape(title)}"><title>{escape(title)}</title>{"".join(inner)}</svg>')


def _curves(curves: Sequence[Curve], dots: bool) -> list[str]:
    out = []
    for name, points in curves:
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline class="{name}" points="{text}"/>')
        if dots:
            out += [f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
                    for x, y in points]
    return out


def by_size(lines: Sequence[Line], get: Callable[[Side], float | None], label: str) -> str:
    """A chart of one figure over the rows, base and head."""
    lines = [line for line in lines if line.base and line.head]
    pairs = [(get(line.base), get(line.head)) for line in lines if line.base and line.head]
    if not pairs or any(value is None for pair in pairs for value in pair):
        return ""
    values = [value or 0.0 for pair in pairs for value in pair]
    scale = Scale(values, H - BOTTOM, TOP)
    step = (W - LEFT - RIGHT) / len(lines)
    xs = [LEFT + step * (index + 0.5) for index in range(len(lines))]
    out = [f'<line class="grid" x1="{LEFT}" x2="{W - RIGHT}" y1="{scale.at(mark):.1f}" '
           f'y2="{scale.at(mark):.1f}"/><text x="{LEFT - 6}" y="{scale.at(mark) + 4:.1f}" '
           f'text-anchor="end">{_mark(mark)}</text>' for mark in scale.marks()]
    out += [f'<text transform="translate({x + 4:.1f},{H - BOTTOM + 14}) rotate(-28)" '
            f'text-anchor="end">{escape(line.row)}</text>' for x, line in zip(xs, lines)]
    out.append(f'<text x="{LEFT}" y="{TOP - 3}">{escape(label)}</text>')
    curves = [(name, [(x, scale.at(pair[side] or 0.0)) for x, pair in zip(xs, pairs)])
              for side, name in enumerate(("base", "head"))]
    return _frame(out + _curves(curves, dots=True), label)


def distribution(line: Line) -> str:
    """A chart of how many of a row's calls cost at most so much."""
    sides = [(name, [pair for row in side.rows for pair in row.histogram])
             for name, side in (("base", line.base), ("head", line.head)) if side]
    costs = [cost for _, pairs in sides for cost, _ in pairs]
    if not costs:
        return ""
    scale = Scale(costs, LEFT, W - RIGHT)
    height = H - BOTTOM - TOP
    out = [f'<line class="grid" y1="{TOP}" y2="{H - BOTTOM}" x1="{scale.at(mark):.1f}" '
           f'x2="{scale.at(mark):.1f}"/><text x="{scale.at(mark):.1f}" y="{H - BOTTOM + 15}" '
           f'text-anchor="middle">{_mark(mark)}</text>' for mark in scale.marks()]
    out += [f'<text x="{LEFT - 6}" y="{H - BOTTOM - share * height + 4:.1f}" '
            f'text-anchor="end">{share:.0%}</text>' for share in (0, 0.25, 0.5, 0.75, 1)]
    label = f"{line.row}: calls that cost at most so many {line.clock}"
    out.append(f'<text x="{LEFT}" y="{H - 12}">{escape(label)}</text>')
    curves = []
    for name, pairs in sides:
        total, seen, y = sum(times for _, times in pairs), 0, float(H - BOTTOM)
        points: list[Point] = [(scale.start, y)]
        for cost, times in sorted(pairs):
            points.append((scale.at(cost), y))
            seen += times
            y = H - BOTTOM - seen / total * height
            points.append((scale.at(cost), y))
        curves.append((name, [*points, (scale.end, y)]))
    return _frame(out + _curves(curves, dots=False), label)


def _table(lines: Sequence[Line]) -> str:
    table = columns(lines)
    head = "".join(f"<th>{escape(name)}</th>" for name, _, _ in table)
    rows = []
    for line in lines:
        kind = f"{line.verdict}{' red' if line.red else ''}"
        why = escape("; ".join(line.red))
        cells = "".join(f"<td>{escape(cell(line))}</td>" for _, _, cell in table)
        rows.append(f'<tr class="{kind}" title="{why}">{cells}</tr>')
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _operation(op: str, lines: Sequence[Line]) -> str:
    plain = [line for line in lines if "/" not in line.row]
    parts = [by_size(plain, lambda side: side.cost, unit(lines[0].clock))]
    if any(side and side.rows[0].faults for line in lines for side in (line.base, line.head)):
        parts += [distribution(line) for line in plain if line.row in ("64k", "2M-pte")]
    else:
        parts.append(by_size(plain, lambda side: side.counts.get("lines"),
                             "64-byte lines a page"))
    said = "".join(f"<p>{escape(note)}</p>" for note in notes(lines))
    return (f"<h3>{escape(TITLES.get(op, op))}</h3>"
            f'<div class="op"><div>{_table(lines)}{said}</div>'
            f'<div class="charts">{"".join(parts)}</div></div>')


def page(reports: Sequence[Report]) -> str:
    """The whole page."""
    out = ['<!doctype html><html lang="en"><meta charset="utf-8">'
           '<meta name="viewport" content="width=device-width">'
           f"<title>What a page costs</title><style>{STYLE}</style><h1>What a page costs</h1>"]
    for report in reports:
        out.append(f"<h2>{escape(report.arch)}</h2><p class=\"key\">"
                   f'<i style="background:{BASE}"></i>base: {escape(report.base)}'
                   f'<i style="background:{HEAD}"></i>New: {escape(report.head)}</p>')
        out.append("<ul class=\"facts\">" + "".join(f"<li>{escape(fact)}</li>"
                                                    for fact in report.facts) + "</ul>")
        out.append("<ul>" + "".join(
            f'<li class="{"RED" if text.startswith("RED") else ""}">{escape(text)}</li>'
            for text in verdict(report)) + "</ul>")
        out += [_operation(op, lines) for op, lines in by_op(report.lines).items()]
    return "\n".join(out) + "</html>\n"
