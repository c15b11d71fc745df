/* SPDX-License-Identifier: MIT */
/* Traces that export/formats/trace_json.c wrote: the evidence inside a bundle, also when another program has
 * loaded and written it again, with blanks and with its keys in another order. Rows name strings, frames
 * and stacks by their number in the file. Those numbers are kept as they are until everything is read,
 * then checked and replaced by ids of the trace, so that a damaged or foreign file is refused and never
 * believed. */
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "base/text/json_in.h"
#include "base/text/json_text.h"
#include "model/bounds.h"
#include "model/trace_schema.h"
#include "read/core/source.h"
#include "read/core/trace_numbers.h"

typedef struct trace_in {
    sl_json_in json;
    sl_trace *trace;
    sl_trace_numbers numbers;  /* strings, frames and stacks as the file numbers them */
    sl_device_trace device;    /* the one being read, until it is whole */
    int64_t device_number;     /* NO_DEVICE = not read yet */
    sl_counter_series *series; /* the one being read */
    uint64_t position;         /* of the newest row, for messages */
    bool has_schema;
    sl_error *err;
} trace_in;

#define NO_DEVICE INT64_MIN

typedef sl_status (*take_row)(trace_in *in, const uint64_t *row);
typedef sl_status (*take_value)(trace_in *in, const sl_json_token *token);

static sl_status fail_id(trace_in *in, const char *what, uint64_t found, size_t cnt) {
    return sl_fail_at(in->err, SL_E_FORMAT, in->position,
                      "%s %llu is named; expected a number below %zu", what,
                      (unsigned long long)found, cnt);
}

static sl_status fail_type(trace_in *in, const sl_json_token *token, const char *expected) {
    return sl_fail_at(in->err, SL_E_FORMAT, token->position, "expected %s, found %s", expected,
                      sl_json_type_name(token->type));
}

/* ---- rows ---- */

static sl_status read_row(trace_in *in, uint64_t *row, size_t width) {
    sl_json_token token;
    for (size_t i = 0; i < width; i++) {
        SL_TRY(sl_json_next(&in->json, &token, in->err));
        if (token.type != SL_JSON_INT)
            return sl_fail_at(in->err, SL_E_FORMAT, token.position,
                              "expected %zu integers in this row, found %s as number %zu", width,
                              sl_json_type_name(token.type), i + 1);
        row[i] = token.u;
    }
    SL_TRY(sl_json_next(&in->json, &token, in->err));
    return token.type == SL_JSON_END_ARRAY ? SL_OK : fail_type(in, &token, "the end of a row");
}

static sl_status begin_array(trace_in *in, const sl_json_token *token) {
    return token->type == SL_JSON_BEGIN_ARRAY ? SL_OK : fail_type(in, token, "an array");
}

/* 1: the next element of an array, which must be of this type; 0: its end. */
static int next_element(trace_in *in, sl_json_type type, const char *what, sl_json_token *token) {
    SL_TRY(sl_json_next(&in->json, token, in->err));
    if (token->type == SL_JSON_END_ARRAY)
        return 0;
    if (token->type != type)
        return fail_type(in, token, what);
    in->position = token->position;
    return 1;
}

/* Calls take for each element, which it reads to its end. */
static sl_status each_element(trace_in *in, const sl_json_token *first, sl_json_type type,
                              const char *what, take_value take) {
    sl_json_token token;
    int more;
    SL_TRY(begin_array(in, first));
    while ((more = next_element(in, type, what, &token)) > 0)
        SL_TRY(take(in, &token));
    return (sl_status)more;
}

static sl_status read_table(trace_in *in, const sl_json_token *first, size_t width, take_row take) {
    sl_json_token token;
    uint64_t row[SL_TRACE_ROW_MAX];
    int more;
    SL_TRY(begin_array(in, first));
    while ((more = next_element(in, SL_JSON_BEGIN_ARRAY, "a row", &token)) > 0) {
        SL_TRY(read_row(in, row, width));
        SL_TRY(take(in, row));
    }
    return (sl_status)more;
}

/* A number of a string, frame or stack, kept in the place of its id until the end. */
static sl_status keep_number(trace_in *in, const char *what, uint64_t number, uint32_t *to) {
    if (number >= UINT32_MAX)
        return fail_id(in, what, number, UINT32_MAX);
    *to = (uint32_t)number;
    return SL_OK;
}

static sl_status take_frame(trace_in *in, const uint64_t *row) {
    sl_frame frame = {.line = (uint32_t)row[2]};
    SL_TRY(keep_number(in, "string", row[0], &frame.function));
    SL_TRY(keep_number(in, "string", row[1], &frame.file));
    return sl_vec_push(&in->numbers.raw_frames, frame) ? SL_OK
                                                       : sl_fail_no_memory(in->err, "a trace");
}

static sl_status take_stream(trace_in *in, const uint64_t *row) {
    return sl_vec_push(&in->trace->streams, row[0]) ? SL_OK : sl_fail_no_memory(in->err, "a trace");
}

static sl_status take_pool(trace_in *in, const uint64_t *row) {
    sl_pool pool = {(int64_t)row[0], (int64_t)row[1]};
    return sl_vec_push(&in->trace->pools, pool) ? SL_OK : sl_fail_no_memory(in->err, "a trace");
}

static sl_status take_mark(trace_in *in, const uint64_t *row) {
    sl_mark mark = {.time_us = (int64_t)row[0],
                    .kind = (sl_mark_kind)row[1],
                    .device = (int32_t)row[3],
                    .number = row[4]};
    if (row[1] > SL_MARK_STEP)
        return fail_id(in, "kind of mark", row[1], SL_MARK_STEP + 1);
    SL_TRY(keep_number(in, "string", row[2], &mark.name));
    return sl_vec_push(&in->trace->marks, mark) ? SL_OK : sl_fail_no_memory(in->err, "a trace");
}

static sl_status take_alert(trace_in *in, const uint64_t *row) {
    sl_alert alert = {
        .time_us = (int64_t)row[0], .device = (int)row[1], .value = row[4], .threshold = row[5]};
    SL_TRY(keep_number(in, "string", row[2], &alert.text));
    SL_TRY(keep_number(in, "string", row[3], &alert.severity));
    return sl_vec_push(&in->trace->alerts, alert) ? SL_OK : sl_fail_no_memory(in->err, "a trace");
}

static sl_status take_reading(trace_in *in, const uint64_t *row) {
    sl_reading reading = {(int64_t)row[0], (int64_t)row[1], row[2], row[3], row[4]};
    return sl_vec_push(&in->series->readings, reading) ? SL_OK
                                                       : sl_fail_no_memory(in->err, "a trace");
}

/* A newer version's kinds are counted and left out, as every reader does it. */
static sl_status take_event(trace_in *in, const uint64_t *row) {
    sl_event event = {.time_us = (int64_t)row[0],
                      .kind = (sl_event_kind)row[1],
                      .addr = row[2],
                      .size_bytes = row[3],
                      .stream_idx = (uint16_t)row[5],
                      .pool_idx = (uint16_t)row[6],
                      .tag = row[7] < SL_TAG_LIMIT ? (sl_tag)row[7] : SL_TAG_UNKNOWN};
    SL_TRY(keep_number(in, "stack", row[4], &event.stack_id));
    if (row[1] == SL_EV_UNKNOWN || row[1] >= SL_EV_LIMIT) {
        in->trace->unknown_actions++;
        return SL_OK;
    }
    return sl_events_push(&in->device.events, &event) ? SL_OK
                                                      : sl_fail_no_memory(in->err, "a trace");
}

static sl_status take_segment(trace_in *in, const uint64_t *row) {
    sl_segment segment = {.addr = row[0],
                          .total_bytes = row[1],
                          .allocated_bytes = row[2],
                          .active_bytes = row[3],
                          .requested_bytes = row[4],
                          .first_block = (uint32_t)row[6],
                          .block_cnt = (uint32_t)row[7],
                          .stream_idx = (uint16_t)row[8],
                          .pool_idx = (uint16_t)row[9],
                          .is_large = row[10] != 0,
                          .is_expandable = row[11] != 0};
    SL_TRY(keep_number(in, "stack", row[5], &segment.stack_id));
    return sl_vec_push(&in->device.segments, segment) ? SL_OK
                                                      : sl_fail_no_memory(in->err, "a trace");
}

static sl_status take_block(trace_in *in, const uint64_t *row) {
    sl_block block = {.addr = row[0],
                      .size_bytes = row[1],
                      .requested_bytes = row[2],
                      .segment_idx = (uint32_t)row[4],
                      .state = (uint8_t)row[5],
                      .tag = row[6] < SL_TAG_LIMIT ? (uint8_t)row[6] : SL_TAG_UNKNOWN};
    SL_TRY(keep_number(in, "stack", row[3], &block.stack_id));
    if (row[4] > SL_IDX_NONE)
        return fail_id(in, "segment", row[4], SL_IDX_NONE);
    if (row[5] > SL_BLOCK_PENDING_FREE)
        return fail_id(in, "state of a block", row[5], SL_BLOCK_PENDING_FREE + 1);
    return sl_vec_push(&in->device.blocks, block) ? SL_OK : sl_fail_no_memory(in->err, "a trace");
}

/* ---- lists without rows of a fixed width ---- */

static sl_status take_string(trace_in *in, const sl_json_token *token) {
    uint32_t id = sl_strtab_intern(&in->trace->strings, token->text.ptr, token->text.len);
    return id != SL_STR_NONE && sl_vec_push(&in->numbers.strings, id)
               ? SL_OK
               : sl_fail_no_memory(in->err, "a trace");
}

static sl_status take_strings(trace_in *in, const sl_json_token *first) {
    return each_element(in, first, SL_JSON_STRING, "a string", take_string);
}

static sl_status take_frame_number(trace_in *in, const sl_json_token *token) {
    uint32_t number = 0;
    SL_TRY(keep_number(in, "frame", token->u, &number));
    return sl_vec_push(&in->numbers.raw_stacks, number) ? SL_OK
                                                        : sl_fail_no_memory(in->err, "a trace");
}

static sl_status take_stack(trace_in *in, const sl_json_token *token) {
    SL_TRY(each_element(in, token, SL_JSON_INT, "the number of a frame", take_frame_number));
    return sl_vec_push(&in->numbers.raw_ends, in->numbers.raw_stacks.cnt)
               ? SL_OK
               : sl_fail_no_memory(in->err, "a trace");
}

static sl_status take_stacks(trace_in *in, const sl_json_token *first) {
    return each_element(in, first, SL_JSON_BEGIN_ARRAY, "a stack", take_stack);
}

static sl_status take_note(trace_in *in, const sl_json_token *token) {
    sl_trace_note(in->trace, "%.*s", (int)token->text.len, token->text.ptr);
    return SL_OK;
}

static sl_status take_notes(trace_in *in, const sl_json_token *first) {
    return each_element(in, first, SL_JSON_STRING, "a note", take_note);
}

/* ---- single values ---- */

static sl_status take_schema(trace_in *in, const sl_json_token *token) {
    if (token->type != SL_JSON_STRING)
        return fail_type(in, token, "the name of a schema");
    in->has_schema = sl_str_is(token->text, SL_TRACE_SCHEMA);
    if (in->has_schema)
        return SL_OK;
    return sl_fail_at(in->err, SL_E_VERSION, token->position,
                      "expected the schema '" SL_TRACE_SCHEMA "', found '%.*s'",
                      (int)(token->text.len < 40 ? token->text.len : 40), token->text.ptr);
}

static sl_status get_bool(trace_in *in, const sl_json_token *token, bool *to) {
    if (token->type != SL_JSON_BOOL)
        return fail_type(in, token, "true or false");
    *to = token->u != 0;
    return SL_OK;
}

static sl_status get_number(trace_in *in, const sl_json_token *token, uint64_t *to) {
    if (token->type != SL_JSON_INT)
        return fail_type(in, token, "an integer");
    *to = token->u;
    return SL_OK;
}

static sl_status get_maybe(trace_in *in, const sl_json_token *token, sl_maybe_u64 *to) {
    if (token->type == SL_JSON_NULL)
        return SL_OK;
    to->known = true;
    return get_number(in, token, &to->value);
}

static sl_status take_has_time(trace_in *in, const sl_json_token *token) {
    return get_bool(in, token, &in->trace->has_time);
}

static sl_status take_has_sizes(trace_in *in, const sl_json_token *token) {
    return get_bool(in, token, &in->trace->has_requested_sizes);
}

static sl_status take_has_stacks(trace_in *in, const sl_json_token *token) {
    return get_bool(in, token, &in->trace->has_event_stacks);
}

static sl_status take_has_tags(trace_in *in, const sl_json_token *token) {
    return get_bool(in, token, &in->trace->has_tags);
}

static sl_status take_message(trace_in *in, const sl_json_token *token) {
    if (token->type == SL_JSON_NULL)
        return SL_OK;
    if (token->type != SL_JSON_STRING)
        return fail_type(in, token, "a text or null");
    in->trace->oom_message = sl_arena_copy(&in->trace->arena, token->text.ptr, token->text.len);
    return in->trace->oom_message ? SL_OK : sl_fail_no_memory(in->err, "a trace");
}

/* ---- objects ---- */

/* A member is a table of rows (take_row with its width), or something else (take). */
typedef struct member {
    const char *key;
    size_t width;
    take_row row;
    take_value value;
} member;

static const member *find_member(const member *members, size_t cnt, sl_str key) {
    for (size_t i = 0; i < cnt; i++)
        if (sl_str_is(key, members[i].key))
            return &members[i];
    return NULL;
}

/* Keys of a newer version are passed over. */
static sl_status read_members(trace_in *in, const member *members, size_t cnt) {
    sl_json_token token;
    for (;;) {
        SL_TRY(sl_json_next(&in->json, &token, in->err));
        if (token.type == SL_JSON_END_OBJECT)
            return SL_OK;
        const member *found = find_member(members, cnt, token.text);
        SL_TRY(sl_json_next(&in->json, &token, in->err));
        if (!found)
            SL_TRY(sl_json_skip(&in->json, &token, in->err));
        else
            SL_TRY(found->row ? read_table(in, &token, found->width, found->row)
                              : found->value(in, &token));
    }
}

static sl_status take_conf(trace_in *in, const sl_json_token *token) {
    uint64_t number = 0;
    SL_TRY(get_number(in, token, &number));
    return keep_number(in, "string", number, &in->trace->settings.conf);
}

static sl_status take_max_split(trace_in *in, const sl_json_token *token) {
    return get_maybe(in, token, &in->trace->settings.max_split_bytes);
}

static sl_status take_gc_threshold(trace_in *in, const sl_json_token *token) {
    if (token->type == SL_JSON_FLOAT || token->type == SL_JSON_INT)
        in->trace->settings.gc_threshold =
            (sl_maybe_f64){token->type == SL_JSON_INT ? (double)token->u : token->f, true};
    return SL_OK;
}

static sl_status take_expandable(trace_in *in, const sl_json_token *token) {
    sl_maybe_u64 value = {0};
    SL_TRY(get_maybe(in, token, &value));
    in->trace->settings.expandable_known = value.known;
    in->trace->settings.is_expandable = value.value != 0;
    return SL_OK;
}

static sl_status take_settings(trace_in *in, const sl_json_token *token) {
    static const member members[] = {{"conf", 0, NULL, take_conf},
                                     {"max_split_bytes", 0, NULL, take_max_split},
                                     {"gc_threshold", 0, NULL, take_gc_threshold},
                                     {"is_expandable", 0, NULL, take_expandable}};
    if (token->type != SL_JSON_BEGIN_OBJECT)
        return fail_type(in, token, "an object");
    return read_members(in, members, SL_COUNT_OF(members));
}

static sl_status take_series_device(trace_in *in, const sl_json_token *token) {
    uint64_t device = 0;
    SL_TRY(get_number(in, token, &device));
    in->series->device = (int)device;
    return SL_OK;
}

static sl_status take_series_name(trace_in *in, const sl_json_token *token) {
    uint64_t number = 0;
    SL_TRY(get_number(in, token, &number));
    return keep_number(in, "string", number, &in->series->name);
}

static sl_status take_series_unit(trace_in *in, const sl_json_token *token) {
    uint64_t number = 0;
    SL_TRY(get_number(in, token, &number));
    return keep_number(in, "string", number, &in->series->unit);
}

static sl_status take_counter(trace_in *in, const sl_json_token *token) {
    static const member members[] = {{"device", 0, NULL, take_series_device},
                                     {"name", 0, NULL, take_series_name},
                                     {"unit", 0, NULL, take_series_unit},
                                     {"readings", SL_TRACE_READING_WIDTH, take_reading, NULL}};
    SL_UNUSED(token);
    if (!sl_vec_push(&in->trace->counters, ((sl_counter_series){.device = SL_DEVICE_HOST})))
        return sl_fail_no_memory(in->err, "a trace");
    in->series = &in->trace->counters.at[in->trace->counters.cnt - 1];
    return read_members(in, members, SL_COUNT_OF(members));
}

static sl_status take_device_number(trace_in *in, const sl_json_token *token) {
    uint64_t number = 0;
    SL_TRY(get_number(in, token, &number));
    if ((int64_t)number < SL_DEVICE_HOST || (int64_t)number >= SL_DEVICE_LIMIT)
        return sl_fail_at(in->err, SL_E_FORMAT, token->position, "device %lld; expected %d to %d",
                          (long long)number, SL_DEVICE_HOST, SL_DEVICE_LIMIT - 1);
    if (in->device_number != NO_DEVICE || sl_trace_find_device(in->trace, (int)number))
        return sl_fail_at(in->err, SL_E_FORMAT, token->position, "device %d occurs twice",
                          (int)number);
    in->device_number = (int64_t)number;
    return SL_OK;
}

static sl_status take_capacity(trace_in *in, const sl_json_token *token) {
    return get_maybe(in, token, &in->device.capacity_bytes);
}

static sl_status take_has_end_state(trace_in *in, const sl_json_token *token) {
    return get_bool(in, token, &in->device.has_end_state);
}

static sl_status take_dropped(trace_in *in, const sl_json_token *token) {
    return get_number(in, token, &in->device.dropped_events);
}

/* What the replay relies on: order, and blocks and segments that refer to each other. */
static sl_status check_device(trace_in *in) {
    sl_device_trace *device = &in->device;
    for (size_t i = 0; i < device->segments.cnt; i++) {
        const sl_segment *s = &device->segments.at[i];
        if ((uint64_t)s->first_block + s->block_cnt > device->blocks.cnt)
            return fail_id(in, "block", (uint64_t)s->first_block + s->block_cnt,
                           device->blocks.cnt + 1);
        if (i && s->addr < device->segments.at[i - 1].addr)
            return sl_fail_at(in->err, SL_E_FORMAT, in->position, "segments are out of order");
    }
    for (size_t i = 0; i < device->blocks.cnt; i++) {
        const sl_block *b = &device->blocks.at[i];
        if (b->segment_idx != SL_IDX_NONE && b->segment_idx >= device->segments.cnt)
            return fail_id(in, "segment", b->segment_idx, device->segments.cnt);
        if (i && b->addr < device->blocks.at[i - 1].addr)
            return sl_fail_at(in->err, SL_E_FORMAT, in->position, "blocks are out of order");
    }
    return sl_events_sort(&device->events) >= 0 ? SL_OK : sl_fail_no_memory(in->err, "a trace");
}

/* The columns change hands. */
static sl_status add_device(trace_in *in) {
    sl_device_trace *device = sl_trace_device(in->trace, (int)in->device_number);
    if (!device)
        return sl_fail_no_memory(in->err, "a trace");
    in->device.device = device->device;
    *device = in->device;
    in->device = (sl_device_trace){0};
    return SL_OK;
}

static sl_status take_device(trace_in *in, const sl_json_token *begin) {
    static const member members[] = {{"device", 0, NULL, take_device_number},
                                     {"capacity_bytes", 0, NULL, take_capacity},
                                     {"has_end_state", 0, NULL, take_has_end_state},
                                     {"dropped_events", 0, NULL, take_dropped},
                                     {"events", SL_TRACE_EVENTS_WIDTH, take_event, NULL},
                                     {"segments", SL_TRACE_SEGMENTS_WIDTH, take_segment, NULL},
                                     {"blocks", SL_TRACE_BLOCKS_WIDTH, take_block, NULL}};
    in->device_number = NO_DEVICE;
    SL_TRY(read_members(in, members, SL_COUNT_OF(members)));
    if (in->device_number == NO_DEVICE)
        return sl_fail_at(in->err, SL_E_FORMAT, begin->position,
                          "expected the key 'device' in each device, found none");
    SL_TRY(check_device(in));
    return add_device(in);
}

static sl_status take_counters(trace_in *in, const sl_json_token *first) {
    return each_element(in, first, SL_JSON_BEGIN_OBJECT, "an object", take_counter);
}

static sl_status take_devices(trace_in *in, const sl_json_token *first) {
    return each_element(in, first, SL_JSON_BEGIN_OBJECT, "an object", take_device);
}

/* ---- the source ---- */

static sl_status read_trace(trace_in *in) {
    static const member members[] = {{"schema", 0, NULL, take_schema},
                                     {"has_time", 0, NULL, take_has_time},
                                     {"has_requested_sizes", 0, NULL, take_has_sizes},
                                     {"has_event_stacks", 0, NULL, take_has_stacks},
                                     {"has_tags", 0, NULL, take_has_tags},
                                     {"oom_message", 0, NULL, take_message},
                                     {"notes", 0, NULL, take_notes},
                                     {"strings", 0, NULL, take_strings},
                                     {"frames", SL_TRACE_FRAMES_WIDTH, take_frame, NULL},
                                     {"stacks", 0, NULL, take_stacks},
                                     {"streams", SL_TRACE_STREAMS_WIDTH, take_stream, NULL},
                                     {"pools", SL_TRACE_POOLS_WIDTH, take_pool, NULL},
                                     {"settings", 0, NULL, take_settings},
                                     {"marks", SL_TRACE_MARKS_WIDTH, take_mark, NULL},
                                     {"alerts", SL_TRACE_ALERTS_WIDTH, take_alert, NULL},
                                     {"counters", 0, NULL, take_counters},
                                     {"devices", 0, NULL, take_devices}};
    sl_json_token token;
    in->trace->pools.cnt = 0; /* the default pool is in the file */
    SL_TRY(sl_json_next(&in->json, &token, in->err));
    if (token.type != SL_JSON_BEGIN_OBJECT)
        return fail_type(in, &token, "an object");
    SL_TRY(read_members(in, members, SL_COUNT_OF(members)));
    /* Both lists ascend in time, whatever wrote the file. */
    if (in->trace->marks.cnt > 1)
        qsort(in->trace->marks.at, in->trace->marks.cnt, sizeof *in->trace->marks.at,
              sl_mark_compare_time);
    if (in->trace->alerts.cnt > 1)
        qsort(in->trace->alerts.at, in->trace->alerts.cnt, sizeof *in->trace->alerts.at,
              sl_alert_compare_time);
    SL_TRY(sl_json_next(&in->json, &token, in->err)); /* nothing may follow */
    return in->has_schema ? sl_trace_numbers_resolve(&in->numbers, in->trace, in->err)
                          : sl_fail(in->err, SL_E_FORMAT,
                                    "the key 'schema' is missing; expected '" SL_TRACE_SCHEMA "'");
}

static sl_status load(const sl_source_input *input, sl_trace *trace, sl_error *err) {
    trace_in in = {.trace = trace, .err = err};
    sl_json_in_init(&in.json, input->in);
    sl_status status = read_trace(&in);
    sl_json_in_fini(&in.json);
    sl_trace_numbers_fini(&in.numbers);
    sl_events_fini(&in.device.events);
    sl_vec_free(&in.device.segments);
    sl_vec_free(&in.device.blocks);
    return status;
}

/* The text after what is skipped, or NULL when it is not there. */
static const char *skip_word(const char *at, const char *end, const char *word) {
    while (at && at < end && strchr(" \t\r\n", *at) && *at)
        at++;
    size_t len = strlen(word);
    return at && (size_t)(end - at) >= len && memcmp(at, word, len) == 0 ? at + len : NULL;
}

/* True where a "schema" key of ours is anywhere in these bytes. */
static bool has_schema_key(const char *at, const char *end) {
    static const char key[] = "\"schema\"";
    while ((at = memmem(at, (size_t)(end - at), key, strlen(key))) != NULL) {
        at += strlen(key);
        if (skip_word(skip_word(at, end, ":"), end, "\"stormlog.trace/"))
            return true;
    }
    return false;
}

/* Our writer puts the schema first. Another program may have sorted the keys; then the schema may be
 * beyond the bytes seen here, and the first key must do. */
static int probe(const unsigned char *head, size_t len, const char *path) {
    static const char *const first_keys[] = {
        "alerts",   "counters", "devices", "frames", "has_event_stacks", "has_requested_sizes",
        "has_tags", "has_time", "pools",   "stacks", "streams",          "strings"};
    const char *text = (const char *)head, *end = text + len;
    SL_UNUSED(path);
    const char *at = skip_word(text, end, "{");
    if (!at)
        return 0;
    if (has_schema_key(at, end))
        return 100;
    at = skip_word(at, end, "\"");
    for (size_t i = 0; at && i < SL_COUNT_OF(first_keys); i++)
        if (skip_word(skip_word(at, end, first_keys[i]), end, "\""))
            return 70;
    return 0;
}

const sl_source_ops sl_source_trace = {
    .name = "trace-json",
    .kind = SL_SOURCE_OOM_BUNDLE,
    .probe = probe,
    .load = load,
};
