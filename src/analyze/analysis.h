/* SPDX-License-Identifier: MIT */
/* The analyses: pure functions from a run to a report. No clock, no files, no output. The table
 * of analyses is analysis_table.c, their thresholds are in thresholds.h. One thread at a time per
 * run. */
#ifndef SL_ANALYSIS_H
#define SL_ANALYSIS_H

#include "analyze/thresholds.h"
#include "base/core/progress_fn.h"
#include "report/check.h"
#include "report/diff.h"
#include "report/report.h"
#include "run/moment.h"

/* Zero-initialised is the default of everything. */
typedef struct sl_analysis_options {
    bool has_device;
    int device; /* only this one */
    bool has_since, has_until;
    /* In us of the input's clock. Smaller than the first event's time = counted from the first
     * event; negative = counted back from the last one. */
    int64_t since_us, until_us;
    size_t top;         /* rows of the lists of holders, 0 = as many as name most of the bytes */
    const char *filter; /* POSIX extended regex on "file:line function"; NULL = everything */
    sl_group_by group_by;
    sl_maybe_u64 capacity_bytes; /* of the card, where the caller knows and the input does not */
    const char *oom_text;        /* the error's text, where the caller has it; NULL */
    const sl_thresholds *thresholds; /* borrowed; NULL = sl_thresholds_initial */
    sl_progress_fn progress;         /* in events; may be NULL */
    void *progress_ctx;
} sl_analysis_options;

/* Everything that can be said about a run, as one report, which the caller frees before the traces; it
 * borrows nothing from the run itself. options may be NULL. SL_E_USAGE for a bad filter, SL_E_DEVICE
 * when has_device names one that no input has (the text lists those that are there), SL_E_NOMEM. */
sl_status sl_analyze(const sl_run *run, const sl_analysis_options *options, sl_report **out,
                     sl_error *err);

/* The same for traces that nobody asks anything else about. */
sl_status sl_analyze_traces(const sl_trace *const *traces, size_t cnt,
                            const sl_analysis_options *options, sl_report **out, sl_error *err);

/* One row per kind of analysis, for --explain, the manual and the tests. */
typedef struct sl_analysis_info {
    const char *name;
    const char *help;
} sl_analysis_info;

/* Row i, in the order in which they run; NULL after the last one. */
const sl_analysis_info *sl_analysis_at(size_t i);

/* ---- out-of-memory texts ---- */

/* What the error's text says; every field may be unknown. Sizes were printed with two decimals, so
 * they are right to half a percent at worst. */
typedef struct sl_oom_text {
    int device;                         /* -1 = unknown */
    sl_maybe_u64 tried_bytes;           /* the segment that was asked of the driver */
    sl_maybe_u64 capacity_bytes;        /* of the card */
    sl_maybe_u64 free_bytes;            /* of the card */
    sl_maybe_u64 process_bytes;         /* this process, non-PyTorch memory included */
    sl_maybe_u64 other_processes_bytes; /* all others that were listed */
    sl_maybe_u64 allowed_bytes;         /* limit by set_per_process_memory_fraction */
    sl_maybe_u64 allocated_bytes;
    sl_maybe_u64 private_pool_bytes;
    sl_maybe_u64 unallocated_bytes; /* reserved but unallocated */
    sl_maybe_u64 reserved_bytes;
    uint32_t other_process_cnt;
} sl_oom_text;

/* True when the text is, or contains, an out-of-memory error of PyTorch (1.x to 2.14, CUDA, HIP,
 * XPU, NPU). */
bool sl_oom_text_parse(const char *text, size_t len, sl_oom_text *out);

/* ---- two instants compared ---- */

typedef struct sl_instant {
    const sl_run_device *device;
    sl_moment moment;
} sl_instant;

typedef struct sl_diff_options {
    sl_group_by group_by;
    uint32_t prefix_frames; /* > 0: group by this many outermost frames instead */
    const char *filter;
    size_t top; /* rows, 0 = all */
} sl_diff_options;

/* What appeared, disappeared, grew and shrank from `before` to `after`; options may be NULL. */
sl_status sl_diff_new(const sl_instant *before, const sl_instant *after,
                      const sl_diff_options *options, sl_diff **out, sl_error *err);

/* Which devices of two inputs are compared: every one that both have; one device each is a pair whatever
 * the numbers. */
typedef struct sl_diff_pair {
    const sl_run_device *before, *after;
} sl_diff_pair;

typedef SL_VEC(sl_diff_pair) sl_diff_pairs;

/* Appends the pairs; of one device only where `only` is not NULL. False when memory ran out. */
bool sl_diff_pair_devices(const sl_run_input *before, const sl_run_input *after, const int *only,
                          sl_diff_pairs *pairs);

/* ---- gates ---- */

/* Compares a report with a baseline; `baseline` may be NULL when only absolute limits are given.
 * SL_E_USAGE when a relative limit has no baseline to be relative to. */
sl_status sl_check_run(const sl_report *report, const sl_baseline *baseline, const sl_gates *gates,
                       sl_check_result **out, sl_error *err);

/* Adds the gate "fits": whether every card of the run, or only this device (NULL = all), would have
 * done with so many bytes for PyTorch's allocator under the recorded settings. By replay; refused
 * where that does not prove itself. */
sl_status sl_check_fits(const sl_run *run, const int *only, uint64_t bytes, sl_check_result *result,
                        sl_error *err);

/* Where the gate "max-reserved" failed, its text then says which request first went above the limit. */
sl_status sl_check_say_crossing(const sl_run *run, const int *only, sl_check_result *result,
                                sl_error *err);

/* The numbers of a report that later runs are compared with. */
void sl_baseline_from_report(const sl_report *report, sl_baseline *baseline);

#endif
