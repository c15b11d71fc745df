/* SPDX-License-Identifier: MIT */
/* Iterates over a replay in the order of its events and reports which block begins and which
 * ends. It also finds the ends of blocks whose free is missing, which have no event of their
 * own. Blocks from before the trace are not reported: start from replay->lives[0 .. base_cnt). */
#ifndef SL_PAGE_WALK_H
#define SL_PAGE_WALK_H

#include "run/blocks/replay.h"

typedef struct sl_page_walk {
    const sl_replay *replay; /* borrowed */
    sl_life_ids strays;      /* owned; lives that end at another life's event, by that event */
    size_t next_stray;
    uint32_t event; /* the next one to visit */
} sl_page_walk;

typedef struct sl_page_change {
    uint32_t event;
    uint32_t life;
    bool is_begin; /* false: it ends */
} sl_page_change;

/* False when memory ran out; call sl_page_walk_fini in either case. */
bool sl_page_walk_init(sl_page_walk *walk, const sl_replay *replay);
void sl_page_walk_rewind(sl_page_walk *walk);
void sl_page_walk_fini(sl_page_walk *walk);

/* The next change, by ascending event; false at the end. */
bool sl_page_walk_next(sl_page_walk *walk, sl_page_change *change);

#endif
