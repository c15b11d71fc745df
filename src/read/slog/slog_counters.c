/* SPDX-License-Identifier: MIT */
#include "read/slog/slog_counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "base/core/str.h"
#include "model/counter_series.h"
#include "model/severity.h"

static uint32_t intern_cstr(sl_trace *trace, const char *text) {
    return sl_strtab_intern(&trace->strings, text, strlen(text));
}

static uint32_t intern_str(sl_trace *trace, sl_str text) {
    return sl_strtab_intern(&trace->strings, text.ptr, text.len);
}

/* ---- curves ---- */

/* Custom counters carry no unit; these are the recorder's own. */
static const char *custom_unit(sl_str name) {
    static const char *const in_bytes[] = {SL_SERIES_OTHER_PROCESSES, SL_SERIES_DRIVER_RESERVED};
    for (size_t i = 0; i < SL_COUNT_OF(in_bytes); i++)
        if (sl_str_is(name, in_bytes[i]))
            return "bytes";
    return sl_str_ends_with(name, SL_STR("_bytes")) ? "bytes" : sl_counter_unit(SL_COUNTER_CUSTOM);
}

/* "library:libnccl" */
static uint32_t library_name(sl_trace *trace, sl_str library) {
    char text[256];
    library = library.len ? library : SL_STR("(unknown library)");
    snprintf(text, sizeof text, "%s%.*s", SL_SERIES_LIBRARY,
             (int)(library.len < 200 ? library.len : 200), library.ptr);
    return intern_cstr(trace, text);
}

static uint32_t counter_name(sl_log_reader *log, sl_trace *trace, const sl_log_counter_info *info) {
    sl_str own = sl_log_get_string(log, info->name);
    if (info->name == 0)
        return intern_cstr(trace, sl_counter_name(info->kind));
    return info->kind == SL_COUNTER_DRIVER_USED ? library_name(trace, own) : intern_str(trace, own);
}

static bool name_series(sl_log_reader *log, sl_trace *trace, const sl_log_counter_info *info,
                        sl_counter_series *series) {
    const char *unit = info->kind == SL_COUNTER_CUSTOM
                           ? custom_unit(sl_log_get_string(log, info->name))
                           : sl_counter_unit(info->kind);
    series->device = info->device;
    series->name = counter_name(log, trace, info);
    series->unit = intern_cstr(trace, unit);
    if (!info->is_available) {
        sl_str why = sl_log_get_string(log, info->why);
        series->why = why.len ? intern_str(trace, why) : intern_cstr(trace, "unknown");
    }
    return series->name != SL_STR_NONE && series->unit != SL_STR_NONE && series->why != SL_STR_NONE;
}

static uint64_t end_ns(const sl_log_reader *log) {
    const sl_fmt_state *state = sl_log_state(log);
    return state->closed_ns ? state->closed_ns : state->heartbeat_ns;
}

static bool add_bins(sl_log_reader *log, const sl_log_bins *bins, sl_counter_series *series) {
    for (size_t i = 0; i < bins->cnt; i++) {
        const sl_log_bin *b = &bins->at[i];
        uint64_t last_ns = b->start_ns + b->length_ns - 1;
        if (last_ns > end_ns(log) && end_ns(log) >= b->start_ns)
            last_ns = end_ns(log);
        sl_reading reading = {sl_slog_time_us(log, b->start_ns), sl_slog_time_us(log, last_ns),
                              b->min, b->max, b->last};
        if (!sl_vec_push(&series->readings, reading))
            return false;
    }
    return true;
}

static sl_status load_curve(sl_log_reader *log, sl_trace *trace, const sl_log_counter_info *info,
                            sl_error *err) {
    sl_log_bins bins = {0};
    sl_counter_series series = {0};
    SL_TRY(sl_log_load_curve(log, info->idx, &bins, err));
    bool ok = name_series(log, trace, info, &series) && add_bins(log, &bins, &series) &&
              sl_vec_push(&trace->counters, series);
    sl_vec_free(&bins);
    if (!ok)
        sl_vec_free(&series.readings);
    return ok ? SL_OK : sl_fail_no_memory(err, "the counters of a recording");
}

sl_status sl_slog_load_curves(sl_log_reader *log, sl_trace *trace, sl_error *err) {
    sl_log_counters counters;
    SL_TRY(sl_log_load_counters(log, &counters, err));
    sl_status status = SL_OK;
    for (size_t i = 0; i < counters.cnt && status >= 0; i++)
        status = load_curve(log, trace, &counters.at[i], err);
    sl_vec_free(&counters);
    return status;
}

/* ---- alerts ---- */

static const char *severity_name(uint32_t severity) {
    return sl_severity_name(severity < SL_SEV_CRITICAL ? (sl_severity)severity : SL_SEV_CRITICAL);
}

sl_status sl_slog_load_alerts(sl_log_reader *log, sl_trace *trace, sl_error *err) {
    sl_log_alerts alerts;
    bool ok = true;
    SL_TRY(sl_log_load_alerts(log, &alerts, err));
    for (size_t i = 0; i < alerts.cnt && ok; i++) {
        const sl_fmt_alert *from = &alerts.at[i];
        sl_alert alert = {
            .time_us = sl_slog_time_us(log, from->time_ns),
            .device = (int32_t)(uint32_t)from->device_word,
            .text = intern_str(trace, sl_log_get_string(log, (uint32_t)(from->text_word >> 32))),
            .severity = intern_cstr(trace, severity_name((uint32_t)(from->device_word >> 32))),
            .value = from->value,
            .threshold = from->threshold,
        };
        ok = alert.text != SL_STR_NONE && alert.severity != SL_STR_NONE &&
             sl_vec_push(&trace->alerts, alert);
    }
    sl_vec_free(&alerts);
    if (ok && trace->alerts.cnt > 1)
        qsort(trace->alerts.at, trace->alerts.cnt, sizeof trace->alerts.at[0],
              sl_alert_compare_time);
    return ok ? SL_OK : sl_fail_no_memory(err, "the counters of a recording");
}

/* ---- libraries ---- */

/* Changes closer together than this share a reading. */
#define READING_US 1000

/* Index into series, made on first use; UINT32_MAX when memory ran out. */
static uint32_t library_of(sl_slog_libraries *l, sl_log_reader *log, sl_trace *trace, int device,
                           uint16_t label) {
    uint32_t name = library_name(trace, sl_log_get_label(log, label));
    for (size_t i = 0; i < l->series.cnt; i++)
        if (l->series.at[i].device == device && l->series.at[i].name == name)
            return (uint32_t)i;
    sl_counter_series series = {
        .device = device, .name = name, .unit = intern_cstr(trace, "bytes")};
    if (name == SL_STR_NONE || series.unit == SL_STR_NONE || !sl_vec_push(&l->series, series))
        return UINT32_MAX;
    return (uint32_t)l->series.cnt - 1;
}

/* Until the end is known values count from 0 at the first event; they may be negative. */
static bool change(sl_counter_series *series, int64_t at_us, int64_t bytes) {
    size_t cnt = series->readings.cnt;
    uint64_t value = (cnt ? series->readings.at[cnt - 1].last : 0) + (uint64_t)bytes;
    if (cnt == 0 || at_us - series->readings.at[cnt - 1].from_us >= READING_US)
        return sl_vec_push(&series->readings, ((sl_reading){at_us, at_us, value, value, value}));
    sl_reading *last = &series->readings.at[cnt - 1];
    last->to_us = sl_max_i64(at_us, last->to_us);
    last->last = value;
    last->min = (int64_t)value < (int64_t)last->min ? value : last->min;
    last->max = (int64_t)value > (int64_t)last->max ? value : last->max;
    return true;
}

/* Whoever took a block has it until it is returned, whoever returns it. */
static bool take(sl_slog_libraries *l, sl_log_reader *log, sl_trace *trace,
                 const sl_log_record *record, int64_t at_us) {
    uint64_t key = record->addr ^ (uint64_t)(uint8_t)record->device << 56;
    bool is_alloc = record->kind == SL_EV_DRIVER_ALLOC;
    uint32_t owner = is_alloc ? SL_ADDR_NONE : sl_addr_map_remove(&l->owners, key);
    if (owner == SL_ADDR_NONE)
        owner = library_of(l, log, trace, record->device, record->label);
    if (owner == UINT32_MAX || (is_alloc && !sl_addr_map_put(&l->owners, key, owner)))
        return false;
    return change(&l->series.at[owner], at_us,
                  is_alloc ? (int64_t)record->size : -(int64_t)record->size);
}

bool sl_slog_libraries_add(sl_slog_libraries *l, sl_log_reader *log, sl_trace *trace,
                           const sl_log_record *record) {
    int64_t at_us = sl_slog_time_us(log, record->time_ns);
    if (!l->has_first)
        l->first_us = at_us;
    l->has_first = true;
    if (sl_event_row_of(record->kind)->domain != SL_DOMAIN_DRIVER ||
        (record->flags & SL_RECORD_UNTRACKED))
        return true;
    return take(l, log, trace, record, at_us);
}

/* Puts the values on their base and a reading of it in front. */
static bool rebase(sl_counter_series *series, int64_t from_us, int64_t base) {
    if (!sl_vec_reserve(&series->readings, 1))
        return false;
    uint64_t add = (uint64_t)base;
    for (size_t i = 0; i < series->readings.cnt; i++) {
        sl_reading *r = &series->readings.at[i];
        r->min += add, r->max += add, r->last += add;
    }
    memmove(series->readings.at + 1, series->readings.at,
            series->readings.cnt * sizeof *series->readings.at);
    series->readings.at[0] = (sl_reading){from_us, from_us, add, add, add};
    series->readings.cnt++;
    return true;
}

static int64_t lowest(const sl_counter_series *series) {
    int64_t low = 0;
    for (size_t i = 0; i < series->readings.cnt; i++)
        low = (int64_t)series->readings.at[i].min < low ? (int64_t)series->readings.at[i].min : low;
    return low;
}

/* Frees whose library is unknown may be counted against the wrong one: never below zero. */
static int64_t base_of(const sl_counter_series *series, uint64_t end, uint64_t lost) {
    uint64_t net = series->readings.cnt ? series->readings.at[series->readings.cnt - 1].last : 0;
    int64_t base = lost > 0 ? (int64_t)(end - net) : 0;
    return base + lowest(series) < 0 ? -lowest(series) : base;
}

/* The curve of a library, which reaches back further than the ring; NULL = the log has none. */
static sl_counter_series *curve_of(sl_trace *trace, const sl_counter_series *series) {
    for (size_t i = 0; i < trace->counters.cnt; i++)
        if (trace->counters.at[i].name == series->name &&
            trace->counters.at[i].device == series->device)
            return &trace->counters.at[i];
    return NULL;
}

/* The events are exact and go after what the curve knows from before them; before its first
 * reading the library had nothing. */
static bool join(sl_counter_series *curve, sl_counter_series *series, int64_t start_us) {
    size_t kept = 0, cnt = series->readings.cnt;
    sl_reading nothing = {.from_us = start_us, .to_us = start_us};
    while (kept < curve->readings.cnt &&
           curve->readings.at[kept].to_us < series->readings.at[0].from_us)
        kept++;
    curve->readings.cnt = kept;
    if (!sl_vec_reserve(&curve->readings, cnt + 1))
        return false;
    if (kept > 0) {
        memmove(curve->readings.at + 1, curve->readings.at, kept++ * sizeof nothing);
        curve->readings.at[0] = nothing;
    }
    memcpy(curve->readings.at + kept, series->readings.at, cnt * sizeof nothing);
    curve->readings.cnt = kept + cnt;
    sl_vec_free(&series->readings);
    return true;
}

/* Bytes at the end by library, from the totals of the sites; false when memory ran out. */
static bool sum_sites(sl_slog_libraries *l, sl_log_reader *log, sl_trace *trace,
                      const sl_log_tables *tables) {
    for (size_t i = 0; i < tables->sites.cnt; i++) {
        const sl_log_site *site = &tables->sites.at[i];
        if (site->domain != SL_DOMAIN_DRIVER)
            continue;
        uint32_t library = library_of(l, log, trace, site->device, site->label);
        while (library < l->series.cnt && l->end_bytes.cnt < l->series.cnt)
            if (!sl_vec_push(&l->end_bytes, 0))
                return false;
        if (library == UINT32_MAX)
            return false;
        l->end_bytes.at[library] += site->live_bytes;
    }
    return true;
}

sl_status sl_slog_libraries_finish(sl_slog_libraries *l, sl_log_reader *log, sl_trace *trace,
                                   const sl_log_tables *tables, uint64_t lost, sl_error *err) {
    if (!sum_sites(l, log, trace, tables))
        return sl_fail_no_memory(err, "the counters of a recording");
    int64_t from_us = lost > 0 && l->has_first ? l->first_us : sl_slog_time_us(log, 0);
    for (size_t i = 0; i < l->series.cnt; i++) {
        sl_counter_series *series = &l->series.at[i];
        int64_t base = base_of(series, i < l->end_bytes.cnt ? l->end_bytes.at[i] : 0, lost);
        sl_counter_series *curve = curve_of(trace, series);
        if (!rebase(series, from_us, base) || !(curve ? join(curve, series, sl_slog_time_us(log, 0))
                                                      : sl_vec_push(&trace->counters, *series)))
            return sl_fail_no_memory(err, "the counters of a recording");
        *series = (sl_counter_series){0}; /* the trace owns its readings now */
    }
    return SL_OK;
}

void sl_slog_libraries_fini(sl_slog_libraries *l) {
    for (size_t i = 0; i < l->series.cnt; i++)
        sl_vec_free(&l->series.at[i].readings);
    sl_vec_free(&l->series);
    sl_vec_free(&l->end_bytes);
    sl_addr_map_fini(&l->owners);
}
