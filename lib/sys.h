/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls of the test thread on its own mm, through the architecture's
 * entry points: what user space would call, argument checks included.
 */
#ifndef PTEBATCH_SYS_H
#define PTEBATCH_SYS_H

#include <linux/linkage.h>
#include <linux/ptrace.h>

#if defined(CONFIG_ARM64)
#define PTB_SYS_NAME(name)	__arm64_sys_##name
#elif defined(CONFIG_X86_64)
#define PTB_SYS_NAME(name)	__x64_sys_##name
#else
#error "no system call entry points known for this architecture"
#endif

static inline struct pt_regs ptb_sys_regs(unsigned long a, unsigned long b,
					  unsigned long c, unsigned long d,
					  unsigned long e, unsigned long f)
{
#if defined(CONFIG_ARM64)
	/* The first argument is orig_x0, see SC_ARM64_REGS_TO_ARGS(). */
	return (struct pt_regs){ .regs = { a, b, c, d, e, f }, .orig_x0 = a };
#else
	return (struct pt_regs){ .di = a, .si = b, .dx = c, .r10 = d,
				 .r8 = e, .r9 = f };
#endif
}

#define PTB_SYSCALL(name)						\
long PTB_SYS_NAME(name)(const struct pt_regs *regs);			\
static inline long ptb_sys_##name(unsigned long a, unsigned long b,	\
				  unsigned long c, unsigned long d,	\
				  unsigned long e, unsigned long f)	\
{									\
	struct pt_regs regs = ptb_sys_regs(a, b, c, d, e, f);		\
									\
	return PTB_SYS_NAME(name)(&regs);				\
}

PTB_SYSCALL(mmap)
PTB_SYSCALL(mremap)
PTB_SYSCALL(madvise)
PTB_SYSCALL(mprotect)
#ifdef CONFIG_SECRETMEM
PTB_SYSCALL(memfd_secret)
#endif

#endif /* PTEBATCH_SYS_H */
