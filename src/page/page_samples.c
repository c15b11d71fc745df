/* SPDX-License-Identifier: MIT */
/* A lane of samples: what a collector read from time to time, instead of every event. Between
 * two samples nothing is known; the page says so. Each sample counts as one event. */
#include "base/core/str.h"
#include "page/page_lane.h"
#include "telemetry/telemetry.h"

typedef SL_VEC(const sl_tm_record *) record_list;

static int compare_times(const void *a, const void *b) {
    const sl_tm_record *x = *(const sl_tm_record *const *)a, *y = *(const sl_tm_record *const *)b;
    if (x->timestamp_ns != y->timestamp_ns)
        return x->timestamp_ns < y->timestamp_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool collect(const sl_page_lane *lane, record_list *out) {
    const sl_telemetry *set = lane->trace->telemetry;
    for (size_t i = 0; i < set->records.cnt; i++)
        if (sl_run_has_sample(lane->of, &set->records.at[i]) &&
            !sl_vec_push(out, &set->records.at[i]))
            return false;
    if (out->cnt > 1)
        qsort(out->at, out->cnt, sizeof *out->at, compare_times);
    return true;
}

static int64_t time_of(const sl_page_lane *lane, const sl_tm_record *record) {
    return record->timestamp_ns / 1000 - lane->first_us;
}

static void sum_up(sl_page_lane *lane, const record_list *records) {
    const sl_tm_record *last = records->at[records->cnt - 1];
    uint64_t reserved_peak = 0;
    lane->event_cnt = (uint32_t)records->cnt;
    sl_page_lane_begin(lane, records->at[0]->timestamp_ns / 1000);
    lane->last_us = last->timestamp_ns / 1000;
    lane->start.requested_bytes = (uint64_t)records->at[0]->allocated_bytes;
    lane->end.requested_bytes = (uint64_t)last->allocated_bytes;
    lane->end.reserved_bytes = (uint64_t)last->reserved_bytes;
    for (uint32_t i = 0; i < records->cnt; i++) {
        const sl_tm_record *record = records->at[i];
        if ((uint64_t)record->allocated_bytes > lane->peak.bytes || i == 0) {
            lane->peak = (sl_replay_peak){(uint64_t)record->allocated_bytes, i};
            lane->peak_us = time_of(lane, record);
        }
        if ((uint64_t)record->reserved_bytes > reserved_peak)
            reserved_peak = (uint64_t)record->reserved_bytes;
    }
    lane->reserved_known = true;
    lane->peak_reserved_bytes = sl_known_u64(reserved_peak);
}

/* One bin of the curve; the sample before it counts too, because its values were valid when the
 * bin began. */
static void add_bin(sl_page_lane *lane, const record_list *records, size_t first, size_t end) {
    const sl_tm_record *before = records->at[first ? first - 1 : 0];
    int64_t low = before->allocated_bytes, reserved_high = before->reserved_bytes;
    size_t high = first;
    for (size_t i = first; i < end; i++) {
        const sl_tm_record *record = records->at[i];
        if (record->allocated_bytes > records->at[high]->allocated_bytes)
            high = i;
        if (record->allocated_bytes < low)
            low = record->allocated_bytes;
        if (record->reserved_bytes > reserved_high)
            reserved_high = record->reserved_bytes;
    }
    sl_page_columns *columns = &lane->columns;
    sl_page_put(columns, SL_PAGE_CURVE_TIME, time_of(lane, records->at[first]));
    sl_page_put(columns, SL_PAGE_CURVE_MAX, records->at[high]->allocated_bytes);
    sl_page_put(columns, SL_PAGE_CURVE_MIN, low);
    sl_page_put(columns, SL_PAGE_CURVE_LAST, records->at[end - 1]->allocated_bytes);
    sl_page_put(columns, SL_PAGE_CURVE_AT, (int64_t)(high - first));
    sl_page_put(columns, SL_PAGE_CURVE_RESERVED_MAX, reserved_high);
    sl_page_put(columns, SL_PAGE_CURVE_RESERVED_LAST, records->at[end - 1]->reserved_bytes);
}

static void add_curve(sl_page_lane *lane, const record_list *records) {
    size_t per_bin = records->cnt / lane->budget.bins + (records->cnt % lane->budget.bins != 0);
    lane->bin_events = (uint32_t)per_bin;
    for (size_t first = 0; first < records->cnt; first += per_bin)
        add_bin(lane, records, first,
                first + per_bin < records->cnt ? first + per_bin : records->cnt);
}

/* The ledger of samples: the bytes in use on the card, and the parts of them that the allocator
 * knows. */
static int64_t outside_allocator(const sl_tm_record *record) {
    return record->used_bytes > record->reserved_bytes ? record->used_bytes - record->reserved_bytes
                                                       : 0;
}

static int64_t used(const sl_tm_record *record) {
    return record->used_bytes;
}

static int64_t reserved(const sl_tm_record *record) {
    return record->reserved_bytes;
}

static int64_t allocated(const sl_tm_record *record) {
    return record->allocated_bytes;
}

static const struct {
    const char *name;
    int64_t (*get)(const sl_tm_record *);
} ledger[] = {
    {"used on the device", used},
    {"reserved by the allocator", reserved},
    {"allocated", allocated},
    {"used outside the allocator", outside_allocator},
};

#define LEDGER_BINS 8192

/* The lowest and the highest reading of each bin, in chronological order. */
static void add_counter(sl_page_lane *lane, const record_list *records, size_t series) {
    size_t per_bin = records->cnt / LEDGER_BINS + 1;
    for (size_t first = 0; first < records->cnt; first += per_bin) {
        size_t end = first + per_bin < records->cnt ? first + per_bin : records->cnt;
        size_t low = first, high = first;
        for (size_t i = first; i < end; i++) {
            if (ledger[series].get(records->at[i]) < ledger[series].get(records->at[low]))
                low = i;
            if (ledger[series].get(records->at[i]) > ledger[series].get(records->at[high]))
                high = i;
        }
        size_t picked[] = {low < high ? low : high, low < high ? high : low};
        for (size_t i = 0; i < (low == high ? 1u : 2u); i++) {
            sl_page_put(&lane->columns, SL_PAGE_COUNTERS_SERIES, (int64_t)series);
            sl_page_put(&lane->columns, SL_PAGE_COUNTERS_TIME,
                        time_of(lane, records->at[picked[i]]));
            sl_page_put(&lane->columns, SL_PAGE_COUNTERS_VALUE,
                        ledger[series].get(records->at[picked[i]]));
        }
    }
}

/* Event types that only say why the collector took a reading. */
static bool is_reading(sl_str type) {
    static const char *const readings[] = {"allocation", "deallocation", "peak"};
    for (size_t i = 0; i < SL_COUNT_OF(readings); i++)
        if (sl_str_equals(type, sl_str_of(readings[i])))
            return true;
    return sl_tm_is_sample(type);
}

/* Marks for records that are more than a reading: starts, alerts, errors. */
static bool add_points(sl_page_lane *lane, const record_list *records) {
    const sl_telemetry *set = lane->trace->telemetry;
    sl_page_names *names = lane->source->names;
    for (size_t i = 0; i < records->cnt; i++) {
        sl_str type = sl_tm_text(set, records->at[i]->event_type);
        if (is_reading(type))
            continue;
        uint32_t name = sl_strtab_intern(&names->strings, type.ptr, type.len);
        if (name == SL_STR_NONE)
            return false;
        sl_page_put(&lane->columns, SL_PAGE_MARKS_TIME, time_of(lane, records->at[i]));
        sl_page_put(&lane->columns, SL_PAGE_MARKS_KIND, SL_MARK_POINT);
        sl_page_put(&lane->columns, SL_PAGE_MARKS_NAME, name);
        sl_page_put(&lane->columns, SL_PAGE_MARKS_NUMBER, 0);
    }
    return true;
}

static bool is_before_share_end(const sl_page_lane *lane, const record_list *records, size_t i,
                                uint32_t share) {
    const sl_page_heat *heat = &lane->heat;
    if (share + 1 == heat->bins)
        return true;
    if (heat->is_by_event)
        return i < records->cnt * (share + 1) / heat->bins;
    double span = (double)(heat->to_us - heat->from_us);
    int64_t end_us = heat->from_us + (int64_t)(span * (share + 1) / heat->bins);
    return records->at[i]->timestamp_ns / 1000 < end_us;
}

static void add_heat(sl_page_lane *lane, const record_list *records) {
    size_t i = 0;
    for (uint32_t share = 0; share < lane->heat.bins; share++) {
        int64_t best = i > 0 ? records->at[i - 1]->allocated_bytes : 0;
        for (; i < records->cnt && is_before_share_end(lane, records, i, share); i++)
            if (records->at[i]->allocated_bytes > best)
                best = records->at[i]->allocated_bytes;
        sl_page_put(&lane->columns, SL_PAGE_HEAT_MAX, best);
    }
}

bool sl_page_add_samples(sl_page_lane *lane) {
    record_list records = {0};
    bool ok = collect(lane, &records);
    lane->is_sampled = true;
    if (ok && records.cnt > 0) {
        sum_up(lane, &records);
        add_curve(lane, &records);
        add_heat(lane, &records);
        for (size_t i = 0; ok && i < SL_COUNT_OF(ledger); i++) {
            ok = sl_vec_push(&lane->counters, ledger[i].name);
            add_counter(lane, &records, i);
        }
        ok = ok && add_points(lane, &records);
    }
    sl_vec_free(&records);
    return ok;
}
