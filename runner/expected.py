# SPDX-License-Identifier: GPL-2.0
"""Which cases must run, and which skips are expected.

A missing result must never look green, so the cases that exist are counted in
the sources, not in what a boot says about itself.
"""

import fnmatch
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.errors import Trouble
from runner.paths import REPO

# suite name -> case name -> does it have rows; both in the order KUnit runs them
Cases = dict[str, dict[str, bool]]

XFAIL = "XFAIL:"  # how the reason of an expected failure begins

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
ARRAY = re.compile(r"struct\s+kunit_case\s+(\w+)\s*\[\s*\]\s*=\s*\{(.*?)\n\}\s*;", re.S)
CASE = re.compile(r"\b(KUNIT_CASE\w*)\(\s*(\w+)")
SUITE = re.compile(r"struct\s+kunit_suite\s+\w+\s*=\s*\{(.*?)\n\}\s*;", re.S)
NAME = re.compile(r"\.name\s*=\s*\"([^\"]+)\"")
TEST_CASES = re.compile(r"\.test_cases\s*=\s*(\w+)")


def suite_bodies(text: str) -> Iterator[tuple[str, str]]:
    """The name of each suite in C text, and what stands in its braces."""
    for body in SUITE.findall(COMMENT.sub(" ", text)):
        name = NAME.search(body)
        if name:
            yield name.group(1), body


def sources(folder: Path = REPO / "kunit") -> Iterator[str]:
    """The C text of each file of folder that has suites."""
    return (path.read_text(errors="replace") for path in sorted(folder.glob("*_kunit.c")))


def scan_text(text: str) -> Cases:
    """Find the suites and cases in one C file."""
    text = COMMENT.sub(" ", text)
    arrays: Cases = {array: {case: "_PARAM" in macro for macro, case in CASE.findall(body)}
                     for array, body in ARRAY.findall(text)}
    suites: Cases = {}
    for name, body in suite_bodies(text):
        cases = TEST_CASES.search(body)
        if cases:
            suites[name] = arrays.get(cases.group(1), {})
    return suites


def scan(folder: Path = REPO / "kunit") -> Cases:
    """Find the suites and cases in folder's *_kunit.c; raises Trouble if there are none."""
    suites: Cases = {}
    for text in sources(folder):
        suites |= scan_text(text)
    if not any(suites.values()):
        raise Trouble(f"no KUnit case in {folder}: this checkout is not complete")
    return suites


def load(text: str) -> Cases:
    """Read an expected.json; raises ValueError if it is none.

    Older ones are lists of cases and do not say which have rows.
    """
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("no suites in expected.json")
    return {suite: {case: bool(names[case]) if isinstance(names, dict) else False
                    for case in names} for suite, names in data.items()}


def select(cases: Mapping[str, Mapping[str, bool]], glob: str) -> Cases:
    """Leave what kunit.filter_glob=glob leaves; raises Trouble if that is nothing."""
    if not glob:
        return {suite: dict(names) for suite, names in cases.items()}
    suite_glob, _, case_glob = glob.partition(".")
    chosen = {suite: {case: rows for case, rows in names.items()
                      if fnmatch.fnmatchcase(case, case_glob or "*")}
              for suite, names in cases.items() if fnmatch.fnmatchcase(suite, suite_glob)}
    chosen = {suite: names for suite, names in chosen.items() if names}
    if not chosen:
        raise Trouble(f"no case matches {glob!r} (SUITE or SUITE.CASE, * and ? are wild): "
                      f"the suites are {', '.join(cases)}")
    return chosen


@dataclass(frozen=True)
class Skip:
    """One line of configs/skips: where a skip is expected, and for what reason."""

    variant: str
    arch: str
    case: str
    row: str
    reason: str

    def covers(self, variant: str, arch: str, case: str, row: str, reason: str) -> bool:
        """Is that skip this expected one? case is 'suite.case', row "" for none."""
        return (self.names(variant, arch, case, row)
                and re.search(self.reason, reason) is not None)

    def names(self, variant: str, arch: str, case: str, row: str) -> bool:
        """Is this line about that case or row, there?"""
        return (self.applies(variant, arch) and fnmatch.fnmatchcase(case, self.case)
                and (self.row == "*" or matches_row(row, self.row)))

    def applies(self, variant: str, arch: str) -> bool:
        """Is this line about that kernel?"""
        return (fnmatch.fnmatchcase(variant, self.variant)
                and fnmatch.fnmatchcase(arch, self.arch))

    @property
    def fails(self) -> bool:
        """Does it stand for an expected failure?"""
        return self.reason.startswith(XFAIL)

    def __str__(self) -> str:
        return self.case + (f":{self.row}" if self.row != "*" else "")


def matches_row(row: str, glob: str) -> bool:
    """Does that glob name that row? Rows are pictures: brackets mean folios, not sets."""
    return fnmatch.fnmatchcase(_plain(row), _plain(glob))


def _plain(text: str) -> str:
    return text.replace("[", "\1").replace("]", "\2")


def parse_skips(lines: Iterable[str]) -> list[Skip]:
    """Parse 'VARIANT ARCH SUITE.CASE[:ROW] # REASON' lines.

    The first three are globs (but [ and ] stand for themselves in ROW), REASON
    is a regular expression found in the skip's own reason; one that begins with
    XFAIL: says that the skip stands for an expected failure. Lines that start
    with # are comments. Raises Trouble for a line that is neither.
    """
    skips = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = re.match(r"\s*(\S+)\s+(\S+)\s+([^\s:]+)(?::(.*?))?\s+# ?(.+)$", line)
        if not match:
            raise Trouble(f"configs/skips line {number} is not "
                          "'VARIANT ARCH SUITE.CASE[:ROW] # REASON': correct it")
        variant, arch, case, row, reason = match.groups()
        skips.append(Skip(variant, arch, case, row or "*", reason.strip()))
    return skips
