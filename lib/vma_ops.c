// SPDX-License-Identifier: GPL-2.0
/* mincore() and mremap(), called as user space does, and what they need. */
#include <linux/bitmap.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/leafops.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pgtable.h>
#include <linux/uaccess.h>
#include <linux/userfaultfd_k.h>

#include "internal.h"
#include "lib/ops.h"
#include "lib/space.h"
#include "lib/sys.h"

/* Where mincore() puts its vector; far from layouts and stages. */
#define VEC_AREA	0xc0000000UL

/* The page table entry of a page of the layout, locked; NULL without table. */
static pte_t *lock_pte(struct ptb_space *space, unsigned int page,
		       spinlock_t **ptl)
{
	struct mm_struct *mm = space->mm[0];
	unsigned long addr = ptb_addr(space, page);
	pmd_t *pmd = mm_find_pmd(mm, addr);

	return pmd ? pte_offset_map_lock(mm, pmd, addr, ptl) : NULL;
}

/* Put a migration entry in a page's place, or the entry back. */
static pte_t swap_entry(struct ptb_space *space, unsigned int page, pte_t *back)
{
	struct mm_struct *mm = space->mm[0];
	unsigned long addr = ptb_addr(space, page);
	spinlock_t *ptl;	/* page table lock */
	pte_t *ptep = lock_pte(space, page, &ptl);
	softleaf_t entry;
	pte_t old;

	if (!ptep)
		return __pte(0);
	old = ptep_get_and_clear(mm, addr, ptep);
	if (back) {
		set_pte_at(mm, addr, ptep, *back);
	} else {
		entry = make_readable_migration_entry(pte_pfn(old));
		set_pte_at(mm, addr, ptep, softleaf_to_pte(entry));
	}
	pte_unmap_unlock(ptep, ptl);
	return old;
}

/**
 * ptb_mincore() - call mincore()
 * @space: whose mm the calling thread uses
 * @req: the call
 * @vec: PTB_VEC_MAX bytes: what stands around and in the vector afterwards, if
 *	the call was given memory of its own
 *
 * Return: what the call returned, or -ENOMEM without memory for the vector.
 */
long ptb_mincore(struct ptb_space *space, const struct ptb_mincore *req,
		 u8 *vec)
{
	const size_t size = PAGE_ALIGN(PTB_VEC_MAX);
	unsigned long at = req->vec;
	pte_t old;
	long ret;

	memset(vec, PTB_VEC_GUARD, PTB_VEC_MAX);
	if (!at) {
		at = vm_mmap(NULL, VEC_AREA, size, PROT_READ | PROT_WRITE,
			     MAP_FIXED | MAP_PRIVATE, 0);
		if (at != VEC_AREA ||
		    copy_to_user((void __user *)at, vec, PTB_VEC_MAX))
			return -ENOMEM;
		at += PTB_VEC_GUARDS;
	}
	if (req->in_flight >= 0)
		old = swap_entry(space, req->in_flight, NULL);
	ret = ptb_syscall(PTB_SYS(mincore), req->start, req->len, at, 0, 0, 0);
	if (req->in_flight >= 0)
		swap_entry(space, req->in_flight, &old);
	if (!req->vec) {
		if (copy_from_user(vec, (void __user *)VEC_AREA, PTB_VEC_MAX))
			ret = -ENOMEM;
		vm_munmap(VEC_AREA, size);
	}
	return ret;
}

/**
 * ptb_mremap() - call mremap()
 * @space: whose mm the calling thread uses
 * @req: the call
 *
 * Return: what the call returned.
 */
long ptb_mremap(struct ptb_space *space, const struct ptb_mremap *req)
{
	struct mm_struct *mm = space->mm[0];
	const unsigned long base = mm->mmap_base;
	long ret;

	/* khugepaged must not learn of this mm, see ptb_build(). */
	mm_flags_set(MMF_VM_HUGEPAGE, mm);
	/* Where the kernel looks first, from there downwards. */
	if (!(req->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) && req->new_addr)
		mm->mmap_base = req->new_addr + PAGE_ALIGN(req->new_len);
	ret = ptb_syscall(PTB_SYS(mremap), req->addr, req->old_len,
			  req->new_len, req->flags, req->new_addr, 0);
	mm->mmap_base = base;
	mm_flags_clear(MMF_VM_HUGEPAGE, mm);
	return ret;
}

/**
 * ptb_mapped() - which pages of the layout are in a VMA?
 * @space: the space
 * @mapped: bitmap, written
 */
void ptb_mapped(struct ptb_space *space, unsigned long *mapped)
{
	unsigned int i;

	bitmap_zero(mapped, PTB_MAX_PAGES);
	mmap_read_lock(space->mm[0]);
	for (i = 0; i < space->layout.nr; i++)
		if (vma_lookup(space->mm[0], ptb_addr(space, i)))
			__set_bit(i, mapped);
	mmap_read_unlock(space->mm[0]);
}

/**
 * ptb_uffd_attach() - give (uffd) and (rwp) VMAs a context
 * @space: built, without one
 *
 * A real userfaultfd that asked for no events, so that mremap() has to drop
 * its marks. Nobody reads from it: a fault that it has to handle never ends.
 *
 * Return: 0 or -errno.
 */
int ptb_uffd_attach(struct ptb_space *space)
{
	int fd = ptb_syscall(PTB_SYS(userfaultfd), 0, 0, 0, 0, 0, 0);
	struct mm_struct *mm = space->mm[0];
	struct vm_area_struct *vma;
	struct file *file;

	if (fd < 0)
		return fd;
	file = fget(fd);
	close_fd(fd);
	if (!file)
		return -EBADF;
	space->uffd = file;
	mmap_write_lock(mm);
	VMA_ITERATOR(vmi, mm, 0);
	for_each_vma(vmi, vma) {
		if (!(vma->vm_flags & (VM_UFFD_WP | VM_UFFD_RWP)))
			continue;
		vma_start_write(vma);
		vma->vm_userfaultfd_ctx.ctx = file->private_data;
	}
	mmap_write_unlock(mm);
	return 0;
}
