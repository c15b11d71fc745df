/* SPDX-License-Identifier: MIT */
/* The sentences that the text and the Markdown of `stormlog whatif --batch` share. Everything is
 * printed into the caller's buffer; "" when there is nothing to say. */
#ifndef SL_BATCH_WORDS_H
#define SL_BATCH_WORDS_H

#include "base/text/human.h"
#include "export/report/report_words.h"
#include "whatif/batch/batch.h"

/* Which recordings there are, and how many allocations are the same in all of them. */
void sl_batch_say_recordings(char buf[SL_WORDS_CAP], const sl_batch *batch);
/* The formulas by which the allocations grow. */
void sl_batch_say_laws(char buf[SL_WORDS_CAP], const sl_batch *batch);
/* How well the other recordings predict each recording's peak. */
void sl_batch_say_check(char buf[SL_WORDS_CAP], const sl_batch *batch);
/* "The largest that fits in 80 GiB is 61". */
void sl_batch_say_largest(char buf[SL_WORDS_CAP], const sl_batch *batch,
                          const sl_batch_largest *largest);
void sl_batch_say_caveat(char buf[SL_WORDS_CAP], const sl_batch *batch);

/* "fits", "may fit", "does not fit", "poor fit"; "" without a card. */
const char *sl_batch_verdict_text(const sl_batch_row *row);
/* Whole MiB; "-" where the fit is poor and only the range is known. */
char *sl_batch_peak_text(char buf[SL_HUMAN_CAP], const sl_batch_row *row);

#endif
