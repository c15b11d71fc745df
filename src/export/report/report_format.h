/* SPDX-License-Identifier: MIT */
/* The forms in which a report is printed. Each is a pure function of the report and the options
 * below; the phrases they share are in report_words.h. */
#ifndef SL_REPORT_FORMAT_H
#define SL_REPORT_FORMAT_H

#include <stdio.h>

#include "export/report/report_words.h"
#include "report/report.h"

/* What the reader of a report asked for. */
typedef struct sl_report_wishes {
    bool has_color;
    bool has_links;       /* file:line is a link */
    bool explains;        /* evidence and reasons too */
    sl_words_scope scope; /* what the lists of holders are grouped by */
    size_t top;           /* holders listed per device */
    bool fills_lists;     /* list more of them, until the rest is small */
    uint64_t fail_mask;   /* kinds (1 << sl_finding_kind) that the caller treats as a failure */
} sl_report_wishes;

typedef struct sl_report_format {
    const char *name;
    const char *help;
    sl_status (*write)(const sl_report *report, const sl_report_wishes *wishes, FILE *to,
                       sl_error *err);
} sl_report_format;

/* How many rows of a list are written. */
size_t sl_report_rows(const sl_report_wishes *wishes, const sl_holdings *holdings);

extern const sl_report_format sl_report_formats[];
extern const size_t sl_report_format_cnt;

/* NULL when there is no such form. */
const sl_report_format *sl_report_format_find(const char *name);

sl_status sl_report_write_json(const sl_report *report, const sl_report_wishes *wishes, FILE *to,
                               sl_error *err);
sl_status sl_report_write_text(const sl_report *report, const sl_report_wishes *wishes, FILE *to,
                               sl_error *err);
sl_status sl_report_write_markdown(const sl_report *report, const sl_report_wishes *wishes,
                                   FILE *to, sl_error *err);
sl_status sl_report_write_junit(const sl_report *report, const sl_report_wishes *wishes, FILE *to,
                                sl_error *err);

/* True when the report holds a finding that the mask names, of at least warning severity. */
bool sl_report_fails(const sl_report *report, uint64_t fail_mask);

#endif
