/* SPDX-License-Identifier: MIT */
#include "analyze/samples/an_telemetry.h"

#include <stdlib.h>

#include "analyze/samples/an_ranks.h"
#include "base/core/order.h"
#include "base/core/str.h"

static int compare_places(const sl_tm_record *x, const sl_tm_record *y) {
    if (x->device_id != y->device_id)
        return x->device_id < y->device_id ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->timestamp_ns > y->timestamp_ns) - (x->timestamp_ns < y->timestamp_ns);
}

static int compare_records(const void *a, const void *b) {
    return compare_places(a, b);
}

/* A moment of the options in ns of the input: counted from the first sample when it is small, back
 * from the last one when it is negative. */
static int64_t moment_ns(int64_t us, int64_t first_ns, int64_t last_ns) {
    int64_t ns = us > INT64_MAX / 1000 ? INT64_MAX : us < INT64_MIN / 1000 ? INT64_MIN : us * 1000;
    if (ns < 0)
        return last_ns + ns;
    return ns < first_ns ? first_ns + ns : ns;
}

typedef struct window {
    int64_t from_ns, to_ns;
} window;

static window find_window(const sl_telemetry *set, const sl_analysis_options *o) {
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < set->records.cnt; i++) {
        int64_t t = set->records.at[i].timestamp_ns;
        first = sl_min_i64(t, first);
        last = sl_max_i64(t, last);
    }
    window w = {first, last};
    if (o->has_since)
        w.from_ns = moment_ns(o->since_us, first, last);
    if (o->has_until)
        w.to_ns = moment_ns(o->until_us, first, last);
    return w;
}

/* The wanted records by device, rank and time. *owned is NULL when the set itself is in order. */
static sl_status arrange(const sl_telemetry *set, const sl_analysis_options *o,
                         sl_tm_record **owned, const sl_tm_record **records, size_t *cnt,
                         sl_error *err) {
    window w = find_window(set, o);
    bool is_ready = !o->has_device && !o->has_since && !o->has_until;
    for (size_t i = 1; i < set->records.cnt && is_ready; i++)
        is_ready = compare_places(&set->records.at[i - 1], &set->records.at[i]) <= 0;
    *owned = NULL;
    *records = set->records.at;
    *cnt = set->records.cnt;
    if (is_ready)
        return SL_OK;
    *owned = malloc((set->records.cnt + 1) * sizeof **owned);
    if (!*owned)
        return sl_fail_no_memory(err, "%zu samples", set->records.cnt);
    *cnt = 0;
    for (size_t i = 0; i < set->records.cnt; i++) {
        const sl_tm_record *r = &set->records.at[i];
        if ((!o->has_device || r->device_id == o->device) && r->timestamp_ns >= w.from_ns &&
            r->timestamp_ns <= w.to_ns)
            (*owned)[(*cnt)++] = *r;
    }
    qsort(*owned, *cnt, sizeof **owned, compare_records);
    *records = *owned;
    return SL_OK;
}

/* Number of records from here on that belong together. */
static size_t group_length(const sl_tm_record *records, size_t cnt, bool by_rank) {
    size_t n = 1;
    while (n < cnt && records[n].device_id == records[0].device_id &&
           (!by_rank || records[n].rank == records[0].rank))
        n++;
    return n;
}

static bool is_type(const sl_telemetry *set, const sl_tm_record *r, const char *type) {
    return sl_str_is(sl_tm_text(set, r->event_type), type);
}

/* Of several ranks on one device index the sums would mix processes, so each has its own row. */
static bool add_device(const sl_tm_group *g) {
    const sl_tm_record *last = &g->records[g->cnt - 1];
    sl_device_report d = {.trace = g->trace,
                          .device = last->device_id,
                          .rank = g->rank,
                          .has_history = true,
                          .events = g->cnt,
                          .live_requested_bytes = (uint64_t)last->allocated_bytes,
                          .allocated_bytes = sl_known_u64((uint64_t)last->allocated_bytes),
                          .reserved_bytes = sl_known_u64((uint64_t)last->reserved_bytes),
                          .peak_reserved_bytes = sl_known_u64(0),
                          .first_time_us = g->records[0].timestamp_ns / 1000,
                          .last_time_us = last->timestamp_ns / 1000,
                          .peak_time_us = g->records[0].timestamp_ns / 1000,
                          .identity_holds = true,
                          .leaks_judged = true};
    for (size_t i = 0; i < g->cnt; i++) {
        const sl_tm_record *r = &g->records[i];
        d.allocs += is_type(g->set, r, "allocation");
        d.frees += is_type(g->set, r, "deallocation");
        if ((uint64_t)r->allocated_bytes > d.peak_requested_bytes) {
            d.peak_requested_bytes = (uint64_t)r->allocated_bytes;
            d.peak_time_us = r->timestamp_ns / 1000;
        }
        if ((uint64_t)r->reserved_bytes > d.peak_reserved_bytes.value)
            d.peak_reserved_bytes.value = (uint64_t)r->reserved_bytes;
        if (r->total_bytes > 0)
            d.capacity_bytes = sl_known_u64((uint64_t)r->total_bytes);
    }
    d.peak_allocated_bytes = sl_known_u64(d.peak_requested_bytes);
    if (!d.capacity_bytes.known)
        d.capacity_bytes = g->options->capacity_bytes;
    if (last->inactive_bytes != SL_TM_NULL)
        d.fragmentation.inactive_bytes = sl_known_u64((uint64_t)last->inactive_bytes);
    if (last->reserved_bytes > 0 && last->inactive_bytes != SL_TM_NULL)
        d.fragmentation.ratio =
            sl_known_f64((double)last->inactive_bytes / (double)last->reserved_bytes);
    return sl_vec_push(&g->report->devices, d);
}

static sl_status find_growth(sl_tm_group *g, sl_error *err) {
    sl_growth_point *points = malloc((g->cnt + 1) * sizeof *points);
    if (!points)
        return sl_fail_no_memory(err, "%zu samples", g->cnt);
    for (size_t i = 0; i < g->cnt; i++)
        points[i] = (sl_growth_point){g->records[i].timestamp_ns, g->records[i].allocated_bytes};
    sl_growth_find(points, g->cnt, &g->growth);
    free(points);
    return SL_OK;
}

static sl_status analyze_groups(sl_tm_group *g, const sl_tm_record *records, size_t cnt,
                                sl_error *err) {
    bool is_several = sl_ranks_are_several(g->set);
    for (size_t at = 0; at < cnt; at += g->cnt) {
        g->records = records + at;
        g->cnt = group_length(records + at, cnt - at, true);
        g->rank = (sl_maybe_u64){(uint64_t)g->records[0].rank,
                                 is_several || g->records[0].world_size > 1};
        size_t before = g->report->findings.cnt;
        SL_TRY(find_growth(g, err));
        if (!add_device(g) || !sl__telemetry_findings(g, err))
            return err && err->code < 0 ? err->code : sl_fail_no_memory(err, "the findings");
        for (size_t i = before; i < g->report->findings.cnt; i++)
            g->report->findings.at[i].rank = g->rank;
    }
    return SL_OK;
}

sl_status sl__telemetry_analyze(const sl_trace *trace, const sl_analysis_options *options,
                                sl_report *report, sl_error *err) {
    sl_tm_record *owned;
    const sl_tm_record *records;
    size_t cnt;
    SL_TRY(arrange(trace->telemetry, options, &owned, &records, &cnt, err));
    sl_tm_group g = {.trace = trace, .set = trace->telemetry, .options = options, .report = report};
    sl_status status = analyze_groups(&g, records, cnt, err);
    free(owned);
    return status;
}
