/* SPDX-License-Identifier: MIT */
#include "model/bounds.h"

#include <string.h>

#include "sltest.h"

#include "model/trace.h"
#include "read/core/source.h"
#include "telemetry/telemetry.h"

static sl_trace *make_trace(sl_event_kind kind, int64_t time_us, uint64_t size, size_t cnt) {
    sl_trace *trace = sl_trace_new("t", SL_SOURCE_TORCH_SNAPSHOT);
    sl_device_trace *device = sl_trace_device(trace, 0);
    sl_event event = {.time_us = time_us, .size_bytes = size, .kind = kind};
    for (size_t i = 0; i < cnt; i++)
        assert_true(sl_events_push(&device->events, &event));
    return trace;
}

static void check(sl_event_kind kind, int64_t time_us, uint64_t size, size_t cnt,
                  const char *expected) {
    sl_trace *trace = make_trace(kind, time_us, size, cnt);
    sl_error err = SL_ERROR_INIT;
    sl_status status = sl_trace_check_bounds(trace, &err);
    sl_trace_free(trace);
    if (!expected)
        assert_int_equal(status, SL_OK);
    else if (status != SL_E_LIMIT || !strstr(err.text, expected))
        fail_msg("expected '%s', found %d '%s'", expected, status, err.text);
}

static void events_have_bounds(void **state) {
    SL_UNUSED(state);
    check(SL_EV_ALLOC, 0, SL_BYTES_MAX, 4, NULL);
    check(SL_EV_ALLOC, SL_TIME_US_MAX, 1, 1, NULL);
    check(SL_EV_ALLOC, -SL_TIME_US_MAX, 1, 1, NULL);
    check(SL_EV_ALLOC, 0, SL_BYTES_MAX + 1, 1, "event 0 of device 0: expected a size of at most");
    check(SL_EV_ALLOC, 0, (uint64_t)1 << 62, 1, "found 4611686018427387904");
    check(SL_EV_ALLOC, SL_TIME_US_MAX + 1, 1, 1, "event 0 of device 0: expected a time");
    check(SL_EV_ALLOC, INT64_MIN, 1, 1, "found -9223372036854775808");
    check(SL_EV_ALLOC, 0, SL_BYTES_MAX, 4097, "event 4096 of device 0: expected sizes that add up");
}

/* A wrong shape may request exabytes; such a run must load. Nothing sums up these sizes. */
static void failed_requests_may_be_absurd(void **state) {
    SL_UNUSED(state);
    check(SL_EV_OOM, 0, SL_BYTES_SUM_MAX, 3, NULL);
    check(SL_EV_OOM, 0, UINT64_MAX, 1, "found 18446744073709551615");
}

static void the_end_state_has_bounds(void **state) {
    SL_UNUSED(state);
    sl_trace *trace = sl_trace_new("t", SL_SOURCE_TORCH_SNAPSHOT);
    sl_device_trace *device = sl_trace_device(trace, 3);
    sl_block block = {.size_bytes = 1, .requested_bytes = UINT64_MAX, .state = SL_BLOCK_INACTIVE};
    sl_error err = SL_ERROR_INIT;
    assert_true(sl_vec_push(&device->blocks, block));
    assert_int_equal(sl_trace_check_bounds(trace, &err), SL_OK);
    device->blocks.at[0].state = SL_BLOCK_ALLOCATED;
    assert_int_equal(sl_trace_check_bounds(trace, &err), SL_E_LIMIT);
    assert_non_null(strstr(err.text, "block 0 of device 3: expected a requested size"));
    device->blocks.cnt = 0;
    assert_true(sl_vec_push(&device->segments, ((sl_segment){.active_bytes = UINT64_MAX})));
    assert_int_equal(sl_trace_check_bounds(trace, &err), SL_E_LIMIT);
    assert_non_null(strstr(err.text, "segment 0 of device 3: expected an active size"));
    sl_trace_free(trace);
}

static void records_have_bounds(void **state) {
    SL_UNUSED(state);
    sl_tm_record record = {.timestamp_ns = SL_TIME_US_MAX * 1000,
                           .allocated_bytes = (int64_t)SL_BYTES_MAX,
                           .active_bytes = SL_TM_NULL,
                           .change_bytes = -(int64_t)SL_BYTES_MAX};
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_tm_check_bounds(&record, &err), SL_OK);
    record.change_bytes = INT64_MIN;
    assert_int_equal(sl_tm_check_bounds(&record, &err), SL_E_LIMIT);
    assert_non_null(strstr(err.text, "allocator_change_bytes: expected"));
    record.change_bytes = 0;
    record.timestamp_ns = INT64_MAX;
    assert_int_equal(sl_tm_check_bounds(&record, &err), SL_E_LIMIT);
    assert_non_null(strstr(err.text, "timestamp_ns: expected"));
}

/* Every reader calls it; the message has the file, the position, expected and found. */
static void loading_refuses_values_out_of_bounds(void **state) {
    SL_UNUSED(state);
    static const char *const texts[] = {
        "{\"schema\":\"stormlog.trace/"
        "1\",\"stacks\":[[]],\"devices\":[{\"device\":0,\"events\":[[5,1,"
        "1,18446744073709551615,0,0,0,0]]}]}",
        "{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 4096, \"size\": "
        "18446744073709551615, \"time_us\": 1}]]}",
    };
    for (size_t i = 0; i < SL_COUNT_OF(texts); i++) {
        sl_trace *trace = NULL;
        sl_error err = SL_ERROR_INIT;
        assert_int_equal(sl_trace_load_memory("bad", texts[i], strlen(texts[i]), &trace, &err),
                         SL_E_LIMIT);
        assert_null(trace);
        assert_string_equal(err.text,
                            "cannot read 'bad': event 0 of device 0: expected a size of at most "
                            "1125899906842624 bytes, found 18446744073709551615");
        assert_int_equal(sl_status_exit_code(err.code), 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_have_bounds),
        cmocka_unit_test(failed_requests_may_be_absurd),
        cmocka_unit_test(the_end_state_has_bounds),
        cmocka_unit_test(records_have_bounds),
        cmocka_unit_test(loading_refuses_values_out_of_bounds),
    };
    return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
