/* SPDX-License-Identifier: MIT */
/* Requested bytes and blocks by stack: what was live at an instant, what was allocated in all, what
 * was added and stayed. Several formats show these, and each must show the same. */
#ifndef SL_STACK_SUMS_H
#define SL_STACK_SUMS_H

#include "run/blocks/replay.h"

typedef struct sl_stack_sum {
    uint64_t bytes;
    uint64_t blocks;
} sl_stack_sum;

/* One zeroed sum for each stack id of the trace (never none); plain free. NULL = no memory. */
sl_stack_sum *sl_stack_sums_new(const sl_trace *trace);
size_t sl_stack_sums_cnt(const sl_trace *trace);

/* Adds what is live after the event; false when memory ran out. */
bool sl_stack_sums_live(const sl_replay *replay, uint32_t event, sl_stack_sum *sums);

/* Adds every allocation of the events [from, to). */
void sl_stack_sums_allocated(const sl_replay *replay, uint32_t from, uint32_t to,
                             sl_stack_sum *sums);

/* Adds the allocations of the trace that are still live at its end. */
void sl_stack_sums_grown(const sl_replay *replay, sl_stack_sum *sums);

#endif
