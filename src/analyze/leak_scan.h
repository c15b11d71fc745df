/* SPDX-License-Identifier: MIT */
/* The measurements the leak analysis decides on: who survived, by call and by age, and how the
 * least live bytes of each site moved. Two passes, no decisions. Internal to src/analyze. */
#ifndef SL_LEAK_SCAN_H
#define SL_LEAK_SCAN_H

#include "analyze/an_context.h"
#include "analyze/thresholds.h"
#include "base/stats/series.h"
#include "model/addr_map.h"

/* The window of the leak analysis, cut into equal parts: steps, or bins of events. It ends with
 * the last step's beginning or with the failed request, so that what a program lets go at its
 * very end, or while it unwinds, does not hide a leak. */
typedef struct sl_leak_window {
    SL_VEC(uint32_t) edges; /* part i is [edges[i], edges[i + 1]); warm-up is left out */
    uint32_t first;         /* where the work begins: the first step, warm-up included */
    uint32_t end;           /* = the last edge */
    size_t part_cnt;
    bool has_steps;
    bool has_tail;       /* the trace goes on with something else after the last step */
    uint32_t bin_cnt;    /* bins for survivors, each of one or more parts */
    uint32_t valley_cnt; /* bins for valleys */
} sl_leak_window;

typedef struct sl_leak_sum {
    uint64_t bytes, blocks;
} sl_leak_sum;

/* A call: one stack, or among allocations without a stack one size. */
typedef struct sl_leak_unit {
    uint32_t stack_id;
    uint32_t site_idx;
    sl_leak_sum kept;       /* alive at the window's end, made in it or in warm-up */
    sl_leak_sum kept_last;  /* of these, made in the last part */
    sl_leak_sum late;       /* alive at the end of the trace */
    sl_leak_sum late_last;  /* of these, made after the window */
    sl_leak_sum window;     /* of kept, made after warm-up */
    uint64_t evicted_bytes; /* freed although old */
    uint32_t bin_mask;      /* bins that left survivors */
    uint32_t occasions;     /* parts that left survivors */
    uint32_t first_part, last_part_plus_1;
    double gap_squares;    /* sum of the squared distances between occasions, in parts */
    uint32_t twins;        /* survivors made in one go with another one of another size */
    uint64_t largest_kept; /* block, made after warm-up */
    uint8_t roles;
} sl_leak_unit;

/* Growth of one site. */
typedef struct sl_valley {
    uint32_t site_idx;
    uint64_t start_bytes, end_bytes, mid_blocks, end_blocks;
    double y[SL_T_VALLEY_MAX_BINS];
} sl_valley;

typedef struct sl_leak_scan {
    sl_leak_window window;
    SL_VEC(sl_leak_unit) units; /* by stack id, then by size for stack 0 */
    sl_addr_map unit_of_size;
    size_t stack_cnt;
    sl_stretch stretch; /* the window: what was made, freed and computed in it */
    SL_VEC(sl_valley) valleys;
    double total[SL_T_VALLEY_MAX_BINS]; /* valleys of the whole device */
} sl_leak_scan;

/* What of a call's blocks is leaked at the window's end, and at the end of the trace: all that are older than
 * the newest step, and of those that step made only as many as a step leaves behind. The others are in
 * flight. */
sl_leak_sum sl_leak_unit_kept(const sl_leak_unit *unit, const sl_leak_window *window);
sl_leak_sum sl_leak_unit_late(const sl_leak_unit *unit, const sl_leak_window *window);

/* False when memory ran out. A window too short for any decision has part_cnt 0. */
bool sl_leak_scan_run(sl_leak_scan *scan, const sl_an *an);
void sl_leak_scan_fini(sl_leak_scan *scan);

/* Index of the unit of a life; SL_IDX_NONE when its size was never seen. */
uint32_t sl_leak_unit_of(const sl_leak_scan *scan, const sl_life *life);

/* Index of the part that holds the event; events before the window give 0. */
size_t sl_leak_part_at(const sl_leak_window *window, uint32_t event);

#endif
