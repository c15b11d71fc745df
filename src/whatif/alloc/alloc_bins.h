/* SPDX-License-Identifier: MIT */
/* The free blocks of one pool and stream, ordered by (size, address, number): the order of the
 * allocator's best fit.
 *
 * Blocks are nodes of treaps, one treap for each quarter of a power of two of sizes; a bitmap
 * shows which treaps are not empty. A typical bin holds a handful of blocks, so finding, adding
 * and removing touch few cache lines; a bin with millions of equal blocks is still logarithmic.
 * Nothing is allocated: the links are members of the blocks. */
#ifndef SL_ALLOC_BINS_H
#define SL_ALLOC_BINS_H

#include "base/core/sl_base.h"

#define SL_ALLOC_NONE UINT32_MAX
#define SL_BIN_WORDS  4
#define SL_BIN_CNT    (64 * SL_BIN_WORDS)

typedef struct sl_alloc_block {
    uint64_t addr;
    uint64_t bytes;
    uint64_t age_base;    /* number of searches of its pool when it became free */
    uint32_t prev, next;  /* neighbours in its segment; SL_ALLOC_NONE */
    uint32_t left, right; /* in its bin, while free */
    uint32_t range;       /* the expandable segment it is in; SL_ALLOC_NONE */
    uint32_t set;         /* its set of free blocks, also while in use */
    uint32_t slot;        /* the caller's slot, while in use */
    uint8_t state;        /* sl_alloc_state */
} sl_alloc_block;

typedef enum sl_alloc_state {
    SL_ALLOC_FREE,
    SL_ALLOC_USED,
    SL_ALLOC_PENDING,  /* freed, but another stream still uses it */
    SL_ALLOC_UNMAPPED, /* address space without memory */
} sl_alloc_state;

typedef struct sl_alloc_bins {
    uint32_t roots[SL_BIN_CNT];
    uint64_t used[SL_BIN_WORDS]; /* bit i: roots[i] is not empty */
} sl_alloc_bins;

void sl_bins_init(sl_alloc_bins *bins);
void sl_bins_add(sl_alloc_bins *bins, sl_alloc_block *blocks, uint32_t idx);
/* The block must be in the bins, with the size and address it was added with. */
void sl_bins_remove(sl_alloc_bins *bins, sl_alloc_block *blocks, uint32_t idx);

/* The first block of at least this size; SL_ALLOC_NONE if there is none. */
uint32_t sl_bins_find(const sl_alloc_bins *bins, const sl_alloc_block *blocks, uint64_t bytes);
/* The last block that is smaller. */
uint32_t sl_bins_find_below(const sl_alloc_bins *bins, const sl_alloc_block *blocks,
                            uint64_t bytes);
/* Neighbours in the order; SL_ALLOC_NONE at the ends. */
uint32_t sl_bins_next(const sl_alloc_bins *bins, const sl_alloc_block *blocks, uint32_t idx);
uint32_t sl_bins_prev(const sl_alloc_bins *bins, const sl_alloc_block *blocks, uint32_t idx);

#endif
