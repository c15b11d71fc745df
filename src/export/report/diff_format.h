/* SPDX-License-Identifier: MIT */
/* The formats of a comparison: one row per format. Several comparisons (one per device) make one
 * output. */
#ifndef SL_DIFF_FORMAT_H
#define SL_DIFF_FORMAT_H

#include <stdio.h>

#include "export/report/report_words.h"
#include "report/diff.h"

typedef struct sl_diff_list {
    const sl_diff *const *at; /* borrowed */
    size_t cnt;
    const char *const *labels; /* borrowed; the name of each ("rank 1"), or NULLs */
} sl_diff_list;

typedef struct sl_diff_wishes {
    bool has_color;
    sl_words_scope scope; /* what the rows are grouped by */
    size_t top;           /* rows printed */
} sl_diff_wishes;

typedef struct sl_diff_format {
    const char *name;
    sl_status (*write)(const sl_diff_list *diffs, const sl_diff_wishes *wishes, FILE *to,
                       sl_error *err);
} sl_diff_format;

/* NULL when there is no such format. */
const sl_diff_format *sl_diff_format_find(const char *name);

#endif
