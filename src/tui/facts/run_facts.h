/* SPDX-License-Identifier: MIT */
/* Inputs that are read whole: recordings that ended, snapshots, telemetry, folders of them.
 * Everything is taken from the run (run/run.h) and the report, so the screen agrees with the other
 * outputs. */
#ifndef SL_RUN_FACTS_H
#define SL_RUN_FACTS_H

#include "base/core/progress_fn.h"
#include "report/report.h"
#include "run/lines/sites.h"
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
    /* What is live at the end of a snapshot, before its events are read; the callee owns the source. Called at
     * most once, from the thread that reads, and only when one file is read; may be NULL. */
    void (*first)(void *ctx, sl_tui_source *source);
    void *ctx;                /* of both */
    const sl_stop_flag *stop; /* set by another thread: reading fails soon; may be NULL */
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

/* A part of the history of a device; to_us <= from_us is all of it. */
typedef struct sl_timeline_question {
    sl_tui_split split;
    int64_t from_us, to_us; /* after the start */
    size_t columns;
    bool keeps_silences; /* else long times without an event are shortened */
} sl_timeline_question;

sl_status sl_timeline_facts(const sl_tui_inputs *inputs, const sl_tui_source *source, size_t device,
                            const sl_timeline_question *question, sl_tui_timeline **out,
                            sl_error *err);

/* The live bytes of a line (sl_tree_node.key); false when the device has no such line. */
bool sl_follow_facts(const sl_tui_inputs *inputs, const sl_tui_source *source, size_t device,
                     uint32_t site, sl_tui_follow *out);
/* One more value, of a line that is followed while it is recorded. */
void sl_follow_add(sl_tui_follow *follow, int64_t us, uint64_t bytes);

/* What is found if only the part between two times after the start is judged; until_us INT64_MAX = to the
 * end. The source has findings and a verdict, nothing else; the caller frees it. */
sl_status sl_judge_facts(const sl_tui_inputs *inputs, int64_t since_us, int64_t until_us,
                         sl_tui_source **out, sl_error *err);

/* Internal to src/tui/facts: the rows of the ranks, from samples or from the processes. */
void sl__rank_facts(const sl_tui_inputs *inputs, sl_tui_source *source);
void sl__finding_facts(const sl_report *report, sl_tui_source *source);
/* Its modules as a tree; nothing where the input has none. */
void sl__module_facts(const sl_replay *replay, const sl_sites *sites, uint32_t early_event,
                      sl_tui_source *source, sl_tree *tree);
/* The lines of a device as a tree. */
void sl__site_facts(const sl_run_device *device, sl_tui_source *source, sl_tui_device *to);

#endif
