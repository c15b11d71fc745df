/* SPDX-License-Identifier: MIT */
/* Splits of live memory (by tag, by phase) in words and in JSON, for reports and comparisons. */
#ifndef SL_SPLIT_OUT_H
#define SL_SPLIT_OUT_H

#include "base/text/json_out.h"
#include "export/report/report_words.h"
#include "run/lines/split.h"

/* "parameter 1.2 GiB, activation 310 MiB", largest first; "" when nothing is known or live. */
void sl_split_words(char buf[SL_WORDS_CAP], const sl_split *split);

/* "key": [{class_key: name, bytes, blocks}…], classes that hold something, in their own order; null
 * when the input does not record it. */
void sl_split_json(sl_json_out *json, const char *key, const char *class_key,
                   const sl_split *split);

/* Two splits of the same kind compared: "gradient +1.2 GiB (now 1.2 GiB), input -3 MiB (now 0 B)",
 * largest change first; "" when one side does not record it or nothing changed. */
void sl_split_diff_words(char buf[SL_WORDS_CAP], const sl_split *before, const sl_split *after);

/* The same as [{class_key: name, delta_bytes, before_bytes, …}]; null when one side does not record
 * it. */
void sl_split_diff_json(sl_json_out *json, const char *key, const char *class_key,
                        const sl_split *before, const sl_split *after);

#endif
