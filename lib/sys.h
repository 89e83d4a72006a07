/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls of the test thread on its own mm, through the architecture's
 * entry points: what user space would call, argument checks included.
 */
#ifndef PTEBATCH_SYS_H
#define PTEBATCH_SYS_H

#include <linux/ptrace.h>

#if defined(CONFIG_ARM64)
#define PTB_SYS(name)	__arm64_sys_##name
#elif defined(CONFIG_X86_64)
#define PTB_SYS(name)	__x64_sys_##name
#else
#error "no system call entry points known for this architecture"
#endif

long PTB_SYS(mmap)(const struct pt_regs *regs);
long PTB_SYS(mremap)(const struct pt_regs *regs);
long PTB_SYS(mincore)(const struct pt_regs *regs);
long PTB_SYS(userfaultfd)(const struct pt_regs *regs);
long PTB_SYS(madvise)(const struct pt_regs *regs);
long PTB_SYS(mprotect)(const struct pt_regs *regs);
long PTB_SYS(mknodat)(const struct pt_regs *regs);
long PTB_SYS(swapon)(const struct pt_regs *regs);
long PTB_SYS(memfd_secret)(const struct pt_regs *regs);

/**
 * ptb_syscall() - call the kernel as user space would
 * @call: PTB_SYS(name)
 * @a: first argument
 * @b: second
 * @c: third
 * @d: fourth
 * @e: fifth
 * @f: sixth
 *
 * Return: what user space would get.
 */
static inline long ptb_syscall(long (*call)(const struct pt_regs *regs),
			       unsigned long a, unsigned long b,
			       unsigned long c, unsigned long d,
			       unsigned long e, unsigned long f)
{
#if defined(CONFIG_ARM64)
	/* The first argument is orig_x0, see SC_ARM64_REGS_TO_ARGS(). */
	const struct pt_regs regs = { .regs = { a, b, c, d, e, f },
				      .orig_x0 = a };
#else
	const struct pt_regs regs = { .di = a, .si = b, .dx = c, .r10 = d,
				      .r8 = e, .r9 = f };
#endif

	return call(&regs);
}

#endif /* PTEBATCH_SYS_H */
