/* SPDX-License-Identifier: MIT */
/* The user lines and stacks of a lane, what they held, and which stacks are kept whole. */
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "page/page_lane.h"

/* What one stack of the trace did in this lane. */
typedef struct stack_sum {
    uint32_t id;
    bool is_met;
    uint64_t live_bytes, at_peak_bytes, alloc_bytes;
} stack_sum;

static bool is_before(const sl_life *life) {
    return (life->flags & SL_LIFE_BASE) && life->stack_id == SL_STACK_EMPTY;
}

uint32_t sl_page_lane_stack(const sl_page_lane *lane, const sl_life *life) {
    return is_before(life) ? lane->stack_before : lane->page_stack[life->stack_id];
}

/* One sum per site of the run's sites by line; only sites that occur here get a name on the
 * page. */
static bool name_sites(sl_page_lane *lane, const stack_sum *sums, size_t stack_cnt) {
    sl_page_source *source = lane->source;
    const sl_sites *lines = source->lines;
    if (!sl_vec_reserve(&lane->sites, lines->sites.cnt))
        return false;
    lane->sites.cnt = lines->sites.cnt;
    memset(lane->sites.at, 0, lane->sites.cnt * sizeof *lane->sites.at);
    for (uint32_t i = 0; i < stack_cnt; i++)
        if (sums[i].is_met)
            lane->sites.at[lines->site_of_stack[i]].frame = sl_page_site(source, i);
    uint32_t before = sl_page_site_frame(source, lines->sites.at[lines->before_site].site);
    lane->sites.at[lines->before_site].frame = before;
    lane->stack_before = sl_page_folded(source->names, before);
    return !source->names->has_failed;
}

static void sum_stacks(const sl_page_lane *lane, stack_sum *sums) {
    for (size_t i = 0; i < lane->replay->lives.cnt; i++) {
        const sl_life *life = &lane->replay->lives.at[i];
        if (is_before(life))
            continue;
        stack_sum *sum = &sums[life->stack_id];
        sum->is_met = true;
        sum->alloc_bytes += life->requested_bytes;
        if (life->end_event == SL_EVENT_NEVER)
            sum->live_bytes += life->requested_bytes;
        if (sl_life_is_live(life, lane->peak.event))
            sum->at_peak_bytes += life->requested_bytes;
    }
}

/* Live bytes count more than freed ones. */
static uint64_t weight(const stack_sum *sum) {
    return sum->live_bytes + sum->at_peak_bytes + sum->alloc_bytes / 16;
}

static int compare_weights(const void *a, const void *b) {
    uint64_t x = weight(a), y = weight(b);
    if (x != y)
        return x > y ? -1 : 1;
    return ((const stack_sum *)a)->id < ((const stack_sum *)b)->id ? -1 : 1;
}

/* The stacks with the most weight are kept whole, the next ones are reduced to their line while
 * there is room for lines, and the rest share one name. Sorts the sums. */
static void choose_stacks(sl_page_lane *lane, stack_sum *sums, size_t stack_cnt) {
    qsort(sums, stack_cnt, sizeof *sums, compare_weights);
    sl_page_names *names = lane->source->names;
    uint32_t other = sl_page_folded(names, sl_page_words(names, "(other lines)"));
    size_t folded = 0;
    for (size_t i = 0; i < stack_cnt; i++) {
        if (!sums[i].is_met)
            continue;
        uint32_t id = sums[i].id;
        lane->stacks_met++;
        if (lane->stacks_kept < lane->budget.stacks) {
            lane->page_stack[id] = sl_page_stack(lane->source, id);
            lane->stacks_kept++;
        } else if (folded++ < 2 * (size_t)lane->budget.stacks) {
            lane->page_stack[id] = sl_page_folded(names, sl_page_site(lane->source, id));
        } else {
            lane->page_stack[id] = other;
        }
    }
}

static void sum_sites(sl_page_lane *lane) {
    for (size_t i = 0; i < lane->replay->lives.cnt; i++) {
        const sl_life *life = &lane->replay->lives.at[i];
        sl_page_site_sum *site = &lane->sites.at[sl_page_lane_site(lane, life)];
        site->tag_bytes[sl_page_lane_tag(lane, life)] += life->requested_bytes;
        if (!(life->flags & SL_LIFE_BASE)) {
            site->allocs++;
            site->alloc_bytes += life->requested_bytes;
        }
        if (life->end_event == SL_EVENT_NEVER) {
            site->live_bytes += life->requested_bytes;
            site->live_blocks++;
        } else {
            site->freed++;
        }
        if (sl_life_is_live(life, lane->peak.event))
            site->at_peak_bytes += life->requested_bytes;
    }
}

/* The highest live bytes of each line, over all events. */
static bool find_peaks(sl_page_lane *lane) {
    uint64_t *live = calloc(lane->sites.cnt, sizeof *live);
    if (!live)
        return false;
    for (size_t i = 0; i < lane->replay->base_cnt; i++) {
        const sl_life *life = &lane->replay->lives.at[i];
        live[sl_page_lane_site(lane, life)] += life->requested_bytes;
    }
    for (size_t i = 0; i < lane->sites.cnt; i++)
        lane->sites.at[i].peak_bytes = live[i];
    sl_page_walk_rewind(&lane->walk);
    for (sl_page_change change; sl_page_walk_next(&lane->walk, &change);) {
        const sl_life *life = &lane->replay->lives.at[change.life];
        uint32_t site = sl_page_lane_site(lane, life);
        live[site] += change.is_begin ? life->requested_bytes : 0 - life->requested_bytes;
        if (live[site] > lane->sites.at[site].peak_bytes)
            lane->sites.at[site].peak_bytes = live[site];
    }
    free(live);
    return true;
}

/* The median life of freed blocks per site: the lives are grouped by site in one array. */
static bool find_medians(sl_page_lane *lane) {
    const sl_replay *replay = lane->replay;
    size_t *next = calloc(lane->sites.cnt + 1, sizeof *next);
    int64_t *times = malloc((replay->lives.cnt + 1) * sizeof *times);
    bool ok = next && times;
    for (size_t i = 0; ok && i < lane->sites.cnt; i++)
        next[i + 1] = next[i] + lane->sites.at[i].freed;
    for (size_t i = 0; ok && i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (life->end_event != SL_EVENT_NEVER)
            times[next[sl_page_lane_site(lane, life)]++] =
                sl_replay_time(replay, life->end_event) - sl_replay_time(replay, life->begin_event);
    }
    for (size_t i = 0; ok && i < lane->sites.cnt; i++) {
        sl_page_site_sum *site = &lane->sites.at[i];
        if (site->freed == 0)
            continue;
        int64_t *first = times + next[i] - site->freed;
        qsort(first, site->freed, sizeof *first, sl_order_i64);
        site->median_life_us = first[site->freed / 2];
    }
    free(next);
    free(times);
    return ok;
}

static void put_tags(sl_page_lane *lane, const sl_page_site_sum *site) {
    int64_t most = SL_TAG_UNKNOWN, all = 0;
    for (int64_t tag = 0; tag < SL_TAG_LIMIT; tag++) {
        if (site->tag_bytes[tag] == 0)
            continue;
        all |= (int64_t)1 << tag;
        if (site->tag_bytes[tag] > site->tag_bytes[most])
            most = tag;
    }
    sl_page_put(&lane->columns, SL_PAGE_SITES_TAG, most);
    sl_page_put(&lane->columns, SL_PAGE_SITES_TAGS, all);
}

static void put_sites(sl_page_lane *lane) {
    for (size_t i = 0; i < lane->sites.cnt; i++) {
        const sl_page_site_sum *site = &lane->sites.at[i];
        if (site->allocs + site->freed + site->live_blocks == 0)
            continue;
        const uint64_t values[] = {
            site->frame,       site->live_bytes,    site->live_blocks,
            site->peak_bytes,  site->at_peak_bytes, site->allocs,
            site->alloc_bytes, site->freed,         (uint64_t)site->median_life_us,
        };
        for (size_t v = 0; v < SL_COUNT_OF(values); v++)
            sl_page_put(&lane->columns, (sl_page_column)(SL_PAGE_SITES_FRAME + v),
                        (int64_t)values[v]);
        if (lane->trace->has_tags)
            put_tags(lane, site);
    }
}

bool sl_page_add_sites(sl_page_lane *lane) {
    size_t stack_cnt = lane->trace->stacks.spans.cnt;
    stack_sum *sums = calloc(stack_cnt, sizeof *sums);
    lane->page_stack = calloc(stack_cnt, sizeof *lane->page_stack);
    bool ok = sums && lane->page_stack;
    if (ok) {
        for (uint32_t i = 0; i < stack_cnt; i++)
            sums[i].id = i;
        sum_stacks(lane, sums);
        ok = name_sites(lane, sums, stack_cnt);
    }
    if (ok) {
        choose_stacks(lane, sums, stack_cnt);
        sum_sites(lane);
        ok = find_peaks(lane) && find_medians(lane);
    }
    if (ok)
        put_sites(lane);
    free(sums);
    return ok;
}
