/* SPDX-License-Identifier: MIT */
/* Inputs that are read whole: recordings that ended, snapshots, telemetry, folders of them.
 * Everything is taken from the run (run/run.h) and the report, so the screen agrees with the other
 * outputs. */
#ifndef SL_RUN_FACTS_H
#define SL_RUN_FACTS_H

#include "base/core/progress_fn.h"
#include "run/run.h"
#include "tui/facts/tui_model.h"

/* The inputs and the run made of them. */
typedef struct sl_tui_inputs {
    SL_VEC(sl_trace *) traces; /* owned */
    sl_run *run;               /* owned */
} sl_tui_inputs;

typedef struct sl_tui_read_options {
    const sl_code_folders *code; /* borrowed; may be NULL */
    sl_progress_fn progress;     /* may be NULL */
    void *progress_ctx;
} sl_tui_read_options;

/* Reads the paths (files, bundles, folders) and makes the source. The caller owns both, even after
 * a failure; free the source first. */
sl_status sl_run_facts_read(const char *const *paths, size_t cnt,
                            const sl_tui_read_options *options, sl_tui_inputs *inputs,
                            sl_tui_source **out, sl_error *err);
void sl_tui_inputs_fini(sl_tui_inputs *inputs);

/* The device of the run that a device of the source is; NULL when it has none (samples). */
const sl_run_device *sl_run_facts_device(const sl_tui_inputs *inputs, const sl_tui_source *source,
                                         size_t device);

/* A part of the history of a device in so many columns; to_us <= from_us is all of it. */
sl_status sl_timeline_facts(const sl_tui_inputs *inputs, const sl_tui_source *source, size_t device,
                            sl_tui_split split, int64_t from_us, int64_t to_us, size_t columns,
                            sl_tui_timeline **out, sl_error *err);

/* Computes What-if for a device. A refusal is a valid answer. SL_E_NOMEM. */
sl_status sl_whatif_facts(const sl_tui_inputs *inputs, const sl_tui_source *source, size_t device,
                          sl_tui_whatif **out, sl_error *err);

/* Internal to src/tui/facts: the rows of the ranks, from samples or from the processes. */
void sl__rank_facts(const sl_tui_inputs *inputs, sl_tui_source *source);
/* The lines of a device as a tree. */
void sl__site_facts(const sl_run_device *device, sl_tui_source *source, sl_tui_device *to);

#endif
