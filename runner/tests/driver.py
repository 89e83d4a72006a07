# SPDX-License-Identifier: GPL-2.0
"""The command line on fakes: installs nothing, and expects the fake cases."""

import sys
from pathlib import Path
from unittest import mock

from runner import cli, expected, packages, session
from runner.tests.fakes import CASES


def main() -> int:
    """Run the command line with what would look at the machine replaced."""
    with mock.patch.object(packages, "ensure", lambda *_: None), \
            mock.patch.object(expected, "scan", lambda: dict(CASES)), \
            mock.patch.object(session, "SKIPS", Path("/nonexistent")), \
            mock.patch("runner.build.CCACHE_LINKS", "/nonexistent"):
        return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
