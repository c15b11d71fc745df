/* SPDX-License-Identifier: MIT */
/* The formats of the result of a check: one row per format. */
#ifndef SL_CHECK_FORMAT_H
#define SL_CHECK_FORMAT_H

#include <stdio.h>

#include "report/check.h"

/* What was checked, for the headings. */
typedef struct sl_check_view {
    const sl_check_result *result;
    const char *input;    /* path */
    const char *baseline; /* path; NULL = none */
    bool has_color;
} sl_check_view;

typedef struct sl_check_format {
    const char *name;
    sl_status (*write)(const sl_check_view *view, FILE *to, sl_error *err);
} sl_check_format;

/* NULL when there is no such format. */
const sl_check_format *sl_check_format_find(const char *name);

#endif
