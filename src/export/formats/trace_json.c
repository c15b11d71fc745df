/* SPDX-License-Identifier: MIT */
#include "export/formats/trace_json.h"

#include <string.h>

#include "base/text/json_out.h"
#include "model/trace_schema.h"

/* New numbers of the strings, frames and stacks that are written; SL_IDX_NONE = not written. Number 0
 * is that of the empty string and of the empty stack, before and after. */
typedef struct renumbering {
    uint32_t *of; /* owned; by old number */
    size_t cnt;   /* old numbers */
    uint32_t next;
} renumbering;

typedef struct trace_out {
    sl_json_out json;
    const sl_trace *trace;
    renumbering strings, frames, stacks;
} trace_out;

static bool begin_numbers(renumbering *numbers, size_t cnt) {
    *numbers = (renumbering){.cnt = cnt};
    numbers->of = malloc((cnt ? cnt : 1) * sizeof *numbers->of);
    if (numbers->of)
        memset(numbers->of, 0xff, cnt * sizeof *numbers->of);
    return numbers->of != NULL;
}

static void use(renumbering *numbers, uint32_t old) {
    if (old < numbers->cnt)
        numbers->of[old] = 0;
}

/* Used ones are numbered in the old order, so that the same trace gives the same bytes. */
static void give_numbers(renumbering *numbers) {
    for (size_t i = 0; i < numbers->cnt; i++)
        if (numbers->of[i] != SL_IDX_NONE)
            numbers->of[i] = numbers->next++;
}

static uint32_t number_of(const renumbering *numbers, uint32_t old) {
    return old < numbers->cnt && numbers->of[old] != SL_IDX_NONE ? numbers->of[old] : 0;
}

/* ---- what is referred to ---- */

static void use_device(trace_out *out, const sl_device_trace *device) {
    for (size_t i = 0; i < device->events.cnt; i++)
        use(&out->stacks, device->events.stack_id[i]);
    for (size_t i = 0; i < device->segments.cnt; i++)
        use(&out->stacks, device->segments.at[i].stack_id);
    for (size_t i = 0; i < device->blocks.cnt; i++)
        use(&out->stacks, device->blocks.at[i].stack_id);
}

static void use_frames(trace_out *out) {
    const sl_stacks *stacks = &out->trace->stacks;
    for (size_t i = 0; i < stacks->spans.cnt; i++) {
        sl_stack_span span = stacks->spans.at[i];
        for (uint32_t k = 0; out->stacks.of[i] != SL_IDX_NONE && k < span.depth; k++)
            use(&out->frames, stacks->frame_ids.at[span.first + k]);
    }
    for (size_t i = 0; i < stacks->frames.cnt; i++)
        if (out->frames.of[i] != SL_IDX_NONE) {
            use(&out->strings, stacks->frames.at[i].function);
            use(&out->strings, stacks->frames.at[i].file);
        }
}

static void use_names(trace_out *out) {
    const sl_trace *trace = out->trace;
    use(&out->strings, trace->settings.conf);
    for (size_t i = 0; i < trace->marks.cnt; i++)
        use(&out->strings, trace->marks.at[i].name);
    for (size_t i = 0; i < trace->counters.cnt; i++) {
        use(&out->strings, trace->counters.at[i].name);
        use(&out->strings, trace->counters.at[i].unit);
    }
    for (size_t i = 0; i < trace->alerts.cnt; i++) {
        use(&out->strings, trace->alerts.at[i].text);
        use(&out->strings, trace->alerts.at[i].severity);
    }
}

static void find_used(trace_out *out) {
    use(&out->strings, 0);
    use(&out->stacks, SL_STACK_EMPTY);
    for (size_t i = 0; i < out->trace->devices.cnt; i++)
        use_device(out, out->trace->devices.at[i]);
    use_frames(out);
    use_names(out);
    give_numbers(&out->strings);
    give_numbers(&out->frames);
    give_numbers(&out->stacks);
}

/* ---- rows ---- */

static void begin_table(trace_out *out, const char *key) {
    putc('\n', out->json.to);
    sl_json_key(&out->json, key);
    sl_json_begin_array(&out->json);
}

static void begin_row(trace_out *out) {
    putc('\n', out->json.to);
    sl_json_begin_array(&out->json);
}

static void end_table(trace_out *out) {
    sl_json_end_array(&out->json);
}

/* Numbers that may be negative are in the row as their two's complement. */
static void put_row(trace_out *out, const uint64_t *values, size_t cnt, unsigned signed_mask) {
    begin_row(out);
    for (size_t i = 0; i < cnt; i++)
        if (signed_mask >> i & 1)
            sl_json_i64(&out->json, (int64_t)values[i]);
        else
            sl_json_u64(&out->json, values[i]);
    sl_json_end_array(&out->json);
}

static uint64_t name(const trace_out *out, uint32_t string) {
    return number_of(&out->strings, string);
}

static void put_strings(trace_out *out) {
    begin_table(out, "strings");
    for (size_t i = 0; i < out->strings.cnt; i++)
        if (out->strings.of[i] != SL_IDX_NONE) {
            putc('\n', out->json.to);
            sl_json_str(&out->json, sl_strtab_get(&out->trace->strings, (uint32_t)i));
        }
    end_table(out);
}

static void put_frames(trace_out *out) {
    begin_table(out, "frames");
    for (size_t i = 0; i < out->frames.cnt; i++) {
        if (out->frames.of[i] == SL_IDX_NONE)
            continue;
        sl_frame frame = out->trace->stacks.frames.at[i];
        uint64_t row[SL_TRACE_FRAMES_WIDTH] = {name(out, frame.function), name(out, frame.file),
                                               frame.line};
        put_row(out, row, SL_TRACE_FRAMES_WIDTH, 0);
    }
    end_table(out);
}

static void put_stacks(trace_out *out) {
    const sl_stacks *stacks = &out->trace->stacks;
    begin_table(out, "stacks");
    for (size_t i = 0; i < stacks->spans.cnt; i++) {
        if (out->stacks.of[i] == SL_IDX_NONE)
            continue;
        begin_row(out);
        for (uint32_t k = 0; k < stacks->spans.at[i].depth; k++)
            sl_json_u64(&out->json, number_of(&out->frames,
                                              stacks->frame_ids.at[stacks->spans.at[i].first + k]));
        sl_json_end_array(&out->json);
    }
    end_table(out);
}

static void put_marks(trace_out *out) {
    begin_table(out, "marks");
    for (size_t i = 0; i < out->trace->marks.cnt; i++) {
        const sl_mark *m = &out->trace->marks.at[i];
        uint64_t row[SL_TRACE_MARKS_WIDTH] = {(uint64_t)m->time_us, (uint64_t)m->kind,
                                              name(out, m->name), (uint64_t)(int64_t)m->device,
                                              m->number};
        put_row(out, row, SL_TRACE_MARKS_WIDTH, 1u << 0 | 1u << 3);
    }
    end_table(out);
}

static void put_alerts(trace_out *out) {
    begin_table(out, "alerts");
    for (size_t i = 0; i < out->trace->alerts.cnt; i++) {
        const sl_alert *a = &out->trace->alerts.at[i];
        uint64_t row[SL_TRACE_ALERTS_WIDTH] = {(uint64_t)a->time_us,
                                               (uint64_t)(int64_t)a->device,
                                               name(out, a->text),
                                               name(out, a->severity),
                                               a->value,
                                               a->threshold};
        put_row(out, row, SL_TRACE_ALERTS_WIDTH, 1u << 0 | 1u << 1);
    }
    end_table(out);
}

static void put_pools(trace_out *out) {
    begin_table(out, "streams");
    for (size_t i = 0; i < out->trace->streams.cnt; i++)
        put_row(out, &out->trace->streams.at[i], SL_TRACE_STREAMS_WIDTH, 0);
    end_table(out);
    begin_table(out, "pools");
    for (size_t i = 0; i < out->trace->pools.cnt; i++) {
        uint64_t row[SL_TRACE_POOLS_WIDTH] = {(uint64_t)out->trace->pools.at[i].capture_id,
                                              (uint64_t)out->trace->pools.at[i].user_id};
        put_row(out, row, SL_TRACE_POOLS_WIDTH, 3);
    }
    end_table(out);
}

static void put_readings(trace_out *out, const sl_counter_series *series) {
    begin_table(out, "readings");
    for (size_t i = 0; i < series->readings.cnt; i++) {
        const sl_reading *r = &series->readings.at[i];
        uint64_t row[SL_TRACE_READING_WIDTH] = {(uint64_t)r->from_us, (uint64_t)r->to_us, r->min,
                                                r->max, r->last};
        put_row(out, row, SL_TRACE_READING_WIDTH, 3);
    }
    end_table(out);
}

static void put_counters(trace_out *out) {
    begin_table(out, "counters");
    for (size_t i = 0; i < out->trace->counters.cnt; i++) {
        const sl_counter_series *series = &out->trace->counters.at[i];
        putc('\n', out->json.to);
        sl_json_begin_object(&out->json);
        sl_json_key_i64(&out->json, "device", series->device);
        sl_json_key_u64(&out->json, "name", name(out, series->name));
        sl_json_key_u64(&out->json, "unit", name(out, series->unit));
        put_readings(out, series);
        sl_json_end_object(&out->json);
    }
    end_table(out);
}

static void put_settings(trace_out *out) {
    const sl_allocator_settings *settings = &out->trace->settings;
    sl_json_key(&out->json, "settings");
    sl_json_begin_object(&out->json);
    sl_json_key_u64(&out->json, "conf", name(out, settings->conf));
    sl_json_key_maybe_u64(&out->json, "max_split_bytes", settings->max_split_bytes);
    sl_json_key_maybe_f64(&out->json, "gc_threshold", settings->gc_threshold);
    sl_json_key_maybe_u64(
        &out->json, "is_expandable",
        (sl_maybe_u64){settings->is_expandable ? 1 : 0, settings->expandable_known});
    sl_json_end_object(&out->json);
}

static void put_notes(trace_out *out) {
    begin_table(out, "notes");
    for (size_t i = 0; i < out->trace->notes.cnt; i++)
        sl_json_cstr(&out->json, out->trace->notes.at[i].text);
    end_table(out);
}

/* ---- devices ---- */

static void put_events(trace_out *out, const sl_events *events) {
    begin_table(out, "events");
    for (size_t i = 0; i < events->cnt && !ferror(out->json.to); i++) {
        uint64_t row[SL_TRACE_EVENTS_WIDTH] = {
            (uint64_t)events->time_us[i],
            events->kind[i],
            events->addr[i],
            events->size_bytes[i],
            number_of(&out->stacks, events->stack_id[i]),
            events->stream_idx[i],
            events->pool_idx[i],
            events->tag[i],
        };
        put_row(out, row, SL_TRACE_EVENTS_WIDTH, 1);
    }
    end_table(out);
}

static void put_segments(trace_out *out, const sl_device_trace *device) {
    begin_table(out, "segments");
    for (size_t i = 0; i < device->segments.cnt; i++) {
        const sl_segment *s = &device->segments.at[i];
        uint64_t row[SL_TRACE_SEGMENTS_WIDTH] = {
            s->addr,         s->total_bytes,     s->allocated_bytes,
            s->active_bytes, s->requested_bytes, number_of(&out->stacks, s->stack_id),
            s->first_block,  s->block_cnt,       s->stream_idx,
            s->pool_idx,     s->is_large,        s->is_expandable,
        };
        put_row(out, row, SL_TRACE_SEGMENTS_WIDTH, 0);
    }
    end_table(out);
}

static void put_blocks(trace_out *out, const sl_device_trace *device) {
    begin_table(out, "blocks");
    for (size_t i = 0; i < device->blocks.cnt; i++) {
        const sl_block *b = &device->blocks.at[i];
        uint64_t row[SL_TRACE_BLOCKS_WIDTH] = {b->addr,
                                               b->size_bytes,
                                               b->requested_bytes,
                                               number_of(&out->stacks, b->stack_id),
                                               b->segment_idx,
                                               b->state,
                                               b->tag};
        put_row(out, row, SL_TRACE_BLOCKS_WIDTH, 0);
    }
    end_table(out);
}

static void put_device(trace_out *out, const sl_device_trace *device) {
    putc('\n', out->json.to);
    sl_json_begin_object(&out->json);
    sl_json_key_i64(&out->json, "device", device->device);
    sl_json_key_maybe_u64(&out->json, "capacity_bytes", device->capacity_bytes);
    sl_json_key_bool(&out->json, "has_end_state", device->has_end_state);
    sl_json_key_u64(&out->json, "dropped_events", device->dropped_events);
    put_events(out, &device->events);
    put_segments(out, device);
    put_blocks(out, device);
    sl_json_end_object(&out->json);
}

static void put_trace(trace_out *out) {
    const sl_trace *trace = out->trace;
    sl_json_begin_object(&out->json);
    sl_json_key_cstr(&out->json, "schema", SL_TRACE_SCHEMA);
    sl_json_key_bool(&out->json, "has_time", trace->has_time);
    sl_json_key_bool(&out->json, "has_requested_sizes", trace->has_requested_sizes);
    sl_json_key_bool(&out->json, "has_event_stacks", trace->has_event_stacks);
    sl_json_key_bool(&out->json, "has_tags", trace->has_tags);
    sl_json_key_cstr(&out->json, "oom_message", trace->oom_message);
    put_notes(out);
    put_strings(out);
    put_frames(out);
    put_stacks(out);
    put_pools(out);
    put_settings(out);
    put_marks(out);
    put_alerts(out);
    put_counters(out);
    begin_table(out, "devices");
    for (size_t i = 0; i < trace->devices.cnt; i++)
        put_device(out, trace->devices.at[i]);
    end_table(out);
    sl_json_end_object(&out->json);
}

sl_status sl_trace_write_json(const sl_trace *trace, FILE *to, sl_error *err) {
    trace_out out = {.trace = trace};
    sl_json_init(&out.json, to, 0);
    bool has_room = begin_numbers(&out.strings, trace->strings.strings.cnt) &&
                    begin_numbers(&out.frames, trace->stacks.frames.cnt) &&
                    begin_numbers(&out.stacks, trace->stacks.spans.cnt);
    if (has_room) {
        find_used(&out);
        put_trace(&out);
    }
    free(out.strings.of);
    free(out.frames.of);
    free(out.stacks.of);
    return has_room ? sl_json_finish(&out.json, err)
                    : sl_fail_no_memory(err, "the names of a trace");
}
