# SPDX-License-Identifier: GPL-2.0
"""What the programs of a guest said and how they ended, and how two boots differ."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from runner import console
from runner.console import Line

BEGIN = re.compile(r"@begin (.*)$")
END = re.compile(r"@end (\d+)$")
DONE = "@done"
MARK = "@ "
RESULT = re.compile(r"(ok|not ok) (\d+)\b(?: -)?\s*(?:# (SKIP|XFAIL|XPASS)\b\s*)?(.*)$")
TRUNCATED = re.compile(r"runcated")  # gup_test passes all the same
NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass
class Program:
    """One program's run: exit status (None if it never ended), results by number.

    A result is its status and its text.
    """

    name: str
    status: int | None = None
    results: dict[int, tuple[str, str]] = field(default_factory=dict)
    short: int = 0      # how often it said that something was cut short
    splats: list[str] = field(default_factory=list)


@dataclass
class Outcome:
    """One boot."""

    programs: list[Program] = field(default_factory=list)
    done: bool = False                                  # all programs had their turn
    splats: list[str] = field(default_factory=list)     # outside of any program

    def count(self) -> dict[str, int]:
        """How many results of each status."""
        statuses = [status for program in self.programs
                    for status, _ in program.results.values()]
        return {status: statuses.count(status) for status in sorted(set(statuses))}


def read(lines: Sequence[Line]) -> Outcome:
    """Read a console."""
    outcome = Outcome()
    running: Program | None = None
    owner: dict[int, Program] = {}
    for line in lines:
        if running is not None:
            owner[line.index] = running
        if begin := BEGIN.match(line.text):
            running = Program(begin.group(1))
            outcome.programs.append(running)
        elif end := END.match(line.text):
            if running:
                running.status = int(end.group(1))
            running = None
        elif line.text == DONE:
            outcome.done = True
        elif running and line.text.startswith(MARK):
            _take(running, line.text.removeprefix(MARK))
    for splat in console.splats(lines):
        where = owner.get(splat.lines[0].index)
        (where.splats if where else outcome.splats).append(f"{splat.kind}: {splat.title}")
    return outcome


def _take(program: Program, text: str) -> None:
    if result := RESULT.match(text):
        ok, number, directive, name = result.groups()
        program.results[int(number)] = (f"{ok} # {directive}" if directive else ok, name)
    elif TRUNCATED.search(text):
        program.short += 1


@dataclass(frozen=True, order=True)
class Difference:
    """Something that is not the same in two boots: of which program, what, both sides."""

    program: str
    what: str
    before: str
    after: str

    @property
    def key(self) -> tuple[str, str]:
        """What it is about."""
        return self.program, self.what


def differences(before: Outcome, after: Outcome) -> list[Difference]:
    """Everything that differs, program by program, result by result."""
    found: list[Difference] = []
    old, new = _facts(before), _facts(after)
    for key in [*old, *(key for key in new if key not in old)]:
        sides = old.get(key, "absent"), new.get(key, "absent")
        if sides[0] != sides[1]:
            found.append(Difference(*key, *sides))
    return found


def _facts(outcome: Outcome) -> dict[tuple[str, str], str]:
    """A boot as a flat table."""
    facts = {("", "all programs ran"): "yes" if outcome.done else "no"}
    facts |= _splats("", outcome.splats)
    seen: dict[str, int] = {}
    for program in outcome.programs:
        seen[program.name] = seen.get(program.name, 0) + 1
        name = program.name + (f" ({seen[program.name]})" if seen[program.name] > 1 else "")
        facts[name, "exit status"] = str(program.status)
        facts[name, "cut short"] = str(program.short)
        for number, (status, text) in program.results.items():
            facts[name, f"result {number}"] = status
            # What is measured, and addresses, are not what a result is about.
            facts[name, f"text of result {number}"] = NUMBER.sub("N", text)
        facts |= _splats(name, program.splats)
    return facts


def _splats(name: str, splats: Iterable[str]) -> dict[tuple[str, str], str]:
    """Splats as facts, whatever addresses and processes they name."""
    plain = [NUMBER.sub("N", splat) for splat in splats]
    return {(name, splat): f"{plain.count(splat)} times" for splat in plain}


def verdict(first: Outcome, second: Outcome,
            patched: Outcome) -> tuple[list[Difference], list[Difference]]:
    """What is not stable on the base, and what else differs on the patched kernel."""
    unstable = differences(first, second)
    shaky = {difference.key for difference in unstable}
    return unstable, [difference for difference in differences(first, patched)
                      if difference.key not in shaky]
