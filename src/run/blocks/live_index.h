/* SPDX-License-Identifier: MIT */
/* An index over lives that answers "which are live after event e" in O(log n + result): an
 * implicit binary tree of the latest end within each bucket of 16 consecutive lives. Lives are
 * sorted by beginning, so the tree prunes by end what the prefix by beginning leaves. A quarter of
 * a byte a life. */
#ifndef SL_LIVE_INDEX_H
#define SL_LIVE_INDEX_H

#include "run/blocks/replay.h"

/* The tree for these lives (owned by the caller, plain free), or NULL when memory ran out. */
uint32_t *sl_live_index_new(const sl_life *lives, size_t cnt);

/* Appends the ids in [0, prefix) whose end is later than the event, ascending. */
bool sl_live_index_query(const sl_replay *replay, size_t prefix, uint32_t event, sl_life_ids *out);

#endif
