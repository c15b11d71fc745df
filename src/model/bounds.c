/* SPDX-License-Identifier: MIT */
#include "model/bounds.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/trace.h"

/* Where a value is, for the message: "event 17 of device 0". */
typedef struct place {
    const char *what;
    size_t idx;
    int device; /* SL_DEVICE_HOST for lists that belong to no device */
} place;

static const char *print_place(char buf[64], const place *at) {
    if (at->device == SL_DEVICE_HOST)
        snprintf(buf, 64, "%s %zu", at->what, at->idx);
    else
        snprintf(buf, 64, "%s %zu of device %d", at->what, at->idx, at->device);
    return buf;
}

static sl_status fail_value(const place *at, const char *field, uint64_t value, uint64_t most,
                            sl_error *err) {
    char buf[64];
    return sl_fail(err, SL_E_LIMIT, "%s: expected %s of at most %" PRIu64 "%s, found %" PRIu64,
                   print_place(buf, at), field, most, most == SL_BYTES_MAX ? " bytes" : "", value);
}

static sl_status check_size(const place *at, const char *field, uint64_t value, sl_error *err) {
    return SL_LIKELY(value <= SL_BYTES_MAX) ? SL_OK
                                            : fail_value(at, field, value, SL_BYTES_MAX, err);
}

static sl_status check_number(const place *at, const char *field, uint64_t value, sl_error *err) {
    return SL_LIKELY(value <= SL_BYTES_SUM_MAX)
               ? SL_OK
               : fail_value(at, field, value, SL_BYTES_SUM_MAX, err);
}

static sl_status check_time(const place *at, int64_t time_us, sl_error *err) {
    char buf[64];
    if (SL_LIKELY(time_us >= -SL_TIME_US_MAX && time_us <= SL_TIME_US_MAX))
        return SL_OK;
    return sl_fail(err, SL_E_LIMIT,
                   "%s: expected a time between -%" PRId64 " and %" PRId64 " us, found %" PRId64,
                   print_place(buf, at), SL_TIME_US_MAX, SL_TIME_US_MAX, time_us);
}

/* (B2). Both are at most 2^62, so the sum cannot wrap. */
static sl_status add_size(const place *at, uint64_t *sum, uint64_t value, sl_error *err) {
    char buf[64];
    *sum += value;
    if (SL_LIKELY(*sum <= SL_BYTES_SUM_MAX))
        return SL_OK;
    return sl_fail(err, SL_E_LIMIT,
                   "%s: expected sizes that add up to at most %" PRIu64 " bytes, found %" PRIu64,
                   print_place(buf, at), SL_BYTES_SUM_MAX, *sum);
}

/* How much `size_bytes` may hold, by kind. A request that failed may be absurd: a wrong shape
 * requests exabytes, and such a run is worth reading. These sizes are never added up. */
typedef enum size_rule { RULE_ANY, RULE_NUMBER, RULE_SIZE } size_rule;

static size_rule rule_of(uint8_t kind) {
    switch (kind) {
    case SL_EV_OOM:
    case SL_EV_SNAPSHOT:
    case SL_EV_SAMPLE:
    case SL_EV_ALERT: return RULE_NUMBER;
    case SL_EV_STEP:
    case SL_EV_MARK_BEGIN:
    case SL_EV_MARK_END:
    case SL_EV_WORK_END: return RULE_ANY;
    default: return RULE_SIZE;
    }
}

static sl_status check_event(const sl_events *events, const place *at, uint64_t *sum,
                             sl_error *err) {
    size_t i = at->idx;
    uint64_t size = events->size_bytes[i];
    SL_TRY(check_time(at, events->time_us[i], err));
    switch (rule_of(events->kind[i])) {
    case RULE_ANY: return SL_OK;
    case RULE_NUMBER: return check_number(at, "a size", size, err);
    case RULE_SIZE: SL_TRY(check_size(at, "a size", size, err));
    }
    return events->kind[i] == SL_EV_RESERVED ? SL_OK : add_size(at, sum, size, err);
}

static sl_status check_events(const sl_device_trace *device, sl_error *err) {
    uint64_t sum = 0;
    place at = {"event", 0, device->device};
    for (; at.idx < device->events.cnt; at.idx++)
        SL_TRY(check_event(&device->events, &at, &sum, err));
    return SL_OK;
}

static sl_status check_segments(const sl_device_trace *device, sl_error *err) {
    uint64_t sum = 0;
    place at = {"segment", 0, device->device};
    for (; at.idx < device->segments.cnt; at.idx++) {
        const sl_segment *s = &device->segments.at[at.idx];
        SL_TRY(check_size(&at, "a total size", s->total_bytes, err));
        SL_TRY(check_size(&at, "an allocated size", s->allocated_bytes, err));
        SL_TRY(check_size(&at, "an active size", s->active_bytes, err));
        SL_TRY(check_size(&at, "a requested size", s->requested_bytes, err));
        SL_TRY(add_size(&at, &sum, s->total_bytes, err));
    }
    return SL_OK;
}

/* The requested size of an inactive block means nothing and is never used (sl_block). */
static sl_status check_blocks(const sl_device_trace *device, sl_error *err) {
    uint64_t sum = 0, requested_sum = 0;
    place at = {"block", 0, device->device};
    for (; at.idx < device->blocks.cnt; at.idx++) {
        const sl_block *b = &device->blocks.at[at.idx];
        SL_TRY(check_size(&at, "a size", b->size_bytes, err));
        SL_TRY(add_size(&at, &sum, b->size_bytes, err));
        if (b->state == SL_BLOCK_INACTIVE)
            continue;
        SL_TRY(check_size(&at, "a requested size", b->requested_bytes, err));
        SL_TRY(add_size(&at, &requested_sum, b->requested_bytes, err));
    }
    return SL_OK;
}

static sl_status check_device(const sl_device_trace *device, sl_error *err) {
    if (device->capacity_bytes.known && device->capacity_bytes.value > SL_BYTES_MAX)
        return sl_fail(err, SL_E_LIMIT,
                       "device %d: expected a capacity of at most %" PRIu64 ", found %" PRIu64,
                       device->device, SL_BYTES_MAX, device->capacity_bytes.value);
    SL_TRY(check_events(device, err));
    SL_TRY(check_segments(device, err));
    return check_blocks(device, err);
}

static sl_status check_series(const sl_counter_series *series, sl_error *err) {
    place at = {"reading", 0, series->device};
    for (; at.idx < series->readings.cnt; at.idx++) {
        const sl_reading *r = &series->readings.at[at.idx];
        SL_TRY(check_time(&at, r->from_us, err));
        SL_TRY(check_time(&at, r->to_us, err));
        SL_TRY(check_number(&at, "a lowest value", r->min, err));
        SL_TRY(check_number(&at, "a highest value", r->max, err));
        SL_TRY(check_number(&at, "a last value", r->last, err));
    }
    return SL_OK;
}

static sl_status check_lists(const sl_trace *trace, sl_error *err) {
    place at = {"mark", 0, SL_DEVICE_HOST};
    for (; at.idx < trace->marks.cnt; at.idx++)
        SL_TRY(check_time(&at, trace->marks.at[at.idx].time_us, err));
    at = (place){"alert", 0, SL_DEVICE_HOST};
    for (; at.idx < trace->alerts.cnt; at.idx++)
        SL_TRY(check_time(&at, trace->alerts.at[at.idx].time_us, err));
    return SL_OK;
}

sl_status sl_trace_check_bounds(const sl_trace *trace, sl_error *err) {
    for (size_t i = 0; i < trace->devices.cnt; i++)
        SL_TRY(check_device(trace->devices.at[i], err));
    for (size_t i = 0; i < trace->counters.cnt; i++)
        SL_TRY(check_series(&trace->counters.at[i], err));
    return check_lists(trace, err);
}
