// SPDX-License-Identifier: GPL-2.0
/*
 * The clock, the statistics and the lines that carry them. The format:
 *
 *	bench: n=N op=NAME row=NAME clock=UNIT tick=T empty=E pages=P calls=C
 *	       passes=R faults=F neighbours=B page=MIN/MED/P99/MAX
 *	       call=MIN/MED/P99/MAX
 *	bench-pass: n=N COST COST ...
 *	bench-call: n=N COST*TIMES COST*TIMES ...
 *
 * n numbers the rows of a boot. UNIT is "instructions" or "ns"; T is the step of
 * the clock and E what an empty call costs, already taken off, in that unit. A
 * pass is C calls about P pages together; "page" is what a pass costs by P, with
 * three decimals, over all R passes, "call" what one call costs, over all calls
 * of all passes. F is the number of page faults of one pass, B how many of the P
 * pages stand in the frame behind that of the page before (-1: not counted).
 * bench-pass gives the cost of each pass as it came, bench-call how often which
 * cost of a call occurred, rounded to less than 1%. Both may take several lines.
 */
#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include "lib/mark.h"
#include "lib/measure.h"

#ifdef CONFIG_ARM64
#include <asm/arch_timer.h>
#endif

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "ptebatch."

static char *clock = "ns";
module_param(clock, charp, 0444);
MODULE_PARM_DESC(clock, "ns, or icount: an emulator counts instructions");

static uint passes;
module_param(passes, uint, 0644);
MODULE_PARM_DESC(passes, "repetitions of each row (default: 5 under icount, else 51)");

static bool icount;
static unsigned int scale;		/* of a step of the counter */
static unsigned int row_number;

/* Its address plus a number is how a number reaches a plugin. */
static u8 number[PAGE_SIZE] __aligned(PAGE_SIZE);

/*
 * Under QEMU's "-icount shift=0" a nanosecond passes with each instruction. Time
 * keeping would round that, so the counter is read as it is.
 */
static void set_clock(void)
{
	icount = !strcmp(clock, "icount");
	scale = 1;
#ifdef CONFIG_ARM64
	if (icount)
		scale = max(NSEC_PER_SEC / arch_timer_get_cntfrq(), 1UL);
#endif
}

static __always_inline u64 now(void)
{
	return icount ? get_cycles() * scale : ktime_get_raw_fast_ns();
}

static long empty_call(void *arg, unsigned long page, unsigned long nr)
{
	return nr;
}

/* Not inlined: what is taken off for an empty call has to be the same code. */
static noinline u64 time_call(ptb_call_fn call, void *arg, unsigned long page,
			      unsigned long nr, long *ret)
{
	u64 start = now(), end;

	ptb_mark(PTB_MARK_BEGIN);
	*ret = call(arg, page, nr);
	ptb_mark(PTB_MARK_END);
	end = now();
	return end - start;
}

/* What the clock and an empty call cost. A plugin counts these calls as well. */
static u64 empty_cost(void)
{
	u64 best = U64_MAX;
	unsigned int i;
	long ret;

	for (i = 0; i < 32; i++)
		best = min(best, time_call(empty_call, NULL, 0, 0, &ret));
	return best;
}

/**
 * ptb_measure_passes() - how often to repeat a row
 * @dear: each repetition has to build its memory anew
 *
 * Return: an odd number, so that there is one in the middle.
 */
unsigned int ptb_measure_passes(bool dear)
{
	set_clock();
	if (passes)
		return passes;
	if (icount)
		return dear ? 3 : 5;
	return dear ? 11 : 51;
}

/**
 * ptb_measure_init() - room for the figures of a row
 * @m: filled in
 * @passes: repetitions
 * @calls: calls of each
 *
 * Return: 0 or -ENOMEM.
 */
int ptb_measure_init(struct ptb_measure *m, unsigned int passes,
		     unsigned long calls)
{
	set_clock();
	*m = (struct ptb_measure){ .passes = passes, .calls = calls };
	m->pass = kvcalloc(passes, sizeof(*m->pass), GFP_KERNEL);
	m->call = kvcalloc(passes * calls, sizeof(*m->call), GFP_KERNEL);
	if (m->pass && m->call)
		return 0;
	ptb_measure_exit(m);
	return -ENOMEM;
}

/** ptb_measure_exit() - free the figures of a row */
void ptb_measure_exit(struct ptb_measure *m)
{
	kvfree(m->pass);
	kvfree(m->call);
}

/**
 * ptb_measure_call() - time one call
 * @m: the row's figures
 * @call: the call
 * @arg: handed to it
 * @page: handed to it: first page
 * @nr: handed to it: number of pages
 *
 * Return: what @call returned.
 */
long ptb_measure_call(struct ptb_measure *m, ptb_call_fn call, void *arg,
		      unsigned long page, unsigned long nr)
{
	long ret;
	u64 cost = time_call(call, arg, page, nr, &ret);

	cost -= min(cost, m->empty);
	m->call[m->nr] = min(cost, U32_MAX);
	m->pass[m->nr / m->calls] += cost;
	m->nr++;
	return ret;
}

static void mark_table(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d = pgd_present(*pgd) ? p4d_offset(pgd, addr) : NULL;
	pud_t *pud = p4d && p4d_present(*p4d) ? pud_offset(p4d, addr) : NULL;
	pmd_t *pmd = pud && pud_present(*pud) ? pmd_offset(pud, addr) : NULL;

	ptb_mark_addr(PTB_MARK_TABLE, pgd);
	if (p4d)
		ptb_mark_addr(PTB_MARK_TABLE, p4d);
	if (pud)
		ptb_mark_addr(PTB_MARK_TABLE, pud);
	if (!pmd)
		return;
	ptb_mark_addr(PTB_MARK_TABLE, pmd);
	ptb_mark_addr(PTB_MARK_LOCK, pmd_lockptr(mm, pmd));
	if (pmd_present(*pmd) && !pmd_leaf(*pmd)) {
		ptb_mark_addr(PTB_MARK_TABLE, (void *)pmd_page_vaddr(*pmd));
		ptb_mark_addr(PTB_MARK_LOCK, pte_lockptr(mm, pmd));
	}
}

/* Everywhere where the operations put pages: see mremap_bench.c. */
static void mark_tables(struct ptb_arena *a, struct mm_struct *mm)
{
	unsigned int t;

	for (t = 0; mm && t <= a->tiles; t++) {
		mark_table(mm, a->start + t * PMD_SIZE);
		mark_table(mm, PTB_STAGE + t * PMD_SIZE);
	}
}

/* The first pass of a row. */
static void open_row(struct ptb_measure *m)
{
	int nid;

	m->number = ++row_number;
	ptb_mark(PTB_MARK_PASS);
	m->empty = empty_cost();
	ptb_mark_addr(PTB_MARK_ROW, number + m->number % PAGE_SIZE);
	for_each_online_node(nid) {
		ptb_mark_addr(PTB_MARK_STRUCT_PAGE,
			      pfn_to_page(node_start_pfn(nid)));
		ptb_mark_addr(PTB_MARK_STRUCT_PAGE,
			      pfn_to_page(node_end_pfn(nid) - 1));
	}
}

/**
 * ptb_measure_begin() - a pass begins
 * @m: the row
 * @a: what it works on
 * @child: another mm that it works on, or NULL
 *
 * Waits for a tick, so that as much time as possible passes before the next.
 */
void ptb_measure_begin(struct ptb_measure *m, struct ptb_arena *a,
		       struct mm_struct *child)
{
	if (!m->nr)
		open_row(m);
	ptb_mark(PTB_MARK_PASS);
	mark_tables(a, a->space->mm[0]);
	mark_tables(a, child);
	schedule_timeout_uninterruptible(1);
}

/**
 * ptb_measure_end() - a pass has ended
 * @m: the row
 * @a: what it works on: tables that are new since its begin count as well
 * @child: another mm, or NULL
 */
void ptb_measure_end(struct ptb_measure *m, struct ptb_arena *a,
		     struct mm_struct *child)
{
	mark_tables(a, a->space->mm[0]);
	mark_tables(a, child);
	ptb_mark(PTB_MARK_REPORT);
}

static int compare_u32(const void *a, const void *b)
{
	return cmp_int(*(const u32 *)a, *(const u32 *)b);
}

static int compare_u64(const void *a, const void *b)
{
	return cmp_int(*(const u64 *)a, *(const u64 *)b);
}

#define P99(nr)	(((nr) * 99 + 99) / 100 - 1)

static void print_row(struct kunit *test, const struct ptb_measure *m)
{
	const u32 *c = m->call;
	const unsigned int at[] = { 0, m->passes / 2, P99(m->passes), m->passes - 1 };
	char page[100] = "";
	unsigned int i, len = 0;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		u64 milli = DIV_ROUND_CLOSEST_ULL(m->pass[at[i]] * 1000, m->pages);

		len += scnprintf(page + len, sizeof(page) - len, "%s%llu.%03llu",
				 i ? "/" : "", milli / 1000, milli % 1000);
	}
	kunit_info(test,
		   "bench: n=%u op=%s row=%s clock=%s tick=%u empty=%llu pages=%lu calls=%lu passes=%u faults=%lu neighbours=%ld page=%s call=%u/%u/%u/%u\n",
		   m->number, m->op, m->row, icount ? "instructions" : "ns",
		   icount ? scale : 1, m->empty, m->pages, m->calls, m->passes,
		   m->faults, m->neighbours, page, c[0], c[m->nr / 2],
		   c[P99(m->nr)], c[m->nr - 1]);
}

/* A line that is printed when it is full. */
struct line {
	struct kunit *test;
	const char *head;
	unsigned int number;
	char text[600];
	unsigned int len;
};

static void flush(struct line *l)
{
	if (l->len)
		kunit_info(l->test, "%s: n=%u%s\n", l->head, l->number, l->text);
	l->len = 0;
}

static __printf(2, 3) void add(struct line *l, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	l->len += vscnprintf(l->text + l->len, sizeof(l->text) - l->len, fmt,
			     args);
	va_end(args);
	if (l->len > sizeof(l->text) - 32)
		flush(l);
}

static u32 rounded(u32 cost)
{
	return cost < 128 ? cost : cost & ~((1U << (ilog2(cost) - 7)) - 1);
}

static void print_calls(struct kunit *test, const struct ptb_measure *m)
{
	struct line *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	unsigned long i, j;

	if (!l)
		return;
	*l = (struct line){ .test = test, .head = "bench-call", .number = m->number };
	for (i = 0; i < m->nr; i = j) {
		for (j = i + 1; j < m->nr && rounded(m->call[j]) ==
				rounded(m->call[i]); j++)
			;
		add(l, " %u*%lu", rounded(m->call[i]), j - i);
	}
	flush(l);
	kunit_kfree(test, l);
}

static void print_passes(struct kunit *test, const struct ptb_measure *m)
{
	struct line *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	unsigned int i;

	if (!l)
		return;
	*l = (struct line){ .test = test, .head = "bench-pass", .number = m->number };
	for (i = 0; i < m->passes; i++)
		add(l, " %llu", m->pass[i]);
	flush(l);
	kunit_kfree(test, l);
}

/**
 * ptb_measure_print() - print the figures of a row
 * @test: the case
 * @m: the row, all of its passes done; sorted by this
 */
void ptb_measure_print(struct kunit *test, struct ptb_measure *m)
{
	print_passes(test, m);
	sort(m->pass, m->passes, sizeof(*m->pass), compare_u64, NULL);
	sort(m->call, m->nr, sizeof(*m->call), compare_u32, NULL);
	print_row(test, m);
	if (m->calls > 1)
		print_calls(test, m);
}
