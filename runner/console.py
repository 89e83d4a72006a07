# SPDX-License-Identifier: GPL-2.0
"""Reading a console: time stamps, and everything that should not be on it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

STAMP = re.compile(r"^\[\s*(\d+\.\d+)\](?:\[\s*[TC]\d+\])? ?")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Line:
    """One console line: its index, the guest's seconds (None without a stamp), its text."""

    index: int
    time: float | None
    text: str


def read(path: Path) -> list[Line]:
    """The lines of the console kept at path; none if there is no such file."""
    return parse(path.read_bytes().decode(errors="backslashreplace")) if path.exists() else []


def parse(text: str) -> list[Line]:
    """Split a console log into lines, time stamps taken off."""
    lines = []
    for index, raw in enumerate(text.replace("\r", "").split("\n")):
        raw = ESCAPES.sub("", raw)
        stamp = STAMP.match(raw)
        lines.append(Line(index, float(stamp.group(1)) if stamp else None,
                          raw[stamp.end():] if stamp else raw))
    return lines


@dataclass(frozen=True)
class Splat:
    """A report by the kernel that something is wrong: what kind, its lines."""

    kind: str
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        """The line that names it."""
        return self.lines[0].text


# How the kernel's reports begin, at the first column. The order counts: the
# first that fits names the splat.
PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in (
    ("page-table check", r"(kernel BUG at |WARNING: )\S*mm/page_table_check\.c"),
    ("KASAN", r"BUG: KASAN: "),
    ("KFENCE", r"BUG: KFENCE: "),
    ("KCSAN", r"BUG: KCSAN: "),
    ("KMSAN", r"BUG: KMSAN: "),
    ("UBSAN", r"UBSAN: "),
    ("bad page", r"BUG: Bad (page|rss)|BUG: non-zero pgtables_bytes|BUG: mm leaked"),
    ("lockdep", r"WARNING: (possible|inconsistent|suspicious|bad|held|lock held|nested|HARDIRQ|"
                r"SOFTIRQ|RECLAIM|Nested|chain|circular|irq)\b"
                r"|INFO: (trying to register non-static key|possible|suspicious)"
                r"|DEBUG_LOCKS_WARN_ON|BUG: (held lock|lock held|bad unlock)"
                r"|BUG: MAX_LOCK\w* too low"),
    ("RCU stall", r"(rcu: )?INFO: rcu\w* .*(self-)?detected (expedited )?stall"
                  r"|INFO: rcu\w*( self-)? ?detected"),
    ("soft lockup", r"watchdog: BUG: (soft|hard) lockup|BUG: (soft|hard) lockup"
                    r"|(watchdog: )?Watchdog detected hard LOCKUP"),
    ("hung task", r"INFO: task .* blocked (for more than|in I/O wait)"),
    ("oops", r"Unable to handle kernel|Internal error: |Oops[: ]|Oops - |BUG: unable to handle|"
             r"BUG: kernel NULL pointer|general protection fault|invalid opcode: |"
             r"stack segment: |divide error: |Unhandled fault|Bad mode in|kernel paging request|"
             r"traps: PANIC"),
    ("BUG", r"kernel BUG at |BUG: |Insufficient stack space|list_(add|del) corruption"),
    ("WARN", r"WARNING: "),
    ("memory leak", r"kmemleak: \d+ new suspected"),
    ("allocation failure", r"\S+: page allocation failure: |.*invoked oom-killer: "
                           r"|SLUB: Unable to allocate"),
    ("refcount", r"refcount_t: "),
))
DROPPED = re.compile(r"\*\* (\d+) printk messages dropped \*\*")
REFUSED = re.compile(r".+: `.*' (invalid|too large) for parameter `.*'$")  # kernel/params.c
PANIC = re.compile(r"Kernel panic - not syncing(: )?(.*)")
CUT = re.compile(r"-+\[ cut here \]-+")
END_TRACE = re.compile(r"---\[ end (trace|Kernel panic)")
RULE = re.compile(r"={20,}$")
KTAP = re.compile(r"\s*(ok|not ok) \d+ |\s*KTAP version|\s*# Subtest: ")
LIMIT = 120  # lines a report may have


def kind_of(text: str) -> str | None:
    """Name the kind of report that begins with that line, None if none does."""
    for kind, pattern in PATTERNS:
        if pattern.match(text):
            return kind
    return None


def splats(lines: Sequence[Line]) -> list[Splat]:
    """Find every report on a console, each once, with the lines that belong to it."""
    found: list[Splat] = []
    index = 0
    while index < len(lines):
        kind = kind_of(lines[index].text)
        if kind is None:
            index += 1
            continue
        end = _end(lines, index, ruled=index > 0 and bool(RULE.match(lines[index - 1].text)))
        found.append(Splat(kind, tuple(lines[index:end])))
        index = end
    return found


def _end(lines: Sequence[Line], start: int, ruled: bool) -> int:
    """Where the report beginning at start ends (exclusive).

    Its own follow-ups (an oops after a BUG, the registers) are part of it; a
    new cut mark, a KTAP line or its closing mark ends it.
    """
    for index in range(start + 1, min(len(lines), start + LIMIT)):
        text = lines[index].text
        if END_TRACE.match(text) or (ruled and RULE.match(text)):
            return index + 1
        if CUT.match(text) or KTAP.match(text) or (RULE.match(text) and not ruled):
            return index
        if PANIC.match(text):
            return index + 1
        # Reports without a closing mark: anything not like a report's body ends them.
        if _another(lines[start].text, text):
            return index
    return min(len(lines), start + LIMIT)


def _another(first: str, text: str) -> bool:
    """Does text begin a report of its own rather than belong to first's?"""
    kind, other = kind_of(first), kind_of(text)
    if other is None:
        return False
    if kind == "bad page":
        return other == "bad page"
    # BUG, then the oops it raises; a fault, then its Oops line.
    return not (kind in ("BUG", "page-table check", "oops", "soft lockup", "RCU stall", "KASAN")
                and other in ("oops", "BUG") and not text.startswith("kernel BUG at"))


def refused(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines in which the kernel says that it does not take an argument."""
    return (line for line in lines if REFUSED.match(line.text))


def panic(lines: Iterable[Line]) -> Line | None:
    """The line of a kernel panic, None without one."""
    return next((line for line in lines if PANIC.match(line.text)), None)


def dropped(lines: Iterable[Line]) -> Iterator[tuple[int, Line]]:
    """Where printk says that it lost messages: how many, and the line that says so."""
    for line in lines:
        for match in DROPPED.finditer(line.text):
            yield int(match.group(1)), line


def linux_version(lines: Iterable[Line]) -> str | None:
    """The kernel's banner, None if it never got that far."""
    for line in lines:
        match = re.search(r"Linux version .*", line.text)
        if match:
            return match.group(0)
    return None


def tail(lines: Sequence[Line], count: int = 15) -> Iterator[str]:
    """The last lines that say anything."""
    return (line.text for line in [line for line in lines if line.text.strip()][-count:])
