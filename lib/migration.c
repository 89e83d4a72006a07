// SPDX-License-Identifier: GPL-2.0
/*
 * Do the A/D bits survive a migration entry?
 *
 * Where the swap offset has room for them (migration_entry_supports_ad() in
 * include/linux/swapops.h) they must. On arm64 with contpte and 52-bit physical
 * addresses in use (FEAT_LPA2, as QEMU's -cpu max has it) the accessed bit does
 * not, as of 7.3.4: SWP_MIG_YOUNG is bit 40 of the offset, that is bit 52 of
 * the entry, PTE_CONT; and set_ptes() in arch/arm64/include/asm/pgtable.h
 * begins with pte_mknoncont(), for entries that are not present as well. So
 * every page is old after a migration or a THP split. The oracle goes by what
 * the probe below finds; the case migration_keeps_accessed_bit in
 * kunit/ptebatch_lib_kunit.c stays an expected failure until that is mended.
 */
#include <linux/leafops.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/swapops.h>

#include "lib/space.h"

/** ptb_migration_has_ad() - does a migration entry have room for A/D bits? */
bool ptb_migration_has_ad(void)
{
	return migration_entry_supports_ad();
}

/* Store a migration entry where nobody looks, and read it back. */
static softleaf_t stored(void)
{
	static pte_t slots[2] __aligned(2 * sizeof(pte_t));
	swp_entry_t entry = make_readable_migration_entry(1);

	entry = make_migration_entry_young(entry);
	entry = make_migration_entry_dirty(entry);
	set_pte(&slots[0], swp_entry_to_pte(entry));
	return softleaf_from_pte(ptep_get(&slots[0]));
}

/** ptb_migration_keeps_young() - is the accessed bit there afterwards? */
bool ptb_migration_keeps_young(void)
{
	return softleaf_is_migration_young(stored());
}

/** ptb_migration_keeps_dirty() - is the dirty bit there afterwards? */
bool ptb_migration_keeps_dirty(void)
{
	return softleaf_is_migration_dirty(stored());
}
