/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks: instructions that do nothing, by which the measuring code tells an
 * emulator's plugin (qemu/count.c) what it is about. A HINT that no
 * architecture version uses on arm64, a long NOP with a displacement on x86.
 * The address of the load behind some of them carries a value.
 */
#ifndef PTEBATCH_MARK_H
#define PTEBATCH_MARK_H

#include <linux/compiler.h>

#define PTB_MARK_BEGIN		0	/* count from here */
#define PTB_MARK_END		1	/* to here */
#define PTB_MARK_ROW		2	/* a row begins: its number is the address's
					 * offset into its page; calls since the
					 * last PASS were empty
					 */
#define PTB_MARK_TABLE		3	/* address in a page table */
#define PTB_MARK_LOCK		4	/* address of a page table's lock */
#define PTB_MARK_STRUCT_PAGE	5	/* the first or the last one of a node */
#define PTB_MARK_PASS		6	/* a pass begins */
#define PTB_MARK_REPORT		7	/* and is complete */

#ifdef CONFIG_ARM64
#define PTB_MARK	"hint #112 + %c0\n\t"
#define PTB_MARK_LOAD	"ldrb wzr, [%1]"
#else
#define PTB_MARK	".byte 0x0f, 0x1f, 0x80\n\t"	/* nopl disp32(%rax) */ \
			".long 0x50544200 + %c0\n\t"
#define PTB_MARK_LOAD	"testb $0, (%1)"
#endif

static __always_inline void ptb_mark(const int nr)
{
	asm volatile(PTB_MARK : : "i" (nr) : "memory");
}

/* Nothing comes between the mark and the load. */
static __always_inline void ptb_mark_addr(const int nr, const void *addr)
{
	asm volatile(PTB_MARK PTB_MARK_LOAD
		     : : "i" (nr), "r" (addr) : "memory", "cc");
}

#endif /* PTEBATCH_MARK_H */
