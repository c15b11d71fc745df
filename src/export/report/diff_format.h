/* SPDX-License-Identifier: MIT */
/* The forms in which a comparison is printed: one row a form. Several comparisons (one a device)
 * make one output. */
#ifndef SL_DIFF_FORMAT_H
#define SL_DIFF_FORMAT_H

#include <stdio.h>

#include "export/report/report_words.h"
#include "report/diff.h"

typedef struct sl_diff_list {
    const sl_diff *const *at; /* borrowed */
    size_t cnt;
    const char *const *labels; /* borrowed; what tells each from the others ("rank 1"), or NULLs */
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

/* NULL when there is no such form. */
const sl_diff_format *sl_diff_format_find(const char *name);

#endif
