// SPDX-License-Identifier: GPL-2.0
/*
 * Watching a case from outside: a deadline that ends a hang, and WARNs, which
 * KUnit does not count as failures.
 */
#include <kunit/test.h>
#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timer.h>
#include <trace/events/error_report.h>

#include "lib/session.h"

static struct {
	struct timer_list timer;
	struct task_struct *task;
	unsigned int seconds;
	bool expired;
	atomic_t splats;
} watch;

/*
 * KUnit's own timeout waits for the thread. A fatal signal makes the loops of
 * mm give up (fatal_signal_pending() in __get_user_pages()), and the case goes
 * on to fail and clean up.
 */
static void expire(struct timer_list *timer)
{
	watch.expired = true;
	send_sig(SIGKILL, watch.task, 1);
}

static void splat(void *data, enum error_detector detector, unsigned long id)
{
	atomic_inc(&watch.splats);
}

/**
 * ptb_watch_start() - a case begins
 * @test: the case, run by the calling kthread
 * @seconds: how long it may take, PTB_DEADLINE mostly
 *
 * Binds the thread to its CPU: order-0 folios in another CPU's LRU batch would
 * be copied where they are reused otherwise (wp_can_reuse_anon_folio()).
 *
 * Also makes every WARN_ON_ONCE() fire again, so that a splat is found in the
 * case that causes it, not in the first of many.
 */
void ptb_watch_start(struct kunit *test, unsigned int seconds)
{
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	generic_bug_clear_once();
	atomic_set(&watch.splats, 0);
	watch.expired = false;
	watch.seconds = seconds;
	watch.task = current;
	register_trace_error_report_end(splat, NULL);
	allow_signal(SIGKILL);
	timer_setup(&watch.timer, expire, 0);
	mod_timer(&watch.timer, jiffies + seconds * HZ);
}

/**
 * ptb_watch_stop() - a case ends
 * @test: the case; it fails if the deadline passed or the kernel complained
 */
void ptb_watch_stop(struct kunit *test)
{
	timer_delete_sync(&watch.timer);
	flush_signals(current);
	disallow_signal(SIGKILL);
	unregister_trace_error_report_end(splat, NULL);
	tracepoint_synchronize_unregister();
	if (watch.expired)
		KUNIT_FAIL(test, "hang: the case was ended after %u s",
			   watch.seconds);
	if (atomic_read(&watch.splats))
		KUNIT_FAIL(test, "splat: the kernel complained %d times, see the console",
			   atomic_read(&watch.splats));
}
