/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one pipeline that all rows go through: a space, and on it one operation
 * after the other, each judged by the oracle: books before, operation, books
 * after, compared with what the oracle makes of the books before.
 */
#ifndef PTEBATCH_SESSION_H
#define PTEBATCH_SESSION_H

#include "lib/ops.h"
#include "lib/oracle.h"
#include "lib/space.h"

/**
 * struct ptb_session - a space under test
 * @test: the case
 * @space: the space; its led is the books as they are now
 * @start: the books as they were before the first operation
 * @reuse_span: see struct ptb_oracle
 * @operation: the last one, as text
 * @sabotage: called between an operation and its judgement; for the tests of
 *	this pipeline itself
 * @bad: something did not agree; later operations are not tried
 */
struct ptb_session {
	struct kunit *test;
	struct ptb_space *space;
	struct ptb_ledger *start;
	unsigned int reuse_span;
	char operation[120];
	void (*sabotage)(struct ptb_session *s, struct ptb_taken *taken);
	bool bad;
};

bool ptb_skip(struct kunit *test, const char *picture);
bool ptb_begin(struct ptb_session *s, struct kunit *test, const char *picture,
	       unsigned int n);
bool ptb_end(struct ptb_session *s);
bool ptb_rewind(struct ptb_session *s);
struct ptb_taken *ptb_do_gup(struct ptb_session *s, const struct ptb_gup *req);
void ptb_do_release(struct ptb_session *s, struct ptb_taken *taken,
		    enum ptb_release how);
void ptb_do_fault(struct ptb_session *s, unsigned int page, unsigned int flags);
void ptb_do_faults(struct ptb_session *s, unsigned int from, unsigned int to,
		   bool down, unsigned int flags, const char *states);
void ptb_do_store(struct ptb_session *s, unsigned int page, u64 value);
void ptb_do_store_pinned(struct ptb_session *s, struct ptb_taken *taken,
			 unsigned int index, u64 value);
void ptb_do_mincore(struct ptb_session *s, const struct ptb_mincore *req);
bool ptb_do_mremap(struct ptb_session *s, const struct ptb_mremap *req);
int ptb_do_fork(struct ptb_session *s);
void ptb_do_exit(struct ptb_session *s, unsigned int mm);

/* watch.c */
#define PTB_DEADLINE	60	/* seconds for a case; emulation is slow */
void ptb_watch_start(struct kunit *test, unsigned int seconds);
void ptb_watch_killed(bool pending);
bool ptb_watch_stop(struct kunit *test);

#endif /* PTEBATCH_SESSION_H */
