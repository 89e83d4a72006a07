# SPDX-License-Identifier: GPL-2.0
"""What a series says that it changes: the file 'expect' beside its patches.

Suites that count show that batching really happens: their rows are expected
failures on the base, and pass from some patch of a series on. A line
'NNNN suite.case:row' names that patch and the row (without ':row' all rows of
the case), a line 'NNNN name=value' the kernel argument ptebatch.name=value from
that patch on, until a later line says otherwise.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import Trouble
from runner.expected import matches_row
from runner.packages import read_lines

NAME = "expect"
REASON = "XFAIL: not batched"  # how the reason of a row that does not pass yet begins

ARGUMENT = re.compile(r"(\d{4})\s+(\w+)=(\S+)$")
ROW = re.compile(r"(\d{4})\s+([^\s.:]+\.[^\s.:]+)(?::(.+))?$")


@dataclass(frozen=True)
class Row:
    """A row, or rows: * and ? are wild in both, brackets stand for themselves."""

    case: str
    row: str = "*"

    def names(self, case: str, row: str) -> bool:
        """Is that row meant? case is 'suite.case'."""
        return matches_row(case, self.case) and (self.row == "*" or matches_row(row, self.row))

    def __str__(self) -> str:
        return self.case + (f":{self.row}" if self.row != "*" else "")


@dataclass(frozen=True)
class Expect:
    """The lines of one file, each with the number of its patch."""

    arguments: tuple[tuple[int, str, str], ...] = ()
    rows: tuple[tuple[int, Row], ...] = ()

    def args(self, number: int) -> dict[str, str]:
        """Kernel arguments once patch number is applied."""
        return {f"ptebatch.{name}": value for since, name, value in self.arguments
                if since <= number}

    def passing(self, number: int) -> list[Row]:
        """Rows that must pass once patch number is applied."""
        return [row for since, row in self.rows if since <= number]


def read(folder: Path, numbers: Sequence[int]) -> Expect | None:
    """Read the folder's file, None if there is none; numbers are its patches'.

    Raises Trouble for a line that is none, or names no patch.
    """
    path = folder / NAME
    return parse(read_lines(path), numbers, path) if path.exists() else None


def parse(lines: Iterable[str], numbers: Sequence[int], path: Path) -> Expect:
    """Parse the lines of path."""
    arguments, rows = [], []
    for count, line in enumerate(lines, 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if argument := ARGUMENT.match(line):
            since, name, value = argument.groups()
            arguments.append((int(since), name, value))
        elif row := ROW.match(line):
            since = row.group(1)
            rows.append((int(since), Row(row.group(2), (row.group(3) or "*").strip())))
        else:
            raise Trouble(f"{path} line {count} is neither 'NNNN suite.case:row' nor "
                          "'NNNN name=value': correct it")
        if int(since) not in numbers:
            raise Trouble(f"{path} line {count}: there is no patch {since} in that series")
    # A stable sort: of two lines about one patch the later one counts.
    return Expect(tuple(sorted(arguments, key=lambda entry: entry[0])), tuple(rows))


@dataclass(frozen=True)
class Demand:
    """What series say about one boot.

    passing must pass, failing must still be expected failures; with strict,
    other rows that are expected failures on the base must be so here.
    """

    passing: tuple[Row, ...] = ()
    failing: tuple[Row, ...] = ()
    strict: bool = False

    def passes(self, case: str, row: str) -> bool:
        """Must that row pass?"""
        return any(named.names(case, row) for named in self.passing)

    def fails(self, case: str, row: str) -> bool:
        """Must that row not pass yet?"""
        return not self.passes(case, row) and any(named.names(case, row) for named in self.failing)

    def lines(self) -> list[str]:
        """As kept in a result folder."""
        return [*(f"passing {row}" for row in self.passing),
                *(f"failing {row}" for row in self.failing), *(["strict"] if self.strict else [])]


def kept(lines: Iterable[str]) -> Demand:
    """Read what Demand.lines() wrote."""
    rows: dict[str, list[Row]] = {"passing": [], "failing": [], "strict": []}
    for line in lines:
        word, _, name = line.partition(" ")
        case, _, row = name.partition(":")
        rows[word].append(Row(case, row or "*"))
    return Demand(tuple(rows["passing"]), tuple(rows["failing"]), bool(rows["strict"]))
