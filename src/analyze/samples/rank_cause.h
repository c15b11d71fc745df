/* SPDX-License-Identifier: MIT */
/* Which rank grew first: the second half of the cross-rank analysis. Internal to src/analyze. */
#ifndef SL_RANK_CAUSE_H
#define SL_RANK_CAUSE_H

#include "analyze/samples/an_ranks.h"

/* Fills onset and suspects; the points must still be rank by rank, aligned. */
sl_status sl__rank_cause(sl_ranks *ranks, double interval_ns, sl_error *err);

#define sl__ranks_note(ranks, ...) sl_notes_add(&(ranks)->notes, &(ranks)->arena, __VA_ARGS__)

/* "1, 2, 3", at most the first 64 and how many more; NULL when memory ran out. */
char *sl__ranks_list(sl_arena *arena, const int *ranks, size_t cnt);

#endif
