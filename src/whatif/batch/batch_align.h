/* SPDX-License-Identifier: MIT */
/* Matches the allocations of one recording with those of another: the same program with another
 * batch or sequence size. Pure.
 *
 * (A1) Allocations are compared by stack (Python's frames if there are any, otherwise functions)
 *      and order. Phases need no extra rule: forward, backward and optimizer have different
 *      stacks and keep their order.
 * (A2) Backward often has no stack. There a law must also explain the two sizes of a pair
 *      (fit_exactly in batch_fit.h); what is left between two such pairs is paired in order if
 *      the stacks are the same.
 * (A3) The longest common sequence, found in windows of bounded work (as diff does), so that
 *      time is linear in the requests for recordings that differ little. */
#ifndef SL_BATCH_ALIGN_H
#define SL_BATCH_ALIGN_H

#include "whatif/whatif_calls.h"

#define SL_BATCH_NONE UINT32_MAX

typedef struct sl_batch_request {
    uint64_t key; /* of its stack */
    uint64_t bytes;
    uint32_t call; /* in sl_calls.list */
    uint32_t stack_id;
    bool is_brief; /* freed after at most one more request: usually a library's workspace */
} sl_batch_request;

/* The requests of one recording, in their order. */
typedef struct sl_batch_side {
    uint64_t size; /* the batch or sequence size that the user gave */
    bool is_rounded;
    SL_VEC(sl_batch_request) requests;
} sl_batch_side;

/* Borrows nothing. False when memory ran out. */
bool sl_batch_side_init(sl_batch_side *side, const sl_calls *calls, uint64_t size);
void sl_batch_side_fini(sl_batch_side *side);

/* For each request of `a` the matching one of `b`, or SL_BATCH_NONE; ascending. The caller's
 * array has room for those of `a`. False when memory ran out. */
bool sl_batch_align(const sl_batch_side *a, const sl_batch_side *b, uint32_t *match);

#endif
