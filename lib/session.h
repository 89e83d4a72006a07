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
 * @space: it; its led is the books as they are now
 * @picture: the row's layout, as written
 * @reuse_span: see struct ptb_oracle
 * @operation: the last one, as text
 * @bad: something did not agree; later operations are not tried
 */
struct ptb_session {
	struct kunit *test;
	struct ptb_space *space;
	const char *picture;
	unsigned int reuse_span;
	char operation[120];
	bool bad;
};

bool ptb_begin(struct ptb_session *s, struct kunit *test, const char *picture,
	       unsigned int n);
bool ptb_end(struct ptb_session *s);
struct ptb_taken *ptb_do_gup(struct ptb_session *s, const struct ptb_gup *req);
void ptb_do_release(struct ptb_session *s, struct ptb_taken *taken,
		    enum ptb_release how);
void ptb_do_fault(struct ptb_session *s, unsigned int page, unsigned int flags);
int ptb_do_fork(struct ptb_session *s);
void ptb_do_exit(struct ptb_session *s, unsigned int mm);

/* watch.c */
void ptb_watch_start(struct kunit *test);
void ptb_watch_stop(struct kunit *test);

#endif /* PTEBATCH_SESSION_H */
