// SPDX-License-Identifier: GPL-2.0
/*
 * Watching a case from outside: a deadline that ends a hang, and WARNs, which
 * KUnit does not count as failures.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/timer.h>
#include <trace/events/error_report.h>

#include <asm/sections.h>

#include "lib/session.h"

static struct {
	struct timer_list timer;
	struct task_struct *task;
	unsigned int seconds;
	unsigned int passed;
	bool expired;
	atomic_t splats;
} watch;

/*
 * Counts the seconds that it was called in, not those of the clock: a guest
 * that was stopped for minutes sees its clock jump, and did not hang.
 *
 * KUnit's own timeout waits for the thread. A fatal signal makes the loops of
 * mm give up (fatal_signal_pending() in __get_user_pages()), and the case goes
 * on to fail and clean up.
 */
static void expire(struct timer_list *timer)
{
	if (++watch.passed < watch.seconds) {
		mod_timer(&watch.timer, jiffies + HZ);
		return;
	}
	WRITE_ONCE(watch.expired, true);
	send_sig(SIGKILL, watch.task, 1);
}

static void splat(void *data, enum error_detector detector, unsigned long id)
{
	atomic_inc(&watch.splats);
}

/* Also run by the cleanup of a case that died in between. */
static void unwatch(void *unused)
{
	timer_shutdown_sync(&watch.timer);	/* it arms itself again */
	unregister_trace_error_report_end(splat, NULL);
	tracepoint_synchronize_unregister();
	put_task_struct(watch.task);
	watch.task = NULL;
}

/* Let every WARN fire again: a splat belongs to each case that causes it. */
static void clear_once(void)
{
	generic_bug_clear_once();
	/* VM_WARN_ON_ONCE_FOLIO() and its like, see clear_warn_once_set(). */
	memset(__start_once, 0, __end_once - __start_once);
}

/**
 * ptb_watch_start() - a case begins
 * @test: the case, run by the calling kthread
 * @seconds: how long it may take, PTB_DEADLINE mostly
 *
 * Binds the thread to its CPU: order-0 folios in another CPU's LRU batch would
 * be copied where they are reused otherwise (wp_can_reuse_anon_folio()).
 */
void ptb_watch_start(struct kunit *test, unsigned int seconds)
{
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	clear_once();
	atomic_set(&watch.splats, 0);
	watch.expired = false;
	watch.seconds = seconds;
	watch.passed = 0;
	watch.task = get_task_struct(current);
	register_trace_error_report_end(splat, NULL);
	allow_signal(SIGKILL);
	timer_setup(&watch.timer, expire, 0);
	mod_timer(&watch.timer, jiffies + HZ);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, unwatch, NULL), 0);
}

/**
 * ptb_watch_killed() - run with a SIGKILL pending, or no longer so
 * @pending: the former
 *
 * For operations that are to see one. The deadline stays in force.
 */
void ptb_watch_killed(bool pending)
{
	if (pending) {
		send_sig(SIGKILL, current, 1);
		return;
	}
	flush_signals(current);
	if (READ_ONCE(watch.expired))
		send_sig(SIGKILL, current, 1);
}

/**
 * ptb_watch_stop() - a case ends
 * @test: the case; it fails if the deadline passed or the kernel complained
 *
 * Return: true if it did not fail here.
 */
bool ptb_watch_stop(struct kunit *test)
{
	kunit_release_action(test, unwatch, NULL);
	flush_signals(current);
	disallow_signal(SIGKILL);
	if (watch.expired)
		KUNIT_FAIL(test, "hang: the case was ended after %u s",
			   watch.seconds);
	if (atomic_read(&watch.splats))
		KUNIT_FAIL(test, "splat: the kernel complained %d times, see the console",
			   atomic_read(&watch.splats));
	return !watch.expired && !atomic_read(&watch.splats);
}
