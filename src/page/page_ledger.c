/* SPDX-License-Identifier: MIT */
/* The ledger of the card over time and the curves of the counters, of a recording. Readings
 * continue after the last event of a device, and the lane lasts as long as they do. */

#include "base/core/order.h"
#include "model/counter_series.h"
#include "page/page_lane.h"

/* The names of counters on the page. The timeline searches for the first one. */
static const struct {
    const char *series, *name;
} shown[] = {
    {SL_SERIES_DEVICE_USED, "used on the device"},
    {SL_SERIES_PROCESS_USED, "used by this process"},
    {SL_SERIES_OTHER_PROCESSES, "used by other processes"},
    {SL_SERIES_ALLOCATED, "handed out by the allocator"},
    {"host_rss", "resident in the host's memory"},
    {"host_cgroup", "charged to the control group"},
};

static int64_t time_of(const sl_page_lane *lane, int64_t time_us) {
    return time_us - lane->first_us;
}

static void put_point(sl_page_lane *lane, size_t series, int64_t time_us, uint64_t value) {
    sl_page_put(&lane->columns, SL_PAGE_COUNTERS_SERIES, (int64_t)series);
    sl_page_put(&lane->columns, SL_PAGE_COUNTERS_TIME, time_of(lane, time_us));
    sl_page_put(&lane->columns, SL_PAGE_COUNTERS_VALUE, (int64_t)value);
}

/* Draws a reading as its highest value at its beginning, its lowest in the middle and its last
 * at its end. */
static bool add_series(sl_page_lane *lane, const sl_counter_series *series, const char *name) {
    size_t number = lane->counters.cnt;
    if (!sl_vec_push(&lane->counters, name))
        return false;
    for (size_t i = 0; i < series->readings.cnt; i++) {
        const sl_reading *r = &series->readings.at[i];
        put_point(lane, number, r->from_us, r->max);
        if (r->min != r->max && r->min != r->last)
            put_point(lane, number, r->from_us + (r->to_us - r->from_us) / 2, r->min);
        if (r->last != r->max)
            put_point(lane, number, r->to_us, r->last);
    }
    return true;
}

static bool add_counters(sl_page_lane *lane) {
    const int devices[] = {lane->device->device, SL_DEVICE_HOST};
    for (size_t i = 0; i < SL_COUNT_OF(shown); i++)
        for (size_t d = 0; d < SL_COUNT_OF(devices); d++) {
            const sl_counter_series *series =
                sl_series_find(lane->trace, devices[d], shown[i].series);
            if (!series || series->readings.cnt == 0)
                continue;
            if (!add_series(lane, series, shown[i].name))
                return false;
            break;
        }
    return true;
}

static int64_t with_unknown(sl_maybe_u64 bytes) {
    return bytes.known ? (int64_t)bytes.value + 1 : 0;
}

static void add_moments(sl_page_lane *lane) {
    const sl_ledger *ledger = lane->ledger;
    for (size_t i = 0; i < ledger->moment_cnt; i++) {
        const sl_ledger_moment *at = &ledger->moments[i];
        sl_page_put(&lane->columns, SL_PAGE_LEDGER_TIME, time_of(lane, at->from_us));
        sl_page_put(&lane->columns, SL_PAGE_LEDGER_USED, with_unknown(at->card_used));
        sl_page_put(&lane->columns, SL_PAGE_LEDGER_USED_MAX, (int64_t)at->used_max);
    }
    for (size_t row = 0; row < ledger->rows.cnt; row++)
        for (size_t i = 0; i < ledger->moment_cnt; i++)
            sl_page_put(&lane->columns, SL_PAGE_LEDGER_BYTES,
                        with_unknown(sl_ledger_bytes(ledger, i)[row]));
}

bool sl_page_add_ledger(sl_page_lane *lane) {
    if (lane->event_cnt == 0 || lane->trace->counters.cnt == 0)
        return true;
    if (sl_run_ledger(lane->of, &lane->ledger, NULL) < 0 || !add_counters(lane))
        return false;
    add_moments(lane);
    if (lane->ledger->moment_cnt > 0) {
        int64_t last_us = lane->ledger->moments[lane->ledger->moment_cnt - 1].to_us;
        lane->last_us = sl_max_i64(last_us, lane->last_us);
    }
    return true;
}
