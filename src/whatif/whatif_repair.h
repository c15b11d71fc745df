/* SPDX-License-Identifier: MIT */
/* Repairs of the program, as changes of its calls: blocks that are freed earlier, blocks on
 * another stream. Pure; several threads may replay a repair.
 *
 * (L1) A block is overdue when it outlives its step and the same call (stack) makes a successor
 *      of more than half its size in a later step while the block is still held: then at least
 *      two of them accumulate. Only blocks with a line that were made in a step, and not by a
 *      call that makes parameters: building a model is not a leak.
 * (L2) Repaired, an overdue block is freed at the end of its step. If the program marked its
 *      steps, that is the beginning of the next one. An inferred border may be in the middle of
 *      the work: then it is the moment before the successor is made, which is never too early.
 * (L3) An overdue block that the program dropped in the step after its own is a late free, as in
 *      analyze/find_inefficient.c. Whether it was still needed then (as the input of its
 *      successor, for example) is not in a trace. */
#ifndef SL_WHATIF_REPAIR_H
#define SL_WHATIF_REPAIR_H

#include "whatif/whatif_calls.h"

/* How long an overdue block is held. */
typedef enum sl_overdue {
    SL_OVERDUE_NOT,
    SL_OVERDUE_LATE,  /* (L3); also if the trace ends too early to tell */
    SL_OVERDUE_KEPT,  /* dropped after more steps */
    SL_OVERDUE_NEVER, /* not dropped: still held when the work ends */
} sl_overdue;

/* What can be repaired in a trace; arrays are indexed by the life's number in the replay. */
typedef struct sl_repairs {
    const sl_calls *calls;     /* borrowed */
    const sl_sites *sites;     /* borrowed; by line */
    uint32_t *request_of_life; /* owned; index of its call, SL_IDX_NONE */
    uint32_t *free_event;      /* owned; (L2), SL_EVENT_NEVER = not overdue */
    uint32_t *step_of_life;    /* owned */
    uint8_t *overdue;          /* owned; sl_overdue */
    size_t step_cnt;           /* 0 = unknown */
    uint32_t
        end_event; /* of the work: that of a request that failed in the last step, or the end */
} sl_repairs;

sl_status sl_repairs_init(sl_repairs *repairs, const sl_calls *calls, sl_error *err);
void sl_repairs_fini(sl_repairs *repairs);

typedef struct sl_repair_free {
    uint32_t call; /* the block is freed before this call */
    uint32_t slot;
} sl_repair_free;

/* One change of the calls; both lists are ascending. */
typedef struct sl_repair {
    SL_VEC(sl_repair_free) frees;
    SL_VEC(uint32_t) moved; /* requests moved to the first stream of their pool */
} sl_repair;

void sl_repair_fini(sl_repair *repair);

/* Each adds changes to a repair; `site` is an index of repairs->sites, SL_IDX_NONE = all. False
 * when memory ran out. */
bool sl_repair_add_overdue(sl_repair *repair, const sl_repairs *repairs, uint32_t site,
                           const bool *is_wanted); /* by site; instead of all */
/* Late frees only (L3). */
bool sl_repair_add_late(sl_repair *repair, const sl_repairs *repairs);
/* Overdue blocks of the lines that pass the filter of `shown`, another grouping of the same
 * trace by line. */
bool sl_repair_add_shown(sl_repair *repair, const sl_repairs *repairs, const sl_sites *shown);
/* No free of these blocks waits for another stream. */
bool sl_repair_add_drops(sl_repair *repair, const sl_repairs *repairs, uint32_t site);
/* All blocks are on the first stream of their pool, so no free waits for another stream. */
bool sl_repair_add_moves(sl_repair *repair, const sl_repairs *repairs, uint32_t site);

/* Makes the frees part of the calls, which must be those that `repairs` was made from; after
 * this its call indexes are no longer valid. freed_cnt: blocks that are freed earlier.
 * SL_E_NOMEM. */
sl_status sl_calls_apply(sl_calls *calls, sl_repair *repair, uint64_t *freed_cnt, sl_error *err);

#endif
