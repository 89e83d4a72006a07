# SPDX-License-Identifier: GPL-2.0
"""Child processes that never outlive us, and signals that stop us cleanly."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

from runner.errors import Stopped, Trouble

PR_SET_PDEATHSIG = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 2.0  # seconds between asking a group to end and killing it

_libc = ctypes.CDLL(None, use_errno=True)


def stop_on_signals() -> None:
    """Turn SIGINT, SIGTERM and SIGHUP into Stopped, raised where we are.

    One that was ignored when we began stays so: that is what nohup is for.
    """
    def stop(got: int, _frame: FrameType | None) -> None:
        # One is enough: a second must not interrupt the cleaning up.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise Stopped(signal.Signals(got).name)
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)


def _default_signals() -> None:
    # Ignored signals are inherited.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def _child_setup() -> None:
    # Should we be killed outright, so is it.
    _default_signals()
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _not_there(program: str | Path) -> Trouble:
    return Trouble(f"{program} is not installed: apt-get install it, or run as root "
                   "and it is installed for you")


def members(group_id: int) -> list[int]:
    """The processes of a process group that still run (zombies do not)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, number = stat.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(number) == group_id and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


def kill_group(child: "subprocess.Popen[bytes]", grace: float = GRACE) -> None:
    """End the child's process group, first kindly, reap the child, see all of it gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        deadline = time.monotonic() + grace
        while time.monotonic() < deadline:
            if child.poll() is not None and not members(child.pid):
                return
            time.sleep(0.02)


@contextlib.contextmanager
def group(argv: Sequence[str | Path], *, cwd: Path | None = None,
          env: Mapping[str, str] | None = None, stdin: int | IO[bytes] = subprocess.DEVNULL,
          stdout: int | IO[bytes] | None = None, stderr: int | IO[bytes] | None = subprocess.STDOUT,
          keep_fds: Sequence[int] = ()) -> Iterator["subprocess.Popen[bytes]"]:
    """Start argv in a process group of its own; the group is gone on leaving.

    The caller owns the streams. Raises Trouble if the program is not there.
    """
    try:
        child = subprocess.Popen([str(arg) for arg in argv], cwd=cwd, env=env, stdin=stdin,
                                 stdout=stdout, stderr=stderr, start_new_session=True,
                                 preexec_fn=_child_setup, pass_fds=tuple(keep_fds))
    except FileNotFoundError as error:
        raise _not_there(argv[0]) from error
    try:
        yield child
    finally:
        kill_group(child)
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


def run_logged(argv: Sequence[str | Path], log: Path, *, cwd: Path | None = None,
               env: Mapping[str, str] | None = None, keep_fds: Sequence[int] = (),
               tick: Callable[[], None] | None = None) -> int:
    """Run argv with all its output appended to log; returns its exit status.

    tick() is called about five times a second meanwhile.
    """
    with open(log, "ab") as out:
        with group(argv, cwd=cwd, env=env, stdout=out, keep_fds=keep_fds) as child:
            while child.poll() is None:
                if tick:
                    tick()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(0.2)
            return child.returncode


def run_to_end(argv: Sequence[str | Path], log: Path, *, env: Mapping[str, str] | None = None,
               tick: Callable[[], None], stopping: Callable[[], None]) -> int:
    """Run argv like run_logged(), but never cut it short: a stop takes effect after it.

    For what leaves a mess behind when killed. It goes on even if we are killed
    outright. stopping() is called when a stop begins to wait.
    """
    stops: list[int] = []
    before = {number: signal.signal(number, lambda got, _: stops.append(got))
              for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN}
    try:
        with open(log, "ab") as out:
            child = subprocess.Popen([str(arg) for arg in argv], env=env, stdout=out,
                                     stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                                     start_new_session=True, preexec_fn=_default_signals)
        said = False
        while child.poll() is None:
            tick()
            if stops and not said:
                said = True
                stopping()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.2)
    except FileNotFoundError as error:
        raise _not_there(argv[0]) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if stops:
        signal.raise_signal(stops[0])
    return child.returncode


def capture(argv: Sequence[str | Path], *, cwd: Path | None = None,
            env: Mapping[str, str] | None = None, data: bytes | None = None,
            ) -> "subprocess.CompletedProcess[str]":
    """Run something short and return its status and text; never raises on failure."""
    try:
        done = subprocess.run([str(arg) for arg in argv], cwd=cwd, env=env, input=data,
                              stdin=subprocess.DEVNULL if data is None else None,
                              capture_output=True, check=False, preexec_fn=_child_setup)
    except FileNotFoundError as error:
        raise _not_there(argv[0]) from error
    return subprocess.CompletedProcess(done.args, done.returncode,
                                       done.stdout.decode(errors="backslashreplace"),
                                       done.stderr.decode(errors="backslashreplace"))
