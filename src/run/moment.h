/* SPDX-License-Identifier: MIT */
/* Moments of a run by the names a user gives them, and what a device held then. */
#ifndef SL_MOMENT_H
#define SL_MOMENT_H

#include "run/run.h"

typedef enum sl_moment_kind {
    SL_AT_END = 0, /* of the work */
    SL_AT_EXIT,    /* after the last event: what the process never freed */
    SL_AT_PEAK,    /* of the requested bytes */
    SL_AT_TIME,
    SL_AT_STEP, /* when that step ended */
} sl_moment_kind;

typedef struct sl_moment {
    sl_moment_kind kind;
    /* Of SL_AT_TIME: microseconds, as sl_replay_absolute_time; of SL_AT_STEP: its number (sl_steps_number). */
    int64_t value;
} sl_moment;

/* What was live then is what is live in this replay after this event. Borrowed from the run. */
typedef struct sl_state {
    const sl_replay *replay;
    uint32_t event; /* SL_EVENT_BEFORE = before the first one */
} sl_state;

/* SL_E_USAGE for a step that there is not, and a time outside the recording; the text says what there
 * is. */
sl_status sl_run_state_at(const sl_run_device *device, sl_moment moment, sl_state *state,
                          sl_error *err);

/* Of a sampled input: the last sample up to the moment (the first one, where all are later), or the
 * highest one; NULL when there is none. Errors as above. */
sl_status sl_run_sample_at(const sl_run_device *device, sl_moment moment,
                           const struct sl_tm_record **out, sl_error *err);

/* A part of a run, in microseconds as sl_replay_absolute_time. */
typedef struct sl_window {
    bool has_since, has_until;
    int64_t since_us, until_us;
} sl_window;

/* SL_E_USAGE when the window lies outside every input, with the times there are. */
sl_status sl_run_check_window(const sl_run *run, const sl_window *window, sl_error *err);

#endif
