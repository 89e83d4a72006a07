# SPDX-License-Identifier: GPL-2.0
"""Reading KTAP off a console that may end anywhere and hold anything between.

The kernel's kunit_parser drops the time stamps and which line was printed
during which row; both are needed here. A unit test holds the two together.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from runner.console import Line

PASS, FAIL, SKIP = "pass", "fail", "skip"

VERSION = re.compile(r"( *)KTAP version \d+\s*$")
SUBTEST = re.compile(r"( *)# Subtest: (.*?)\s*$")
PLAN = re.compile(r"( *)1\.\.(\d+)\s*$")
RESULT = re.compile(r"( *)(ok|not ok) (\d+)(?: -)? ?(.*)$")
SKIPPED = re.compile(r"(.*?) # SKIP ?(.*)$")
TOTALS = re.compile(r" *# (.+): pass:(\d+) fail:(\d+) skip:(\d+) total:(\d+)\s*$")


@dataclass
class Test:
    """A suite, case or row: its result, what was printed meanwhile, what is below it.

    status is None while there is no result line; planned is None without a
    plan. start and end are guest seconds, lines what was printed while it ran
    and belongs to nothing below it.
    """

    name: str
    status: str | None = None
    reason: str = ""
    number: int = 0
    planned: int | None = None
    tests: list["Test"] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    start: float | None = None
    end: float | None = None
    complaints: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        """How long it took by the guest's clock, None if that is unknown."""
        if self.start is None or self.end is None:
            return None
        return round(self.end - self.start, 6)


@dataclass
class _Level:
    indent: int
    test: Test                      # the parent of what is reported at this level
    pending: list[Line] = field(default_factory=list)
    since: float | None = None      # when the test that runs now began


def parse(lines: Iterable[Line]) -> Test:
    """Read a console; returns the root, whose tests are the suites.

    Never fails: what has no result line has status None, and what contradicts
    itself has complaints. The root's planned is None if no KTAP began at all,
    and its lines are those before and after.
    """
    root = Test("")
    stack: list[_Level] = []
    for line in lines:
        if match := VERSION.match(line.text):
            _open(stack, root, len(match.group(1)), line)
        elif not stack:
            root.lines.append(line)
        elif (match := RESULT.match(line.text)) and _level(stack, len(match.group(1))):
            _result(stack, match, line)
        elif (match := SUBTEST.match(line.text)) and stack[-1].indent == len(match.group(1)) \
                and not stack[-1].test.name:
            stack[-1].test.name = match.group(2)
        elif (match := PLAN.match(line.text)) and stack[-1].indent == len(match.group(1)) \
                and stack[-1].test.planned is None:
            stack[-1].test.planned = int(match.group(2))
        else:
            _check_totals(stack, line)
            stack[-1].pending.append(line)
    while len(stack) > 1:
        _abandon(stack)
    if stack:
        root.lines += stack[0].pending
    return root


def _level(stack: list[_Level], indent: int) -> _Level | None:
    return next((level for level in stack if level.indent == indent), None)


def _open(stack: list[_Level], root: Test, indent: int, line: Line) -> None:
    while stack and stack[-1].indent >= indent:
        if len(stack) == 1:
            # A second executor's output goes on in the same root.
            root.planned = None
            stack[0].since = line.time
            return
        _abandon(stack)
    if not stack:
        stack.append(_Level(indent, root, since=line.time))
        return
    outer = stack[-1]
    stack.append(_Level(indent, Test("", start=outer.since), since=line.time))


def _abandon(stack: list[_Level]) -> None:
    """Close a level whose own result line never came."""
    level = stack.pop()
    level.test.lines += stack[-1].pending
    stack[-1].pending = []
    if any(line.text.strip() for line in level.pending):
        level.test.tests.append(Test("", start=level.since, lines=level.pending))
    stack[-1].test.tests.append(level.test)


def _result(stack: list[_Level], match: re.Match[str], line: Line) -> None:
    """A result line: it ends everything deeper, and one test at its own level."""
    indent, verdict, number, name = match.groups()
    while stack[-1].indent > len(indent) and len(stack) > 1 and stack[-2].indent > len(indent):
        _abandon(stack)
    test, reason = Test(""), ""
    after: list[Line] = []
    if stack[-1].indent > len(indent):
        level = stack.pop()
        test, after = level.test, level.pending
    status = PASS if verdict == "ok" else FAIL
    if skipped := SKIPPED.match(name):
        name, reason = skipped.groups()
        # KUnit prints no such failure; whoever did would mean the failure.
        status = SKIP if status == PASS else FAIL
    level = stack[-1]
    name = name.rstrip()
    if test.name and test.name != name:
        # The inner test never got its result: a crash cut it short.
        level.test.tests.append(test)
        test = Test("")
    test.name, test.status, test.reason, test.number = name, status, reason, int(number)
    test.lines += level.pending + after
    test.start = level.since if test.start is None else test.start
    test.end = line.time
    level.pending, level.since = [], line.time
    level.test.tests.append(test)
    if test.planned is not None and test.planned != len(test.tests):
        test.complaints.append(f"{len(test.tests)} results of {test.planned} planned")
    finished = sum(1 for other in level.test.tests if other.status is not None)
    if test.number != finished:
        test.complaints.append(f"has number {test.number}, but is result {finished}")


def _check_totals(stack: list[_Level], line: Line) -> None:
    """KUnit's own count of a case's rows must be the number of rows seen."""
    match = TOTALS.match(line.text)
    top = stack[-1].test
    if match and match.group(1) == top.name and int(match.group(5)) != len(top.tests):
        top.complaints.append(f"{len(top.tests)} results, {match.group(5)} counted by KUnit")


def text(lines: Iterable[Line]) -> str:
    """The console from the first KTAP line on, without time stamps."""
    kept: list[str] = []
    for line in lines:
        if kept or VERSION.match(line.text):
            kept.append(line.text)
    return "\n".join(kept).rstrip() + "\n" if kept else ""
