// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that stops within GUP-fast. The places where it can stop are those
 * that every version of GUP-fast has: try_grab_folio_fast(), by a kretprobe, and
 * the tracepoints of page references.
 *
 * It stops with interrupts off, as GUP-fast runs. So the other thread may have
 * to wait for it (flushing TLBs by IPI, as x86 does, or in
 * tlb_remove_table_sync_one()): that, too, is a way to be safe from GUP-fast.
 * This is why the wait has a limit, and why the thread writes down what the page
 * tables were when it went on: whatever was changed up to then, GUP-fast has to
 * notice.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/pgtable.h>
#include <linux/sched/signal.h>
#include <trace/events/page_ref.h>

#include "lib/race.h"

/*
 * Microseconds for the other thread to begin. That is no work, but the host may
 * be busy, and not let the other CPU run.
 */
#define START_US	(2 * USEC_PER_SEC)

/** ptb_seed - for what is random; the runner passes another one each boot */
unsigned int ptb_seed = 1;

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "ptebatch."
module_param_named(seed, ptb_seed, uint, 0444);

/* The one thread that the probes are about. */
static struct ptb_pinner *pinner;

static struct ptb_view view_one(struct mm_struct *mm, unsigned long addr)
{
	struct ptb_view view = {};
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;
	pmd_t pmd;
	pte_t *ptep, pte;

	if (pgd_none(pgdp_get(pgd)))
		return view;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(p4dp_get(p4d)))
		return view;
	pud = pud_offset(p4d, addr);
	if (pud_none(pudp_get(pud)))
		return view;
	pmd = pmdp_get_lockless(pmd_offset(pud, addr));
	if (!pmd_present(pmd))
		return view;
	if (pmd_leaf(pmd)) {
		view.pfn = pmd_pfn(pmd) + ((addr & ~PMD_MASK) >> PAGE_SHIFT);
		view.write = pmd_write(pmd);
		return view;
	}
	ptep = pte_offset_map(&pmd, addr);
	if (!ptep)
		return view;
	pte = ptep_get_lockless(ptep);
	if (pte_present(pte)) {
		view.pfn = pte_pfn(pte);
		view.write = pte_write(pte);
	}
	pte_unmap(ptep);
	return view;
}

/**
 * ptb_view() - what does an mm map? Asked without any lock
 * @mm: the mm
 * @addr: of the first page
 * @nr: number of pages
 * @view: filled in
 */
void ptb_view(struct mm_struct *mm, unsigned long addr, unsigned int nr,
	      struct ptb_view *view)
{
	unsigned long flags;
	unsigned int i;

	/* This keeps page tables from being freed, as in GUP-fast. */
	local_irq_save(flags);
	for (i = 0; i < nr; i++)
		view[i] = view_one(mm, addr + i * PAGE_SIZE);
	local_irq_restore(flags);
}

/* Not by a clock: this CPU may be the one that jiffies wait for. */
static bool wait_until(bool *flag, unsigned long us)
{
	bool set;

	/* What the other thread did before it set the flag is visible then. */
	while (!(set = smp_load_acquire(flag)) && us--)
		udelay(1);
	return set;
}

/* Stop here, if here is the point. Interrupts are off. */
static void hold(struct ptb_pinner *p, enum ptb_point point)
{
	if (p->point != point || p->held)
		return;
	/* Pairs with ptb_pinner_ask(): what was done so far comes first. */
	smp_store_release(&p->held, true);
	p->met = wait_until(&p->begun, START_US);
	p->whole = p->met && wait_until(&p->over, p->budget);
	p->seq = READ_ONCE(p->mm->write_protect_seq.sequence);
	ptb_view(p->mm, p->req.start, p->req.nr, p->seen);
}

static struct ptb_pinner *in_gup_fast(void)
{
	struct ptb_pinner *p = READ_ONCE(pinner);

	return p && p->task == current && p->calling ? p : NULL;
}

static int grab_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct ptb_pinner *p = in_gup_fast();

	if (!p)
		return 1;	/* no call of grab_ends() */
	p->inside = true;
	hold(p, p->grabs++ ? PTB_POINT_NEXT : PTB_POINT_READ);
	return 0;
}

static int grab_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct ptb_pinner *p = in_gup_fast();

	if (p) {
		p->inside = false;
		if (p->grabs == 1)
			hold(p, PTB_POINT_PIN);
	}
	return 0;
}

static void ref_tried(void *data, struct page *page, int v, int ret)
{
	struct ptb_pinner *p = in_gup_fast();

	if (p && p->inside && p->grabs == 1 && ret)
		hold(p, PTB_POINT_REF);
}

/* Not those of try_grab_folio_fast(), nor of the slow path. */
static void ref_added(void *data, struct page *page, int v)
{
	struct ptb_pinner *p = in_gup_fast();

	if (p && !p->inside && p->grabs && v > 0 && irqs_disabled())
		hold(p, PTB_POINT_NEXT);
}

static const struct kretprobe grab_probe = {
	.kp.symbol_name = "try_grab_folio_fast",
	.entry_handler = grab_begins,
	.handler = grab_ends,
};

/* A probe may be registered only once. */
static struct kretprobe probe;

static long call(struct ptb_pinner *p)
{
	const struct ptb_gup *r = &p->req;
	long ret;

	if (r->killed)
		send_sig(SIGKILL, current, 1);
	p->grabs = 0;
	p->inside = false;
	p->calling = true;
	if (r->api == PTB_PIN_FAST)
		ret = pin_user_pages_fast(r->start, r->nr, r->flags, p->pages);
	else
		ret = get_user_pages_fast(r->start, r->nr, r->flags, p->pages);
	p->calling = false;
	flush_signals(current);
	return ret;
}

static int pin_on_demand(void *arg)
{
	struct ptb_pinner *p = arg;

	allow_signal(SIGKILL);
	kthread_use_mm(p->mm);
	for (;;) {
		wait_for_completion(&p->go);
		if (p->end)
			break;
		p->ret = call(p);
		complete(&p->done);
	}
	kthread_unuse_mm(p->mm);
	return 0;
}

/**
 * ptb_other_cpu() - a CPU that is not this thread's
 * @i: a number; it is another CPU for another number, as long as there are some
 *
 * The calling thread is bound to its CPU, see ptb_watch_start().
 *
 * Return: the CPU, or -1 if there is but one.
 */
int ptb_other_cpu(unsigned int i)
{
	unsigned int others = num_online_cpus() - 1, cpu;

	if (!others)
		return -1;
	i %= others;
	for_each_online_cpu(cpu)
		if (cpu != raw_smp_processor_id() && !i--)
			return cpu;
	return -1;
}

/**
 * ptb_thread_on() - start a thread that stays on a CPU
 * @cpu: the CPU
 * @fn: what it does
 * @arg: handed to @fn
 *
 * Return: the thread, for kthread_stop_put() though it may have ended by then,
 * or an ERR_PTR.
 */
struct task_struct *ptb_thread_on(unsigned int cpu, int (*fn)(void *arg),
				  void *arg)
{
	struct task_struct *task = kthread_create(fn, arg, "ptebatch/%u", cpu);

	if (IS_ERR(task))
		return task;
	get_task_struct(task);
	kthread_bind(task, cpu);
	wake_up_process(task);
	return task;
}

/**
 * ptb_pinner_start() - start the thread, on another CPU than this one
 * @p: filled in
 * @mm: what it is to use; the caller keeps it alive
 *
 * One at a time.
 *
 * Return: 0 or -errno.
 */
int ptb_pinner_start(struct ptb_pinner *p, struct mm_struct *mm)
{
	int ret, cpu = ptb_other_cpu(0);

	if (cpu < 0)
		return -ENODEV;
	memset(p, 0, sizeof(*p));
	p->mm = mm;
	p->cpu = cpu;
	init_completion(&p->go);
	init_completion(&p->done);
	probe = grab_probe;
	ret = register_kretprobe(&probe);
	if (ret)
		return ret;
	register_trace_page_ref_mod(ref_added, NULL);
	register_trace_page_ref_mod_unless(ref_tried, NULL);
	p->task = ptb_thread_on(cpu, pin_on_demand, p);
	if (IS_ERR(p->task)) {
		ret = PTR_ERR(p->task);
		p->task = NULL;
		ptb_pinner_stop(p);
		return ret;
	}
	WRITE_ONCE(pinner, p);
	return 0;
}

/**
 * ptb_pinner_stop() - end the thread
 * @p: without a request; what it took has been released
 */
void ptb_pinner_stop(struct ptb_pinner *p)
{
	if (p->task) {
		p->end = true;
		complete(&p->go);
		kthread_stop_put(p->task);
	}
	WRITE_ONCE(pinner, NULL);
	unregister_trace_page_ref_mod(ref_added, NULL);
	unregister_trace_page_ref_mod_unless(ref_tried, NULL);
	tracepoint_synchronize_unregister();
	unregister_kretprobe(&probe);
}

/**
 * ptb_pinner_ask() - have it begin, and come back once it has stopped
 * @p: with request, point and budget
 *
 * What the caller does until ptb_pinner_answer() is the race. The thread may also
 * have finished, without coming to the point: then @held is false.
 */
void ptb_pinner_ask(struct ptb_pinner *p)
{
	p->held = false;
	p->begun = false;
	p->over = false;
	p->met = false;
	p->whole = false;
	p->ret = 0;
	complete(&p->go);
	/* Pairs with hold(). */
	while (!smp_load_acquire(&p->held) && !completion_done(&p->done)) {
		cond_resched();
		cpu_relax();
	}
	/* Pairs with wait_until(). */
	smp_store_release(&p->begun, true);
}

/**
 * ptb_pinner_answer() - let it go on, and wait for what it returns
 * @p: after ptb_pinner_ask()
 */
void ptb_pinner_answer(struct ptb_pinner *p)
{
	/* Pairs with wait_until(): the operation is complete. */
	smp_store_release(&p->over, true);
	/* The deadline of the case ends this thread's call as well. */
	while (!wait_for_completion_timeout(&p->done, HZ))
		if (fatal_signal_pending(current))
			send_sig(SIGKILL, p->task, 1);
}

/**
 * ptb_pinner_release() - return the pages of the answer
 * @p: after ptb_pinner_answer()
 */
void ptb_pinner_release(struct ptb_pinner *p)
{
	long i;

	if (p->ret > 0 && p->req.api == PTB_PIN_FAST)
		unpin_user_pages(p->pages, p->ret);
	else
		for (i = 0; i < p->ret; i++)
			put_page(p->pages[i]);
	p->ret = 0;
}
