/* SPDX-License-Identifier: MIT */
/* One pass of a trace's calls through the allocator's model. Pure; passes of one sl_calls may
 * run in several threads.
 *
 * (R1) As recorded: new segments are where the trace has them, or where the first block of a
 *      segment was, and are released when the trace says. The address of every block is
 *      compared, and the reserved bytes after each request.
 * (R2) Otherwise the model decides; empty_cache() is called where the program called it. The
 *      pass ends with the first request that fails.
 * (R3) A block from before the trace keeps its address if the settings have segments of the same
 *      kind as recorded; otherwise it is requested again, in the order of addresses.
 * (R4) A request that failed in the trace is made, and its block is freed at once: what would
 *      have followed is not known. */
#ifndef SL_WHATIF_REPLAY_H
#define SL_WHATIF_REPLAY_H

#include "whatif/whatif_repair.h"

typedef struct sl_pass_options {
    sl_alloc_settings settings;
    uint64_t limit_bytes; /* bytes of the card for the process; SL_ALLOC_NO_LIMIT */
    uint64_t total_bytes; /* of the card, for fractions; 0 = unknown: limit_bytes */
    uint64_t seed;        /* for placing new segments; 0 = as in the trace, then (M7) */
    bool is_recorded;     /* (R1) */
    bool frees_early; /* a block used by another stream is free as soon as its free is requested */
    bool is_one_stream;      /* like the setting of this name */
    const sl_repair *repair; /* borrowed; NULL = none; not with is_recorded */
    /* Called with the reserved bytes before the first call (SL_EVENT_BEFORE) and after each; may
     * be NULL. */
    void (*watch)(void *watch_arg, uint32_t event, uint64_t reserved_bytes);
    void *watch_arg;
} sl_pass_options;

typedef struct sl_pass {
    sl_alloc_stats stats;
    uint32_t peak_event; /* of the reserved peak; SL_EVENT_BEFORE */
    bool has_failed;     /* (R2) */
    uint32_t fail_event;
    uint32_t fail_call;
    uint64_t fail_bytes, fail_active_bytes, fail_reserved_bytes;
    uint64_t request_cnt;    /* served */
    uint64_t oom_cnt;        /* requests that failed in the trace, as far as the pass came */
    uint64_t oom_served_cnt; /* those that were served (R4) */
    uint64_t oom_more_cnt; /* how many more times the last one could be served, up to SL_MORE_MAX */
    /* (R1) */
    uint64_t placed_cnt, same_cnt; /* addresses compared; equal */
    uint64_t reserved_cnt,
        same_reserved_cnt;      /* requests at which the reserved bytes were compared; equal */
    uint64_t recorded_peak;     /* reserved, of the trace */
    uint64_t not_released_cnt;  /* segments released in the trace that were not free here */
    uint32_t first_wrong_event; /* first different address; SL_EVENT_NEVER */
} sl_pass;

#define SL_MORE_MAX 1000

/* SL_E_NOMEM. */
sl_status sl_pass_run(const sl_calls *calls, const sl_pass_options *options, sl_pass *out,
                      sl_error *err);

#endif
