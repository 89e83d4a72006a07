# SPDX-License-Identifier: GPL-2.0
"""Base against head, row by row: how much changed, and what of that is red.

Several boots of each side say how far the same kernel's figures are apart;
nothing smaller counts as a change.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from runner.bench_data import INSTRUCTIONS, Row
from runner.errors import Trouble

SAME, FASTER, SLOWER, MISSING = "same", "faster", "slower", "missing"

# What base against base differs by, and how much more than that is a change.
FLOOR = {INSTRUCTIONS: 0.001, "ns": 0.02}
MARGIN = 3.0

# The gate for order 0: more than both of these is red, and so is a line or an
# atomic instruction in a hundred pages, if the same kernel's are not as far apart.
GATE_SHARE = 0.005
GATE_INSTRUCTIONS = 3.0
GATE_COUNT = 0.01
GATED = ("lines", "atomics")


@dataclass
class Side:
    """One kernel's figures of a row: a page's cost, counts by page, longest call.

    noise is how far the costs of its boots are apart, relative to the cost;
    spread is how far a count's are in all repetitions, by page.
    """

    cost: float
    noise: float
    longest: int
    counts: dict[str, float]
    spread: dict[str, float]
    per_hold: float | None
    rows: list[Row] = field(repr=False)

    @staticmethod
    def of(rows: Sequence[Row]) -> "Side":
        """Sum up the boots of one kernel: the best if instructions are counted."""
        costs = [row.cost() for row in rows]
        best = min(rows, key=Row.cost)
        judged = [best] if best.exact else rows
        cost = median(row.cost() for row in judged)
        counted = [row for row in judged if row.counts]
        names = [name for name in counted[0].counts[0] if name not in ("calls", "hold")] \
            if counted else []
        counts = {name: median(row.counted(name) or 0.0 for row in counted) / rows[0].pages
                  for name in names}
        if counted:
            counts["hold"] = median(row.counted("hold") or 0.0 for row in counted)
        passes = [one for row in rows for one in row.counts]
        spread = {name: (max(one[name] for one in passes) - min(one[name] for one in passes))
                  / rows[0].pages for name in names}
        return Side(cost, (max(costs) - min(costs)) / cost if cost else 0.0,
                    int(median(row.worst for row in rows)), counts, spread,
                    rows[0].pages_per_hold(), list(rows))


@dataclass
class Line:
    """One row of the comparison; red says why it fails, if it does."""

    key: str
    suite: str
    op: str
    row: str
    clock: str
    base: Side | None
    head: Side | None
    verdict: str
    red: list[str] = field(default_factory=list)

    @property
    def change(self) -> float:
        """How much more a page costs with head, relative to base."""
        if not self.base or not self.head or not self.base.cost:
            return 0.0
        return self.head.cost / self.base.cost - 1

    @property
    def order0(self) -> bool:
        """Is that order-0 memory, the common case?"""
        return self.row.partition("/")[0] in ("4k", "4k-scattered") or self.op == "fill-4k"


def compare(base: Sequence[Sequence[Row]], head: Sequence[Sequence[Row]]) -> list[Line]:
    """Compare boots of one kernel with boots of another; order-0 rows come first."""
    sides = [_by_key(base), _by_key(head)]
    lines = []
    for key in list(dict.fromkeys([*sides[0], *sides[1]])):
        rows = [side.get(key) for side in sides]
        some = (rows[0] or rows[1] or [])[0]
        line = Line(key, some.suite, some.op, some.row, some.clock,
                    Side.of(rows[0]) if rows[0] else None,
                    Side.of(rows[1]) if rows[1] else None, SAME)
        _judge(line)
        lines.append(line)
    return sorted(lines, key=lambda line: (not line.order0,))


def _by_key(boots: Sequence[Sequence[Row]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for rows in boots:
        for row in rows:
            found.setdefault(row.key, []).append(row)
    return found


def _judge(line: Line) -> None:
    base, head = line.base, line.head
    if not base or not head:
        line.verdict = MISSING
        line.red.append(f"no figure of {'base' if not base else 'head'}")
        return
    threshold = max(FLOOR.get(line.clock, FLOOR["ns"]), MARGIN * max(base.noise, head.noise))
    if abs(line.change) > threshold:
        line.verdict = SLOWER if line.change > 0 else FASTER
    if not line.order0:
        return
    more = head.cost - base.cost
    if line.verdict == SLOWER and line.change > GATE_SHARE \
            and (line.clock != INSTRUCTIONS or more > GATE_INSTRUCTIONS):
        line.red.append(f"{more:+.1f} {line.clock} a page at order 0")
    for name in GATED:
        more = head.counts.get(name, 0.0) - base.counts.get(name, 0.0)
        if more > max(GATE_COUNT, *(side.spread.get(name, 0.0) for side in (base, head))):
            line.red.append(f"{more:+.2f} {name} a page at order 0")


@dataclass(frozen=True)
class Fit:
    """A cost that is linear: so much a call, and so much a page; off by up to that share."""

    call: float
    page: float
    off: float


def fit(costs: Mapping[int, float]) -> Fit | None:
    """Fit the cost of a page, by pages a call, to call / pages + page; None for too few sizes.

    Least squares of the relative error: all sizes count the same.
    """
    if len(costs) < 3 or min(costs.values()) <= 0:
        return None
    # Minimize the sum of (a * x + b * y - 1)^2, x = 1 / (pages * cost), y = 1 / cost.
    points = [(1 / (pages * cost), 1 / cost) for pages, cost in costs.items()]
    xx, xy, yy = (sum(p[i] * p[j] for p in points) for i, j in ((0, 0), (0, 1), (1, 1)))
    x, y = (sum(p[i] for p in points) for i in (0, 1))
    det = xx * yy - xy * xy
    if not det:
        return None
    call, page = (x * yy - y * xy) / det, (y * xx - x * xy) / det
    return Fit(call, page, max(abs(call * p[0] + page * p[1] - 1) for p in points))


def noise(lines: Iterable[Line]) -> tuple[float, str]:
    """The largest difference between boots of the same kernel, and its row."""
    worst, where = 0.0, ""
    for line in lines:
        for side in (line.base, line.head):
            if side and side.noise > worst:
                worst, where = side.noise, line.key
    return worst, where


def largest(lines: Iterable[Line]) -> Line | None:
    """The row whose cost changed most, up or down; None if none did."""
    changed = [line for line in lines if line.change]
    return max(changed, key=lambda line: abs(line.change)) if changed else None


@dataclass(frozen=True)
class Target:
    """What a series promises of a row: 'faster 2.5', 'over pin/2M-pmd 12' and so on."""

    series: str
    arch: str
    key: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.key}: {' '.join(self.words)}"


def parse_targets(text: Iterable[str]) -> list[Target]:
    """Read 'SERIES ARCH OP/ROW TARGET ...' lines; raises Trouble for anything else."""
    targets = []
    for number, line in enumerate(text, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) < 4 or not re.fullmatch(
                r"(faster|more|longest) [\d.]+|within [\d.]+%|(over|times) \S+ [\d.]+|"
                r"no-more (lines|atomics)", " ".join(words[3:])):
            raise Trouble(f"configs/targets line {number} is not 'SERIES ARCH OP/ROW TARGET': "
                          "correct it")
        targets.append(Target(words[0], words[1], words[2], tuple(words[3:])))
    return targets


def missed(target: Target, lines: Mapping[str, Line]) -> str | None:
    """Why a target is missed, None if it is met."""
    line = lines.get(target.key)
    if line is None or not line.base or not line.head:
        return "there is no such row"
    kind, number = target.words[0], target.words[-1]
    base, head = line.base, line.head
    if kind == "no-more":
        more = head.counts.get(number, 0.0) - base.counts.get(number, 0.0)
        return f"{more:+.2f} a page" if more > GATE_COUNT else None
    if kind == "within":
        return f"{line.change:+.2%}" if line.change > float(number[:-1]) / 100 else None
    limit = float(number)
    if kind == "faster":
        times = base.cost / head.cost if head.cost else float("inf")
        return f"{times:.2f} times" if times < limit else None
    if kind == "more":
        more = head.cost - base.cost
        return f"{more:+.2f} a page" if more > limit else None
    if kind == "longest":
        times = head.longest / base.longest if base.longest else float("inf")
        return f"{times:.2f} times" if times > limit else None
    other = lines.get(target.words[1])
    if other is None or not other.head:
        return f"there is no row {target.words[1]}"
    if kind == "over":
        more = head.cost - other.head.cost
        return f"{more:.2f} a page above it" if more > limit else None
    times = head.cost / other.head.cost if other.head.cost else float("inf")
    return f"{times:.2f} times" if times > limit else None


def check_targets(targets: Iterable[Target], series: Sequence[str], arch: str,
                  lines: Sequence[Line]) -> list[tuple[Target, str | None]]:
    """What the series in head promise, and why each is missed (None if it is met).

    Rows whose targets are missed are red from here on.
    """
    by_key = {line.key: line for line in lines}
    found = []
    for target in targets:
        if target.series not in series or target.arch not in ("*", arch):
            continue
        why = missed(target, by_key)
        if why is not None and target.key in by_key:
            by_key[target.key].red.append(
                f"{target.series} promises '{' '.join(target.words)}': {why}")
        found.append((target, why))
    return found
