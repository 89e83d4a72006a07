# SPDX-License-Identifier: GPL-2.0
"""make check."""
from collections.abc import Sequence
from pathlib import Path


def main(kdir: str | None, patches: Sequence[Path]) -> int:
    """Placeholder until the tools are wired up."""
    raise NotImplementedError
