/* SPDX-License-Identifier: MIT */
/* The analyses of telemetry as the Python tool's report: the same keys in JSON, the same lines
 * in text, and in addition what this tool finds. */
#ifndef SL_COMPAT_REPORT_H
#define SL_COMPAT_REPORT_H

#include <stdio.h>

#include "analyze/analysis.h"
#include "analyze/samples/an_collective.h"
#include "analyze/samples/an_gap.h"
#include "analyze/samples/an_ranks.h"
#include "base/text/json_out.h"

typedef struct sl_compat_report {
    const char *path;
    int64_t file_bytes;
    const sl_telemetry *set; /* NULL = the input holds no telemetry */
    const sl_report *found;  /* what stormlog analyze finds; NULL = nothing was analysed */
    sl_gap_result gaps;
    sl_collective_results collective;
    sl_ranks *ranks; /* NULL = there is one rank only */
    int score;
    const char *grade;
} sl_compat_report;

/* Runs the analyses; set `found` before. Call sl_compat_report_fini even when it fails. */
sl_status sl_compat_report_run(sl_compat_report *report, sl_error *err);
void sl_compat_report_fini(sl_compat_report *report);

void sl_compat_report_text(FILE *to, const sl_compat_report *report);
void sl_compat_report_json(sl_json_out *json, const sl_compat_report *report);

/* Writes the cross-rank part alone, as an object, or its members into one that the caller has begun. */
void sl_compat_ranks_members(sl_json_out *json, const sl_ranks *ranks);
void sl_compat_ranks_json(sl_json_out *json, const sl_ranks *ranks);
void sl_compat_ranks_text(FILE *to, const sl_ranks *ranks);

#endif
