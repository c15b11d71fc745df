/* SPDX-License-Identifier: MIT */
/* Expandable segments in the model of the allocator: address space that is mapped and unmapped
 * page by page. */
#include "base/core/order.h"
#include "whatif/alloc/alloc_model_impl.h"

/* Assumed size of the card if the trace does not have it. Only the address space depends on it. */
#define USUAL_CARD ((uint64_t)80 << 30)

/* Nine eighths of the card. */
uint64_t sl__alloc_space(const sl_alloc_model *model) {
    uint64_t total = model->limits.total_bytes ? model->limits.total_bytes : USUAL_CARD;
    if (model->limits.card_bytes != SL_ALLOC_NO_LIMIT)
        total = sl_max_u64(total, model->limits.card_bytes);
    total = sl_min_u64(total, SL_ALLOC_BYTES_MAX);
    return total + total / 8;
}

static size_t unmapped_position(const sl_alloc_model *model, const alloc_set *set, uint64_t addr) {
    size_t lo = 0, hi = set->unmapped.cnt;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (model->blocks.at[set->unmapped.at[mid]].addr < addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool sl__alloc_add_unmapped(sl_alloc_model *model, uint32_t idx) {
    alloc_set *set = set_of(model, idx);
    if (!sl_vec_reserve(&set->unmapped, 1))
        return false;
    size_t pos = unmapped_position(model, set, block_at(model, idx)->addr);
    for (size_t i = set->unmapped.cnt++; i > pos; i--)
        set->unmapped.at[i] = set->unmapped.at[i - 1];
    set->unmapped.at[pos] = idx;
    block_at(model, idx)->state = SL_ALLOC_UNMAPPED;
    return true;
}

void sl__alloc_remove_unmapped(sl_alloc_model *model, uint32_t idx) {
    alloc_set *set = set_of(model, idx);
    size_t pos = unmapped_position(model, set, block_at(model, idx)->addr);
    /* Address spaces of a hostile trace may overlap: blocks with equal addresses are adjacent. */
    while (pos < set->unmapped.cnt && set->unmapped.at[pos] != idx)
        pos++;
    for (size_t i = pos + 1; i < set->unmapped.cnt; i++)
        set->unmapped.at[i - 1] = set->unmapped.at[i];
    set->unmapped.cnt -= pos < set->unmapped.cnt;
}

static bool is_available(const sl_alloc_model *model, uint32_t idx) {
    return idx != SL_ALLOC_NONE && (model->blocks.at[idx].state == SL_ALLOC_FREE ||
                                    model->blocks.at[idx].state == SL_ALLOC_UNMAPPED);
}

static bool has_space(const sl_alloc_model *model, uint32_t idx, uint64_t bytes) {
    uint64_t sum = 0;
    for (; sum < bytes && is_available(model, idx); idx = model->blocks.at[idx].next)
        sum += model->blocks.at[idx].bytes;
    return sum >= bytes;
}

uint32_t sl__alloc_add_space(sl_alloc_model *model, uint32_t set, uint64_t base, uint64_t bytes) {
    uint64_t page = model->sets.at[set]->is_large ? model->settings.large_segment_bytes
                                                  : SL_ALLOC_SMALL_SEGMENT;
    uint64_t space = (bytes + page - 1) / page * page;
    uint32_t idx = sl__alloc_new_block(model, set, base, space);
    if (idx == SL_ALLOC_NONE || !sl_vec_push(&model->ranges, ((alloc_range){base, page})))
        return SL_ALLOC_NONE;
    block_at(model, idx)->range = (uint32_t)model->ranges.cnt - 1;
    return sl__alloc_add_unmapped(model, idx) ? idx : SL_ALLOC_NONE;
}

/* The lowest place with enough room; a free block before an unmapped one counts as part of it. */
static uint32_t find_space(sl_alloc_model *model, uint32_t set, uint64_t bytes) {
    const alloc_set *in = model->sets.at[set];
    for (size_t i = 0; i < in->unmapped.cnt; i++) {
        uint32_t idx = in->unmapped.at[i];
        if (is_available(model, block_at(model, idx)->prev))
            idx = block_at(model, idx)->prev;
        if (has_space(model, idx, bytes))
            return idx;
    }
    uint64_t space = sl_max_u64(sl__alloc_space(model), bytes);
    return sl__alloc_add_space(model, set, sl__alloc_place(model, space), space);
}

/* Maps the first pages of an unmapped block, at least `bytes`, and merges them with free
 * neighbours into one free block. Returns false when the card is full, or with *no_memory. */
static bool map(sl_alloc_model *model, uint32_t idx, uint64_t bytes, bool *no_memory) {
    const alloc_range *range = &model->ranges.at[block_at(model, idx)->range];
    uint64_t pages = (bytes + range->page_bytes - 1) / range->page_bytes * range->page_bytes;
    uint64_t mapped = sl_min_u64(pages, block_at(model, idx)->bytes);
    if (model->stats.reserved_bytes + mapped > model->limits.card_bytes)
        return false;
    sl__alloc_remove_unmapped(model, idx);
    block_at(model, idx)->state = SL_ALLOC_FREE;
    if (mapped < block_at(model, idx)->bytes) {
        uint32_t rest = sl__alloc_new_block(model, block_at(model, idx)->set, 0, 0);
        *no_memory = rest == SL_ALLOC_NONE;
        if (*no_memory)
            return false;
        sl_alloc_block *block = block_at(model, idx), *after = block_at(model, rest);
        after->addr = block->addr + mapped;
        after->bytes = block->bytes - mapped;
        after->range = block->range;
        block->bytes = mapped;
        sl__alloc_link(model, idx, rest, block->next);
        block->next = rest;
        *no_memory = !sl__alloc_add_unmapped(model, rest);
        if (*no_memory)
            return false;
    }
    sl__alloc_merge(model, idx);
    sl__alloc_add_free(model, idx);
    sl__alloc_reserve(model, mapped);
    return true;
}

uint32_t sl__alloc_expand(sl_alloc_model *model, uint32_t set, uint64_t bytes, bool *no_memory) {
    uint32_t idx = find_space(model, set, bytes);
    *no_memory = idx == SL_ALLOC_NONE;
    if (*no_memory)
        return idx;
    if (block_at(model, idx)->state == SL_ALLOC_UNMAPPED &&
        !map(model, idx, sl_min_u64(bytes, block_at(model, idx)->bytes), no_memory))
        return SL_ALLOC_NONE;
    while (block_at(model, idx)->bytes < bytes) {
        uint32_t next = block_at(model, idx)->next;
        uint64_t missing = bytes - block_at(model, idx)->bytes;
        if (!map(model, next, sl_min_u64(missing, block_at(model, next)->bytes), no_memory))
            return SL_ALLOC_NONE;
        idx = next;
    }
    sl_bins_remove(&model->sets.at[set]->bins, model->blocks.at, idx);
    return idx;
}

/* Makes a free block of the range between two addresses of `idx`; does nothing when they are
 * equal. */
static bool keep_rest(sl_alloc_model *model, uint32_t idx, uint64_t from, uint64_t to,
                      bool is_before) {
    if (from == to)
        return true;
    uint32_t rest = sl__alloc_new_block(model, block_at(model, idx)->set, from, to - from);
    if (rest == SL_ALLOC_NONE)
        return false;
    const sl_alloc_block *block = block_at(model, idx);
    block_at(model, rest)->range = block->range;
    if (is_before)
        sl__alloc_link(model, block->prev, rest, idx);
    else
        sl__alloc_link(model, idx, rest, block->next);
    sl__alloc_add_free(model, rest);
    return true;
}

static bool unmap_part(sl_alloc_model *model, uint32_t idx, uint64_t from, uint64_t to) {
    sl_alloc_block *block = block_at(model, idx);
    uint64_t begin = block->addr, end = block->addr + block->bytes;
    sl_bins_remove(&set_of(model, idx)->bins, model->blocks.at, idx);
    if (!keep_rest(model, idx, begin, from, true) || !keep_rest(model, idx, to, end, false))
        return false;
    block = block_at(model, idx);
    block->addr = from;
    block->bytes = to - from;
    block->state = SL_ALLOC_UNMAPPED;
    sl__alloc_unreserve(model, block->bytes);
    sl__alloc_merge(model, idx);
    return sl__alloc_add_unmapped(model, idx);
}

bool sl__alloc_unmap(sl_alloc_model *model, uint32_t idx) {
    const sl_alloc_block *block = block_at(model, idx);
    const alloc_range *range = &model->ranges.at[block->range];
    uint64_t page = range->page_bytes, begin = block->addr - range->base;
    uint64_t from = (begin + page - 1) / page * page, to = (begin + block->bytes) / page * page;
    return from >= to || unmap_part(model, idx, range->base + from, range->base + to);
}
