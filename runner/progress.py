# SPDX-License-Identifier: GPL-2.0
"""Progress of long work: one rewriting line on a terminal, else a line now and then."""

import sys
import time
from typing import TextIO

TTY_PERIOD = 0.5
LOG_PERIOD = 30.0


def elapsed(seconds: float) -> str:
    """Write a duration in seconds the way people say it: 5 s, 3 min 20 s."""
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


class Progress:
    """Reports one phase of work; use as a context manager.

    tick() may be called as often as one likes; say() ends the phase's line
    with what came out of it.
    """

    def __init__(self, phase: str, out: TextIO | None = None) -> None:
        self.phase = phase
        self.out = out or sys.stdout
        self.tty = self.out.isatty()
        self.start = time.monotonic()
        self.last = self.start if not self.tty else 0.0
        self.ended = False

    def __enter__(self) -> "Progress":
        if self.tty:
            self.tick()
        else:
            self._line(f"{self.phase} ...")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if not self.ended:
            self.say("done" if kind is None else "stopped")

    def seconds(self) -> float:
        """Seconds since the phase began."""
        return time.monotonic() - self.start

    def tick(self, detail: str = "") -> None:
        """Show that work goes on; detail says how far it is."""
        now = time.monotonic()
        if now - self.last < (TTY_PERIOD if self.tty else LOG_PERIOD):
            return
        self.last = now
        text = f"{self.phase}: {detail + ', ' if detail else ''}{elapsed(self.seconds())}"
        if self.tty:
            self.out.write(f"\r\033[K{text}")
            self.out.flush()
        else:
            self._line(text)

    def note(self, text: str) -> None:
        """Say something at once; the phase goes on."""
        if self.tty:
            self.out.write("\r\033[K")
        self._line(f"{self.phase}: {text}")

    def say(self, outcome: str) -> None:
        """End the phase with its outcome."""
        self.ended = True
        if self.tty:
            self.out.write("\r\033[K")
        self._line(f"{self.phase}: {outcome}, {elapsed(self.seconds())}")

    def _line(self, text: str) -> None:
        self.out.write(text + "\n")
        self.out.flush()
