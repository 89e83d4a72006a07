// SPDX-License-Identifier: GPL-2.0
/* File-backed memory of a space: shmem, secretmem, hugetlb. */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "lib/build.h"
#include "lib/sys.h"

static unsigned int all_vma_flags(const struct ptb_layout *l)
{
	unsigned int v, flags = 0;

	for (v = 0; v < l->nr_vmas; v++)
		flags |= l->vma[v].flags;
	return flags;
}

static int open_secret(struct ptb_space *space)
{
#ifdef CONFIG_SECRETMEM
	int fd = ptb_syscall(PTB_SYS(memfd_secret), 0, 0, 0, 0, 0, 0);
	loff_t size = (space->file_shift + space->layout.nr) * PAGE_SIZE;
	struct file *file;

	if (fd < 0) {
		ptb_space_fail(space, "memfd_secret() gives %d", fd);
		return fd;
	}
	file = fget(fd);
	close_fd(fd);
	if (!file)
		return -EBADF;
	space->file = file;
	i_size_write(file_inode(file), size);
	return 0;
#else
	ptb_space_fail(space, "this configuration has no secretmem");
	return -EOPNOTSUPP;
#endif
}

/* One write a folio: shmem allocates it as large as the write. */
static int write_folios(struct ptb_space *space)
{
	const struct ptb_layout *l = &space->layout;
	unsigned int i, pin = 0, order = 0;
	void *zeroes;
	int ret = 0;

	for (i = 0; i < l->nr_folios; i++)
		order = max(order, l->folio[i].order);
	zeroes = kvzalloc(PAGE_SIZE << order, GFP_KERNEL);

	if (!zeroes)
		return -ENOMEM;
	for (i = 0; i < l->nr_folios && !ret; i++) {
		const struct ptb_lfolio *f = &l->folio[i];
		loff_t pos = (loff_t)(space->file_shift + f->first) * PAGE_SIZE;
		size_t len = PAGE_SIZE << f->order;

		if (!(l->vma[l->page[f->first].vma].flags &
		      (PTB_VMA_SHM | PTB_VMA_COW)))
			continue;
		if (!(l->vma[l->page[f->first].vma].flags & PTB_VMA_MOV))
			pin = memalloc_pin_save();
		if (kernel_write(space->file, zeroes, len, &pos) != len)
			ret = -EIO;
		if (!(l->vma[l->page[f->first].vma].flags & PTB_VMA_MOV))
			memalloc_pin_restore(pin);
	}
	kvfree(zeroes);
	return ret;
}

/**
 * ptb_open_file() - make the file that a layout's file VMAs map
 * @space: placed, nothing mapped yet
 *
 * A hole in the layout is a hole in the file.
 *
 * Return: 0, also if no VMA maps a file, or -errno.
 */
int ptb_open_file(struct ptb_space *space)
{
	const unsigned int flags = all_vma_flags(&space->layout);
	struct file *file;
	int ret;

	if (flags & PTB_VMA_SECRET)
		return open_secret(space);
	if (!(flags & (PTB_VMA_SHM | PTB_VMA_COW)))
		return 0;
	file = ptb_shmem_file();
	if (IS_ERR(file))
		return PTR_ERR(file);
	space->file = file;
	ret = write_folios(space);
	i_size_write(file_inode(file),
		     (space->file_shift + space->layout.nr) * PAGE_SIZE);
	return ret;
}

/**
 * ptb_fault_file() - fault in pages of file or hugetlb VMAs
 * @space: with those VMAs mapped, writable
 * @start: first page
 * @end: the page behind the last one
 *
 * Return: 0 or -EFAULT.
 */
int ptb_fault_file(struct ptb_space *space, unsigned int start,
		   unsigned int end)
{
	const struct ptb_layout *l = &space->layout;
	const bool movable = l->vma[l->page[start].vma].flags & PTB_VMA_MOV;
	unsigned int i, flags, pin = 0;
	int ret;

	/* Or do_set_pmd() maps a large folio by a PMD; ptb_edit() undoes it. */
	if (!(l->vma[l->page[start].vma].flags & PTB_VMA_HUGETLB))
		ptb_syscall(PTB_SYS(madvise), ptb_addr(space, start),
			    (end - start) * PAGE_SIZE, MADV_NOHUGEPAGE, 0, 0, 0);
	for (i = start; i < end; i++) {
		const char state = l->page[i].state;

		if (!ptb_state_maps(state))
			continue;
		flags = state == 'f' || state == 'c' ? 0 : FAULT_FLAG_WRITE;
		if (!movable)
			pin = memalloc_pin_save();
		ret = ptb_fault(space->mm[0], ptb_addr(space, i), flags);
		if (!movable)
			memalloc_pin_restore(pin);
		if (ret) {
			ptb_space_fail(space, "building: fault at page %u gives %#x",
				       i, ret);
			return -EFAULT;
		}
		if (l->vma[l->page[i].vma].flags & PTB_VMA_HUGETLB)
			i |= (1 << l->folio[l->page[i].folio].order) - 1;
	}
	return 0;
}
