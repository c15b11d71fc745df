/* SPDX-License-Identifier: MIT */
/* The memory of one rank by step, in a bounded number of bins: a bin is one step, or 2, 4, 8, … of them in a
 * long run. Bins are numbered by the step (number >> shift), so those of two ranks can be compared whatever
 * their clocks say. One thread at a time. */
#ifndef SL_RANK_CURVE_H
#define SL_RANK_CURVE_H

#include "base/core/sl_base.h"

#define SL_RANK_BINS 1024u

#define SL_BIN_NONE INT64_MIN

typedef struct sl_rank_bin {
    int64_t bytes;   /* allocated when the last step of the bin ended; SL_BIN_NONE = no step here */
    int64_t peak;    /* most during the bin; SL_BIN_NONE = not known */
    int64_t time_ns; /* when that step ended, since 1970, by the rank's own clock */
} sl_rank_bin;

typedef struct sl_rank_curve {
    sl_rank_bin *at; /* owned; room for SL_RANK_BINS until it is finished; NULL = none */
    uint64_t first;  /* number of at[0] */
    uint32_t cnt;
    uint32_t shift;
} sl_rank_curve;

/* Adds a step; those that are not after the last one are ignored. False when memory ran out. */
bool sl_rank_curve_add(sl_rank_curve *curve, uint64_t step, const sl_rank_bin *bin);

/* Makes bins of 2^shift steps, at least as long as they are. */
void sl_rank_curve_coarsen(sl_rank_curve *curve, uint32_t shift);

/* NULL when the rank has no such bin. */
const sl_rank_bin *sl_rank_curve_bin(const sl_rank_curve *curve, uint64_t number);

/* Gives back the room for further steps: none are added any more. */
void sl_rank_curve_finish(sl_rank_curve *curve);

void sl_rank_curve_free(sl_rank_curve *curve);

#endif
