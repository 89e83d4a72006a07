/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the pipeline share: an operation's books, and its judgement. */
#ifndef PTEBATCH_JUDGED_H
#define PTEBATCH_JUDGED_H

#include "lib/session.h"

/**
 * struct ptb_judged - one operation's books
 * @oracle: works on @want
 * @want: the books before the operation, and what the oracle makes of them
 * @found: the books after it
 * @bind: which of @found's folios each of @want's is
 */
struct ptb_judged {
	struct ptb_oracle oracle;
	struct ptb_ledger *want;
	struct ptb_ledger *found;
	s16 *bind;
};

bool ptb_judged_init(struct ptb_session *s, struct ptb_judged *j);
void ptb_judged_free(struct ptb_judged *j);
bool ptb_judge(struct ptb_session *s, struct ptb_judged *j);
bool ptb_agree(struct ptb_session *s, long want, long found);
__printf(2, 3) void ptb_disagree(struct ptb_session *s, const char *fmt, ...);
void ptb_oracle_store(struct ptb_oracle *o, unsigned int folio,
		      unsigned int sub, u64 value);

#endif /* PTEBATCH_JUDGED_H */
