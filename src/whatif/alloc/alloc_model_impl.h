/* SPDX-License-Identifier: MIT */
/* What the files of the allocator's model share; see alloc_model.h. */
#ifndef SL_ALLOC_MODEL_IMPL_H
#define SL_ALLOC_MODEL_IMPL_H

#include "base/core/vec.h"
#include "model/addr_map.h"
#include "whatif/alloc/alloc_model.h"

#define SL_DRIVER_CHUNK ((uint64_t)32 << 20) /* (M7) */

/* The free blocks of one stream in the small or the large part of one pool. */
typedef struct alloc_set {
    sl_alloc_bins bins;
    SL_VEC(uint32_t) unmapped; /* ascending addresses */
    uint32_t pool;
    uint32_t tail; /* of the address space that was added last: its unmapped end; SL_ALLOC_NONE */
    bool is_large;
} alloc_set;

typedef struct alloc_pool {
    uint64_t searches[2]; /* of the small and the large part */
    bool is_unused;       /* (M6) */
} alloc_pool;

/* An expandable segment: address space that is filled page by page. */
typedef struct alloc_range {
    uint64_t base;
    uint64_t page_bytes;
} alloc_range;

struct sl_alloc_model {
    sl_alloc_settings settings;
    sl_alloc_limits limits;
    sl_alloc_places places;
    size_t next_recorded;
    uint64_t next_addr, random;
    SL_VEC(sl_alloc_place) holes; /* (M7), by ascending address */
    uint64_t hint;                /* address of the next segment; 0 = as `places` says */
    bool hint_was_used;
    sl_alloc_stats stats;
    SL_VEC(sl_alloc_block) blocks;
    uint32_t unused;          /* first of the list of unused blocks, linked by next */
    SL_VEC(alloc_set *) sets; /* owned; two for each group */
    SL_VEC(alloc_pool) pools;
    SL_VEC(alloc_range) ranges;
    SL_VEC(uint32_t) block_of_slot;
    SL_VEC(uint32_t) pending; /* blocks; some may have become free since */
    uint32_t *scratch;        /* owned; blocks of one flush */
    size_t scratch_cap;
};

static inline sl_alloc_block *block_at(sl_alloc_model *model, uint32_t idx) {
    return &model->blocks.at[idx];
}

static inline alloc_set *set_of(sl_alloc_model *model, uint32_t idx) {
    return model->sets.at[model->blocks.at[idx].set];
}

/* A new block without neighbours; SL_ALLOC_NONE when memory ran out. Moves the blocks. */
uint32_t sl__alloc_new_block(sl_alloc_model *model, uint32_t set, uint64_t addr, uint64_t bytes);
void sl__alloc_drop_block(sl_alloc_model *model, uint32_t idx);
/* Links `idx` between prev and next, which may be SL_ALLOC_NONE. */
void sl__alloc_link(sl_alloc_model *model, uint32_t prev, uint32_t idx, uint32_t next);
/* Adds the block to the free blocks of its set. */
void sl__alloc_add_free(sl_alloc_model *model, uint32_t idx);
/* Merges the free or unmapped neighbours of the same kind into the block, which must be in no
 * set. */
void sl__alloc_merge(sl_alloc_model *model, uint32_t idx);
void sl__alloc_reserve(sl_alloc_model *model, uint64_t bytes);
void sl__alloc_unreserve(sl_alloc_model *model, uint64_t bytes);
/* alloc_place.c: the address of a new segment. */
uint64_t sl__alloc_place(sl_alloc_model *model, uint64_t bytes);

/* alloc_expand.c. A free block of at least this size, in no set; SL_ALLOC_NONE, with *no_memory
 * when the host is out of memory. */
uint32_t sl__alloc_expand(sl_alloc_model *model, uint32_t set, uint64_t bytes, bool *no_memory);
/* Unmaps the whole pages of a free block. */
bool sl__alloc_unmap(sl_alloc_model *model, uint32_t idx);
/* A new address space without memory: one unmapped block, in its set; SL_ALLOC_NONE when the
 * host is out of memory. */
uint32_t sl__alloc_add_space(sl_alloc_model *model, uint32_t set, uint64_t base, uint64_t bytes);
bool sl__alloc_add_unmapped(sl_alloc_model *model, uint32_t idx);
void sl__alloc_remove_unmapped(sl_alloc_model *model, uint32_t idx);
uint64_t sl__alloc_space(const sl_alloc_model *model);

/* alloc_release.c. */
void sl__alloc_collect(sl_alloc_model *model);
bool sl__alloc_release_oversize(sl_alloc_model *model, uint32_t set, uint64_t bytes);
void sl__alloc_release_segment(sl_alloc_model *model, uint32_t idx);
bool sl__alloc_flush(sl_alloc_model *model);

#endif
