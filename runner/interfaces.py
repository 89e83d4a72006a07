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
    _function("folio_pte_batch_flags", "mm/internal.h"),
    _function("dup_mmap", "mm/internal.h", "mm/mmap.c"),
    _function("mm_find_pmd", "mm/internal.h"),
    _function("pgtable_supports_soft_dirty", "include/linux/pgtable.h", "include/linux/mm.h"),
    _function("split_folio_to_order", "include/linux/huge_mm.h"),
    _function("softleaf_is_uffd_wp_marker", "include/linux/leafops.h"),
    _function("mm_flags_set", "include/linux/mm.h"),
    _function("mk_vma_flags", "include/linux/mm.h"),
    _function("get_user_pages_fast_only", "include/linux/mm.h"),
    _function("pte_mkuffd", "arch/arm64/include/asm/pgtable.h"),
    _function("kzalloc_obj", "include/linux/slab.h"),
    _function("generic_bug_clear_once", "include/linux/bug.h"),
    Interface("huge_anon_orders_always", ("include/linux/huge_mm.h",),
              r"\bhuge_anon_orders_always\b"),
    Interface("struct kunit_params", ("include/kunit/test.h",), r"\bstruct kunit_params\b"),
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
