/* SPDX-License-Identifier: MIT */
/* The report of one trace, and findings in it. Header only; used by unit tests, after sltest.h. */
#ifndef SL_MADE_REPORT_H
#define SL_MADE_REPORT_H

#include "analyze/analysis.h"

static inline sl_report *report_of(const sl_trace *trace, const sl_analysis_options *options) {
    sl_report *report = NULL;
    sl_error err = SL_ERROR_INIT;
    const sl_trace *const traces[] = {trace};
    if (sl_analyze_traces(traces, 1, options, &report, &err) != SL_OK)
        fail_msg("%s", err.text);
    return report;
}

/* The first of this kind; NULL when there is none. */
static inline const sl_finding *find_kind(const sl_report *report, sl_finding_kind kind) {
    for (size_t i = 0; i < report->findings.cnt; i++)
        if (report->findings.at[i].kind == kind)
            return &report->findings.at[i];
    return NULL;
}

#endif
