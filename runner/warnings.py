# SPDX-License-Identifier: GPL-2.0
"""What compilers and checkers complain about, and what of that is new."""

import re
from collections import Counter
from collections.abc import Iterable

COMPLAINT = re.compile(r"\b(warning|error|WARNING|ERROR)\b|\bCHECK:|undefined reference|\*\*\* ")
LINE_NUMBERS = re.compile(r":\d+(?=[:\s])")
NUMBERED = re.compile(r"\bline \d+")


def complaints(text: str, status: int = 0) -> list[str]:
    """The lines that complain; a tool that fails without a word has complained, too."""
    found = [line.strip().removeprefix("../") for line in text.splitlines()
             if COMPLAINT.search(line)]
    return found or ([f"failed with status {status}"] if status else [])


def new(before: Iterable[str], after: Iterable[str]) -> list[str]:
    """Those of after that before lacks, wherever in a file they stand.

    One that is there twice where it was once is new.
    """
    known = Counter(_plain(line) for line in before)
    found = []
    for line in after:
        plain = _plain(line)
        if known[plain]:
            known[plain] -= 1
        else:
            found.append(line)
    return list(dict.fromkeys(found))


def _plain(line: str) -> str:
    return NUMBERED.sub("line", LINE_NUMBERS.sub("", line))
