# SPDX-License-Identifier: GPL-2.0
"""What the kernel side calls in mm, to tell a tree that is too old before building it."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Interface:
    """One thing the suite needs: pattern must be found in one of the files."""

    name: str
    files: tuple[str, ...]
    pattern: str


def _function(name: str, *files: str) -> Interface:
    return Interface(f"{name}()", files, rf"\b{name}\(")


INTERFACES = (
    _function("folio_pte_batch_flags", "mm/internal.h", "mm/util.c"),
    _function("dup_mmap", "mm/internal.h", "mm/mmap.c"),
    _function("folio_split", "include/linux/huge_mm.h"),
    _function("set_ptes", "include/linux/pgtable.h"),
    _function("pin_user_pages_fast", "include/linux/mm.h"),
    _function("get_user_pages_fast_only", "include/linux/mm.h"),
    Interface("huge_anon_orders_always", ("include/linux/huge_mm.h",),
              r"\bhuge_anon_orders_always\b"),
    Interface("KUnit's arrays of parameters with a plan (struct kunit_params)",
              ("include/kunit/test.h",), r"\bstruct kunit_params\b"),
)


def missing_interfaces(tree: Path) -> list[str]:
    """List what the tree lacks, each as 'NAME is not in FILE'; [] if it will do."""
    missing = []
    for interface in INTERFACES:
        texts = [(tree / file).read_text(errors="replace") for file in interface.files
                 if (tree / file).exists()]
        if not any(re.search(interface.pattern, text) for text in texts):
            missing.append(f"{interface.name} is not in {' or '.join(interface.files)}")
    return missing
