/* SPDX-License-Identifier: MIT */
/* A moment of the ledger and an alert, in words and as JSON: the same wording for reports, page and
 * pictures. */
#ifndef SL_LEDGER_OUT_H
#define SL_LEDGER_OUT_H

#include "base/text/json_out.h"
#include "export/report/report_words.h"

/* "1.40 GiB of 140 GiB in use: tensors 73.2 MiB, …"; "" when there is no ledger. */
void sl_ledger_words(char buf[SL_WORDS_CAP], const sl_ledger_state *state);

/* Whether more was in use, or more of it in tensors, than at the end, by at least 1 % of the card. */
bool sl_ledger_is_fuller(const sl_ledger_state *full, const sl_ledger_state *end);

/* null, or an object with the rows; times are less `first_us`. */
void sl_ledger_json(sl_json_out *json, const sl_ledger_state *state, int64_t first_us);

/* "95 % or more of the card is used: 137 GiB, threshold 133 GiB". */
void sl_alert_words(char buf[SL_WORDS_CAP], const sl_trace *trace, const sl_alert *alert);

/* Members of an object that the caller has begun; times are less `first_us`. */
void sl_alert_json(sl_json_out *json, const sl_trace *trace, const sl_alert *alert,
                   int64_t first_us);

#endif
