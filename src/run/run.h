/* SPDX-License-Identifier: MIT */
/* A run: one or more traces, and what they amount to. Every fact (the replay of a device, its ledger, its
 * steps, the sites of an input) is computed once, when somebody first asks for it, and is the same for
 * everybody who asks: findings, page, pictures, exports and Python take a `const sl_run *`, so two of
 * them cannot disagree.
 *
 * Ownership: a run borrows its traces and owns its facts; free it before them. Reports and comparisons
 * borrow from the traces only and may outlive the run.
 * Threads: one at a time, because asking may compute. No clock, no files. */
#ifndef SL_RUN_H
#define SL_RUN_H

#include "run/blocks/replay.h"
#include "run/ledger.h"
#include "run/lines/sites.h"
#include "run/process_tree.h"
#include "run/steps.h"

struct sl_tm_record; /* telemetry/telemetry.h */

typedef struct sl_run_input sl_run_input;

/* One device of one input. Samples of several ranks in one file are as many devices as there are pairs of
 * device and rank: each is a process of its own, and their readings make no common curve. */
typedef struct sl_run_device {
    const sl_run_input *input;
    const sl_device_trace *events; /* borrowed from the trace */
    struct sl_device_facts *facts; /* owned */
    bool has_rank;                 /* the input holds samples of several ranks */
    int rank;
} sl_run_device;

/* The most pairs of device and rank that a file of samples is split into; with more, it is split by
 * device only. */
#define SL_RUN_RANKED_MAX 1024

/* One trace: a process of the run, a snapshot, a file of samples. */
struct sl_run_input {
    const struct sl_run *run; /* the run it is part of */
    const sl_trace *trace;    /* borrowed */
    size_t number;            /* position in the run */
    sl_process_place place;   /* among the processes of the run */
    sl_run_device *devices;   /* owned; in the trace's order, and by rank */
    size_t device_cnt;
    struct sl_input_facts *facts; /* owned */
};

/* What facts may cost; set by whoever makes the run, before anybody asks for one. No fact depends on the threads. */
typedef struct sl_run_effort {
    unsigned thread_cnt; /* for one fact; 0 = 1 */
    bool no_whatif;      /* nobody tries other allocator settings: whatif/facts/whatif_fact.h */
    bool is_patient;     /* they are what was asked for: however long the trace */
} sl_run_effort;

typedef struct sl_run {
    sl_run_input *inputs; /* owned; in the order given */
    size_t input_cnt;
    sl_run_effort effort;
} sl_run;

/* SL_E_NOMEM. */
sl_status sl_run_new(const sl_trace *const *traces, size_t cnt, sl_run **out, sl_error *err);
void sl_run_free(sl_run *run); /* NULL is fine */

/* The first with this number; NULL when the input does not have it. */
const sl_run_device *sl_run_find_device(const sl_run_input *input, int device);

/* Whether a record of the input's samples is one of this device, and of its rank where there are several. */
bool sl_run_has_sample(const sl_run_device *device, const struct sl_tm_record *record);

/* The facts. Each is computed at the first call; SL_E_NOMEM, and for the replay SL_E_LIMIT. */
sl_status sl_run_replay(const sl_run_device *device, const sl_replay **out, sl_error *err);
/* With the teardown of the process (P5 in run/blocks/replay.h); the same where there is none. */
sl_status sl_run_replay_to_exit(const sl_run_device *device, const sl_replay **out, sl_error *err);
/* Without readings of the card its moment_cnt is 0. */
sl_status sl_run_ledger(const sl_run_device *device, const sl_ledger **out, sl_error *err);
/* Of the whole work, up to its end. */
sl_status sl_run_steps(const sl_run_device *device, const sl_steps **out, sl_error *err);
/* One grouping for each pair of arguments. SL_E_USAGE when the filter is not a regular expression. */
sl_status sl_run_sites(const sl_run_input *input, sl_group_by group_by, const char *filter,
                       const sl_sites **out, sl_error *err);

/* SL_E_USAGE when the filter lets no site of any input through; the text names the nearest ones. */
sl_status sl_run_check_filter(const sl_run *run, sl_group_by group_by, const char *filter,
                              sl_error *err);

/* The place for a fact that a later stage computes and that lives as long as the run: what other
 * allocator settings would have done. Empty until that stage fills it, with its own function to
 * free it. It may borrow from the device. */
typedef struct sl_run_slot {
    void *fact;
    void (*free)(void *fact);
} sl_run_slot;

sl_run_slot *sl_run_whatif_slot(const sl_run_device *device);

/* By the user's line, unfiltered: what everything uses that was not asked for something else. */
static inline sl_status sl_run_lines(const sl_run_input *input, const sl_sites **out,
                                     sl_error *err) {
    return sl_run_sites(input, SL_GROUP_LINE, NULL, out, err);
}

/* Whether all inputs are processes of one run (P1 in run/process_tree.h): then they share a clock. */
bool sl_run_has_one_clock(const sl_run *run);

/* Whether the input holds samples of counters instead of events: then it has no blocks and no lines. */
bool sl_run_is_sampled(const sl_run_input *input);

/* First moment, end of the work and last moment, in microseconds of the input's clock. */
typedef struct sl_span {
    int64_t first_us, last_us, exit_us;
} sl_span;

/* Of one device, or of all (NULL); false when there is no event and no sample. */
bool sl_run_span(const sl_run_input *input, const sl_run_device *device, sl_span *span);

#endif
