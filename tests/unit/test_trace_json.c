/* SPDX-License-Identifier: MIT */
/* A trace that was written is read back without a loss, and a trace that was cut is the trace that
 * would have been read at that moment. */
#include "export/formats/trace_json.h"

#include <stdio.h>
#include <string.h>

#include "read/core/source.h"
#include "run/blocks/replay.h"
#include "run/blocks/trace_cut.h"
#include "sltest.h"

static uint32_t text(sl_trace *trace, const char *bytes) {
    return sl_strtab_intern(&trace->strings, bytes, strlen(bytes));
}

static uint32_t stack_at(sl_trace *trace, uint32_t line) {
    sl_frame frame = {text(trace, "train \"step\""), text(trace, "/home/\xc3\xbc/train.py"), line};
    uint32_t id = sl_stacks_intern_frame(&trace->stacks, frame);
    return sl_stacks_intern(&trace->stacks, &id, 1);
}

static void push(sl_trace *trace, int device, int64_t time_us, sl_event_kind kind, uint64_t addr,
                 uint64_t size, uint32_t line) {
    sl_event event = {.time_us = time_us,
                      .addr = addr,
                      .size_bytes = size,
                      .stack_id = line ? stack_at(trace, line) : SL_STACK_EMPTY,
                      .pool_idx = SL_POOL_UNKNOWN,
                      .kind = kind,
                      .tag = kind == SL_EV_ALLOC ? SL_TAG_ACTIVATION : SL_TAG_UNKNOWN};
    assert_true(sl_events_push(&sl_trace_device(trace, device)->events, &event));
}

/* Two devices, a failure in the middle of the first, and something of everything else. */
static sl_trace *make_trace(void) {
    sl_trace *trace = sl_trace_new("made.slog", SL_SOURCE_SLOG);
    trace->has_time = trace->has_event_stacks = trace->has_tags = true;
    text(trace, "a name that nothing refers to");
    push(trace, 0, 100, SL_EV_ALLOC, 0x1000, 512, 5);
    push(trace, 0, 110, SL_EV_ALLOC, 0x2000, 1024, 6);
    push(trace, 0, 120, SL_EV_FREE, 0x1000, 512, 0);
    push(trace, 0, 130, SL_EV_OOM, 0, 1u << 30, 7);
    push(trace, 0, 140, SL_EV_FREE, 0x2000, 1024, 0);
    push(trace, 0, 150, SL_EV_ALLOC, 0x3000, 2048, 8);
    push(trace, SL_DEVICE_HOST, -5, SL_EV_ALLOC, UINT64_MAX, 4, 9);
    push(trace, SL_DEVICE_HOST, 135, SL_EV_ALLOC, 0x9000, 64, 9);
    sl_trace_device(trace, 0)->capacity_bytes = sl_known_u64(80000);
    sl_vec_push(&trace->marks, ((sl_mark){115, text(trace, "step"), -1, 3, SL_MARK_STEP}));
    sl_vec_push(&trace->marks, ((sl_mark){145, text(trace, "step"), -1, 4, SL_MARK_STEP}));
    sl_vec_push(&trace->alerts,
                ((sl_alert){125, 0, text(trace, "full"), text(trace, "warning"), 9, 8}));
    sl_counter_series series = {
        .device = 0, .name = text(trace, "device_used"), .unit = text(trace, "bytes")};
    sl_vec_push(&series.readings, ((sl_reading){100, 120, 1, 3, 2}));
    sl_vec_push(&series.readings, ((sl_reading){140, 160, 4, 6, 5}));
    sl_vec_push(&trace->counters, series);
    trace->oom_message = "it is full";
    sl_trace_note(trace, "something was lost");
    return trace;
}

static char *write_text(const sl_trace *trace, size_t *len) {
    char *json = NULL;
    FILE *to = open_memstream(&json, len);
    assert_non_null(to);
    assert_int_equal(sl_trace_write_json(trace, to, NULL), SL_OK);
    assert_int_equal(fclose(to), 0);
    return json;
}

static void reads_back_what_it_wrote(void **state) {
    SL_UNUSED(state);
    sl_trace *trace = make_trace(), *back;
    size_t len, again_len;
    char *json = write_text(trace, &len);
    sl_error err = SL_ERROR_INIT;
    if (sl_trace_load_memory("t.json", json, len, &back, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(back->source, SL_SOURCE_OOM_BUNDLE);
    char *again = write_text(back, &again_len);
    assert_string_equal(json, again);
    assert_null(strstr(json, "a name that nothing refers to"));
    const sl_device_trace *device = sl_trace_find_device(back, 0);
    assert_int_equal(device->capacity_bytes.value, 80000);
    assert_int_equal(device->events.cnt, 6);
    assert_int_equal(device->events.tag[0], SL_TAG_ACTIVATION);
    assert_int_equal(sl_trace_find_device(back, SL_DEVICE_HOST)->events.time_us[0], -5);
    sl_frame frame = sl_stack_frame(&back->stacks, device->events.stack_id[1], 0);
    assert_int_equal(frame.line, 6);
    assert_string_equal(sl_strtab_get(&back->strings, frame.file).ptr, "/home/\xc3\xbc/train.py");
    assert_int_equal(back->counters.at[0].readings.cnt, 2);
    assert_int_equal(back->alerts.at[0].threshold, 8);
    assert_string_equal(back->oom_message, "it is full");
    free(again);
    free(json);
    sl_trace_free(back);
    sl_trace_free(trace);
}

static void refuses_invalid_traces(void **state) {
    SL_UNUSED(state);
    static const char *const bad[] = {
        "{\"schema\":\"stormlog.trace/2\"}",
        "{\"schema\":\"stormlog.trace/1\",\"frames\":[[0,0,1]]}",
        "{\"schema\":\"stormlog.trace/1\",\"strings\":[\"\"],\"frames\":[[0,0]]}",
        "{\"schema\":\"stormlog.trace/1\",\"strings\":[\"\"],\"stacks\":[[0]]}",
        "{\"schema\":\"stormlog.trace/"
        "1\",\"stacks\":[[]],\"devices\":[{\"device\":0,\"events\":[[1,1,1,1,1,0,0,0]]}]}",
        "{\"schema\":\"stormlog.trace/"
        "1\",\"stacks\":[[]],\"devices\":[{\"device\":0,\"blocks\":[[1,1,1,0,7,1,0]]}]}",
        "{\"schema\":\"stormlog.trace/"
        "1\",\"stacks\":[[]],\"devices\":[{\"device\":0,\"segments\":[[1,1,1,1,1,0,0,9,0,0,1,0]]}]"
        "}",
        "{\"schema\":\"stormlog.trace/1\",\"stacks\":[[]],\"devices\":[{\"events\":[]}]}",
        "{\"schema\":\"stormlog.trace/1\",\"devices\":[{\"device\":0},{\"device\":0}]}",
        "{\"schema\":\"stormlog.trace/1\",\"notes\":[1]}",
        "{\"schema\":\"stormlog.trace/1\",\"devices\":[",
    };
    for (size_t i = 0; i < SL_COUNT_OF(bad); i++) {
        sl_trace *trace;
        sl_error err = SL_ERROR_INIT;
        if (sl_trace_load_memory("t.json", bad[i], strlen(bad[i]), &trace, &err) == SL_OK)
            fail_msg("accepted: %s", bad[i]);
        assert_true(strstr(err.text, "t.json") != NULL);
    }
}

/* As json.dump(json.load(f), to) and json.dump(..., sort_keys=True, indent=1) write a trace again. */
static void reads_traces_rewritten_by_another_program(void **state) {
    SL_UNUSED(state);
    static const char *const texts[] = {
        "{\"schema\": \"stormlog.trace/1\", \"strings\": [\"\", \"f\", \"a.py\"], \"frames\": "
        "[[1, 2, 7]], \"stacks\": [[], [0]], \"devices\": [{\"device\": 0, \"events\": [[5, 1, "
        "4096, 512, 1, 0, 0, 0]]}]}",
        "\n{\n \"devices\": [\n  {\n   \"blocks\": [[4096, 512, 512, 1, 0, 1, 0]],\n   \"events\": "
        "[[5, 1, 4096, 512, 1, 0, 0, 0]],\n   \"segments\": [[4096, 512, 512, 512, 512, 0, 0, 1, "
        "0, 0, 0, 0]],\n \"device\": 0}],\n \"frames\": [[1, 2, 7]],\n \"marks\": [[9, 2, 1, 0, "
        "0], [3, 2, 1, 0, 0]],\n \"schema\" : \"stormlog.trace/1\",\n \"stacks\": [[], [0]],\n "
        "\"strings\": [\"\", \"f\", \"a.py\"]}",
    };
    for (size_t i = 0; i < SL_COUNT_OF(texts); i++) {
        sl_trace *trace;
        sl_error err = SL_ERROR_INIT;
        if (sl_trace_load_memory("t.json", texts[i], strlen(texts[i]), &trace, &err) < 0)
            fail_msg("text %zu: %s", i, err.text);
        const sl_device_trace *device = sl_trace_find_device(trace, 0);
        assert_non_null(device);
        assert_int_equal(device->events.cnt, 1);
        sl_frame frame = sl_stack_frame(&trace->stacks, device->events.stack_id[0], 0);
        assert_string_equal(sl_strtab_get(&trace->strings, frame.file).ptr, "a.py");
        assert_int_equal(frame.line, 7);
        if (trace->marks.cnt)
            assert_int_equal(trace->marks.at[0].time_us, 3);
        sl_trace_free(trace);
    }
}

static void a_schema_near_the_end_is_found(void **state) {
    SL_UNUSED(state);
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    fputs("{\"devices\": [], \"notes\": [\"", to);
    for (int i = 0; i < 2 * SL_PROBE_BYTES; i++)
        putc('x', to);
    fputs("\"], \"schema\": \"stormlog.trace/1\"}", to);
    fclose(to);
    sl_trace *trace;
    sl_error err = SL_ERROR_INIT;
    if (sl_trace_load_memory("t.json", text, len, &trace, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(trace->source, SL_SOURCE_OOM_BUNDLE);
    sl_trace_free(trace);
    free(text);
}

static void is_cut_at_the_failure(void **state) {
    SL_UNUSED(state);
    sl_trace *trace = make_trace();
    sl_replay *replay;
    assert_int_equal(sl_trace_cut(trace, 0, 3, 100, NULL), SL_OK);
    const sl_device_trace *device = sl_trace_find_device(trace, 0);
    const sl_device_trace *host = sl_trace_find_device(trace, SL_DEVICE_HOST);
    assert_int_equal(device->events.cnt, 4);
    assert_true(device->has_end_state);
    assert_int_equal(device->blocks.cnt, 1);
    assert_int_equal(device->blocks.at[0].addr, 0x2000);
    assert_int_equal(device->blocks.at[0].tag, SL_TAG_ACTIVATION);
    assert_int_equal(host->events.cnt, 1);
    assert_int_equal(trace->marks.cnt, 1);
    assert_int_equal(trace->counters.at[0].readings.cnt, 1);
    assert_int_equal(sl_replay_new(trace, device, &replay, NULL), SL_OK);
    assert_true(replay->identity_holds);
    assert_int_equal(replay->end.requested_bytes, 1024);
    sl_replay_free(replay);
    sl_trace_free(trace);
}

/* The end state includes the events that were dropped from the front. */
static void keeps_the_newest_events(void **state) {
    SL_UNUSED(state);
    sl_trace *trace = make_trace();
    sl_replay *replay;
    assert_int_equal(sl_trace_cut(trace, 0, 3, 2, NULL), SL_OK);
    const sl_device_trace *device = sl_trace_find_device(trace, 0);
    assert_int_equal(device->events.cnt, 2);
    assert_int_equal(device->events.time_us[0], 120);
    assert_int_equal(device->dropped_events, 2);
    assert_int_equal(sl_replay_new(trace, device, &replay, NULL), SL_OK);
    assert_int_equal(replay->start.requested_bytes, 512 + 1024);
    assert_int_equal(replay->end.requested_bytes, 1024);
    sl_replay_free(replay);
    assert_int_equal(sl_trace_cut(trace, 0, 2, 2, NULL), SL_E_INTERNAL);
    sl_trace_free(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_what_it_wrote),
        cmocka_unit_test(refuses_invalid_traces),
        cmocka_unit_test(reads_traces_rewritten_by_another_program),
        cmocka_unit_test(a_schema_near_the_end_is_found),
        cmocka_unit_test(is_cut_at_the_failure),
        cmocka_unit_test(keeps_the_newest_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
