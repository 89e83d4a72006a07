# SPDX-License-Identifier: GPL-2.0
"""The command line on fakes: installs nothing, and expects the fake cases."""

import os
import sys
from pathlib import Path
from unittest import mock

from runner import cli, expected, packages, trial
from runner.tests.fakes import CASES, SKIPS


def main() -> int:
    """Run the command line with what would look at the machine replaced."""
    with mock.patch.object(packages, "ensure", lambda *_: None), \
            mock.patch.object(expected, "scan", lambda: dict(CASES)), \
            mock.patch.object(trial, "SKIPS", Path(os.environ.get(SKIPS, "/nonexistent"))), \
            mock.patch("runner.build.CCACHE_LINKS", "/nonexistent"):
        return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
