/* SPDX-License-Identifier: MIT */
/* Prints everything a reader put into a trace, as JSON, so that tests in Python can compare it with
 * their own walk of the same file. Usage: trace_dump FILE; an error goes to stderr as one line. */
#include <stdio.h>

#include "base/text/json_out.h"
#include "read/core/source.h"

static void dump_stacks(sl_json_out *json, const sl_trace *trace) {
    sl_json_key(json, "stacks");
    sl_json_begin_array(json);
    for (uint32_t id = 0; id < trace->stacks.spans.cnt; id++) {
        sl_json_begin_array(json);
        for (size_t i = 0; i < sl_stack_depth(&trace->stacks, id); i++) {
            sl_frame frame = sl_stack_frame(&trace->stacks, id, i);
            sl_json_begin_array(json);
            sl_json_str(json, sl_strtab_get(&trace->strings, frame.function));
            sl_json_str(json, sl_strtab_get(&trace->strings, frame.file));
            sl_json_u64(json, frame.line);
            sl_json_end_array(json);
        }
        sl_json_end_array(json);
    }
    sl_json_end_array(json);
}

static void dump_pool(sl_json_out *json, const sl_trace *trace, uint16_t pool_idx) {
    if (pool_idx == SL_POOL_UNKNOWN) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_array(json);
    sl_json_i64(json, trace->pools.at[pool_idx].capture_id);
    sl_json_i64(json, trace->pools.at[pool_idx].user_id);
    sl_json_end_array(json);
}

static void dump_events(sl_json_out *json, const sl_trace *trace, const sl_events *events) {
    sl_json_key(json, "events");
    sl_json_begin_array(json);
    for (size_t i = 0; i < events->cnt; i++) {
        sl_event event = sl_events_get(events, i);
        sl_json_begin_array(json);
        sl_json_cstr(json, sl_event_kind_name(event.kind));
        sl_json_u64(json, event.addr);
        sl_json_u64(json, event.size_bytes);
        sl_json_u64(json, trace->streams.at[event.stream_idx]);
        sl_json_i64(json, event.time_us);
        dump_pool(json, trace, event.pool_idx);
        sl_json_u64(json, event.stack_id);
        sl_json_end_array(json);
    }
    sl_json_end_array(json);
}

static void dump_blocks(sl_json_out *json, const sl_device_trace *device,
                        const sl_segment *segment) {
    static const char *const states[] = {"inactive", "active_allocated", "active_pending_free"};
    sl_json_begin_array(json);
    for (uint32_t i = 0; i < segment->block_cnt; i++) {
        const sl_block *block = &device->blocks.at[segment->first_block + i];
        sl_json_begin_array(json);
        sl_json_u64(json, block->addr);
        sl_json_u64(json, block->size_bytes);
        sl_json_u64(json, block->requested_bytes);
        sl_json_cstr(json, states[block->state]);
        sl_json_u64(json, block->stack_id);
        sl_json_bool(json, segment == &device->segments.at[block->segment_idx]);
        sl_json_end_array(json);
    }
    sl_json_end_array(json);
}

static void dump_segments(sl_json_out *json, const sl_trace *trace, const sl_device_trace *device) {
    sl_json_key(json, "segments");
    sl_json_begin_array(json);
    for (size_t i = 0; i < device->segments.cnt; i++) {
        const sl_segment *segment = &device->segments.at[i];
        sl_json_begin_array(json);
        sl_json_u64(json, segment->addr);
        sl_json_u64(json, segment->total_bytes);
        sl_json_u64(json, segment->allocated_bytes);
        sl_json_u64(json, segment->active_bytes);
        sl_json_u64(json, segment->requested_bytes);
        sl_json_u64(json, trace->streams.at[segment->stream_idx]);
        sl_json_bool(json, segment->is_large);
        sl_json_bool(json, segment->is_expandable);
        dump_pool(json, trace, segment->pool_idx);
        sl_json_u64(json, segment->stack_id);
        dump_blocks(json, device, segment);
        sl_json_end_array(json);
    }
    sl_json_end_array(json);
}

static void dump_devices(sl_json_out *json, const sl_trace *trace) {
    sl_json_key(json, "devices");
    sl_json_begin_array(json);
    for (size_t i = 0; i < trace->devices.cnt; i++) {
        const sl_device_trace *device = trace->devices.at[i];
        sl_json_begin_object(json);
        sl_json_key(json, "device");
        sl_json_i64(json, device->device);
        sl_json_key(json, "has_end_state");
        sl_json_bool(json, device->has_end_state);
        dump_events(json, trace, &device->events);
        dump_segments(json, trace, device);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void dump_marks(sl_json_out *json, const sl_trace *trace) {
    static const char *const kinds[] = {"begin", "end", "point", "step"};
    sl_json_key(json, "marks");
    sl_json_begin_array(json);
    for (size_t i = 0; i < trace->marks.cnt; i++) {
        const sl_mark *mark = &trace->marks.at[i];
        sl_json_begin_array(json);
        sl_json_cstr(json, kinds[mark->kind]);
        sl_json_str(json, sl_strtab_get(&trace->strings, mark->name));
        sl_json_i64(json, mark->device);
        sl_json_i64(json, mark->time_us);
        sl_json_end_array(json);
    }
    sl_json_end_array(json);
}

static void dump_notes(sl_json_out *json, const sl_trace *trace) {
    sl_json_key(json, "notes");
    sl_json_begin_array(json);
    for (size_t i = 0; i < trace->notes.cnt; i++)
        sl_json_cstr(json, trace->notes.at[i].text);
    sl_json_end_array(json);
}

static void dump_facts(sl_json_out *json, const sl_trace *trace) {
    const sl_allocator_settings *settings = &trace->settings;
    sl_json_key(json, "conf");
    sl_json_str(json, sl_strtab_get(&trace->strings, settings->conf));
    sl_json_key(json, "max_split_size");
    sl_json_maybe_u64(json, settings->max_split_bytes);
    sl_json_key(json, "gc_threshold");
    sl_json_maybe_f64(json, settings->gc_threshold);
    sl_json_key(json, "is_expandable");
    sl_json_bool(json, settings->is_expandable);
    sl_json_key(json, "has_time");
    sl_json_bool(json, trace->has_time);
    sl_json_key(json, "has_event_stacks");
    sl_json_bool(json, trace->has_event_stacks);
    sl_json_key(json, "unknown_keys");
    sl_json_u64(json, trace->unknown_keys);
    sl_json_key(json, "unknown_actions");
    sl_json_u64(json, trace->unknown_actions);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: trace_dump FILE\n");
        return 2;
    }
    sl_trace *trace;
    sl_error err = SL_ERROR_INIT;
    if (sl_trace_load(argv[1], NULL, &trace, &err) < 0) {
        fprintf(stderr, "%s: %s\n", sl_status_name(err.code), err.text);
        return sl_status_exit_code(err.code);
    }
    sl_json_out json;
    sl_json_init(&json, stdout, 0);
    sl_json_begin_object(&json);
    dump_facts(&json, trace);
    dump_notes(&json, trace);
    dump_marks(&json, trace);
    dump_stacks(&json, trace);
    dump_devices(&json, trace);
    sl_json_end_object(&json);
    sl_trace_free(trace);
    return sl_json_finish(&json, &err) < 0 ? 4 : 0;
}
