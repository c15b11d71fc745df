/* SPDX-License-Identifier: MIT */
/* The sentences and number phrases that the text and Markdown reports share, so that they say the
 * same thing the same way. Everything is printed into the caller's buffer. */
#ifndef SL_REPORT_WORDS_H
#define SL_REPORT_WORDS_H

#include "report/report.h"

#define SL_WORDS_CAP 512

/* Appends to buf as printf does; what does not fit is cut. */
void sl_words_append(char buf[SL_WORDS_CAP], const char *fmt, ...) SL_PRINTF(2, 3);

/* "torch-snapshot", "slog", …: the names of the JSON report. */
const char *sl_words_source(sl_source_kind source);

/* "path/file.py:9 in train"; the path loses its front when the whole is wider than `columns`
 * (0 = no limit). The name of the site if it has no line. */
void sl_words_site(char buf[SL_WORDS_CAP], sl_site site, size_t columns);
void sl_words_frame(char buf[SL_WORDS_CAP], const sl_trace *trace, sl_frame frame, size_t columns);

/* What a row of a list is. */
typedef enum sl_words_scope {
    SL_SCOPE_LINE,
    SL_SCOPE_FUNCTION,
    SL_SCOPE_FILE,
    SL_SCOPE_STACK,
} sl_words_scope;

/* A place that means a whole function, file or stack: no line number where it would be misleading,
 * and for a stack its innermost frame too. */
void sl_words_place(char buf[SL_WORDS_CAP], sl_site site, sl_words_scope scope, size_t columns);

/* "device 0", "host memory". */
void sl_words_device(char buf[SL_WORDS_CAP], int device);

/* The same; "device 0 of rank 3" where the rank is known. */
void sl_words_ranked_device(char buf[SL_WORDS_CAP], int device, sl_maybe_u64 rank);

/* The verdict of an input as one plain sentence without a full stop: what, where, how much. */
void sl_words_input_verdict(char buf[SL_WORDS_CAP], const sl_report *report,
                            const sl_report_input *input);

/* Whether a trace is that of a DataLoader worker of another input, and nothing was found in it. A training has
 * tens of them, so texts for people sum them up. */
bool sl_words_is_quiet(const sl_report *report, const sl_trace *trace);

/* "10 DataLoader workers without a finding; the highest peak was 24.2 KiB", or "". Returns how many there are. */
size_t sl_words_quiet(char buf[SL_WORDS_CAP], const sl_report *report);

/* The same for the whole report; of several inputs how many are what. Quiet inputs do not count beside others. */
void sl_words_verdict(char buf[SL_WORDS_CAP], const sl_report *report);

/* "17.8 GiB in 2,160 blocks, 93 % of the growth"; "" when nothing of it is known. */
void sl_words_amount(char buf[SL_WORDS_CAP], const sl_finding *finding);

/* "+190 MiB per step, +1.2 GiB per second, R2 0.998"; "" when nothing of it is known. */
void sl_words_growth(char buf[SL_WORDS_CAP], const sl_finding *finding);

/* "critical, confidence 97 %, device 0 of rank 3". */
void sl_words_certainty(char buf[SL_WORDS_CAP], const sl_finding *finding);

/* "3.21 s after the start" of the recording, or "at event 812" where the input has no clock. */
void sl_words_moment(char buf[SL_WORDS_CAP], const sl_trace *trace, int device, int64_t time_us);

/* "19.1 MiB", or "unknown". */
void sl_words_bytes(char buf[SL_WORDS_CAP], sl_maybe_u64 bytes);

/* "growth_share 0.97 >= 0.5"; sizes and durations in human units. */
void sl_words_evidence(char buf[SL_WORDS_CAP], const sl_evidence *evidence);

/* The finding that decides the verdict of an input; NULL for a healthy one. */
const sl_finding *sl_words_main_finding(const sl_report *report, const sl_report_input *input);

#endif
