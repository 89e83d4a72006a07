// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that are swapped out. The device is a RAM disk: as with zram, I/O to it
 * is synchronous, which decides how mm swaps in (SWP_SYNCHRONOUS_IO in
 * mm/memory.c, do_swap_page()); but it needs no compressor, and nobody who sets
 * it up through sysfs.
 */
#include <linux/blkdev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/major.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/uaccess.h>

#include "internal.h"
#include "lib/build.h"
#include "lib/swap.h"
#include "lib/sys.h"

/** ptb_has_swap() - can this kernel have a swap device? */
bool ptb_has_swap(void)
{
	return IS_ENABLED(CONFIG_SWAP) && IS_ENABLED(CONFIG_BLK_DEV_RAM);
}

#ifdef CONFIG_SWAP

#define SWAP_NODE	"/ptebatch-swap"

/* What mkswap(8) writes. */
static int make_swap(const char *path)
{
	union swap_header *header = kzalloc(PAGE_SIZE, GFP_KERNEL);
	struct file *file = filp_open(path, O_RDWR, 0);
	loff_t pos = 0;
	ssize_t ret = -ENOMEM;

	if (IS_ERR(file)) {
		kfree(header);
		return PTR_ERR(file);
	}
	if (header) {
		header->info.version = 1;
		header->info.last_page =
			(i_size_read(file->f_mapping->host) >> PAGE_SHIFT) - 1;
		memcpy(header->magic.magic, "SWAPSPACE2", 10);
		ret = kernel_write(file, header, PAGE_SIZE, &pos);
	}
	kfree(header);
	fput(file);
	flush_delayed_fput();
	return ret == PAGE_SIZE ? 0 : ret < 0 ? ret : -EIO;
}

/* The calls take a path in user memory, and look it up where init would. */
static int swap_on(const char __user *path)
{
	long ret = -EFAULT;

	scoped_with_init_fs() {
		ret = ptb_syscall(PTB_SYS(mknodat), AT_FDCWD,
				  (unsigned long)path, S_IFBLK | 0600,
				  new_encode_dev(MKDEV(RAMDISK_MAJOR, 0)), 0, 0);
		if (!ret)
			ret = make_swap(SWAP_NODE);
		if (!ret)
			ret = ptb_syscall(PTB_SYS(swapon), (unsigned long)path,
					  0, 0, 0, 0, 0);
	}
	return ret;
}

/**
 * ptb_swap_on() - let there be a swap device
 *
 * It stays for the rest of the boot. Spaces see that they leave it empty.
 *
 * Context: the calling thread uses an mm.
 * Return: 0 or -errno.
 */
int ptb_swap_on(void)
{
	static bool is_on;
	unsigned long addr;
	int ret = -EFAULT;

	if (is_on)
		return 0;
	addr = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | MAP_PRIVATE, 0);
	if (IS_ERR_VALUE(addr))
		return addr;
	if (!copy_to_user((void __user *)addr, SWAP_NODE, sizeof(SWAP_NODE)))
		ret = swap_on((const char __user *)addr);
	vm_munmap(addr, PAGE_SIZE);
	is_on = !ret;
	return ret;
}

/** ptb_swap_free() - slots of the swap device that nothing uses */
long ptb_swap_free(void)
{
	return get_nr_swap_pages();
}

/** ptb_swap_count() - how many page table entries hold this swap entry? */
int ptb_swap_count(unsigned long entry)
{
	return __swap_count((swp_entry_t){ .val = entry });
}

/**
 * ptb_page_out() - swap folios out
 * @space: their space
 * @states: those mapped at pages with one of these states, wholly
 *
 * What MADV_PAGEOUT does, but also to folios that another mm maps.
 */
void ptb_page_out(struct ptb_space *space, const char *states)
{
	const struct ptb_layout *l = &space->layout;
	struct folio *folio, *last = NULL;
	LIST_HEAD(list);
	unsigned int i;

	ptb_drain();
	for (i = 0; i < l->nr; i++) {
		unsigned long pfn;

		if (!strchr(states, l->page[i].state))
			continue;
		pfn = ptb_frame_at(space->mm[0], ptb_addr(space, i));
		folio = pfn ? page_folio(pfn_to_page(pfn)) : last;
		if (folio != last && folio_isolate_lru(folio))
			list_add_tail(&folio->lru, &list);
		last = folio;
	}
	reclaim_pages(&list);
}
#else
int ptb_swap_on(void)
{
	return -EOPNOTSUPP;
}

long ptb_swap_free(void)
{
	return 0;
}

int ptb_swap_count(unsigned long entry)
{
	return 0;
}

void ptb_page_out(struct ptb_space *space, const char *states)
{
}
#endif
