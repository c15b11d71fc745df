/* SPDX-License-Identifier: MIT */
#include "analyze/free_space.h"

#include "run/blocks/rounding.h"

/* Whole pages of an expandable range inside a hole; pages count from the range's start. */
static uint64_t whole_pages(const sl_extent *hole, const sl_segment_life *segment) {
    uint64_t page = segment->is_large ? SL_ALLOC_LARGE_SEGMENT : SL_ALLOC_SMALL_SEGMENT;
    uint64_t from = hole->addr - segment->addr, to = from + hole->bytes;
    uint64_t first = (from + page - 1) / page, last = to / page;
    return last > first ? (last - first) * page : 0;
}

static void note_hole(const sl_an *an, const sl_extent *hole, sl_free_space *out) {
    const sl_segment_life *segment = &an->replay->segments.at[hole->segment_idx];
    bool is_private = segment->pool_idx != 0 && segment->pool_idx != SL_POOL_UNKNOWN;
    out->inactive_bytes += hole->bytes;
    if (is_private) {
        out->private_bytes += hole->bytes;
        return;
    }
    uint64_t *sum = segment->is_large ? &out->large_bytes : &out->small_bytes;
    uint64_t *largest = segment->is_large ? &out->largest_large : &out->largest_small;
    *sum += hole->bytes;
    *largest = hole->bytes > *largest ? hole->bytes : *largest;
    out->hole_cnt++;
    if (segment->is_expandable)
        out->releasable_bytes += whole_pages(hole, segment);
    else if (hole->addr == segment->addr && hole->bytes == segment->bytes)
        out->releasable_bytes += hole->bytes;
}

bool sl_free_space_at(const sl_an *an, uint32_t event, sl_free_space *out) {
    sl_extents extents = {0};
    *out = (sl_free_space){0};
    bool ok = sl_replay_geometry_at(an->replay, event, &extents);
    for (size_t i = 0; ok && i < extents.cnt; i++)
        if (extents.at[i].life_idx == SL_IDX_NONE)
            note_hole(an, &extents.at[i], out);
    sl_vec_free(&extents);
    return ok;
}
