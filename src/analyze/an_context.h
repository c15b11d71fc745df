/* SPDX-License-Identifier: MIT */
/* What the analyses of one device share: the replay, the sites, the window, the steps, and what
 * earlier analyses found. Internal to src/analyze. */
#ifndef SL_AN_CONTEXT_H
#define SL_AN_CONTEXT_H

#include "analyze/analysis.h"

typedef struct sl_an {
    const sl_run_device *of;       /* borrowed; everything below is its */
    const sl_trace *trace;         /* borrowed */
    const sl_device_trace *device; /* borrowed */
    const sl_analysis_options *options;
    sl_report *report;       /* findings and reasons go here */
    const sl_sites *sites;   /* borrowed; shared by the devices of a trace */
    const sl_replay *replay; /* borrowed */
    const sl_steps *steps;   /* borrowed; of the window */
    size_t device_idx;       /* into report->devices */

    /* The window: events [from, to). An instant "at its end" is event to - 1. */
    uint32_t from, to;
    uint32_t last_oom; /* event, or SL_IDX_NONE */

    /* Results of the leak analysis that later analyses use. */
    uint64_t leaked_bytes; /* by all leaks, at the end of the leak window */
    sl_site leak_site;     /* of the largest one; trace NULL when there is none */
    double leak_bytes_per_step;
    bool is_building; /* the window only builds a model: there are no steps of work */
    sl_row last_row;  /* the window has no steps and is one row of blocks; cnt 0 = it is not */
    uint64_t usual_peak_bytes; /* median peak of a step after warm-up; 0 = not known */
} sl_an;

/* One analysis: adds findings and reasons. False when memory ran out. */
typedef bool sl_analysis_fn(sl_an *an);

sl_analysis_fn sl_find_history, sl_find_leak, sl_find_fragmentation, sl_find_spike, sl_find_oom,
    sl_find_pending, sl_find_inefficient, sl_find_retry, sl_find_build_up, sl_find_settings;

/* Notes in the device's report what filled the card at the end of the window and when it was
 * fullest: a fact, not a finding; the gap and out-of-memory analyses judge it. False when memory
 * ran out. */
bool sl_an_ledger(sl_an *an, const sl_ledger *ledger);

/* The last event of the window; SL_EVENT_BEFORE for an empty one. */
static inline uint32_t sl_an_end(const sl_an *an) {
    return an->to ? an->to - 1 : SL_EVENT_BEFORE;
}

/* The window is all of the work (P5 in run/blocks/replay.h). */
static inline bool sl_an_is_whole(const sl_an *an) {
    return an->from == 0 && an->to == an->replay->event_cnt;
}

static inline sl_device_report *sl_an_device(const sl_an *an) {
    return &an->report->devices.at[an->device_idx];
}

/* The row of the input that is being analysed. */
static inline sl_report_input *sl_an_input(const sl_an *an) {
    return &an->report->inputs.at[an->report->inputs.cnt - 1];
}

/* Those that the caller may set; never NULL. */
static inline const sl_thresholds *sl_an_t(const sl_an *an) {
    return an->options->thresholds ? an->options->thresholds : &sl_thresholds_initial;
}

/* A line for --explain; printf. */
void sl_an_reason(sl_an *an, const char *fmt, ...) SL_PRINTF(2, 3);

/* printf into the report's arena; "" when memory ran out. */
const char *sl_an_text(sl_an *an, const char *fmt, ...) SL_PRINTF(2, 3);

/* "1.5 GiB" in the report's arena. */
const char *sl_an_bytes(sl_an *an, uint64_t bytes);

/* A finding with device, window times and the evidence filled in (copied). The caller sets the
 * rest through the pointer before the next call. NULL when memory ran out. */
sl_finding *sl_an_finding(sl_an *an, sl_finding_kind kind, sl_severity severity,
                          const sl_evidence *evidence, size_t evidence_cnt);

#endif
