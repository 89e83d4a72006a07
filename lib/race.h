/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Races: a thread that pins pages and stops on its way through GUP-fast, at a
 * point that is asked for, until somebody else has changed the page tables.
 */
#ifndef PTEBATCH_RACE_H
#define PTEBATCH_RACE_H

#include <linux/completion.h>
#include <linux/mm_types.h>
#include <linux/sched.h>

#include "lib/ops.h"

/* The most pages that a request has. */
#define PTB_RACE_PAGES	64

/**
 * enum ptb_point - where in GUP-fast
 * @PTB_POINT_READ: the first entry was read, nothing is taken yet
 * @PTB_POINT_REF: there is a reference, but (small folios aside) no pin
 * @PTB_POINT_PIN: the folio is pinned, the entry not yet read again
 * @PTB_POINT_NEXT: the first page is there: the others of its run have just
 *	been taken, or, page by page, the next entry was read
 * @PTB_NR_POINTS: how many there are
 */
enum ptb_point {
	PTB_POINT_READ,
	PTB_POINT_REF,
	PTB_POINT_PIN,
	PTB_POINT_NEXT,
	PTB_NR_POINTS
};

/**
 * struct ptb_view - what is mapped somewhere
 * @pfn: the frame, or 0
 * @write: by a writable entry
 */
struct ptb_view {
	unsigned long pfn;
	bool write;
};

/**
 * struct ptb_pinner - the thread, what it is asked for and what it answers
 * @task: the thread
 * @mm: the mm that it uses
 * @cpu: where it runs
 * @go: there is a request
 * @done: there is an answer
 * @end: no request, but the end
 * @req: the call, of at most PTB_RACE_PAGES pages, one of the fast ones; with
 *	@killed nothing but what the fast path took is returned
 * @point: where to stop
 * @budget: how long at most after @begun, in us: where interrupts are off,
 *	others may be waiting for this CPU
 * @held: it stands there, or did
 * @begun: the other thread begins
 * @over: and has finished
 * @met: it began while this one was held
 * @whole: and finished as well
 * @seq: mm->write_protect_seq when the thread went on
 * @seen: what its pages were when it went on, if @held
 * @ret: what the call returned
 * @pages: and the pages
 * @grabs: entries into try_grab_folio_fast() of this call
 * @inside: of that function
 * @calling: the call is under way
 */
struct ptb_pinner {
	struct task_struct *task;
	struct mm_struct *mm;
	unsigned int cpu;
	struct completion go;
	struct completion done;
	bool end;
	struct ptb_gup req;
	enum ptb_point point;
	unsigned long budget;
	bool held;
	bool begun;
	bool over;
	bool met;
	bool whole;
	unsigned int seq;
	struct ptb_view seen[PTB_RACE_PAGES];
	long ret;
	struct page *pages[PTB_RACE_PAGES];
	unsigned int grabs;
	bool inside;
	bool calling;
};

extern unsigned int ptb_seed;

void ptb_view(struct mm_struct *mm, unsigned long addr, unsigned int nr,
	      struct ptb_view *view);
struct task_struct *ptb_thread_on(unsigned int cpu, int (*fn)(void *arg),
				  void *arg);
int ptb_other_cpu(unsigned int i);
int ptb_pinner_start(struct ptb_pinner *p, struct mm_struct *mm);
void ptb_pinner_stop(struct ptb_pinner *p);
void ptb_pinner_ask(struct ptb_pinner *p);
void ptb_pinner_answer(struct ptb_pinner *p);
void ptb_pinner_release(struct ptb_pinner *p);

#endif /* PTEBATCH_RACE_H */
