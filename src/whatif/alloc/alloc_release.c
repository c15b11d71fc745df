/* SPDX-License-Identifier: MIT */
/* What the allocator's model returns to the driver: by garbage collection, for an oversize
 * request, in a flush. */
#include "base/core/order.h"
#include "whatif/alloc/alloc_model_impl.h"

/* Whether a free block is a whole segment. */
static bool is_whole(const sl_alloc_block *block) {
    return block->range == SL_ALLOC_NONE && block->prev == SL_ALLOC_NONE &&
           block->next == SL_ALLOC_NONE;
}

/* The first free block that may be a whole segment or hold a whole page; most blocks are too
 * small for that. Without this, a run at its limit, which flushes all the time, would take
 * quadratic time. */
static uint32_t first_releasable(const sl_alloc_model *model, const alloc_set *set) {
    uint64_t large = sl_min_u64(SL_ALLOC_MIN_LARGE, model->settings.large_segment_bytes);
    return sl_bins_find(&set->bins, model->blocks.at,
                        set->is_large ? large : SL_ALLOC_SMALL_SEGMENT);
}

void sl__alloc_release_segment(sl_alloc_model *model, uint32_t idx) {
    sl_bins_remove(&set_of(model, idx)->bins, model->blocks.at, idx);
    sl__alloc_unreserve(model, block_at(model, idx)->bytes);
    sl__alloc_drop_block(model, idx);
}

/* ---- garbage collection ---- */

typedef struct collection {
    uint64_t total_age, free_cnt, released_bytes;
} collection;

static bool is_default_large(const alloc_set *set) {
    return set->pool == 0 && set->is_large;
}

static uint64_t age_of(const sl_alloc_model *model, uint32_t idx) {
    return model->pools.at[0].searches[1] - model->blocks.at[idx].age_base;
}

static void sum_ages(sl_alloc_model *model, const alloc_set *set, collection *all) {
    const sl_alloc_block *blocks = model->blocks.at;
    for (uint32_t i = first_releasable(model, set); i != SL_ALLOC_NONE;
         i = sl_bins_next(&set->bins, blocks, i)) {
        if (blocks[i].prev != SL_ALLOC_NONE || blocks[i].next != SL_ALLOC_NONE)
            continue;
        all->total_age += age_of(model, i);
        all->free_cnt++;
    }
}

/* Releases the whole segments of at least this age; false when there is none. */
static bool release_old(sl_alloc_model *model, const alloc_set *set, double min_age,
                        collection *all) {
    const sl_alloc_block *blocks = model->blocks.at;
    bool any = false;
    for (uint32_t i = first_releasable(model, set), next; i != SL_ALLOC_NONE; i = next) {
        next = sl_bins_next(&set->bins, blocks, i);
        if (!is_whole(&blocks[i]) || (double)age_of(model, i) < min_age)
            continue;
        any = true;
        all->released_bytes += blocks[i].bytes;
        all->total_age -= age_of(model, i);
        all->free_cnt--;
        sl__alloc_release_segment(model, i);
    }
    return any;
}

static bool release_round(sl_alloc_model *model, collection *all) {
    double min_age = (double)all->total_age / (double)all->free_cnt;
    bool any = false;
    for (size_t s = 0; s < model->sets.cnt; s++)
        if (is_default_large(model->sets.at[s]))
            any |= release_old(model, model->sets.at[s], min_age, all);
    return any;
}

/* Releases segments older than the average, in rounds, until the reserved bytes are below the
 * threshold. */
void sl__alloc_collect(sl_alloc_model *model) {
    uint64_t threshold =
        (uint64_t)(model->settings.gc_threshold * (double)model->limits.process_bytes);
    if (model->stats.reserved_bytes <= threshold)
        return;
    uint64_t target = model->stats.reserved_bytes - threshold;
    collection all = {0};
    for (size_t s = 0; s < model->sets.cnt; s++)
        if (is_default_large(model->sets.at[s]))
            sum_ages(model, model->sets.at[s], &all);
    while (all.released_bytes < target && all.free_cnt > 0)
        if (!release_round(model, &all))
            break;
    model->stats.collections += all.released_bytes > 0;
}

/* ---- oversize blocks ---- */

/* Releases one free block of at least the request, or several of at least max_split, largest
 * first. True when at least the requested bytes were released. */
bool sl__alloc_release_oversize(sl_alloc_model *model, uint32_t set_idx, uint64_t bytes) {
    uint64_t max_split = model->settings.rounding.max_split_bytes, sum = 0;
    if (max_split == UINT64_MAX)
        return false;
    sl_alloc_bins *bins = &model->sets.at[set_idx]->bins;
    const sl_alloc_block *blocks = model->blocks.at;
    uint64_t want = sl_max_u64(bytes, max_split);
    uint32_t i = sl_bins_find(bins, blocks, want);
    if (i != SL_ALLOC_NONE && blocks[i].range == SL_ALLOC_NONE) {
        sl__alloc_release_segment(model, i);
        return true;
    }
    i = sl_bins_find_below(bins, blocks, want);
    while (i != SL_ALLOC_NONE && sum < want && blocks[i].bytes >= max_split) {
        uint32_t prev = sl_bins_prev(bins, blocks, i);
        if (blocks[i].range == SL_ALLOC_NONE) {
            sum += blocks[i].bytes;
            sl__alloc_release_segment(model, i);
        }
        i = prev;
    }
    return sum >= want;
}

/* ---- a flush ---- */

static bool note_free(sl_alloc_model *model, size_t *cnt, uint32_t idx) {
    if (!sl_vec_grow((void **)&model->scratch, &model->scratch_cap, *cnt, 1, sizeof(uint32_t)))
        return false;
    model->scratch[(*cnt)++] = idx;
    return true;
}

static bool flush_set(sl_alloc_model *model, alloc_set *set) {
    size_t cnt = 0;
    for (uint32_t i = first_releasable(model, set), next; i != SL_ALLOC_NONE; i = next) {
        next = sl_bins_next(&set->bins, model->blocks.at, i);
        if (block_at(model, i)->range != SL_ALLOC_NONE) {
            if (!note_free(model, &cnt, i))
                return false;
        } else if (is_whole(block_at(model, i))) {
            sl__alloc_release_segment(model, i);
        }
    }
    for (size_t i = 0; i < cnt; i++)
        if (!sl__alloc_unmap(model, model->scratch[i]))
            return false;
    return true;
}

/* Completes all pending frees. */
static bool finish_pending(sl_alloc_model *model) {
    for (size_t i = 0; i < model->pending.cnt; i++) {
        uint32_t slot = model->pending.at[i], idx = model->block_of_slot.at[slot];
        if (idx != SL_ALLOC_NONE && block_at(model, idx)->state == SL_ALLOC_PENDING &&
            !sl_alloc_give_back(model, slot))
            return false;
    }
    model->pending.cnt = 0;
    return true;
}

bool sl__alloc_flush(sl_alloc_model *model) {
    model->stats.flushes++;
    if (!finish_pending(model))
        return false;
    for (size_t s = 0; s < model->sets.cnt; s++) {
        alloc_set *set = model->sets.at[s];
        if ((set->pool == 0 || model->pools.at[set->pool].is_unused) && !flush_set(model, set))
            return false;
    }
    return true;
}

/* ---- as a trace says ---- */

/* The free block that contains the range; SL_ALLOC_NONE. Linear in the free blocks of one bin
 * and above. */
static uint32_t find_holder(sl_alloc_model *model, uint64_t addr, uint64_t bytes) {
    const sl_alloc_block *blocks = model->blocks.at;
    for (size_t s = 0; s < model->sets.cnt; s++) {
        const sl_alloc_bins *bins = &model->sets.at[s]->bins;
        for (uint32_t i = sl_bins_find(bins, blocks, bytes); i != SL_ALLOC_NONE;
             i = sl_bins_next(bins, blocks, i))
            if (blocks[i].addr <= addr && addr - blocks[i].addr <= blocks[i].bytes - bytes)
                return i;
    }
    return SL_ALLOC_NONE;
}

bool sl_alloc_release_range(sl_alloc_model *model, uint64_t addr, uint64_t bytes) {
    uint32_t idx = find_holder(model, addr, bytes);
    if (idx == SL_ALLOC_NONE)
        return false;
    const sl_alloc_block *block = block_at(model, idx);
    if (block->range != SL_ALLOC_NONE)
        return sl__alloc_unmap(model, idx);
    if (!is_whole(block) || block->bytes != bytes)
        return false;
    sl__alloc_release_segment(model, idx);
    return true;
}
