/* SPDX-License-Identifier: MIT */
/* The work of a device cut into equal parts of time, each with the moment at which it held most. The
 * borders are multiples of the length on the input's clock, so the parts of all ranks, and those of
 * a second call, have the same borders. Pure. */
#ifndef SL_INTERVALS_H
#define SL_INTERVALS_H

#include "run/run.h"

typedef struct sl_interval {
    int64_t from_us, until_us; /* [from, until) */
    uint32_t from, to;         /* events [from, to), which may be none */
    uint32_t peak;             /* the state after this event; SL_EVENT_BEFORE */
} sl_interval;

typedef struct sl_interval_walk {
    const sl_replay *replay;
    sl_replay_walk totals;
    int64_t every_us, next_us;
} sl_interval_walk;

/* every_us > 0, and the input has a clock. SL_E_LIMIT when there would be more than SL_INTERVALS_MAX. */
#define SL_INTERVALS_MAX 1000000
sl_status sl_interval_walk_init(sl_interval_walk *walk, const sl_replay *replay, int64_t every_us,
                                sl_error *err);
/* False after the last one. */
bool sl_interval_walk_next(sl_interval_walk *walk, sl_interval *out);

#endif
