/* SPDX-License-Identifier: MIT */
#include "read/slog/slog_reserved.h"

#include <stdlib.h>

#include "model/counter_series.h"
#include "read/slog/slog_counters.h"

typedef SL_VEC(const sl_counter_series *) series_list;

typedef struct maker {
    sl_trace *trace;
    sl_device_trace *device;
    const sl_log_reader *log;
    series_list shared;    /* what the allocator's segments come through */
    SL_VEC(int64_t) at;    /* changes of these within a bin */
    size_t old_cnt;        /* events of the device before any was added */
    size_t before_end_cnt; /* added ones that come before the end of the work (T5 in trace.h) */
    bool has_room;
} maker;

static int compare_times(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorted in, the event comes after those of the same time that were there. */
static bool is_before_end(const maker *m, int64_t time_us) {
    const sl_events *events = &m->device->events;
    return time_us <= m->trace->end.time_us &&
           (m->device->end_cnt >= m->old_cnt || time_us < events->time_us[m->device->end_cnt]);
}

static void add(maker *m, int64_t time_us, uint64_t bytes) {
    sl_event event = {.time_us = time_us,
                      .size_bytes = bytes,
                      .pool_idx = SL_POOL_UNKNOWN,
                      .kind = SL_EV_RESERVED};
    m->has_room = m->has_room && sl_events_push(&m->device->events, &event);
    m->before_end_cnt += is_before_end(m, time_us);
}

static bool has_segments(const sl_device_trace *device) {
    for (size_t i = 0; i < device->events.cnt; i++)
        if (sl_event_is_segment(device->events.kind[i]))
            return true;
    return false;
}

static void find_shared(maker *m) {
    for (size_t i = 0; i < m->trace->counters.cnt; i++) {
        const sl_counter_series *series = &m->trace->counters.at[i];
        if (series->device == m->device->device && series->readings.cnt > 0 &&
            sl_library_serves_allocator(sl_series_library(m->trace, series)))
            m->has_room = m->has_room && sl_vec_push(&m->shared, series);
    }
}

/* Changes in quick succession are one reading, with its last value at its end. Before that the largest: the
 * allocator never holds less than its blocks. */
static uint64_t value_at(const sl_counter_series *series, int64_t time_us) {
    size_t k = sl_series_find_reading(series, time_us);
    if (k == SIZE_MAX)
        return 0;
    const sl_reading *reading = &series->readings.at[k];
    return time_us < reading->to_us ? reading->max : reading->last;
}

static uint64_t sum_at(const maker *m, int64_t time_us) {
    uint64_t sum = 0;
    for (size_t i = 0; i < m->shared.cnt; i++)
        sum += value_at(m->shared.at[i], time_us);
    return sum;
}

static void note_change(maker *m, int64_t time_us, int64_t from_us, int64_t to_us) {
    if (time_us >= from_us && time_us <= to_us)
        m->has_room = m->has_room && sl_vec_push(&m->at, time_us);
}

/* The moments of a bin at which the sum may have changed, in order. */
static void find_changes(maker *m, int64_t from_us, int64_t to_us) {
    m->at.cnt = 0;
    for (size_t i = 0; i < m->shared.cnt; i++) {
        const sl_counter_series *series = m->shared.at[i];
        size_t k = sl_series_find_reading(series, to_us);
        for (; k != SIZE_MAX && series->readings.at[k].to_us >= from_us;
             k = k > 0 ? k - 1 : SIZE_MAX) {
            const sl_reading *reading = &series->readings.at[k];
            note_change(m, reading->from_us, from_us, to_us);
            if (reading->to_us != reading->from_us)
                note_change(m, reading->to_us, from_us, to_us);
        }
    }
    if (m->at.cnt > 1)
        qsort(m->at.at, m->at.cnt, sizeof *m->at.at, compare_times);
}

/* Whether the changes reach what the bin says was reached: if so they are its moments. */
static bool fits(const maker *m, const sl_log_bin *bin) {
    uint64_t most = 0;
    for (size_t i = 0; i < m->at.cnt; i++) {
        uint64_t sum = sum_at(m, m->at.at[i]);
        most = sum > most ? sum : most;
    }
    return most == bin->max;
}

/* What is below the least of the bin was before the allocator said anything. */
static void add_changes(maker *m, const sl_log_bin *bin, uint64_t *now) {
    for (size_t i = 0; i < m->at.cnt; i++) {
        uint64_t sum = sum_at(m, m->at.at[i]);
        if (sum < bin->min)
            continue;
        *now = sum;
        add(m, m->at.at[i], sum);
    }
}

/* Where the moments are not known, the largest is put at the bin's beginning and the last at its end. */
static void add_bin(maker *m, const sl_log_bin *bin) {
    int64_t from_us = sl_slog_time_us(m->log, bin->start_ns);
    int64_t to_us = sl_slog_time_us(m->log, bin->start_ns + bin->length_ns - 1);
    uint64_t now = bin->max;
    find_changes(m, from_us, to_us);
    if (fits(m, bin))
        add_changes(m, bin, &now);
    else
        add(m, from_us, now);
    if (now != bin->last)
        add(m, to_us, bin->last);
}

static sl_status add_curve(maker *m, sl_log_reader *log, uint32_t counter, sl_error *err) {
    sl_log_bins bins;
    SL_TRY(sl_log_load_curve(log, counter, &bins, err));
    find_shared(m);
    for (size_t i = 0; i < bins.cnt && m->has_room; i++)
        add_bin(m, &bins.at[i]);
    sl_vec_free(&bins);
    m->has_room = m->has_room && sl_events_sort(&m->device->events) >= 0;
    m->device->end_cnt += m->before_end_cnt;
    sl_vec_free(&m->shared);
    sl_vec_free(&m->at);
    return m->has_room ? SL_OK : sl_fail(err, SL_E_NOMEM, "no memory for a trace");
}

sl_status sl_slog_add_reserved(sl_log_reader *log, sl_trace *trace, sl_error *err) {
    sl_log_counters counters;
    SL_TRY(sl_log_load_counters(log, &counters, err));
    sl_status status = SL_OK;
    for (size_t i = 0; i < counters.cnt && status >= 0; i++) {
        const sl_log_counter_info *info = &counters.at[i];
        maker m = {.trace = trace,
                   .device = (sl_device_trace *)sl_trace_find_device(trace, info->device),
                   .log = log,
                   .has_room = true};
        m.old_cnt = m.device ? m.device->events.cnt : 0;
        if (m.device && info->kind == SL_COUNTER_RESERVED && !has_segments(m.device))
            status = add_curve(&m, log, info->idx, err);
    }
    sl_vec_free(&counters);
    return status;
}
