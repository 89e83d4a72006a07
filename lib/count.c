// SPDX-License-Identifier: GPL-2.0
/*
 * Counting by kprobes and by the page_ref tracepoints. Most walkers of mm are
 * inlined, so what is counted is what they call out of line.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <trace/events/page_ref.h>

#include "lib/count.h"

static const struct {
	const char *name;
	const char *symbol;	/* NULL: by tracepoints */
	bool optional;		/* nothing happens where there is none */
} counted[] = {
	[PTB_LOCK_ROUNDS] = { "page table lock rounds", "pte_offset_map_lock" },
	[PTB_GRABS] = { "reference grabs" },
	[PTB_FAULTS] = { "page faults", "handle_mm_fault" },
	[PTB_LOOKUPS] = { "folio lookups", "vm_normal_folio" },
	[PTB_LOCAL_FLUSHES] = { "local TLB flushes", "local_flush_tlb_mkwrite", true },
};

static struct {
	struct kprobe probe;
	bool probed;			/* not if it is an optional one */
	struct task_struct *task;	/* whose steps count */
	unsigned long n;
} count;

/* Other threads do the same things for reasons of their own. */
static void one(void)
{
	if (current == count.task)
		count.n++;
}

static int hit(struct kprobe *probe, struct pt_regs *regs)
{
	one();
	return 0;
}

/* So do interrupts. (A kprobe may run as an NMI, and its places are no IRQ's.) */
static void ref_mod(void *data, struct page *page, int v)
{
	if (v > 0 && in_task())
		one();
}

static void ref_mod_ret(void *data, struct page *page, int v, int ret)
{
	if (v > 0 && ret && in_task())
		one();
}

/* Also run by the cleanup of a case that died in between. */
static void uncount(void *unused)
{
	if (count.probe.symbol_name) {
		if (count.probed)
			unregister_kprobe(&count.probe);
	} else {
		unregister_trace_page_ref_mod(ref_mod, NULL);
		unregister_trace_page_ref_mod_unless(ref_mod_ret, NULL);
		unregister_trace_page_ref_mod_and_return(ref_mod_ret, NULL);
		tracepoint_synchronize_unregister();
	}
	count.task = NULL;
}

/**
 * ptb_counted_name() - what is counted, in the plural
 * @what: which
 */
const char *ptb_counted_name(enum ptb_counted what)
{
	return counted[what].name;
}

/**
 * ptb_count_start() - begin to count
 * @test: the case; ends if the kernel offers no place to count at
 * @what: which steps of the calling thread
 *
 * One count at a time; ptb_count_stop() ends it.
 */
void ptb_count_start(struct kunit *test, enum ptb_counted what)
{
	int ret;

	memset(&count, 0, sizeof(count));
	count.probe.symbol_name = counted[what].symbol;
	count.probe.pre_handler = hit;
	if (counted[what].symbol) {
		ret = register_kprobe(&count.probe);
		count.probed = !ret;
		if (ret != -ENOENT || !counted[what].optional)
			KUNIT_ASSERT_EQ(test, ret, 0);
	} else {
		register_trace_page_ref_mod(ref_mod, NULL);
		register_trace_page_ref_mod_unless(ref_mod_ret, NULL);
		register_trace_page_ref_mod_and_return(ref_mod_ret, NULL);
	}
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, uncount, NULL), 0);
	WRITE_ONCE(count.task, current);
}

/**
 * ptb_count_stop() - end counting
 * @test: the case
 *
 * Return: how many steps there were.
 */
unsigned long ptb_count_stop(struct kunit *test)
{
	WRITE_ONCE(count.task, NULL);
	kunit_release_action(test, uncount, NULL);
	return count.n;
}
