/* SPDX-License-Identifier: MIT */
/* The initial state of the allocator's model, for a trace that begins in the middle of a run. */
#include "base/core/order.h"
#include "whatif/alloc/alloc_model_impl.h"

/* Adds a block for one piece, linked after prev. */
static uint32_t add_piece(sl_alloc_model *model, uint32_t set, uint32_t range, uint32_t prev,
                          const sl_alloc_piece *piece) {
    uint32_t idx = sl__alloc_new_block(model, set, piece->addr, piece->bytes);
    if (idx == SL_ALLOC_NONE)
        return idx;
    block_at(model, idx)->range = range;
    sl__alloc_link(model, prev, idx, SL_ALLOC_NONE);
    if (piece->slot == SL_ALLOC_NONE) {
        sl__alloc_add_free(model, idx);
        return idx;
    }
    while (model->block_of_slot.cnt <= piece->slot)
        if (!sl_vec_push(&model->block_of_slot, SL_ALLOC_NONE))
            return SL_ALLOC_NONE;
    block_at(model, idx)->state = SL_ALLOC_USED;
    block_at(model, idx)->slot = piece->slot;
    model->block_of_slot.at[piece->slot] = idx;
    model->stats.active_bytes += piece->bytes;
    return idx;
}

/* Adds the pieces after prev; returns the last block, or SL_ALLOC_NONE when memory ran out. */
static uint32_t add_pieces(sl_alloc_model *model, uint32_t set, uint32_t range, uint32_t prev,
                           const sl_alloc_piece *pieces, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        prev = add_piece(model, set, range, prev, &pieces[i]);
        if (prev == SL_ALLOC_NONE)
            return prev;
        model->stats.reserved_bytes += pieces[i].bytes;
    }
    return prev;
}

/* The unmapped block that contains the range [addr, end): the end of the last address space, or
 * a new one. */
static uint32_t space_for(sl_alloc_model *model, uint32_t set, uint64_t addr, uint64_t end) {
    uint32_t tail = model->sets.at[set]->tail;
    if (tail != SL_ALLOC_NONE && block_at(model, tail)->addr <= addr &&
        end - block_at(model, tail)->addr < block_at(model, tail)->bytes)
        return tail;
    uint64_t space = sl_max_u64(sl__alloc_space(model), (end - addr) * 2);
    return sl__alloc_add_space(model, set, addr, space);
}

static bool add_mapped(sl_alloc_model *model, uint32_t set, const sl_alloc_piece *pieces,
                       size_t cnt, uint64_t end) {
    uint32_t tail = space_for(model, set, pieces[0].addr, end);
    if (tail == SL_ALLOC_NONE)
        return false;
    uint32_t range = block_at(model, tail)->range, prev = block_at(model, tail)->prev;
    uint64_t begin = block_at(model, tail)->addr, tail_end = begin + block_at(model, tail)->bytes;
    sl__alloc_remove_unmapped(model, tail);
    if (pieces[0].addr > begin) {
        uint32_t gap = sl__alloc_new_block(model, set, begin, pieces[0].addr - begin);
        if (gap == SL_ALLOC_NONE)
            return false;
        block_at(model, gap)->range = range;
        sl__alloc_link(model, prev, gap, SL_ALLOC_NONE);
        if (!sl__alloc_add_unmapped(model, gap))
            return false;
        prev = gap;
    }
    prev = add_pieces(model, set, range, prev, pieces, cnt);
    if (prev == SL_ALLOC_NONE)
        return false;
    block_at(model, tail)->addr = end;
    block_at(model, tail)->bytes = tail_end - end;
    sl__alloc_link(model, prev, tail, SL_ALLOC_NONE);
    model->sets.at[set]->tail = tail;
    return sl__alloc_add_unmapped(model, tail);
}

/* Merges two free neighbours at the border of two mapped ranges. */
static void join_free(sl_alloc_model *model, uint32_t idx) {
    if (block_at(model, idx)->state != SL_ALLOC_FREE)
        return;
    sl_bins_remove(&set_of(model, idx)->bins, model->blocks.at, idx);
    sl__alloc_merge(model, idx);
    sl__alloc_add_free(model, idx);
}

bool sl_alloc_model_add_segment(sl_alloc_model *model, uint32_t group, bool is_large,
                                bool is_expandable, const sl_alloc_piece *pieces, size_t cnt) {
    uint32_t set = group * 2 + is_large;
    if (cnt == 0)
        return true;
    uint64_t end = pieces[cnt - 1].addr + pieces[cnt - 1].bytes;
    if (end < pieces[0].addr || end - pieces[0].addr > SL_ALLOC_BYTES_MAX ||
        model->stats.reserved_bytes > SL_ALLOC_BYTES_MAX)
        return true;
    bool ok = is_expandable ? add_mapped(model, set, pieces, cnt, end)
                            : add_pieces(model, set, SL_ALLOC_NONE, SL_ALLOC_NONE, pieces, cnt) !=
                                  SL_ALLOC_NONE;
    if (ok && is_expandable && block_at(model, model->sets.at[set]->tail)->prev != SL_ALLOC_NONE)
        join_free(model, block_at(model, model->sets.at[set]->tail)->prev);
    sl_alloc_stats *stats = &model->stats;
    stats->reserved_peak = sl_max_u64(stats->reserved_peak, stats->reserved_bytes);
    stats->active_peak = sl_max_u64(stats->active_peak, stats->active_bytes);
    return ok;
}
