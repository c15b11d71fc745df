/* SPDX-License-Identifier: MIT */
/* Segments over time from the replay, and the end state as the input recorded it. */
#include "page/page_lane.h"

static int64_t flags_of(bool is_large, bool is_expandable) {
    return (is_large ? 4 : 0) | (is_expandable ? 8 : 0);
}

static void put_segment(sl_page_lane *lane, const sl_segment_life *segment) {
    sl_page_columns *columns = &lane->columns;
    bool is_base = segment->begin_event == SL_EVENT_BEFORE;
    bool is_kept = segment->end_event == SL_EVENT_NEVER;
    int64_t begin = is_base ? -1 : (int64_t)segment->begin_event;
    int64_t end = is_kept ? (int64_t)lane->event_cnt : (int64_t)segment->end_event;
    sl_page_put(columns, SL_PAGE_SEGMENTS_BEGIN, begin);
    sl_page_put(columns, SL_PAGE_SEGMENTS_LIFE, end - begin);
    sl_page_put(columns, SL_PAGE_SEGMENTS_SIZE, (int64_t)segment->bytes);
    sl_page_put_addr(columns, SL_PAGE_SEGMENTS_ADDR_HIGH, segment->addr);
    sl_page_put(columns, SL_PAGE_SEGMENTS_STREAM, segment->stream_idx);
    sl_page_put(columns, SL_PAGE_SEGMENTS_POOL, segment->pool_idx);
    sl_page_put(columns, SL_PAGE_SEGMENTS_FLAGS,
                (is_base ? 1 : 0) | (is_kept ? 2 : 0) |
                    flags_of(segment->is_large, segment->is_expandable));
}

/* The stack of a block of the end state; a block without a stack was there before the trace. */
static uint32_t stack_of(const sl_page_lane *lane, const sl_block *block) {
    sl_life life = {.stack_id = block->stack_id,
                    .flags = block->stack_id == SL_STACK_EMPTY ? SL_LIFE_BASE : 0};
    return sl_page_lane_stack(lane, &life);
}

static int64_t put_end_blocks(sl_page_lane *lane, const sl_segment *segment) {
    int64_t cnt = 0;
    for (uint32_t i = 0; i < segment->block_cnt; i++) {
        const sl_block *block = &lane->device->blocks.at[segment->first_block + i];
        if (block->state == SL_BLOCK_INACTIVE || block->addr < segment->addr)
            continue;
        sl_page_put(&lane->columns, SL_PAGE_END_OFFSET, (int64_t)(block->addr - segment->addr));
        sl_page_put(&lane->columns, SL_PAGE_END_SIZE, (int64_t)block->size_bytes);
        sl_page_put(&lane->columns, SL_PAGE_END_STATE, block->state);
        sl_page_put(&lane->columns, SL_PAGE_END_STACK, stack_of(lane, block));
        cnt++;
    }
    return cnt;
}

static void put_end_state(sl_page_lane *lane) {
    sl_page_columns *columns = &lane->columns;
    for (size_t i = 0; i < lane->device->segments.cnt; i++) {
        const sl_segment *segment = &lane->device->segments.at[i];
        sl_page_put_addr(columns, SL_PAGE_END_SEG_ADDR_HIGH, segment->addr);
        sl_page_put(columns, SL_PAGE_END_SEG_SIZE, (int64_t)segment->total_bytes);
        sl_page_put(columns, SL_PAGE_END_SEG_STREAM, segment->stream_idx);
        sl_page_put(columns, SL_PAGE_END_SEG_POOL, segment->pool_idx);
        sl_page_put(columns, SL_PAGE_END_SEG_FLAGS,
                    flags_of(segment->is_large, segment->is_expandable));
        sl_page_put(columns, SL_PAGE_END_SEG_BLOCKS, put_end_blocks(lane, segment));
    }
}

bool sl_page_add_segments(sl_page_lane *lane) {
    const sl_replay *replay = lane->replay;
    lane->segments_total = replay->segments.cnt;
    if (replay->segments.cnt <= lane->budget.segments) {
        for (size_t i = 0; i < replay->segments.cnt; i++)
            put_segment(lane, &replay->segments.at[i]);
        lane->segments_kept = replay->segments.cnt;
    }
    lane->end_blocks = lane->device->blocks.cnt;
    if (lane->device->has_end_state && lane->device->blocks.cnt <= lane->budget.end_blocks)
        put_end_state(lane);
    return true;
}
