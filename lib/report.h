/* SPDX-License-Identifier: GPL-2.0 */
/* Telling people what went wrong, in pictures. */
#ifndef PTEBATCH_REPORT_H
#define PTEBATCH_REPORT_H

#include "lib/space.h"

struct kunit;

void ptb_report_line(struct kunit *test, const char *text);
void ptb_report_layout(struct ptb_space *space);
void ptb_report_refused(struct kunit *test, const char *picture,
			const struct ptb_error *err);
bool ptb_report_compare(struct ptb_space *space, const char *what,
			const struct ptb_ledger *before,
			const struct ptb_ledger *want,
			const struct ptb_ledger *found, s16 *bind);

#endif /* PTEBATCH_REPORT_H */
