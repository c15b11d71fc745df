/* SPDX-License-Identifier: MIT */
/* A lane: one device of one input, prepared for the page. Every file page_<part>.c fills the
 * columns of its part from the replay; this header is what they share. A budget decides the
 * level of detail here, never in the browser, and what did not fit the budget is counted. */
#ifndef SL_PAGE_LANE_H
#define SL_PAGE_LANE_H

#include "page/page_names.h"
#include "page/page_walk.h"
#include "run/run.h"
#include "whatif/facts/whatif_curve.h"
#include "whatif/facts/whatif_fact.h"

/* How much of a lane goes into the page. */
typedef struct sl_page_budget {
    uint32_t bins;    /* of the curve */
    uint32_t columns; /* of the stacked groups */
    uint32_t blocks;  /* drawn one by one */
    uint32_t stacks;  /* kept whole; the others are reduced to their site */
    uint32_t cells;   /* of the matrix of stacks and checkpoints */
    uint32_t segments, end_blocks;
} sl_page_budget;

/* What all rows of the heat map have in common: a span of time or, for inputs that did not run
 * at the same time, the progress from the first event to the last. bins 0 = no heat map. */
typedef struct sl_page_heat {
    uint32_t bins;
    bool is_by_event;
    int64_t from_us, to_us;
} sl_page_heat;

/* The processes of one run share a clock, so all their lanes begin with the run; any other lane
 * begins with its own first event. */
typedef struct sl_page_clock {
    bool is_common;
    int64_t first_us;
} sl_page_clock;

/* Groups of one kind: as many as have a colour of their own, and more if the last one, which
 * holds all others, would be too large (sl_sites_rest_is_large). */
#define SL_PAGE_GROUPS    12
#define SL_PAGE_GROUP_MAX SL_SITES_MOST_MAX

typedef struct sl_page_group {
    const char *label; /* borrowed from the names, or a literal */
    uint32_t frame;    /* SL_IDX_NONE = none */
    bool is_rest;      /* everything that has no group of its own */
} sl_page_group;

typedef struct sl_page_groups {
    sl_page_group at[SL_PAGE_GROUP_MAX];
    size_t cnt;
} sl_page_groups;

/* Sums of one user line over the whole run. */
typedef struct sl_page_site_sum {
    uint32_t frame;
    uint64_t live_bytes, live_blocks, at_peak_bytes, peak_bytes;
    uint64_t allocs, alloc_bytes, freed;
    int64_t median_life_us;
    uint64_t tag_bytes[SL_TAG_LIMIT]; /* bytes allocated, or live before the trace */
} sl_page_site_sum;

typedef struct sl_page_lane {
    int number; /* in the page */
    size_t input;
    const sl_run_device *of;       /* borrowed; all below belongs to it */
    const sl_trace *trace;         /* borrowed */
    const sl_device_trace *device; /* borrowed */
    const sl_replay *replay;       /* borrowed; NULL if is_sampled */
    sl_page_source *source;        /* borrowed */
    sl_page_budget budget;
    sl_page_heat heat;
    sl_page_clock clock;
    sl_page_columns columns;
    sl_page_walk walk;

    /* Made by page_sites.c. */
    SL_VEC(sl_page_site_sum) sites; /* indexed like the run's sites by line */
    uint32_t *page_stack;  /* owned; trace stack -> page stack, whole or reduced to its site */
    uint32_t stack_before; /* page stack of blocks from before the trace that have no stack */

    /* How much went into the page, for its texts. */
    uint32_t bin_events;
    uint64_t blocks_kept, largest_left_bytes, largest_block_bytes;
    uint64_t stacks_met, stacks_kept;
    uint64_t segments_kept, end_blocks;
    sl_page_groups lines, files, streams, tags, modules;
    sl_replay_totals start, end;
    sl_replay_peak peak;
    uint64_t allocs, frees, blocks_total, segments_total;
    sl_maybe_u64 peak_reserved_bytes;
    uint32_t event_cnt;            /* if is_sampled: number of samples */
    int64_t first_us, last_us;     /* first_us: the zero of all times in the page */
    int64_t start_us, peak_us;     /* relative to first_us; start_us: the first event */
    bool is_sampled;               /* the input holds readings of counters, not events */
    SL_VEC(const char *) counters; /* names for SL_PAGE_COUNTERS_SERIES, literals */
    const sl_ledger *ledger;       /* borrowed; NULL, or with the moments of SL_PAGE_LEDGER_TIME */
    const sl_whatif_fact *whatif;  /* borrowed from the run; NULL = not asked for */
    sl_whatif_curves *curves;      /* owned; NULL without an answer */
    bool has_modules;              /* some stack names a module */
    bool has_history, reserved_known, geometry_known, identity_holds;
    int64_t identity_residue;
} sl_page_lane;

/* Fills the lane from its trace, device, source and budget. */
sl_status sl_page_lane_build(sl_page_lane *lane, sl_error *err);
void sl_page_lane_fini(sl_page_lane *lane);

/* Sets first_us and start_us by the time of the lane's first event. */
void sl_page_lane_begin(sl_page_lane *lane, int64_t event_us);

/* Microseconds between first_us and this event. */
int64_t sl_page_lane_time(const sl_page_lane *lane, uint32_t event);

/* Index into lane->sites of a block. */
static inline uint32_t sl_page_lane_site(const sl_page_lane *lane, const sl_life *life) {
    return sl_sites_of(lane->source->lines, life);
}

/* The page stack of a block. */
uint32_t sl_page_lane_stack(const sl_page_lane *lane, const sl_life *life);

/* What a block is for; a tag of another version is unknown. */
static inline sl_tag sl_page_lane_tag(const sl_page_lane *lane, const sl_life *life) {
    sl_tag tag = sl_replay_tag(lane->replay, life);
    return (unsigned)tag < SL_TAG_LIMIT ? tag : SL_TAG_UNKNOWN;
}

/* The event with the highest live bytes in each of cnt equal shares of the events; cnt is
 * lowered to the number of events. False when memory ran out. */
bool sl_page_instants(const sl_page_lane *lane, uint32_t *cnt, uint32_t **instants);

/* The parts. Each returns false when memory ran out. */
bool sl_page_add_curve(sl_page_lane *lane);
bool sl_page_add_sites(sl_page_lane *lane);
bool sl_page_add_groups(sl_page_lane *lane);
bool sl_page_add_blocks(sl_page_lane *lane);
bool sl_page_add_matrix(sl_page_lane *lane);
bool sl_page_add_segments(sl_page_lane *lane);
bool sl_page_add_marks(sl_page_lane *lane);
bool sl_page_add_ledger(sl_page_lane *lane);
bool sl_page_add_whatif(sl_page_lane *lane);

/* Fills a lane whose input holds samples. */
bool sl_page_add_samples(sl_page_lane *lane);

/* The lane's row of the heat map: the highest live bytes in each equal share of the span. */
void sl_page_add_heat(sl_page_lane *lane);

#endif
