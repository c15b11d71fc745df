/* SPDX-License-Identifier: MIT */
/* The end of the work in a recording: where a reader puts it between the events of each device. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log/write/log_writer.h"
#include "run/blocks/replay.h"
#include "run/blocks/trace_cut.h"
#include "slog_load.h"

#define MIB UINT64_C(1048576)

static char path[100];

static sl_log *create(uint64_t ring_bytes) {
    sl_log *log = NULL;
    sl_log_options o = {.struct_size = sizeof o,
                        .path = path,
                        .overwrite = true,
                        .chunk_bytes = 1024,
                        .ring_bytes = ring_bytes};
    assert_int_equal(sl_log_create(&o, &log, NULL), SL_OK);
    return log;
}

static void put(sl_log *log, sl_event_kind kind, int8_t device, uint64_t addr, uint64_t reserved) {
    sl_log_event event = {.kind = (uint8_t)kind,
                          .device = device,
                          .addr = addr,
                          .size = MIB,
                          .total_allocated = SL_LOG_UNKNOWN,
                          .total_reserved = reserved};
    sl_log_write(log, &event);
}

/* Requested bytes that live at the end of the work. */
static uint64_t live_at_end(const sl_trace *trace, int device) {
    const sl_device_trace *here = sl_trace_find_device(trace, device);
    sl_replay *replay;
    sl_life_ids ids = {0};
    uint64_t sum = 0;
    assert_int_equal(sl_replay_new(trace, here, &replay, NULL), SL_OK);
    assert_true(sl_replay_live_at(
        replay, here->end_cnt ? (uint32_t)here->end_cnt - 1 : SL_EVENT_BEFORE, &ids));
    for (size_t i = 0; i < ids.cnt; i++)
        sum += replay->lives.at[ids.at[i]].requested_bytes;
    sl_vec_free(&ids);
    sl_replay_free(replay);
    return sum;
}

static void each_device_has_its_position(void **state) {
    SL_UNUSED(state);
    sl_log *log = create(0);
    for (uint64_t i = 1; i <= 3; i++)
        put(log, SL_EV_ALLOC, 0, i * MIB, SL_LOG_UNKNOWN);
    put(log, SL_EV_ALLOC, 1, 9 * MIB, SL_LOG_UNKNOWN);
    sl_log_mark(log, SL_EV_WORK_END, 0);
    for (uint64_t i = 1; i <= 3; i++)
        put(log, SL_EV_FREE, 0, i * MIB, SL_LOG_UNKNOWN);
    put(log, SL_EV_ALLOC, 2, 11 * MIB, SL_LOG_UNKNOWN);
    sl_trace *trace = close_and_load(log, path);
    assert_true(trace->end.is_marked);
    assert_int_equal(trace->marks.cnt, 0); /* it is not a mark of the program's */
    assert_int_equal(sl_trace_find_device(trace, 0)->end_cnt, 3);
    assert_int_equal(sl_trace_find_device(trace, 1)->end_cnt, 1);
    assert_int_equal(sl_trace_find_device(trace, 2)->end_cnt, 0);
    assert_int_equal(live_at_end(trace, 0), 3 * MIB);
    assert_int_equal(live_at_end(trace, 2), 0);
    assert_true(trace->end.time_us >= sl_trace_find_device(trace, 0)->events.time_us[2]);
    assert_true(trace->end.time_us <= sl_trace_find_device(trace, 0)->events.time_us[3]);
    sl_trace_free(trace);
}

static void without_a_mark_the_end_is_unknown(void **state) {
    SL_UNUSED(state);
    sl_log *log = create(0);
    put(log, SL_EV_ALLOC, 0, MIB, SL_LOG_UNKNOWN);
    sl_trace *trace = close_and_load(log, path);
    assert_false(trace->end.is_marked);
    sl_trace_free(trace);
}

static void the_last_mark_is_used(void **state) {
    SL_UNUSED(state);
    sl_log *log = create(0);
    for (uint64_t i = 1; i <= 3; i++) {
        put(log, SL_EV_ALLOC, 0, i * MIB, SL_LOG_UNKNOWN);
        sl_log_mark(log, SL_EV_WORK_END, 0);
    }
    put(log, SL_EV_FREE, 0, MIB, SL_LOG_UNKNOWN);
    sl_trace *trace = close_and_load(log, path);
    assert_int_equal(sl_trace_find_device(trace, 0)->end_cnt, 3);
    sl_trace_free(trace);
}

/* The reserved total is made into events, which are sorted in. */
static void reserved_events_move_the_position(void **state) {
    SL_UNUSED(state);
    sl_log *log = create(0);
    for (uint64_t i = 1; i <= 4; i++)
        put(log, SL_EV_ALLOC, 0, i * MIB, 20 * MIB * i);
    sl_log_mark(log, SL_EV_WORK_END, 0);
    for (uint64_t i = 1; i <= 4; i++)
        put(log, SL_EV_FREE, 0, i * MIB, 80 * MIB);
    sl_trace *trace = close_and_load(log, path);
    const sl_device_trace *device = sl_trace_find_device(trace, 0);
    size_t reserved_cnt = 0;
    for (size_t i = 0; i < device->events.cnt; i++)
        reserved_cnt += device->events.kind[i] == SL_EV_RESERVED;
    assert_true(reserved_cnt > 0);
    assert_int_equal(live_at_end(trace, 0), 4 * MIB);
    assert_int_equal(device->events.kind[device->end_cnt], SL_EV_FREE);
    sl_trace_free(trace);
}

/* The list of marks is kept when the ring wraps. */
static void the_mark_is_found_when_the_ring_has_wrapped(void **state) {
    SL_UNUSED(state);
    sl_log *log = create(4096);
    put(log, SL_EV_ALLOC, 0, MIB, SL_LOG_UNKNOWN);
    sl_log_mark(log, SL_EV_WORK_END, 0);
    usleep(10); /* the trace counts microseconds */
    for (uint64_t i = 2; i <= 1000; i++)
        put(log, SL_EV_ALLOC, 0, i * MIB, SL_LOG_UNKNOWN);
    sl_trace *trace = close_and_load(log, path);
    const sl_device_trace *device = sl_trace_find_device(trace, 0);
    assert_true(device->dropped_events > 500);
    assert_true(trace->end.is_marked);
    assert_int_equal(device->end_cnt, 0);
    sl_trace_free(trace);
}

static void a_cut_trace_keeps_a_mark_before_the_cut_only(void **state) {
    SL_UNUSED(state);
    for (int cut = 1; cut <= 4; cut += 3) {
        sl_log *log = create(0);
        for (uint64_t i = 1; i <= 3; i++)
            put(log, SL_EV_ALLOC, 0, i * MIB, SL_LOG_UNKNOWN);
        usleep(10);
        sl_log_mark(log, SL_EV_WORK_END, 0);
        usleep(10);
        for (uint64_t i = 1; i <= 3; i++)
            put(log, SL_EV_FREE, 0, i * MIB, SL_LOG_UNKNOWN);
        sl_trace *trace = close_and_load(log, path);
        assert_int_equal(sl_trace_cut(trace, 0, (size_t)cut, 3, NULL), SL_OK);
        const sl_device_trace *device = sl_trace_find_device(trace, 0);
        assert_int_equal(trace->end.is_marked, cut == 4);
        assert_int_equal(device->events.cnt, cut == 4 ? 3 : 2);
        assert_int_equal(device->end_cnt, cut == 4 ? 1 : 2); /* of 5 the first two are gone */
        sl_trace_free(trace);
    }
}

int main(void) {
    snprintf(path, sizeof path, "/tmp/work_end_%d.slog", (int)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_has_its_position),
        cmocka_unit_test(without_a_mark_the_end_is_unknown),
        cmocka_unit_test(the_last_mark_is_used),
        cmocka_unit_test(reserved_events_move_the_position),
        cmocka_unit_test(the_mark_is_found_when_the_ring_has_wrapped),
        cmocka_unit_test(a_cut_trace_keeps_a_mark_before_the_cut_only),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
