/* SPDX-License-Identifier: MIT */
#include "whatif/alloc/alloc_model.h"

#include <string.h>

#include "base/core/order.h"
#include "whatif/alloc/alloc_model_impl.h"

#define FIRST_ADDR ((uint64_t)1 << 62)

sl_status sl_alloc_model_new(const sl_alloc_settings *settings, const sl_alloc_limits *limits,
                             const sl_alloc_places *places, sl_alloc_model **out, sl_error *err) {
    sl_alloc_model *model = calloc(1, sizeof *model);
    if (!model)
        return sl_fail_no_memory(err, "the allocator's model");
    model->settings = *settings;
    model->limits = *limits;
    model->places = *places;
    model->next_addr = FIRST_ADDR;
    for (size_t i = 0; i < places->recorded_cnt; i++)
        model->next_addr = sl_min_u64(model->next_addr, places->recorded[i].addr);
    model->next_addr &= ~(SL_DRIVER_CHUNK - 1);
    model->random = places->seed;
    model->unused = SL_ALLOC_NONE;
    *out = model;
    return SL_OK;
}

void sl_alloc_model_free(sl_alloc_model *model) {
    if (!model)
        return;
    for (size_t i = 0; i < model->sets.cnt; i++) {
        sl_vec_free(&model->sets.at[i]->unmapped);
        free(model->sets.at[i]);
    }
    sl_vec_free(&model->sets);
    sl_vec_free(&model->blocks);
    sl_vec_free(&model->pools);
    sl_vec_free(&model->ranges);
    sl_vec_free(&model->block_of_slot);
    sl_vec_free(&model->pending);
    sl_vec_free(&model->holes);
    free(model->scratch);
    free(model);
}

static bool add_set(sl_alloc_model *model, uint32_t pool, bool is_large) {
    alloc_set *set = calloc(1, sizeof *set);
    if (!set)
        return false;
    sl_bins_init(&set->bins);
    set->pool = pool;
    set->is_large = is_large;
    set->tail = SL_ALLOC_NONE;
    if (sl_vec_push(&model->sets, set))
        return true;
    free(set);
    return false;
}

bool sl_alloc_model_add_group(sl_alloc_model *model, uint32_t pool) {
    while (model->pools.cnt <= pool)
        if (!sl_vec_push(&model->pools, (alloc_pool){0}))
            return false;
    return add_set(model, pool, false) && add_set(model, pool, true);
}

void sl_alloc_pool_is_unused(sl_alloc_model *model, uint32_t pool) {
    if (pool < model->pools.cnt)
        model->pools.at[pool].is_unused = true;
}

const sl_alloc_stats *sl_alloc_model_stats(const sl_alloc_model *model) {
    return &model->stats;
}

/* ---- blocks ---- */

uint32_t sl__alloc_new_block(sl_alloc_model *model, uint32_t set, uint64_t addr, uint64_t bytes) {
    uint32_t idx = model->unused;
    if (idx != SL_ALLOC_NONE)
        model->unused = block_at(model, idx)->next;
    else if (model->blocks.cnt < SL_ALLOC_NONE - 1 && sl_vec_reserve(&model->blocks, 1))
        idx = (uint32_t)model->blocks.cnt++;
    else
        return SL_ALLOC_NONE;
    *block_at(model, idx) = (sl_alloc_block){.addr = addr,
                                             .bytes = bytes,
                                             .prev = SL_ALLOC_NONE,
                                             .next = SL_ALLOC_NONE,
                                             .range = SL_ALLOC_NONE,
                                             .set = set,
                                             .slot = SL_ALLOC_NONE};
    return idx;
}

void sl__alloc_drop_block(sl_alloc_model *model, uint32_t idx) {
    block_at(model, idx)->next = model->unused;
    model->unused = idx;
}

void sl__alloc_link(sl_alloc_model *model, uint32_t prev, uint32_t idx, uint32_t next) {
    block_at(model, idx)->prev = prev;
    block_at(model, idx)->next = next;
    if (prev != SL_ALLOC_NONE)
        block_at(model, prev)->next = idx;
    if (next != SL_ALLOC_NONE)
        block_at(model, next)->prev = idx;
}

void sl__alloc_add_free(sl_alloc_model *model, uint32_t idx) {
    sl_alloc_block *block = block_at(model, idx);
    alloc_set *set = set_of(model, idx);
    block->state = SL_ALLOC_FREE;
    block->age_base = model->pools.at[set->pool].searches[set->is_large];
    sl_bins_add(&set->bins, model->blocks.at, idx);
}

/* Whether `other` may be merged into a block in this state; if so, takes it out of its set. */
static bool take_neighbour(sl_alloc_model *model, uint32_t other, uint8_t state) {
    if (other == SL_ALLOC_NONE || block_at(model, other)->state != state)
        return false;
    if (state == SL_ALLOC_FREE)
        sl_bins_remove(&set_of(model, other)->bins, model->blocks.at, other);
    else
        sl__alloc_remove_unmapped(model, other);
    return true;
}

void sl__alloc_merge(sl_alloc_model *model, uint32_t idx) {
    sl_alloc_block *block = block_at(model, idx);
    uint32_t prev = block->prev, next = block->next;
    if (take_neighbour(model, prev, block->state)) {
        block->addr = block_at(model, prev)->addr;
        block->bytes += block_at(model, prev)->bytes;
        sl__alloc_link(model, block_at(model, prev)->prev, idx, next);
        sl__alloc_drop_block(model, prev);
    }
    if (take_neighbour(model, next, block->state)) {
        block->bytes += block_at(model, next)->bytes;
        sl__alloc_link(model, block->prev, idx, block_at(model, next)->next);
        sl__alloc_drop_block(model, next);
    }
}

/* ---- totals ---- */

void sl__alloc_reserve(sl_alloc_model *model, uint64_t bytes) {
    sl_alloc_stats *stats = &model->stats;
    uint64_t waste = stats->reserved_bytes - sl_min_u64(stats->active_bytes, stats->reserved_bytes);
    stats->waste_peak = sl_max_u64(stats->waste_peak, waste);
    model->stats.reserved_bytes += bytes;
    model->stats.reserved_peak =
        sl_max_u64(model->stats.reserved_peak, model->stats.reserved_bytes);
    model->stats.driver_allocs++;
}

void sl__alloc_unreserve(sl_alloc_model *model, uint64_t bytes) {
    model->stats.reserved_bytes -= bytes;
    model->stats.driver_frees++;
}

static void count_active(sl_alloc_model *model, uint64_t bytes) {
    model->stats.active_bytes += bytes;
    model->stats.active_peak = sl_max_u64(model->stats.active_peak, model->stats.active_bytes);
}

/* ---- a request ---- */

/* The size of the segment for a request of this size. */
static uint64_t segment_bytes(const sl_alloc_model *model, uint64_t bytes) {
    uint64_t plain = sl_round_segment(bytes);
    return plain == SL_ALLOC_LARGE_SEGMENT && bytes < SL_ALLOC_MIN_LARGE
               ? model->settings.large_segment_bytes
               : plain;
}

/* The bytes that a block could have if its expandable segment grew at its end. */
static uint64_t expanded_bytes(const sl_alloc_model *model, uint32_t idx) {
    const sl_alloc_block *block = &model->blocks.at[idx];
    uint32_t next = block->next;
    bool grows = next != SL_ALLOC_NONE && model->blocks.at[next].state == SL_ALLOC_UNMAPPED;
    return block->bytes + (grows ? model->blocks.at[next].bytes : 0);
}

/* With expandable segments, a block that can still grow counts with its full possible size, so a
 * later one may fit better. Without them, blocks of expandable segments are skipped. */
static uint32_t prefer(sl_alloc_model *model, const alloc_set *set, uint32_t found) {
    const sl_alloc_block *blocks = model->blocks.at;
    if (blocks[found].range == SL_ALLOC_NONE)
        return found;
    uint32_t next = sl_bins_next(&set->bins, blocks, found);
    if (!model->settings.is_expandable) {
        while (next != SL_ALLOC_NONE && blocks[next].range != SL_ALLOC_NONE)
            next = sl_bins_next(&set->bins, blocks, next);
        return next;
    }
    while (blocks[found].range != SL_ALLOC_NONE && next != SL_ALLOC_NONE &&
           expanded_bytes(model, next) < expanded_bytes(model, found)) {
        found = next;
        next = sl_bins_next(&set->bins, blocks, next);
    }
    return found;
}

/* (M1), (M2): takes a block out of the set and returns it, or SL_ALLOC_NONE. */
static uint32_t find_free(sl_alloc_model *model, alloc_set *set, uint64_t bytes) {
    uint64_t max_split = model->settings.rounding.max_split_bytes;
    model->pools.at[set->pool].searches[set->is_large]++;
    uint32_t found = sl_bins_find(&set->bins, model->blocks.at, bytes);
    if (found != SL_ALLOC_NONE)
        found = prefer(model, set, found);
    if (found == SL_ALLOC_NONE)
        return SL_ALLOC_NONE;
    uint64_t has = block_at(model, found)->bytes;
    if (bytes < max_split ? has >= max_split : has - bytes >= model->settings.max_non_split_bytes)
        return SL_ALLOC_NONE;
    sl_bins_remove(&set->bins, model->blocks.at, found);
    return found;
}

/* Requests memory from the driver (M5); a free block in no set, or SL_ALLOC_NONE. */
static uint32_t grow(sl_alloc_model *model, uint32_t set, uint64_t bytes, bool *no_memory) {
    uint64_t segment = segment_bytes(model, bytes), reserved = model->stats.reserved_bytes;
    if (segment > SL_ALLOC_BYTES_MAX || reserved > SL_ALLOC_BYTES_MAX)
        return SL_ALLOC_NONE;
    if (reserved + segment > model->limits.process_bytes)
        return SL_ALLOC_NONE;
    if (model->settings.is_expandable)
        return sl__alloc_expand(model, set, bytes, no_memory);
    if (reserved + segment > model->limits.card_bytes)
        return SL_ALLOC_NONE;
    uint32_t idx = sl__alloc_new_block(model, set, sl__alloc_place(model, segment), segment);
    if (idx == SL_ALLOC_NONE) {
        *no_memory = true;
        return idx;
    }
    sl__alloc_reserve(model, segment);
    return idx;
}

/* (M3). */
static uint32_t grow_or_release(sl_alloc_model *model, uint32_t set, uint64_t bytes,
                                bool *no_memory) {
    if (model->settings.gc_threshold > 0 && model->limits.process_bytes != SL_ALLOC_NO_LIMIT)
        sl__alloc_collect(model);
    uint32_t idx = grow(model, set, bytes, no_memory);
    if (idx != SL_ALLOC_NONE || *no_memory)
        return idx;
    if (sl__alloc_release_oversize(model, set, bytes))
        idx = grow(model, set, bytes, no_memory);
    if (idx != SL_ALLOC_NONE || *no_memory)
        return idx;
    model->stats.retries++;
    if (!sl__alloc_flush(model)) {
        *no_memory = true;
        return SL_ALLOC_NONE;
    }
    return grow(model, set, bytes, no_memory);
}

/* Whether the rest of the block becomes a free block of its own. */
static bool should_split(const sl_alloc_model *model, bool is_large, uint64_t bytes,
                         uint64_t rest) {
    return sl_should_split(&model->settings.rounding, bytes, rest, is_large,
                           model->settings.is_expandable);
}

/* Keeps the first `bytes` in the block and adds the rest as a free block. */
static bool split_block(sl_alloc_model *model, uint32_t idx, uint64_t bytes) {
    uint32_t rest = sl__alloc_new_block(model, block_at(model, idx)->set, 0, 0);
    if (rest == SL_ALLOC_NONE)
        return false;
    sl_alloc_block *block = block_at(model, idx), *after = block_at(model, rest);
    after->addr = block->addr + bytes;
    after->bytes = block->bytes - bytes;
    after->range = block->range;
    block->bytes = bytes;
    sl__alloc_link(model, idx, rest, block->next);
    block->next = rest;
    sl__alloc_add_free(model, rest);
    return true;
}

static bool has_slot(sl_alloc_model *model, uint32_t slot) {
    while (model->block_of_slot.cnt <= slot)
        if (!sl_vec_push(&model->block_of_slot, SL_ALLOC_NONE))
            return false;
    return true;
}

static void occupy(sl_alloc_model *model, uint32_t idx, uint32_t slot) {
    block_at(model, idx)->state = SL_ALLOC_USED;
    block_at(model, idx)->slot = slot;
    model->block_of_slot.at[slot] = idx;
    count_active(model, block_at(model, idx)->bytes);
}

/* Without caching, each block is a segment of its own, of the requested size. */
static sl_alloc_result request_uncached(sl_alloc_model *model, uint32_t set, uint32_t slot,
                                        uint64_t bytes) {
    uint64_t limit = sl_min_u64(model->limits.process_bytes, model->limits.card_bytes);
    if (model->stats.reserved_bytes > SL_ALLOC_BYTES_MAX ||
        model->stats.reserved_bytes + bytes > limit)
        return SL_ALLOC_OOM;
    uint32_t idx = sl__alloc_new_block(model, set, sl__alloc_place(model, bytes), bytes);
    if (idx == SL_ALLOC_NONE)
        return SL_ALLOC_NO_MEMORY;
    sl__alloc_reserve(model, bytes);
    occupy(model, idx, slot);
    return SL_ALLOC_DONE;
}

sl_alloc_result sl_alloc_request(sl_alloc_model *model, uint32_t group, uint32_t slot,
                                 uint64_t bytes) {
    if (!has_slot(model, slot) || !sl_alloc_give_back(model, slot))
        return SL_ALLOC_NO_MEMORY;
    if (bytes > SL_ALLOC_BYTES_MAX)
        return SL_ALLOC_OOM;
    uint64_t rounded =
        sl_round_request(&model->settings.rounding, bytes + model->settings.pad_bytes);
    bool is_large = rounded > SL_ALLOC_SMALL_BYTES, no_memory = false;
    uint32_t set = group * 2 + is_large;
    if (model->settings.is_uncached)
        return request_uncached(model, set, slot, rounded);
    uint32_t idx = find_free(model, model->sets.at[set], rounded);
    if (SL_UNLIKELY(idx == SL_ALLOC_NONE))
        idx = grow_or_release(model, set, rounded, &no_memory);
    if (SL_UNLIKELY(idx == SL_ALLOC_NONE))
        return no_memory ? SL_ALLOC_NO_MEMORY : SL_ALLOC_OOM;
    uint64_t rest = block_at(model, idx)->bytes - rounded;
    if (should_split(model, is_large, rounded, rest) && !split_block(model, idx, rounded))
        return SL_ALLOC_NO_MEMORY;
    occupy(model, idx, slot);
    return SL_ALLOC_DONE;
}

/* ---- the way back ---- */

bool sl_alloc_give_back(sl_alloc_model *model, uint32_t slot) {
    if (slot >= model->block_of_slot.cnt || model->block_of_slot.at[slot] == SL_ALLOC_NONE)
        return true;
    uint32_t idx = model->block_of_slot.at[slot];
    sl_alloc_block *block = block_at(model, idx);
    model->block_of_slot.at[slot] = SL_ALLOC_NONE;
    model->stats.active_bytes -= block->bytes;
    block->slot = SL_ALLOC_NONE;
    block->state = SL_ALLOC_FREE;
    if (model->settings.is_uncached && block->range == SL_ALLOC_NONE &&
        block->prev == SL_ALLOC_NONE && block->next == SL_ALLOC_NONE) {
        sl__alloc_unreserve(model, block->bytes);
        sl__alloc_drop_block(model, idx);
        return true;
    }
    sl__alloc_merge(model, idx);
    sl__alloc_add_free(model, idx);
    return true;
}

bool sl_alloc_drop(sl_alloc_model *model, uint32_t slot) {
    if (slot >= model->block_of_slot.cnt || model->block_of_slot.at[slot] == SL_ALLOC_NONE)
        return true;
    uint32_t idx = model->block_of_slot.at[slot];
    block_at(model, idx)->state = SL_ALLOC_PENDING;
    return sl_vec_push(&model->pending, slot);
}

bool sl_alloc_empty_cache(sl_alloc_model *model) {
    return sl__alloc_flush(model);
}

void sl_alloc_hint(sl_alloc_model *model, uint64_t addr) {
    model->hint = addr;
    model->hint_was_used = false;
}

bool sl_alloc_hint_was_used(const sl_alloc_model *model) {
    return model->hint_was_used;
}

uint64_t sl_alloc_addr(const sl_alloc_model *model, uint32_t slot) {
    uint32_t idx = slot < model->block_of_slot.cnt ? model->block_of_slot.at[slot] : SL_ALLOC_NONE;
    return idx == SL_ALLOC_NONE ? 0 : model->blocks.at[idx].addr;
}
