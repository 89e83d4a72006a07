# SPDX-License-Identifier: GPL-2.0
"""The parts of a boot: the suites that KUnit's speed attribute calls slow run beside
the others, in a guest of their own, for one guest keeps one processor busy."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner import expected
from runner.paths import REPO

WHOLE = "console.log"
SLOW = "console-slow.log"
LOGS = (WHOLE, SLOW)
SPEED = re.compile(r"\.speed\s*=\s*KUNIT_SPEED_SLOW\b")


@dataclass(frozen=True)
class Part:
    """Some of the suites: which, what tells the kernel so, where its console is kept."""

    log: str
    suites: tuple[str, ...]
    args: tuple[str, ...] = ()


def slow_suites(folder: Path = REPO / "kunit") -> frozenset[str]:
    """The suites in folder whose attributes call them slow."""
    return frozenset(name for text in expected.sources(folder)
                     for name, body in expected.suite_bodies(text) if SPEED.search(body))


def split(suites: Iterable[str], slow: frozenset[str]) -> list[Part]:
    """The parts in which to boot these suites: two if there are slow ones and others."""
    wanted = list(suites)
    parts = [Part(WHOLE, tuple(name for name in wanted if name not in slow),
                  ("kunit.filter=speed>slow",)),
             Part(SLOW, tuple(name for name in wanted if name in slow),
                  ("kunit.filter=speed<=slow",))]
    return parts if all(part.suites for part in parts) else [Part(WHOLE, tuple(wanted))]


def boots_of(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What run.json says of each part's boot; older ones have one part, and say less."""
    if "boots" in facts:
        return list(facts["boots"])
    return [{"log": WHOLE, **facts["boot"]}] if "boot" in facts else []


def seconds(facts: Mapping[str, Any]) -> float:
    """How long it took until the last part was done."""
    return max((boot["seconds"] for boot in boots_of(facts)), default=0.0)
