/* SPDX-License-Identifier: MIT */
/* One recording as the agent reads it: who it is (labels), and its figures at points in time. A point is a function
 * of the recording and its time alone as far as the recording has the figure over time, so a point that is sent
 * twice is the same twice. Figures that it has only now (what was lost, the state, the forecast) are in the newest
 * point only. Reads the file; never touches the recorded process.
 *
 * Points lie on whole multiples of the interval since 1970, so that the points of all ranks align. Times are those
 * of the recording's clock (its start by the wall clock, then the monotonic clock): a wall clock that is set while
 * it runs makes neither gaps nor doubles.
 *
 * One thread at a time. */
#ifndef SL_AGENT_RANK_H
#define SL_AGENT_RANK_H

#include "agent/agent_labels.h"
#include "agent/agent_series.h"
#include "log/read/log_tail.h"

#define SL_AGENT_POINTS_MAX 64

/* What a recording is known by, also after it was moved or compacted. */
typedef struct sl_agent_key {
    uint64_t start_wall_ns;
    uint32_t pid;
    uint32_t host_hash;
} sl_agent_key;

/* The process, or one of its devices. */
typedef struct sl_agent_subject {
    bool is_process;
    int device;             /* -1 = host */
    sl_agent_labels labels; /* of all its series */
    sl_maybe_f64 oom_seconds;
} sl_agent_subject;

typedef struct sl_agent_counter {
    uint32_t kind;
    int device;
    char name[64]; /* of a library or a custom counter */
} sl_agent_counter;

typedef struct sl_agent_rank {
    char *path; /* owned */
    sl_agent_key key;
    sl_log_reader *reader; /* owned */
    SL_VEC(sl_agent_subject) subjects;
    sl_agent_labels
        place; /* where the process runs: set by the caller, then sl_agent_rank_relabel */
    sl_agent_labels extra;             /* the user's own labels */
    sl_agent_labels info;              /* of stormlog_info */
    SL_VEC(sl_agent_counter) counters; /* by index */
    sl_log_counters newest;            /* as of the last refresh */
    int32_t labelled_rank;             /* as in the labels */
    bool has_ended;
} sl_agent_rank;

sl_status sl_agent_rank_open(const char *path, sl_agent_rank **out, sl_error *err);
void sl_agent_rank_close(sl_agent_rank *rank); /* NULL is fine */

/* Reads what changes: state, counters, devices. */
sl_status sl_agent_rank_refresh(sl_agent_rank *rank, sl_error *err);

/* Makes the labels again, after `place` or `extra` changed. */
sl_status sl_agent_rank_relabel(sl_agent_rank *rank, sl_error *err);

/* The recording's first and newest moment, since 1970. */
int64_t sl_agent_rank_start_ms(const sl_agent_rank *rank);
int64_t sl_agent_rank_newest_ms(const sl_agent_rank *rank);

/* What the counters were at a moment; by counter. */
typedef struct sl_agent_held {
    int64_t at_ms;
    SL_VEC(sl_maybe_u64) values;
} sl_agent_held;

/* How far somebody has read: everything up to at_ms. The values that held there are kept, because reading them again
 * is reading whole curves. Zero-initialise and set at_ms; sl_agent_walk_fini. */
typedef struct sl_agent_walk {
    int64_t at_ms;
    sl_agent_held held;  /* the values at at_ms, unless that was changed */
    sl_agent_held ahead; /* the values after the points that were made last */
} sl_agent_walk;

void sl_agent_walk_fini(sl_agent_walk *walk);

/* Points after each other: values[(point * subject_cnt + subject) * SL_AGENT_SERIES_CNT + series]. */
typedef struct sl_agent_points {
    int64_t times_ms[SL_AGENT_POINTS_MAX];
    size_t cnt;
    size_t subject_cnt;
    SL_VEC(sl_maybe_f64) values;
    int64_t next_ms;  /* the walk's position after them */
    bool is_edge;     /* the newest of them is as new as the recording */
    bool is_complete; /* the recording has ended and these are its last points */
} sl_agent_points;

void sl_agent_points_fini(sl_agent_points *points);

static inline sl_maybe_f64 *sl_agent_point_values(const sl_agent_points *points, size_t point,
                                                  size_t subject) {
    return points->values.at + (point * points->subject_cnt + subject) * SL_AGENT_SERIES_CNT;
}

/* The next points after walk->at_ms, at most `max`, every `interval_ms`; where the recording has only longer bins
 * left, one for each of them. The walk's position does not change: set it to next_ms when the points have arrived. */
sl_status sl_agent_rank_next(sl_agent_rank *rank, sl_agent_walk *walk, int64_t interval_ms,
                             size_t max, sl_agent_points *out, sl_error *err);

/* One point: the newest values, with peaks since walk->at_ms. */
sl_status sl_agent_rank_now(sl_agent_rank *rank, sl_agent_walk *walk, sl_agent_points *out,
                            sl_error *err);

#endif
