/* SPDX-License-Identifier: MIT */
/* A mirror of the caching allocator's blocks: the same splits at each allocation and the same
 * merges at each free, so that the size of a block is known although a trace has only the requested
 * size. Every operation is O(1) apart from mapping and unmapping, which are rare.
 *
 * (M1) The blocks of a segment form a list without gaps; two free neighbours never exist.
 * (M2) The allocator hands out the front of a free block, so an allocation at an address where no
 *      block begins means that the mirror is not in step; such a block stands alone, outside of
 *      any list, and is counted. */
#ifndef SL_ALLOC_MIRROR_H
#define SL_ALLOC_MIRROR_H

#include "model/addr_map.h"
#include "run/blocks/rounding.h"
#include "run/blocks/segment_history.h"

typedef struct sl_mirror_block {
    uint64_t addr;
    uint64_t bytes;
    uint32_t prev, next;  /* within the segment; SL_IDX_NONE */
    uint32_t life_idx;    /* SL_IDX_NONE = free */
    uint32_t segment_idx; /* SL_IDX_NONE = stands alone (M2) */
} sl_mirror_block;

typedef struct sl_mirror {
    SL_VEC(sl_mirror_block) blocks;
    SL_VEC(uint32_t) unused;   /* slots of blocks to use again */
    sl_addr_map by_addr;       /* first address -> slot in blocks */
    sl_segment_set segments;   /* reserved now */
    sl_segment_lives *history; /* borrowed; all segments so far */
    sl_rounding rounding;
    uint64_t misses; /* (M2), where the address lies in a known segment */
} sl_mirror;

void sl_mirror_init(sl_mirror *mirror, sl_segment_lives *history, const sl_rounding *rounding);
void sl_mirror_fini(sl_mirror *mirror);

/* The block in use that begins at addr, or SL_IDX_NONE. */
uint32_t sl_mirror_find_used(const sl_mirror *mirror, uint64_t addr);

/* Lays out the start state: these lives, ascending by address, in the ranges of the history. The
 * gaps become free blocks. Sets the segment of each life, and widens those marked SL_LIFE_BY_RULE
 * over a gap that the allocator would not have left. */
bool sl_mirror_place(sl_mirror *mirror, sl_life *lives, const uint32_t *ids, size_t cnt);

/* Puts a life at its address: sets its segment, and its block_bytes unless exact_bytes says it. */
bool sl_mirror_alloc(sl_mirror *mirror, sl_life *life, uint32_t life_idx, uint64_t exact_bytes);

/* The block becomes free and merges with its neighbours. */
void sl_mirror_release(sl_mirror *mirror, uint32_t block_idx);

/* A segment or a mapped range comes, goes. */
bool sl_mirror_add_range(sl_mirror *mirror, sl_segment_life range);
bool sl_mirror_drop_range(sl_mirror *mirror, uint64_t addr, uint64_t bytes, uint32_t event);

#endif
