/* SPDX-License-Identifier: MIT */
/* Steps of the training loop: marked by the program, or found as the period of its allocations. */
#ifndef SL_STEPS_H
#define SL_STEPS_H

#include "run/blocks/replay.h"
#include "run/step_row.h"

typedef struct sl_steps {
    SL_VEC(uint32_t) borders; /* first event of each step, ascending, within the window */
    bool is_marked;
    SL_VEC(uint32_t) ends; /* where marked: the event after each step that ended, ascending */
    size_t
        ended_cnt; /* steps that ended: marks within the window, or the borders that were found */
    SL_VEC(uint64_t) numbers; /* where marked: of each step that ended, ascending */
    sl_maybe_f64 median_us;
    uint32_t beat_stack; /* the call that recurs once a step, SL_IDX_NONE when marked or by size */
    double beat_cv;      /* how irregular it is: deviation over mean of its gaps */
    SL_VEC(sl_row)
    rows; /* looked like steps, but only made memory (step_row.h); all before the steps */
    uint32_t work_from; /* the event after the last row; the window's first without rows */
    bool only_keep;     /* nothing is computed or freed in them (SL_ROW_LAST) */
} sl_steps;

/* Looks at events [from, to). No steps found is fine: borders stays empty. classes are those of the
 * trace's stacks: only calls with a line can be a beat, because what recurs inside autograd's
 * threads are layers. */
bool sl_steps_find(sl_steps *steps, const sl_replay *replay, const sl_stack_class *classes,
                   uint32_t from, uint32_t to);
void sl_steps_fini(sl_steps *steps);

/* Events [from, to) of a step that ended, idx < ended_cnt; none where nothing happened on the device in it. */
typedef struct sl_step_range {
    uint32_t from, to;
} sl_step_range;
sl_step_range sl_steps_range(const sl_steps *steps, const sl_replay *replay, size_t idx);

/* Index of the step that holds the event; the first one for events before it. */
size_t sl_steps_at(const sl_steps *steps, uint32_t event);

/* The number by which every view calls a step, idx <= ended_cnt: that of its mark where those of all marks ascend
 * (the program's own, or the recorder's count from 0), else counted from 0. */
uint64_t sl_steps_number(const sl_steps *steps, size_t idx);

/* The number of the step that holds the event. */
uint64_t sl_steps_number_at(const sl_steps *steps, uint32_t event);

/* The index of the step that ended with this number; ended_cnt when there is none. */
size_t sl_steps_find_number(const sl_steps *steps, uint64_t number);

#endif
