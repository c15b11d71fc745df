/* SPDX-License-Identifier: MIT */
/* The report as one HTML file: the built page (web/dist/report.html, embedded by the build) with
 * the data of these inputs in it. It opens from disk and loads nothing from the network. */
#ifndef SL_PAGE_HTML_H
#define SL_PAGE_HTML_H

#include <stdio.h>

#include "base/core/progress_fn.h"
#include "report/report.h"
#include "run/run.h"

typedef struct sl_html_options {
    const char *title; /* NULL = the command and the run, or the names of the files */
    bool has_device;
    int device;              /* only this one */
    uint32_t block_cnt;      /* blocks drawn one by one, 0 = 50,000 over all lanes */
    bool is_diff;            /* the first two inputs are before and after */
    sl_progress_fn progress; /* in devices; may be NULL */
    void *progress_ctx;
} sl_html_options;

/* Writes the page of a run and of the report that was made from it. */
sl_status sl_export_html(FILE *to, const sl_run *run, const sl_report *report,
                         const sl_html_options *options, sl_error *err);

/* Writes a page that says why there is no report: whoever opens it did not see the command fail. */
sl_status sl_export_html_failure(FILE *to, const char *title, const char *reason, sl_error *err);

#endif
