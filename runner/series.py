# SPDX-License-Identifier: GPL-2.0
"""The series in mm-patches: folders of patches, and what they say of themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner import batched
from runner.batched import Demand, Expect
from runner.errors import Trouble
from runner.packages import read_lines
from runner.paths import REPO

ROOT = REPO / "mm-patches"
COVER = "0000-"


@dataclass(frozen=True)
class Series:
    """One series: its patches in order, without the cover letter."""

    name: str
    folder: Path
    patches: tuple[Path, ...]
    expect: Expect

    @property
    def last(self) -> int:
        """The number of the last patch."""
        return number(self.patches[-1])


def number(patch: Path) -> int:
    """What a patch's name begins with, 0 if that is no number."""
    digits = patch.name.partition("-")[0]
    return int(digits) if digits.isdecimal() else 0


def load(root: Path | None = None) -> list[Series]:
    """Read every series, in the order of the file root/series; raises Trouble."""
    root = root or ROOT
    names = [line.strip() for line in read_lines(root / "series")
             if line.strip() and not line.startswith("#")]
    if not names:
        raise Trouble(f"{root / 'series'} names no series: this checkout is not complete")
    return [_read(root / name) for name in names]


def _read(folder: Path) -> Series:
    patches = [path for path in sorted(folder.glob("*.patch"))
               if not path.name.startswith(COVER)]
    numbers = [number(path) for path in patches]
    if not patches or numbers != list(range(1, len(patches) + 1)):
        raise Trouble(f"{folder} does not hold 0001-*.patch and so on without a gap: "
                      "make it with git format-patch")
    return Series(folder.name, folder, tuple(patches),
                  batched.read(folder, numbers) or Expect())


def choose(series: Sequence[Series], names: Sequence[str]) -> list[Series]:
    """Those of that name, all without names; raises Trouble for a name that is none."""
    for name in names:
        if name not in [one.name for one in series]:
            raise Trouble(f"no series {name!r}: choose from "
                          f"{', '.join(one.name for one in series)}")
    return [one for one in series if not names or one.name in names]


def declared(patches: Sequence[Path]) -> tuple[dict[str, str], Demand | None]:
    """Kernel arguments, and which rows must pass, with all of those files and folders.

    Where a patch comes without a word about it, any row may pass.
    """
    args: dict[str, str] = {}
    passing: list[batched.Row] = []
    silent = False
    for patch in patches:
        numbers = [number(path) for path in patch.glob("*.patch")] if patch.is_dir() else []
        expect = batched.read(patch, numbers) if numbers else None
        if expect is None:
            silent = True
            continue
        args |= expect.args(max(numbers))
        passing += expect.passing(max(numbers))
    if not patches or (silent and not passing):
        return args, None
    return args, Demand(tuple(passing), strict=not silent)
