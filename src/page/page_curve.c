/* SPDX-License-Identifier: MIT */
/* The curve of live and reserved bytes in bins with the same number of events: when much
 * happens, bins are short. A bin keeps its true lowest and highest value, so a drawing of it
 * cannot hide a peak. */
#include "page/page_lane.h"

typedef struct bin {
    int64_t time_us;
    uint64_t max, min, last, reserved_max, reserved_last;
    uint32_t at;
} bin;

static void open_bin(bin *now, const sl_replay_walk *walk, int64_t time_us) {
    *now = (bin){.time_us = time_us,
                 .min = walk->totals.requested_bytes,
                 .reserved_max = walk->totals.reserved_bytes};
}

static void extend_bin(bin *now, const sl_replay_totals *totals, uint32_t offset) {
    uint64_t live = totals->requested_bytes;
    if (live > now->max || offset == 0) {
        now->max = live;
        now->at = offset;
    }
    if (live < now->min)
        now->min = live;
    now->last = live;
    if (totals->reserved_bytes > now->reserved_max)
        now->reserved_max = totals->reserved_bytes;
    now->reserved_last = totals->reserved_bytes;
}

static void put_bin(sl_page_lane *lane, const bin *now) {
    sl_page_columns *columns = &lane->columns;
    sl_page_put(columns, SL_PAGE_CURVE_TIME, now->time_us);
    sl_page_put(columns, SL_PAGE_CURVE_MAX, (int64_t)now->max);
    sl_page_put(columns, SL_PAGE_CURVE_MIN, (int64_t)now->min);
    sl_page_put(columns, SL_PAGE_CURVE_LAST, (int64_t)now->last);
    sl_page_put(columns, SL_PAGE_CURVE_AT, now->at);
    if (!lane->reserved_known)
        return;
    sl_page_put(columns, SL_PAGE_CURVE_RESERVED_MAX, (int64_t)now->reserved_max);
    sl_page_put(columns, SL_PAGE_CURVE_RESERVED_LAST, (int64_t)now->reserved_last);
}

bool sl_page_add_curve(sl_page_lane *lane) {
    uint32_t cnt = lane->event_cnt;
    uint32_t per_bin = cnt / lane->budget.bins + (cnt % lane->budget.bins != 0);
    lane->bin_events = per_bin ? per_bin : 1;
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, lane->replay);
    for (uint32_t first = 0; first < cnt; first += lane->bin_events) {
        bin now;
        open_bin(&now, &walk, sl_page_lane_time(lane, first));
        for (uint32_t i = 0; i < lane->bin_events && sl_replay_walk_next(&walk); i++)
            extend_bin(&now, &walk.totals, i);
        put_bin(lane, &now);
        if (cnt - first <= lane->bin_events)
            break; /* first + bin_events may not fit in 32 bits */
    }
    return true;
}

bool sl_page_instants(const sl_page_lane *lane, uint32_t *cnt, uint32_t **instants) {
    if (*cnt > lane->event_cnt)
        *cnt = lane->event_cnt;
    uint32_t *at = calloc(*cnt ? *cnt : 1, sizeof *at);
    if (!at)
        return false;
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, lane->replay);
    for (uint32_t i = 0; i < *cnt; i++) {
        uint32_t end = (uint32_t)((uint64_t)lane->event_cnt * (i + 1) / *cnt);
        uint64_t best = 0;
        for (at[i] = walk.next; walk.next < end && sl_replay_walk_next(&walk);) {
            if (walk.totals.requested_bytes > best) {
                best = walk.totals.requested_bytes;
                at[i] = walk.next - 1;
            }
        }
    }
    *instants = at;
    return true;
}

/* The first event after share number `share`. */
static uint32_t share_end(const sl_page_lane *lane, uint32_t from, uint32_t share) {
    const sl_page_heat *heat = &lane->heat;
    if (share + 1 == heat->bins)
        return lane->event_cnt;
    if (heat->is_by_event)
        return (uint32_t)((uint64_t)lane->event_cnt * (share + 1) / heat->bins);
    double span = (double)(heat->to_us - heat->from_us);
    int64_t end_us = heat->from_us + (int64_t)(span * (share + 1) / heat->bins);
    while (from < lane->event_cnt && lane->device->events.time_us[from] < end_us)
        from++;
    return from;
}

/* The bytes that were live when a share began count for it too. */
void sl_page_add_heat(sl_page_lane *lane) {
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, lane->replay);
    for (uint32_t i = 0; i < lane->heat.bins; i++) {
        uint32_t end = share_end(lane, walk.next, i);
        uint64_t best = walk.totals.requested_bytes;
        while (walk.next < end && sl_replay_walk_next(&walk))
            if (walk.totals.requested_bytes > best)
                best = walk.totals.requested_bytes;
        sl_page_put(&lane->columns, SL_PAGE_HEAT_MAX, (int64_t)best);
    }
}
