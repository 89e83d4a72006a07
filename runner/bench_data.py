# SPDX-License-Identifier: GPL-2.0
"""The figures of benchmarks: off a console and out of a plugin's file, to JSON and back.

The kernel's format is described in lib/measure.c, the plugin's in qemu/count.c.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

INSTRUCTIONS = "instructions"  # the clock of an emulator that counts them

LINE = re.compile(r"\s*# (\w+?)_rows: (bench(?:-pass|-call)?): n=(\d+) (.*)$")
COUNT = re.compile(r"count n=(\d+) (.*)$")
FIELD = re.compile(r"(\w+)=(\S+)")


@dataclass
class Row:
    """What one boot measured of one operation on one picture.

    passes are the costs of the repetitions as they came, in units of clock;
    histogram says how often which cost of a single call occurred; longest is
    the longest call of all; counts are the plugin's, one a repetition.
    """

    suite: str
    op: str
    row: str
    clock: str
    tick: int
    empty: int
    pages: int
    calls: int
    faults: int
    neighbours: int
    longest: int = 0
    passes: list[int] = field(default_factory=list)
    histogram: list[tuple[int, int]] = field(default_factory=list)
    counts: list[dict[str, int]] = field(default_factory=list)

    @property
    def key(self) -> str:
        """What names the row in every boot."""
        return f"{self.op}/{self.row}"

    def counted(self, what: str) -> float | None:
        """A count of the plugin's, of the best repetition; None without a plugin.

        The best took the fewest instructions: whatever comes in between, as an
        interrupt does, adds to them.
        """
        if not self.counts:
            return None
        return min(self.counts, key=lambda count: count["insns"])[what]

    @property
    def worst(self) -> int:
        """The longest call that half of the repetitions have.

        The longest of all may be one that an interrupt came into.
        """
        needed = (len(self.passes) + 1) // 2
        for cost, times in sorted(self.histogram, reverse=True):
            needed -= times
            if needed <= 0:
                return cost
        return self.longest

    @property
    def exact(self) -> bool:
        """Are costs instructions that the plugin counted one by one?"""
        return self.clock == INSTRUCTIONS and bool(self.counts)

    def cost(self) -> float:
        """What a page costs, in units of the clock.

        Of the best repetition if instructions are counted, of the median one
        if time is measured.
        """
        whole = self.counted("insns") if self.exact else None
        return (median(self.passes) if whole is None else whole) / self.pages

    def per_page(self, what: str) -> float | None:
        """A count of the plugin's by pages."""
        whole = self.counted(what)
        return None if whole is None else whole / self.pages

    def pages_per_hold(self) -> float | None:
        """How many pages one hold of a page table's lock is about."""
        holds = self.counted("holds")
        return self.pages / holds if holds else None

    def spread(self) -> float:
        """How far apart the repetitions are, relative to their median."""
        values = [count["insns"] for count in self.counts] if self.exact else self.passes
        middle = median(values)
        return (max(values) - min(values)) / middle if middle else 0.0


def read(lines: Iterable[str], counts: Iterable[str] = ()) -> list[Row]:
    """Read a console and what a plugin wrote; raises ValueError for what it cannot read."""
    rows: dict[int, Row] = {}
    passes: dict[int, list[int]] = {}
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        suite, kind, number, rest = match[1], match[2], int(match[3]), match[4]
        if kind == "bench-pass":
            passes.setdefault(number, []).extend(int(word) for word in rest.split())
        elif kind == "bench":
            rows[number] = _row(suite, dict(FIELD.findall(rest)))
        elif number in rows:
            rows[number].histogram += [_times(word) for word in rest.split()]
    for number, row in rows.items():
        row.passes = passes.get(number, [])
        if not row.passes or not row.pages:
            raise ValueError(f"the figures of {row.key} are not complete")
    _add_counts(rows, counts)
    return list(rows.values())


def _row(suite: str, fields: Mapping[str, str]) -> Row:
    try:
        return Row(suite=suite, op=fields["op"], row=fields["row"], clock=fields["clock"],
                   tick=int(fields["tick"]), empty=int(fields["empty"]),
                   pages=int(fields["pages"]), calls=int(fields["calls"]),
                   faults=int(fields["faults"]), neighbours=int(fields["neighbours"]),
                   longest=int(fields["call"].split("/")[3]))
    except (KeyError, IndexError) as error:
        raise ValueError(f"a line of {suite} lacks {error}") from error


def _times(word: str) -> tuple[int, int]:
    cost, _, times = word.partition("*")
    return int(cost), int(times)


def _add_counts(rows: Mapping[int, Row], lines: Iterable[str]) -> None:
    """Give each row what the plugin counted; the first pass of its number begins anew."""
    for line in lines:
        match = COUNT.match(line)
        if not match or int(match[1]) not in rows:
            continue
        row = rows[int(match[1])]
        fields = {name: int(value) for name, value in FIELD.findall(match[2])}
        if fields.pop("pass") == 0:
            row.counts = []
        row.counts.append(fields)
    for row in rows.values():
        if row.counts and len(row.counts) != len(row.passes):
            raise ValueError(f"{row.key}: {len(row.counts)} passes in the plugin's file, "
                             f"{len(row.passes)} on the console")


def to_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as JSON has them."""
    return [asdict(row) for row in rows]


def from_json(data: Iterable[Mapping[str, Any]]) -> list[Row]:
    """The reverse; raises ValueError for anything else."""
    try:
        rows = [Row(**{key: value for key, value in one.items()}) for one in data]
    except TypeError as error:
        raise ValueError(f"no rows of a benchmark: {error}") from error
    for row in rows:
        row.histogram = [(int(cost), int(times)) for cost, times in row.histogram]
    return rows
