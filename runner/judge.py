# SPDX-License-Identifier: GPL-2.0
"""Judging one boot from what was kept of it, and nothing else.

Everything here works on files in a result folder, so an old result can be
judged again, by a newer judge too.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner import batched, boot, build, compare, console, expected, ktap, parts
from runner.console import Line
from runner.errors import Trouble
from runner.expected import Cases, Skip
from runner.ktap import FAIL, PASS, SKIP, Test
from runner.packages import read_lines
from runner.paths import TEMP_MARK

# Verdicts, the gravest first: a boot is called by the first that applies.
BUILD_FAILED = "build failed"
BOOT_FAILED = "boot failed"
PANIC = "panic"
HANG = "hang"
EARLY = "reboot too early"
MISSING = "case missing"
EXTRA = "extra case"
SPLAT = "splat"
FAILED = "failed case"
LOST = "lost messages"
UNEXPECTED_SKIP = "unexpected skip"
REFUSED = "argument refused"
NOTHING = "nothing ran"
TOO_EARLY = "passed too early"
NOT_BATCHED = "not batched"
PASSED = "pass"
CUT_SHORT = (BOOT_FAILED, PANIC, HANG, EARLY, MISSING)
KINDS = (BUILD_FAILED, BOOT_FAILED, PANIC, HANG, EARLY, SPLAT, FAILED, LOST, MISSING,
         EXTRA, REFUSED, UNEXPECTED_SKIP, TOO_EARLY, NOT_BATCHED, NOTHING)


@dataclass
class Problem:
    """One thing that is wrong: kind is a verdict, where 'suite.case: row'.

    count is how many results it stands for that are not among the leaves.
    """

    kind: str
    where: str
    text: str
    lines: list[str] = field(default_factory=list)
    count: int = 1


@dataclass
class Leaf:
    """A case without rows, or a row: what KUnit said (status), what we say (judged)."""

    suite: str
    case: str
    row: str
    status: str
    judged: str
    reason: str
    seconds: float | None
    lines: list[str]

    @property
    def name(self) -> str:
        """suite.case, or suite.case: row."""
        return f"{self.suite}.{self.case}" + (f": {self.row}" if self.row else "")


@dataclass
class Judgement:
    """What came out of one boot. facts is run.json, as it was recorded."""

    facts: dict[str, Any]
    verdict: str = PASSED
    problems: list[Problem] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    suites: dict[str, float | None] = field(default_factory=dict)  # and their seconds
    notes: list[str] = field(default_factory=list)  # worth knowing, but not wrong
    base: compare.Base | None = None  # what a patched kernel is compared with

    def counts(self) -> tuple[int, int, int]:
        """How many passed, failed, were skipped; a problem of no leaf's is a failure."""
        judged = [leaf.judged for leaf in self.leaves]
        loose = sum(problem.count for problem in self.problems)
        return judged.count(PASS), judged.count(FAIL) + loose, judged.count(SKIP)


def judge(folder: Path) -> Judgement:
    """Judge the boot kept in folder; raises Trouble if folder holds none."""
    try:
        facts = json.loads((folder / "run.json").read_text())
        cases = expected.load((folder / "expected.json").read_text())
    except (OSError, ValueError) as error:
        what = "is no readable JSON" if isinstance(error, ValueError) else error.strerror
        raise Trouble(f"{folder} holds no result that can be judged (run.json, expected.json: "
                      f"{what}): name a folder below OUT") from error
    result = Judgement(facts, base=_base(folder))
    if not facts["build_ok"]:
        _build_failed(result, folder)
    else:
        skips = expected.parse_skips(read_lines(folder / "skips"))
        _check_parts(result, cases, parts.boots_of(facts))
        for ended in parts.boots_of(facts):
            own = {name: cases[name] for name in ended.get("suites", cases) if name in cases}
            _Boot(result, own, skips, folder, ended).judge()
        _Whole(result, cases, skips, folder).judge()
    present = {problem.kind for problem in result.problems}
    result.verdict = next((kind for kind in KINDS if kind in present), PASSED)
    return result


def _check_parts(result: Judgement, cases: Cases, boots: Sequence[dict[str, Any]]) -> None:
    """Every suite belongs to one boot: what no boot was to run would not be missed."""
    told = Counter(name for ended in boots for name in ended.get("suites", cases))
    for name, names in cases.items():
        if told[name] != 1:
            result.problems.append(Problem(MISSING, name, f"was to run in {told[name]} boots, not "
                                           "in one", count=max(1, len(names))))


def _base(folder: Path) -> compare.Base | None:
    path = folder / "base.json"
    return compare.load(json.loads(path.read_text())) if path.exists() else None


def _build_failed(result: Judgement, folder: Path) -> None:
    errors = list(build.first_errors(folder / "build.log"))
    result.problems.append(Problem(BUILD_FAILED, "", errors[0] if errors else "no message",
                                   errors))


@dataclass
class _Judge:
    """What adds its findings to result; cases are those that must have run."""

    result: Judgement
    cases: Cases
    skips: Sequence[Skip]
    folder: Path

    def add(self, kind: str, where: str, text: str, lines: Sequence[str] = (),
            count: int = 1) -> None:
        """Record a problem."""
        self.result.problems.append(Problem(kind, where, text, list(lines), count))

    def fail(self, leaf: Leaf, kind: str, text: str) -> None:
        """Turn a result that KUnit calls good into a failure."""
        leaf.judged = FAIL
        self.add(kind, leaf.name, text, count=0)


@dataclass
class _Boot(_Judge):
    """The steps of judging one part's boot by its console; ended is how it ended."""

    ended: dict[str, Any]

    def __post_init__(self) -> None:
        self.lines = console.read(self.folder / self.ended["log"])
        self.root = ktap.parse(self.lines)
        self.began = any(ktap.VERSION.match(line.text) for line in self.lines)
        self.owner: dict[int, tuple[str, Leaf | None]] = {}
        self.splats = console.splats(self.lines)
        # Of a splat, a row that it happened in shows the title: the rest is the splat's.
        self.inside = {line.index for splat in self.splats for line in splat.lines[1:]}

    def judge(self) -> None:
        """Judge the boot."""
        self.name_unfinished()
        self.take_leaves()
        self.judge_end()
        self.judge_splats()
        self.judge_lost()
        self.judge_refused()
        self.judge_missing()

    def name_unfinished(self) -> None:
        """Name a case that has printed something but no result.

        KUnit says a case's name only with its result, but runs cases in the
        order of the sources.
        """
        for suite in self.root.tests:
            known = list(self.cases.get(suite.name, {}))
            for index, case in enumerate(suite.tests):
                if not case.name:
                    case.name = known[index] if index < len(known) else "after its last case"
                before = ""
                for row in case.tests:
                    row.name = row.name or self.after_row(before)
                    before = row.name

    @staticmethod
    def after_row(before: str) -> str:
        """What to call a row whose name never came."""
        return f"the row after {before!r}" if before else "the first row"

    def take_leaves(self) -> None:
        """Turn every case and row that has a result into a leaf."""
        for suite in self.root.tests:
            self.result.suites[suite.name] = suite.seconds
            self.own(suite, suite.name, None)
            for case in suite.tests:
                where = f"{suite.name}.{case.name}"
                if case.status is None or case.tests:
                    self.own(case, where, None)
                for row in case.tests:
                    if row.status is None:
                        self.own(row, f"{where}: {row.name}", None)
                    else:
                        self.leaf(suite, case, row)
                if case.status is not None and not case.tests:
                    self.leaf(suite, case, None)
                self.complain(case, where)
            self.complain(suite, suite.name)
            self.judge_parent(suite)

    def own(self, test: Test, where: str, leaf: Leaf | None) -> None:
        """Note who was running when those lines were printed."""
        for line in test.lines:
            self.owner[line.index] = (where, leaf)

    def leaf(self, suite: Test, case: Test, row: Test | None) -> None:
        """Record one result and judge it by itself."""
        test = row or case
        lines = [line.text for line in test.lines
                 if line.text.strip() and not ktap.TOTALS.match(line.text)
                 and line.index not in self.inside]
        leaf = Leaf(suite.name, case.name, row.name if row else "", test.status or FAIL,
                    test.status or FAIL, test.reason, test.seconds, lines)
        self.result.leaves.append(leaf)
        self.own(test, leaf.name, leaf)
        if leaf.status == FAIL:
            text = f"not ok # SKIP {leaf.reason}" if leaf.reason else "not ok"
            self.add(FAILED, leaf.name, text, lines, count=0)
        elif leaf.status == SKIP and not self.skip_expected(leaf):
            leaf.judged = FAIL
            self.add(UNEXPECTED_SKIP, leaf.name, leaf.reason or "no reason given", count=0)
        if row is None and leaf.status != SKIP and \
                self.cases.get(suite.name, {}).get(case.name, False):
            # Its result alone would stand for all its rows.
            leaf.judged = FAIL
            self.add(MISSING, leaf.name, "shows none of its rows", count=0)

    def skip_expected(self, leaf: Leaf) -> bool:
        """Is that skip on the list?"""
        facts = self.result.facts
        return any(skip.covers(facts["variant"], facts["arch"], f"{leaf.suite}.{leaf.case}",
                               leaf.row, leaf.reason) for skip in self.skips)

    def judge_parent(self, suite: Test) -> None:
        """A suite or case may fail although everything below it is fine."""
        for case in suite.tests:
            if case.status == FAIL and case.tests and \
                    all(row.status != FAIL for row in case.tests):
                self.add(FAILED, f"{suite.name}.{case.name}", "not ok, though no row failed",
                         [line.text for line in case.lines])
        if suite.status == FAIL and all(case.status != FAIL for case in suite.tests):
            self.add(FAILED, suite.name, "not ok, though no case failed",
                     [line.text for line in suite.lines])

    def complain(self, test: Test, where: str) -> None:
        """Results that contradict their own plan or numbering."""
        for complaint in test.complaints:
            self.add(MISSING, where, complaint)

    def judge_end(self) -> None:
        """Did the boot begin, and end, as it should?"""
        end, status = self.ended["end"], self.ended["status"]
        limit = self.ended.get("limit")
        tail = list(console.tail(self.lines))
        panic = console.panic(self.lines)
        if panic and self.began:
            self.add(PANIC, self.running(panic), panic.text, self.around(panic))
        elif not self.began:
            what = panic.text if panic else {
                boot.SILENT: f"said nothing more for {limit} s",
                boot.OVERTIME: f"no KTAP in {limit} s",
            }.get(end, f"QEMU ended (status {status}) before the first test")
            self.add(BOOT_FAILED, "", what, self.around(panic) if panic else tail)
        elif end != boot.ENDED:
            what = ("said nothing for" if end == boot.SILENT else "was not done after")
            self.add(HANG, self.running(None), f"{what} {limit} s", tail)
        elif self.incomplete() or status:
            what = f"QEMU ended with status {status}" if status else "the guest ended"
            self.add(EARLY, self.running(None), f"{what} before the tests did", tail)

    def incomplete(self) -> bool:
        """Is there a suite that never ended, or fewer suites than planned?"""
        suites = self.root.tests
        return any(suite.status is None for suite in suites) or (
            self.root.planned is not None and self.root.planned > len(suites)) or not suites

    def running(self, at: Line | None) -> str:
        """Where the boot was when that line came (None: when it ended)."""
        if at is not None and at.index in self.owner:
            return self.owner[at.index][0]
        if not self.root.tests:
            return "before the first suite"
        suite = self.root.tests[-1]
        if suite.status is not None:
            return f"after suite {suite.name}"
        unfinished = [case for case in suite.tests if case.status is None]
        if unfinished:
            case = unfinished[-1]
            rows = [row for row in case.tests if row.status is None]
            where = f"{suite.name}.{case.name}"
            if rows:
                return f"{where}: {rows[-1].name}"
            return f"{where}: {self.after_row(case.tests[-1].name)}" if case.tests else where
        known = list(self.cases.get(suite.name, {}))
        count = len(suite.tests)
        return f"{suite.name}.{known[count]}" if count < len(known) else f"{suite.name}'s exit"

    def around(self, at: Line) -> list[str]:
        """The lines that led to a panic, and some after it."""
        return [line.text for line in self.lines[max(0, at.index - 20):at.index + 25]
                if line.text.strip()]

    def judge_splats(self) -> None:
        """Every report of the kernel's makes the test it happened in a failure."""
        for splat in self.splats:
            where, leaf = self.owner_of(splat.lines[0])
            if leaf is not None:
                leaf.judged = FAIL
            self.add(SPLAT, where, f"{splat.kind}: {splat.title}",
                     [line.text for line in splat.lines], count=int(leaf is None))

    def owner_of(self, line: Line) -> tuple[str, Leaf | None]:
        """Who was running when that line was printed."""
        began = next((line.index for line in self.lines if ktap.VERSION.match(line.text)),
                     len(self.lines))
        return self.owner.get(line.index, ("during boot" if line.index < began
                                           else "after the last suite", None))

    def judge_lost(self) -> None:
        """What the console lost may have been anything, a report of the kernel's too."""
        lost = list(console.dropped(self.lines))
        if lost:
            self.add(LOST, "", f"console lost {sum(count for count, _ in lost)} messages",
                     [f"{line.text.strip()}: {self.owner_of(line)[0]}" for _, line in lost])

    def judge_refused(self) -> None:
        """What the kernel did not take of its command line was not tested with."""
        for line in console.refused(self.lines):
            self.add(REFUSED, "", line.text.strip())

    def judge_missing(self) -> None:
        """Compare what ran with what exists."""
        ran: dict[str, set[str]] = {}
        for suite in self.root.tests:
            names = ran.setdefault(suite.name, set())
            names |= {case.name for case in suite.tests if case.status is not None}
        for name, wanted in self.cases.items():
            missing = [case for case in wanted if case not in ran.get(name, set())]
            if missing:
                which = "the whole suite" if len(missing) == len(wanted) else ", ".join(missing)
                self.add(MISSING, name, f"did not run, or gave no result: {which}",
                         count=len(missing))
        for name, cases in ran.items():
            extra = sorted(cases - set(self.cases.get(name, {})))
            if extra:
                self.add(EXTRA, name, f"not in the sources: {', '.join(extra)}",
                         count=len(extra))


@dataclass
class _Whole(_Judge):
    """The steps of judging what all boots gave together."""

    def __post_init__(self) -> None:
        demand = self.folder / "demand"
        self.demand = batched.kept(read_lines(demand)) if demand.exists() else None

    def judge(self) -> None:
        """Judge the results."""
        self.judge_demand()
        self.judge_base()
        self.judge_nothing()
        self.note_mended()

    def judge_demand(self) -> None:
        """Hold the rows that count against what the series says of them."""
        if self.demand is None:
            return
        for leaf in self.result.leaves:
            case = f"{leaf.suite}.{leaf.case}"
            if leaf.judged == PASS and self.demand.fails(case, leaf.row):
                self.fail(leaf, TOO_EARLY, "passed, although nothing applied so far says it does")
            elif leaf.judged == SKIP and leaf.reason.startswith(expected.XFAIL) and \
                    self.demand.passes(case, leaf.row):
                self.fail(leaf, NOT_BATCHED, leaf.reason)
        for row in (*self.demand.passing, *self.demand.failing):
            if self.named_in_vain(row):
                self.add(MISSING, str(row), "a series names it, but there is no such row")

    def named_in_vain(self, row: batched.Row) -> bool:
        """Does row, which a series names, not exist, though it would have run?"""
        if any(row.names(f"{leaf.suite}.{leaf.case}", leaf.row) for leaf in self.result.leaves):
            return False
        return not self.result.facts["filter"] or any(
            row.names(f"{suite}.{case}", row.row)
            for suite, names in self.cases.items() for case in names)

    def judge_base(self) -> None:
        """No patch makes a case or row vanish, or be skipped, that ran on the base."""
        base = self.result.base
        if base is None:
            return
        names = {leaf.name: leaf for leaf in self.result.leaves}
        vanished, new = [], []
        for found in compare.differences(base, self.result.leaves):
            leaf = names.get(found.name)
            if found.patched == SKIP and leaf:
                self.fail(leaf, UNEXPECTED_SKIP, f"ran on the base kernel: {leaf.reason}")
            elif found.patched == PASS and leaf and self.unasked(found, leaf):
                self.fail(leaf, TOO_EARLY, "is an expected failure on the base, and no series "
                          "says that it passes")
            elif found.patched == compare.ABSENT:
                vanished.append(found.name)
            elif found.base == compare.ABSENT:
                new.append(found.name)
        # A boot that broke off has been called that already.
        if vanished and not any(problem.kind in CUT_SHORT for problem in self.result.problems):
            self.add(MISSING, "", "on the base kernel, but not on this one", vanished,
                     count=len(vanished))
        if new and base.verdict == PASSED:
            self.add(EXTRA, "", "on this kernel, but not on the base", new, count=len(new))

    def unasked(self, found: compare.Difference, leaf: Leaf) -> bool:
        """Does a row pass that is an expected failure on the base, and nobody said so?"""
        return (self.demand is not None and self.demand.strict
                and found.base_reason.startswith(batched.REASON)
                and not self.demand.passes(f"{leaf.suite}.{leaf.case}", leaf.row))

    def judge_nothing(self) -> None:
        """Only skips are no result, unless they stand for rows that ran, and failed."""
        leaves = self.result.leaves
        if not leaves or self.result.problems or any(
                leaf.judged != SKIP or leaf.reason.startswith(expected.XFAIL) for leaf in leaves):
            return
        reasons = Counter(leaf.reason for leaf in leaves)
        self.add(NOTHING, "", "every row was skipped: try another VARIANT or FILTER",
                 [f"{count} times: {reason}" for reason, count in reasons.most_common()])

    def note_mended(self) -> None:
        """Say which expected failures no longer fail.

        A line that names several rows is of use as long as one of them fails.
        """
        facts = self.result.facts
        for skip in self.skips:
            if not skip.fails or (self.demand and skip.reason.startswith(batched.REASON)):
                continue
            named = [leaf for leaf in self.result.leaves
                     if skip.names(facts["variant"], facts["arch"], f"{leaf.suite}.{leaf.case}",
                                   leaf.row)]
            # A row that was skipped for another reason did not run: it tells nothing.
            ran = [leaf.judged for leaf in named
                   if leaf.status != SKIP or re.search(skip.reason, leaf.reason)]
            if ran and all(judged == PASS for judged in ran):
                advice = " with these patches" if facts["kernel"].get("patches") else \
                    ": take it out of configs/skips and the source"
                self.result.notes.append(f"{skip} no longer fails{advice}")


def results_below(folder: Path) -> Iterator[Path]:
    """Every result folder at or below folder, in order."""
    for path in sorted(folder.rglob("run.json")):
        if TEMP_MARK not in str(path):
            yield path.parent
