# SPDX-License-Identifier: GPL-2.0
"""Every kind of splat is seen, once, and named."""

import unittest

from runner import console
from runner.tests.fakes import GREEN, WARN, stamped

KINDS = {
    "WARN": "WARNING: mm/gup.c:12 at try_grab_folio+0x1/0x2, CPU#1: kunit_try_catch/12",
    "page-table check": "kernel BUG at mm/page_table_check.c:82!",
    "BUG": "kernel BUG at mm/memory.c:99!",
    "KASAN": "BUG: KASAN: slab-use-after-free in foo+0x1/0x2",
    "bad page": "BUG: Bad page state in process kunit_try_catch  pfn:12345",
    "lockdep": "WARNING: possible circular locking dependency detected",
    "RCU stall": "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "soft lockup": "watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [kunit_try_catch:12]",
    "hung task": "INFO: task kunit_try_catch:12 blocked for more than 120 seconds.",
    "oops": "Unable to handle kernel NULL pointer dereference at virtual address 0",
    "UBSAN": "UBSAN: array-index-out-of-bounds in mm/gup.c:1:2",
    "refcount": "refcount_t: underflow; use-after-free.",
}


class Splats(unittest.TestCase):
    """console.splats()"""

    def test_kinds(self) -> None:
        for kind, line in KINDS.items():
            with self.subTest(kind):
                self.assertEqual(console.kind_of(line), kind)
                self.assertEqual([splat.kind for splat in
                                  console.splats(console.parse(stamped([line])))], [kind])
        more = {"bad page": ["BUG: Bad rss-counter state mm:0 type:MM_ANONPAGES val:1",
                             "BUG: Bad page map in process a  pte:1 pmd:2",
                             "BUG: non-zero pgtables_bytes on freeing mm: 4096"],
                "lockdep": ["WARNING: suspicious RCU usage", "WARNING: inconsistent lock state",
                            "WARNING: bad unlock balance detected!"],
                "RCU stall": ["rcu: INFO: rcu_preempt self-detected stall on CPU",
                              "rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks"],
                "page-table check": ["WARNING: mm/page_table_check.c:70 at x+0x1/0x2, CPU#0: a/1"],
                "oops": ["Internal error: Oops: 0000000096000004 [#1]  SMP",
                         "BUG: unable to handle page fault for address: ffff888"]}
        for kind, lines in more.items():
            for line in lines:
                self.assertEqual(console.kind_of(line), kind, line)

    def test_a_clean_boot_has_none(self) -> None:
        self.assertEqual(console.splats(console.parse(stamped(GREEN))), [])
        for line in ("    BUG: in a picture", "rcu: Hierarchical RCU implementation.",
                     "Lock dependency validator: x", "kmemleak: Kernel memory leak detector"):
            self.assertIsNone(console.kind_of(line))

    def test_one_report_is_one_splat(self) -> None:
        bug = ["------------[ cut here ]------------", "kernel BUG at mm/page_table_check.c:82!",
               "Internal error: Oops - BUG: 00000000f2000800 [#1]  SMP", "Call trace:",
               "---[ end trace 0000000000000000 ]---"]
        found = console.splats(console.parse(stamped([*bug, *WARN, *WARN])))
        self.assertEqual([splat.kind for splat in found], ["page-table check", "WARN", "WARN"])
        kasan = ["=" * 66, "BUG: KASAN: slab-out-of-bounds in foo+0x1/0x2", "Read of size 8",
                 "=" * 66, "    ok 1 x"]
        found = console.splats(console.parse(stamped(kasan)))
        self.assertEqual([len(splat.lines) for splat in found], [3])

    def test_a_report_ends_at_the_next_result(self) -> None:
        found = console.splats(console.parse(stamped(
            ["BUG: Bad page state in process a  pfn:1", "page dumped because: x", "    ok 1 x",
             "after"])))
        self.assertEqual(len(found[0].lines), 2)

    def test_stamps(self) -> None:
        lines = console.parse("[    1.500000][    T1] abc\r\nqemu: x\n")
        self.assertEqual([(line.time, line.text) for line in lines[:2]],
                         [(1.5, "abc"), (None, "qemu: x")])
