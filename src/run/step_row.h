/* SPDX-License-Identifier: MIT */
/* Rows: stretches of a run in which memory is allocated and nothing is freed, because the program
 * loads a data set or fills a list. The call that does it recurs as regularly as one of a training
 * loop, but nothing is computed in between, so its occurrences are not steps. Pure. */
#ifndef SL_STEP_ROW_H
#define SL_STEP_ROW_H

#include "run/blocks/replay.h"
#include "run/lines/user_line.h"

/* What happened to the blocks that were made in a stretch of events. */
typedef struct sl_stretch {
    uint64_t allocs;
    uint64_t freed;    /* of them, before the stretch ended */
    uint64_t computed; /* of them, made by a layer's forward or by autograd */
} sl_stretch;

typedef struct sl_row {
    uint32_t first, end; /* events [first, end) */
    uint32_t cnt;        /* parts: occurrences of the recurring call */
    bool makes_list;     /* the call is in a comprehension */
} sl_row;

/* Events [from, to). */
sl_stretch sl_stretch_count(const sl_replay *replay, const sl_stack_class *classes, uint32_t from,
                            uint32_t to);

/* The event of the first block of [from, to) that a layer or autograd made; `to` when none did. */
uint32_t sl_stretch_first_computed(const sl_replay *replay, const sl_stack_class *classes,
                                   uint32_t from, uint32_t to);

/* Fewer than SL_T_CHURN_MIN of the blocks are freed. */
bool sl_stretch_is_hoarding(const sl_stretch *stretch);

/* Layers or autograd run in it: in at least every second of its parts. */
bool sl_stretch_computes(const sl_stretch *stretch, uint64_t part_cnt);

/* Whether the user's line of a stack is in a comprehension; up to Python 3.11 these have frames of
 * their own. */
bool sl_stack_makes_list(const sl_trace *trace, const sl_stack_class *classes, uint32_t stack_id);

typedef enum sl_row_kind {
    SL_ROW_NONE,
    SL_ROW_LAST, /* only made and kept, up to the end: a loader that did not get further, or a leak */
    SL_ROW_DONE,
} sl_row_kind;

/* What looks like steps, judged; `to` is where the events end. */
sl_row_kind sl_row_judge(const sl_row *row, const sl_replay *replay, const sl_stack_class *classes,
                         uint32_t to);

#endif
