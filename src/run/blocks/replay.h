/* SPDX-License-Identifier: MIT */
/* Replay: one device's events turned into the lives of its blocks and segments, in linear time.
 * Answers what was live at any event, how much, where in the address space, and whether the trace
 * and the end state agree. Borrowed from the trace: a replay must be freed before it.
 *
 * (P1) A life is live at event e when it began at or before e and ended after e: the state *after*
 *      event e. SL_EVENT_BEFORE as an instant is the state before the first event.
 * (P2) "Requested" and "active" bytes end when a free completes, "allocated" bytes when the free is
 *      requested; these are PyTorch's requested_bytes, active_bytes and allocated_bytes.
 * (P3) Block sizes are exact where the geometry of the segments is known: the allocator's own
 *      splitting rules are followed from a reconstructed start state. Elsewhere they are rounded
 *      by rule, and `rounded_by_rule` counts them. A block from before the trace that is freed in
 *      it counts up to 1 MiB too little when free space lay after it.
 * (P4) Lives are in the order of their beginning; those from before the trace come first.
 * (P5) A replay ends with the work (run/work_end.h): the device's events after event_cnt are the teardown
 *      of a process that ends, which frees everything. A block that is freed there only is live at the
 *      end. A replay to the exit takes them too. */
#ifndef SL_REPLAY_H
#define SL_REPLAY_H

#include "model/trace.h"

#define SL_EVENT_BEFORE UINT32_MAX /* as a beginning: before the trace */
#define SL_EVENT_NEVER  UINT32_MAX /* as an end: still so when the trace ends */

typedef enum sl_life_flag {
    SL_LIFE_BASE = 1,      /* began before the trace */
    SL_LIFE_LOST_FREE = 2, /* its free is missing: the address was handed out again, or the end
                              state does not know it */
    SL_LIFE_BY_RULE = 4,   /* block_bytes comes from the rounding rule (P3) */
} sl_life_flag;

/* One block from its allocation to its reuse. */
typedef struct sl_life {
    uint64_t addr;
    uint64_t requested_bytes; /* = block_bytes where the input has no requested sizes */
    uint64_t block_bytes;     /* rounded, as the allocator counts */
    uint32_t begin_event;     /* SL_EVENT_BEFORE */
    uint32_t drop_event;      /* the free was requested; SL_EVENT_NEVER */
    uint32_t end_event;       /* the block became reusable; SL_EVENT_NEVER */
    uint32_t stack_id;
    uint32_t segment_idx; /* into sl_replay.segments; SL_IDX_NONE = not known */
    uint16_t stream_idx;
    uint8_t flags; /* sl_life_flag */
} sl_life;

/* A segment, or one mapped range of an expandable segment, while it existed. */
typedef struct sl_segment_life {
    uint64_t addr;
    uint64_t bytes;
    uint32_t begin_event; /* SL_EVENT_BEFORE */
    uint32_t end_event;   /* SL_EVENT_NEVER */
    uint16_t stream_idx;
    uint16_t pool_idx; /* SL_POOL_UNKNOWN where it was gone before the dump */
    bool is_large;
    bool is_expandable;
} sl_segment_life;

typedef SL_VEC(sl_segment_life) sl_segment_lives;

typedef struct sl_replay_peak {
    uint64_t bytes;
    uint32_t event; /* SL_EVENT_BEFORE when the start was never exceeded */
} sl_replay_peak;

typedef struct sl_replay_totals {
    uint64_t requested_bytes;
    uint64_t active_bytes;
    uint64_t allocated_bytes;
    uint64_t reserved_bytes;
} sl_replay_totals;

typedef struct sl_replay {
    const sl_trace *trace;         /* borrowed */
    const sl_device_trace *device; /* borrowed */
    SL_VEC(sl_life) lives;         /* (P4) */
    sl_segment_lives segments;     /* in the order of their beginning */
    uint32_t *life_of_event;       /* owned; SL_IDX_NONE for events without a block */
    uint32_t *max_end;             /* owned; index over lives, see live_index.h */
    SL_VEC(uint32_t) lost;         /* lives without their free, in the order of their end */
    size_t base_cnt;               /* lives[0 .. base_cnt) are from before the trace */
    uint32_t event_cnt;            /* up to the end (P5) */

    sl_replay_totals start, end; /* before the first event, after the last (P5) */
    sl_replay_peak peak_requested, peak_active, peak_allocated, peak_reserved;
    bool reserved_known;
    bool geometry_known; /* segments are known, so free blocks are known too */
    bool has_history;    /* false: a state-only input; its one event is a leftover */

    uint64_t allocs, frees;   /* frees = completed ones */
    uint64_t unmatched_frees; /* of blocks from before the trace */
    uint64_t unmatched_bytes;
    uint64_t lost_frees, lost_bytes;
    uint64_t rounded_by_rule;
    uint64_t end_state_requested; /* by the end state itself; 0 without one */
    bool identity_holds;
    int64_t identity_residue; /* replayed less end state, requested bytes */
} sl_replay;

/* Replays a device. SL_E_NOMEM; SL_E_LIMIT beyond 2^32 - 2 events. */
sl_status sl_replay_new(const sl_trace *trace, const sl_device_trace *device, sl_replay **out,
                        sl_error *err);
/* The same with the teardown (P5). */
sl_status sl_replay_new_to_exit(const sl_trace *trace, const sl_device_trace *device,
                                sl_replay **out, sl_error *err);

void sl_replay_free(sl_replay *replay); /* NULL is fine */

/* The last event (P5); SL_EVENT_BEFORE when there is none. */
static inline uint32_t sl_replay_end(const sl_replay *replay) {
    return replay->event_cnt ? replay->event_cnt - 1 : SL_EVENT_BEFORE;
}

/* Whether a block is live after the event (P1). */
static inline bool sl_life_is_live(const sl_life *life, uint32_t event) {
    bool has_begun = life->begin_event == SL_EVENT_BEFORE ||
                     (event != SL_EVENT_BEFORE && life->begin_event <= event);
    return has_begun && (event == SL_EVENT_BEFORE || life->end_event > event);
}

/* The last event at or before this time; SL_EVENT_BEFORE when all are later. O(log n). */
uint32_t sl_replay_event_at(const sl_replay *replay, int64_t time_us);

/* A time as a user gives it, on the input's clock: smaller than the first event's time = counted
 * from the first event, negative = counted back from the last one. */
int64_t sl_replay_absolute_time(const sl_replay *replay, int64_t time_us);

/* The time of an event; of the first one for SL_EVENT_BEFORE. */
int64_t sl_replay_time(const sl_replay *replay, uint32_t event);

/* Microseconds from one event to another; exact for clocks below 2^53. */
double sl_replay_span_us(const sl_replay *replay, uint32_t from, uint32_t to);

/* Index of the first life that begins at or after the event. O(log n). */
size_t sl_replay_first_life(const sl_replay *replay, uint32_t event);

/* What the block was for; SL_TAG_UNKNOWN where the input does not tell. Of a block from before the
 * trace only the end state can tell. O(1), O(log n) for those. */
sl_tag sl_replay_tag(const sl_replay *replay, const sl_life *life);

typedef SL_VEC(uint32_t) sl_life_ids;

/* Appends the ids of the lives that are live after the event, ascending (P1), in
 * O(log n + result). False when memory ran out. */
bool sl_replay_live_at(const sl_replay *replay, uint32_t event, sl_life_ids *out);

/* The totals after the event. O(result) of the above. False when memory ran out. */
bool sl_replay_totals_at(const sl_replay *replay, uint32_t event, sl_replay_totals *totals);

/* A piece of a segment at an instant. */
typedef struct sl_extent {
    uint64_t addr;
    uint64_t bytes;
    uint32_t life_idx;    /* SL_IDX_NONE = free */
    uint32_t segment_idx; /* into sl_replay.segments */
} sl_extent;

typedef SL_VEC(sl_extent) sl_extents;

/* Appends the blocks and the free gaps of every segment after the event, by ascending address.
 * Gaps of touching ranges of one expandable segment are one extent. */
bool sl_replay_geometry_at(const sl_replay *replay, uint32_t event, sl_extents *out);

/* One column of a drawn curve: what the totals did between two moments. */
typedef struct sl_curve_bin {
    int64_t time_us; /* where it begins */
    uint64_t min_requested, max_requested, last_requested;
    uint64_t max_allocated;
    uint64_t max_reserved;
} sl_curve_bin;

/* Fills bin_cnt bins of equal time between the two times (inclusive); a bin without events
 * repeats the last state. One pass over the events. */
void sl_replay_curve(const sl_replay *replay, int64_t from_us, int64_t to_us, sl_curve_bin *bins,
                     size_t bin_cnt);

/* Runs the totals forward, event by event, without any memory of its own. */
typedef struct sl_replay_walk {
    const sl_replay *replay;
    uint32_t next;           /* event that comes next */
    size_t next_lost;        /* into sl_replay.lost */
    sl_replay_totals totals; /* after event next - 1 */
} sl_replay_walk;

void sl_replay_walk_init(sl_replay_walk *walk, const sl_replay *replay);
/* Applies one event; false at the end. */
bool sl_replay_walk_next(sl_replay_walk *walk);

/* The lives that begin or end with one event, in the order in which the totals count them: at most one
 * that has the event as its own, after those that lost their free. */
typedef struct sl_life_changes {
    const sl_replay *replay;
    uint32_t event;
    size_t next_lost; /* into sl_replay.lost; carried from event to event */
    bool is_own_done;
} sl_life_changes;

/* Call with each event in turn. */
static inline void sl_life_changes_at(sl_life_changes *changes, uint32_t event) {
    changes->event = event;
    changes->is_own_done = false;
}

/* The next one, and whether it begins; NULL when there is no more. */
static inline const sl_life *sl_life_changes_next(sl_life_changes *changes, bool *begins) {
    const sl_replay *replay = changes->replay;
    *begins = false;
    if (changes->next_lost < replay->lost.cnt) {
        const sl_life *lost = &replay->lives.at[replay->lost.at[changes->next_lost]];
        changes->next_lost += lost->end_event == changes->event;
        if (lost->end_event == changes->event)
            return lost;
    }
    uint32_t own = changes->is_own_done ? SL_IDX_NONE : replay->life_of_event[changes->event];
    changes->is_own_done = true;
    if (own == SL_IDX_NONE)
        return NULL;
    const sl_life *life = &replay->lives.at[own];
    *begins = life->begin_event == changes->event;
    return *begins || life->end_event == changes->event ? life : NULL;
}

#endif
