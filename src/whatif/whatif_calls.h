/* SPDX-License-Identifier: MIT */
/* The calls that a trace's program made to the allocator: requests, frees, flushes and failures
 * in order, and the state before the first of them. Made once per device; several threads may
 * replay them at a time.
 *
 * (C1) A block in use has a slot. Slots are reused, so there are as many as blocks were in use
 *      at once.
 * (C2) A free that took effect only later (record_stream) is a DROP and a FREE, any other one is
 *      a FREE.
 * (C3) Segments that the trace released are RELEASEs. A sequence of them that the program
 *      requested (empty_cache) is followed by an EMPTY. One inside a request (a flush, garbage
 *      collection) is not: there the replay decides for itself. The stack distinguishes the two;
 *      inside a request it is that of the request.
 * (C4) A group is a pair of pool and stream. Pools are those of the trace; 0 is the default
 *      pool.
 * (C5) A request that fails although the card has room for it met a limit of the process: the
 *      process could reserve the most that it ever reserved, but not that plus this request. If
 *      the card has no room, its free bytes give the limit exactly. */
#ifndef SL_WHATIF_CALLS_H
#define SL_WHATIF_CALLS_H

#include "run/run.h"
#include "whatif/alloc/alloc_model.h"

typedef enum sl_call_kind {
    SL_CALL_REQUEST,
    SL_CALL_DROP,
    SL_CALL_FREE,
    SL_CALL_RELEASE,
    SL_CALL_EMPTY,
    SL_CALL_UNUSED, /* the pool `group` is no longer used (M6) */
    SL_CALL_FAILED, /* a request that failed: an event "oom" */
} sl_call_kind;

typedef struct sl_call {
    uint64_t bytes; /* of a request, RELEASE or FAILED */
    uint32_t event;
    uint32_t slot;
    uint32_t group;
    uint8_t kind; /* sl_call_kind */
} sl_call;

typedef struct sl_call_group {
    uint16_t pool_idx, stream_idx;
    uint32_t one_stream; /* the first group of its pool */
} sl_call_group;

/* A segment before the first call. */
typedef struct sl_call_segment {
    uint32_t first_piece, piece_cnt;
    uint32_t group;
    bool is_large, is_expandable;
} sl_call_segment;

typedef struct sl_calls {
    const sl_run_device *device; /* borrowed */
    const sl_replay *replay;     /* borrowed from the run */
    SL_VEC(sl_call) list;
    SL_VEC(sl_call_group) groups;
    SL_VEC(sl_call_segment) start;
    SL_VEC(sl_alloc_piece) pieces; /* of the segments at the start */
    SL_VEC(sl_alloc_place) places; /* segments of the trace, as the allocator took them */
    uint64_t request_cnt, drop_cnt, empty_cnt, failed_cnt;
    uint64_t start_bytes; /* in use before the first call */
    uint32_t slot_cnt;
    uint32_t last_request;      /* index of the last REQUEST in the list */
    bool has_segments;          /* the trace has events of segments */
    sl_maybe_u64 limit_bytes;   /* what the process could reserve, at least (C5) */
    uint64_t limit_below_bytes; /* and less than this; limit_bytes + 1 if it is exact */
    sl_alloc_settings settings; /* as recorded */
    bool settings_known; /* from the trace; otherwise the defaults, and what the events show */
} sl_calls;

/* SL_E_USAGE when the trace's own settings cannot be replayed; SL_E_NOMEM, SL_E_LIMIT. */
sl_status sl_calls_new(const sl_run_device *device, sl_calls **out, sl_error *err);
void sl_calls_free(sl_calls *calls); /* NULL is fine */

/* What sl_calls_remove removed. */
typedef struct sl_calls_removed {
    uint64_t request_cnt;
    uint64_t peak_bytes; /* the most that they had in use at once, as requested */
} sl_calls_removed;

/* Removes all calls of blocks whose site passes the filter of `sites`. Blocks from before the
 * trace stay. SL_E_NOMEM. */
sl_status sl_calls_remove(sl_calls *calls, const sl_sites *sites, sl_calls_removed *removed,
                          sl_error *err);

#endif
