/* SPDX-License-Identifier: MIT */
/* The blocks that are drawn one by one: half of the budget for the largest, half for those of
 * the others that fill the most area (bytes times events). Blocks that are not drawn are still
 * in every sum. */
#include <stdlib.h>

#include "page/page_lane.h"

static uint64_t life_events(const sl_page_lane *lane, const sl_life *life) {
    uint64_t begin = life->begin_event == SL_EVENT_BEFORE ? 0 : (uint64_t)life->begin_event + 1;
    uint64_t end = life->end_event == SL_EVENT_NEVER ? lane->event_cnt : life->end_event;
    return end + 1 - begin;
}

static uint64_t by_size(const sl_page_lane *lane, const sl_life *life) {
    SL_UNUSED(lane);
    return life->requested_bytes;
}

static uint64_t by_area(const sl_page_lane *lane, const sl_life *life) {
    double area = (double)life->requested_bytes * (double)life_events(lane, life);
    return area < 9e18 ? (uint64_t)area : UINT64_MAX;
}

/* The value of rank `rank` (0 = largest), by quickselect. Reorders the array. */
static uint64_t select_rank(uint64_t *at, size_t cnt, size_t rank) {
    size_t low = 0, high = cnt - 1;
    while (low < high) {
        uint64_t pivot = at[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (at[i] > pivot)
                i++;
            while (at[j] < pivot)
                j--;
            if (i >= j)
                break;
            uint64_t swap = at[i];
            at[i++] = at[j];
            at[j--] = swap;
        }
        if (rank <= j)
            high = j;
        else
            low = j + 1;
    }
    return at[low];
}

typedef uint64_t (*life_key)(const sl_page_lane *, const sl_life *);

/* The key of the last life that fits when the highest keys are taken first; 0 = all fit. */
static bool find_limit(const sl_page_lane *lane, const uint8_t *marked, size_t want, life_key key,
                       uint64_t *limit) {
    size_t cnt = lane->replay->lives.cnt, left = 0;
    uint64_t *keys = malloc((cnt + 1) * sizeof *keys);
    if (!keys)
        return false;
    for (size_t i = 0; i < cnt; i++)
        if (!marked[i])
            keys[left++] = key(lane, &lane->replay->lives.at[i]);
    *limit = want < left ? select_rank(keys, left, want) : 0;
    free(keys);
    return true;
}

/* Marks up to `want` unmarked lives with the highest keys. Of the lives whose key equals the
 * limit, it takes evenly spaced ones: every step of a run makes the same blocks, and taking the
 * first ones would draw the beginning of the run in full and the rest not at all. */
static bool mark_highest(const sl_page_lane *lane, uint8_t *marked, size_t want, life_key key) {
    uint64_t limit;
    if (!find_limit(lane, marked, want, key, &limit))
        return false;
    size_t cnt = lane->replay->lives.cnt, equal = 0, met = 0;
    for (size_t i = 0; i < cnt; i++) {
        uint64_t value = marked[i] ? 0 : key(lane, &lane->replay->lives.at[i]);
        equal += !marked[i] && value == limit;
        if (!marked[i] && value > limit) {
            marked[i] = 1;
            want--;
        }
    }
    for (size_t i = 0; i < cnt && equal > 0; i++) {
        if (marked[i] || key(lane, &lane->replay->lives.at[i]) != limit)
            continue;
        size_t share = want < equal ? want : equal;
        marked[i] = (met + 1) * share / equal > met * share / equal;
        met++;
    }
    return true;
}

static void put_block(sl_page_lane *lane, const sl_life *life) {
    sl_page_columns *columns = &lane->columns;
    bool is_base = life->begin_event == SL_EVENT_BEFORE;
    bool is_kept = life->end_event == SL_EVENT_NEVER;
    int64_t begin = is_base ? -1 : (int64_t)life->begin_event;
    int64_t end = is_kept ? (int64_t)lane->event_cnt : (int64_t)life->end_event;
    int64_t begin_us = is_base ? lane->start_us : sl_page_lane_time(lane, life->begin_event);
    uint32_t last = lane->event_cnt ? lane->event_cnt - 1 : 0;
    int64_t end_us = sl_page_lane_time(lane, is_kept ? last : life->end_event);
    uint64_t slack =
        life->block_bytes > life->requested_bytes ? life->block_bytes - life->requested_bytes : 0;
    sl_page_put(columns, SL_PAGE_BLOCKS_BEGIN, begin);
    sl_page_put(columns, SL_PAGE_BLOCKS_TIME, begin_us);
    sl_page_put(columns, SL_PAGE_BLOCKS_LIFE, end - begin);
    sl_page_put(columns, SL_PAGE_BLOCKS_LIFE_US, end_us - begin_us);
    sl_page_put(columns, SL_PAGE_BLOCKS_SIZE, (int64_t)life->requested_bytes);
    sl_page_put(columns, SL_PAGE_BLOCKS_SLACK, (int64_t)slack);
    sl_page_put_addr(columns, SL_PAGE_BLOCKS_ADDR_HIGH, life->addr);
    sl_page_put(columns, SL_PAGE_BLOCKS_STACK, sl_page_lane_stack(lane, life));
    sl_page_put(columns, SL_PAGE_BLOCKS_FLAGS, (is_base ? 1 : 0) | (is_kept ? 2 : 0));
    if (lane->trace->has_tags)
        sl_page_put(columns, SL_PAGE_BLOCKS_TAG, sl_page_lane_tag(lane, life));
}

bool sl_page_add_blocks(sl_page_lane *lane) {
    size_t cnt = lane->replay->lives.cnt, budget = lane->budget.blocks;
    uint8_t *marked = calloc(cnt + 1, 1);
    bool ok = marked != NULL;
    if (ok && cnt > budget)
        ok = mark_highest(lane, marked, budget / 2, by_size) &&
             mark_highest(lane, marked, budget - budget / 2, by_area);
    for (size_t i = 0; ok && i < cnt; i++) {
        const sl_life *life = &lane->replay->lives.at[i];
        if (life->requested_bytes > lane->largest_block_bytes)
            lane->largest_block_bytes = life->requested_bytes;
        if (cnt <= budget || marked[i]) {
            put_block(lane, life);
            lane->blocks_kept++;
        } else if (life->requested_bytes > lane->largest_left_bytes) {
            lane->largest_left_bytes = life->requested_bytes;
        }
    }
    free(marked);
    return ok;
}
