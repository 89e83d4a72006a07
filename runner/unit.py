# SPDX-License-Identifier: GPL-2.0
"""Running the runner's own unit tests, and counting them."""

import os
import re
import subprocess
import sys
from pathlib import Path

from runner import proc
from runner.paths import REPO
from runner.report import counts_line

KERNEL_TREE = "PTEBATCH_KTREE"  # tells the tests where a kernel tree is, if there is one


def run(tree: Path | None = None) -> tuple[int, int, int]:
    """Run the unit tests; returns how many passed, failed, were skipped.

    A test run that dies without counting is one failure.
    """
    env = dict(os.environ)
    if tree is not None:
        env[KERNEL_TREE] = str(tree)
    command = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "runner/tests", "-t", "."]
    with proc.group(command, cwd=REPO, env=env, stdout=subprocess.PIPE) as child:
        assert child.stdout
        text = child.stdout.read().decode(errors="replace")
        status = child.wait()
    passed, failed, skipped = counts(text)
    if failed or status:
        print(text, flush=True)
    if status and not failed:
        failed = 1
    return passed, failed, skipped


def counts(text: str) -> tuple[int, int, int]:
    """Read unittest's own summary: passed, failed, skipped."""
    ran = re.search(r"^Ran (\d+) tests?", text, re.M)
    if not ran:
        return 0, 1, 0
    numbers = {key: int(value) for key, value in
               re.findall(r"(failures|errors|skipped|unexpected successes)=(\d+)",
                          text[ran.end():])}
    skipped = numbers.pop("skipped", 0)
    failed = sum(numbers.values())
    return max(0, int(ran.group(1)) - failed - skipped), failed, skipped


def main() -> int:
    """The unit command."""
    tree = os.environ.get(KERNEL_TREE)
    passed, failed, skipped = run(Path(tree) if tree else None)
    print(counts_line(passed, failed, skipped))
    return 1 if failed or not passed else 0
