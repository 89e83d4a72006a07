# SPDX-License-Identifier: GPL-2.0
"""The base kernel's result, kept beside that of a patched one, and what differs."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

ABSENT = "absent"


class Leaf(Protocol):
    """What is needed of a judge.Leaf."""

    suite: str
    judged: str
    reason: str

    @property
    def name(self) -> str:
        """suite.case: row"""


@dataclass(frozen=True)
class Entry:
    """One case or row of the base."""

    suite: str
    name: str
    judged: str
    reason: str = ""


@dataclass(frozen=True)
class Base:
    """What came out of the base kernel, as far as a comparison needs it."""

    verdict: str
    seed: int
    entries: tuple[Entry, ...]

    def counts(self, suite: str) -> dict[str, int]:
        """How many of a suite's were judged what."""
        judged = [entry.judged for entry in self.entries if entry.suite == suite]
        return {status: judged.count(status) for status in set(judged)}


@dataclass(frozen=True)
class Difference:
    """A case or row that is not judged the same on both kernels."""

    name: str
    base: str
    patched: str
    base_reason: str = ""
    reason: str = ""


def record(verdict: str, seed: int, leaves: Iterable[Leaf]) -> Base:
    """Take down what a comparison needs of the base's result."""
    return Base(verdict, seed, tuple(Entry(leaf.suite, leaf.name, leaf.judged, leaf.reason)
                                     for leaf in leaves))


def dump(base: Base) -> dict[str, Any]:
    """As JSON data."""
    return asdict(base)


def load(data: dict[str, Any]) -> Base:
    """Read what dump() made."""
    return Base(data["verdict"], data["seed"],
                tuple(Entry(**entry) for entry in data["entries"]))


def differences(base: Base, leaves: Sequence[Leaf]) -> list[Difference]:
    """Everything that is not judged the same, in the base's order, new ones last."""
    before, after = _numbered(base.entries), _numbered(leaves)
    found = []
    for key in [*before, *(key for key in after if key not in before)]:
        old = before[key].judged if key in before else ABSENT
        new = after[key].judged if key in after else ABSENT
        if old != new:
            found.append(Difference(key[0], old, new, *(
                side[key].reason if key in side else "" for side in (before, after))))
    return found


def _numbered(leaves: Iterable[Any]) -> dict[tuple[str, int], Any]:
    """By name; of two of the same name the second has another number."""
    found: dict[tuple[str, int], Any] = {}
    for leaf in leaves:
        number = 0
        while (leaf.name, number) in found:
            number += 1
        found[leaf.name, number] = leaf
    return found
