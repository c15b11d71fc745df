/* SPDX-License-Identifier: MIT */
#include "export/formats/telemetry_record.h"

#include "base/core/order.h"
#include "model/bounds.h"
#include "model/counter_series.h"
#include "run/blocks/replay.h"

/* Number of samples by default: enough for a plot, few enough for a reader's memory. */
#define DEFAULT_SAMPLES 2000

typedef struct telemetry_walk {
    const sl_process *process;
    const sl_replay *replay;
    const sl_counter_series *used; /* on the card; NULL = was not read */
    const sl_export_options *options;
    const sl_telemetry_sink *sink;
    int64_t every_us, next_us;
    uint64_t last_allocated, max_allocated;
    bool has_last;
} telemetry_walk;

/* The card's figures, if they were read; at least those of the allocator. Total and used bytes
 * must fit each other: readers of the schema refuse used > total. */
static void set_device_bytes(sl_telemetry_record *record, const sl_counter_series *used,
                             sl_maybe_u64 capacity) {
    uint64_t known = sl_max_u64(record->allocated_bytes, record->reserved_bytes);
    sl_maybe_u64 read = sl_series_at(used, record->time_us);
    record->used_bytes = sl_max_u64(read.value, known);
    record->total_bytes = capacity;
    if (capacity.known && record->used_bytes > capacity.value)
        record->total_bytes.known = false;
    if (read.known && record->total_bytes.known)
        record->free_bytes = sl_known_u64(capacity.value - record->used_bytes);
}

static void put_record(telemetry_walk *walk, int64_t time_us, const sl_replay_totals *totals,
                       const char *event_type) {
    const sl_replay *replay = walk->replay;
    if (!sl_export_wants_time(walk->options, time_us))
        return;
    sl_telemetry_record record = {
        .process = walk->process,
        .time_us = time_us,
        .event_type = event_type,
        .interval_ms = (uint64_t)((walk->every_us + 500) / 1000),
        .device = replay->device->device,
        .allocated_bytes = totals->allocated_bytes,
        .reserved_is_known = replay->reserved_known,
        .reserved_bytes = replay->reserved_known ? totals->reserved_bytes : totals->allocated_bytes,
        .active_bytes = sl_known_u64(totals->active_bytes),
        .requested_bytes = totals->requested_bytes,
        .max_allocated_bytes = sl_max_u64(walk->max_allocated, totals->allocated_bytes),
    };
    if (replay->reserved_known && totals->reserved_bytes >= totals->active_bytes)
        record.inactive_bytes = sl_known_u64(totals->reserved_bytes - totals->active_bytes);
    if (walk->has_last)
        record.change_bytes = (int64_t)(totals->allocated_bytes - walk->last_allocated);
    set_device_bytes(&record, walk->used, replay->device->capacity_bytes);
    walk->sink->put(walk->sink->self, &record);
    walk->last_allocated = totals->allocated_bytes;
    walk->max_allocated = 0;
    walk->has_last = true;
}

/* The kind of record that an event gets at any spacing; NULL = none. */
static const char *forced_type(const sl_replay *replay, uint32_t event) {
    if (replay->device->events.kind[event] == SL_EV_OOM)
        return "error";
    return event == replay->peak_allocated.event ? "peak" : NULL;
}

static void walk_events(telemetry_walk *walk) {
    const sl_events *events = &walk->replay->device->events;
    sl_replay_walk replay_walk;
    sl_replay_walk_init(&replay_walk, walk->replay);
    put_record(walk, events->time_us[0], &replay_walk.totals, "start");
    walk->next_us = events->time_us[0] + walk->every_us;
    for (uint32_t event = 0; sl_replay_walk_next(&replay_walk); event++) {
        int64_t time_us = events->time_us[event];
        const char *forced = forced_type(walk->replay, event);
        walk->max_allocated = sl_max_u64(walk->max_allocated, replay_walk.totals.allocated_bytes);
        if (time_us < walk->next_us && !forced)
            continue;
        put_record(walk, time_us, &replay_walk.totals, forced ? forced : "sample");
        walk->next_us = time_us + walk->every_us;
    }
    put_record(walk, events->time_us[walk->replay->event_cnt - 1], &replay_walk.totals, "stop");
}

static sl_status walk_device(const sl_run_device *device, const sl_export_options *options,
                             const sl_telemetry_sink *sink, sl_error *err) {
    const sl_replay *replay;
    SL_TRY(sl_run_replay(device, &replay, err));
    telemetry_walk walk = {
        .process = &replay->trace->process,
        .replay = replay,
        .used = sl_series_find(replay->trace, replay->device->device, SL_SERIES_DEVICE_USED),
        .options = options,
        .sink = sink,
    };
    if (replay->event_cnt) {
        const int64_t *times = replay->device->events.time_us;
        int64_t span_us = times[replay->event_cnt - 1] - times[0];
        walk.every_us = options->every_us ? options->every_us : span_us / DEFAULT_SAMPLES;
        if (walk.every_us > SL_TIME_US_MAX) /* the option has no upper limit of its own */
            walk.every_us = SL_TIME_US_MAX;
        walk_events(&walk);
    }
    return SL_OK;
}

sl_status sl_telemetry_walk(const sl_run_input *input, const sl_export_options *options,
                            const sl_telemetry_sink *sink, sl_error *err) {
    if (!input->trace->has_time)
        return sl_fail(
            err, SL_E_FORMAT,
            "the input has no clock, which telemetry records need; export events-json instead");
    for (size_t i = 0; i < input->device_cnt; i++)
        if (sl_export_wants_device(options, input->devices[i].events->device))
            SL_TRY(walk_device(&input->devices[i], options, sink, err));
    return SL_OK;
}
