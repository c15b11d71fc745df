/* SPDX-License-Identifier: MIT */
/* Every event as JSON, streamed. Frames and stacks come first as tables, so that an event names
 * its stack by number: {"schema", "frames": [[function, file, line]…], "stacks": [[frame]…],
 * "devices": [{"device", "events": [{time_us, kind, addr, size_bytes, …}]}]}. */
#include "base/text/json_out.h"
#include "export/formats/exporter.h"

static void write_frames(sl_json_out *json, const sl_trace *trace) {
    sl_json_key(json, "frames");
    sl_json_begin_array(json);
    for (size_t i = 0; i < trace->stacks.frames.cnt; i++) {
        sl_frame frame = trace->stacks.frames.at[i];
        sl_json_begin_array(json);
        sl_json_str(json, sl_strtab_get(&trace->strings, frame.function));
        sl_json_str(json, sl_strtab_get(&trace->strings, frame.file));
        sl_json_maybe_u64(json, (sl_maybe_u64){frame.line, frame.line != 0});
        sl_json_end_array(json);
    }
    sl_json_end_array(json);
}

static void write_stacks(sl_json_out *json, const sl_stacks *stacks) {
    sl_json_key(json, "stacks");
    sl_json_begin_array(json);
    for (size_t i = 0; i < stacks->spans.cnt; i++) {
        sl_stack_span span = stacks->spans.at[i];
        sl_json_begin_array(json);
        for (uint32_t j = 0; j < span.depth; j++)
            sl_json_u64(json, stacks->frame_ids.at[span.first + j]);
        sl_json_end_array(json);
    }
    sl_json_end_array(json);
}

static void write_pool(sl_json_out *json, const sl_trace *trace, uint16_t pool_idx) {
    if (pool_idx >= trace->pools.cnt)
        return;
    sl_json_key(json, "pool");
    sl_json_begin_array(json);
    sl_json_i64(json, trace->pools.at[pool_idx].capture_id);
    sl_json_i64(json, trace->pools.at[pool_idx].user_id);
    sl_json_end_array(json);
}

static void write_event(sl_json_out *json, const sl_trace *trace, const sl_event *event) {
    sl_json_begin_object(json);
    sl_json_key(json, "time_us");
    sl_json_i64(json, event->time_us);
    sl_json_key(json, "kind");
    sl_json_cstr(json, sl_event_kind_name(event->kind));
    sl_json_key(json, "addr");
    sl_json_u64(json, event->addr);
    sl_json_key(json, "size_bytes");
    sl_json_u64(json, event->size_bytes);
    if (event->stream_idx < trace->streams.cnt) {
        sl_json_key(json, "stream");
        sl_json_u64(json, trace->streams.at[event->stream_idx]);
    }
    write_pool(json, trace, event->pool_idx);
    if (event->stack_id != SL_STACK_EMPTY) {
        sl_json_key(json, "stack");
        sl_json_u64(json, event->stack_id);
    }
    sl_json_end_object(json);
}

static void write_device(sl_json_out *json, const sl_trace *trace, const sl_device_trace *device,
                         const sl_export_options *options) {
    sl_json_begin_object(json);
    sl_json_key(json, "device");
    sl_json_i64(json, device->device);
    sl_json_key(json, "events");
    sl_json_begin_array(json);
    for (size_t i = 0; i < device->events.cnt && !ferror(json->to); i++) {
        sl_event event = sl_events_get(&device->events, i);
        if (!sl_export_wants_time(options, event.time_us))
            continue;
        putc('\n', json->to);
        write_event(json, trace, &event);
    }
    sl_json_end_array(json);
    sl_json_end_object(json);
}

sl_status sl_export_events_json(const sl_run_input *input, const sl_export_options *options,
                                FILE *to, sl_error *err) {
    const sl_trace *trace = input->trace;
    sl_json_out json;
    sl_json_init(&json, to, 0);
    sl_json_begin_object(&json);
    sl_json_key(&json, "schema");
    sl_json_cstr(&json, "stormlog.events/1");
    sl_json_key(&json, "has_clock");
    sl_json_bool(&json, trace->has_time);
    write_frames(&json, trace);
    write_stacks(&json, &trace->stacks);
    sl_json_key(&json, "devices");
    sl_json_begin_array(&json);
    for (size_t i = 0; i < trace->devices.cnt; i++)
        if (sl_export_wants_device(options, trace->devices.at[i]->device))
            write_device(&json, trace, trace->devices.at[i], options);
    sl_json_end_array(&json);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}
