/* SPDX-License-Identifier: MIT */
/* What samples of counters can say, as part of the report: growth, hidden memory, a failed request.
 * Samples have no lines of code; the findings say so. Internal to src/analyze. */
#ifndef SL_AN_TELEMETRY_H
#define SL_AN_TELEMETRY_H

#include "analyze/analysis.h"
#include "analyze/samples/growth.h"
#include "telemetry/telemetry.h"

/* The samples of one rank on one device, by time. */
typedef struct sl_tm_group {
    const sl_trace *trace;
    const sl_telemetry *set;
    const sl_tm_record *records;
    size_t cnt;
    sl_maybe_u64 rank; /* known in a run of several ranks */
    sl_growth growth;  /* of the allocated bytes */
    const sl_analysis_options *options;
    sl_report *report;
} sl_tm_group;

/* Adds devices and findings of a trace that has telemetry. */
sl_status sl__telemetry_analyze(const sl_trace *trace, const sl_analysis_options *options,
                                sl_report *report, sl_error *err);

/* The findings of one group; false when memory ran out. */
bool sl__telemetry_findings(sl_tm_group *group, sl_error *err);

/* True when the record says that a request failed. */
bool sl_tm_is_oom(const sl_telemetry *set, const sl_tm_record *record);

#endif
