/* SPDX-License-Identifier: MIT */
#include "model/trace.h"

#include <string.h>

#include "report/report.h"
#include "sltest.h"

static void devices_stay_in_order(void **state) {
    SL_UNUSED(state);
    sl_trace *trace = sl_trace_new("x", SL_SOURCE_SLOG);
    static const int asked[] = {3, 0, SL_DEVICE_HOST, 3, 1};
    for (size_t i = 0; i < SL_COUNT_OF(asked); i++)
        assert_int_equal(sl_trace_device(trace, asked[i])->device, asked[i]);
    assert_int_equal(trace->devices.cnt, 4);
    for (size_t i = 1; i < trace->devices.cnt; i++)
        assert_true(trace->devices.at[i - 1]->device < trace->devices.at[i]->device);
    assert_null(sl_trace_find_device(trace, 2));
    sl_trace_free(trace);
}

static void streams_and_pools_are_interned(void **state) {
    SL_UNUSED(state);
    sl_trace *trace = sl_trace_new("x", SL_SOURCE_SLOG);
    assert_int_equal(sl_trace_pool(trace, 0, 0), 0);
    uint16_t graph = sl_trace_pool(trace, 1, 0);
    assert_int_equal(graph, 1);
    assert_int_equal(sl_trace_pool(trace, 1, 0), graph);
    uint16_t stream = sl_trace_stream(trace, 0x7f0000001000);
    assert_int_equal(sl_trace_stream(trace, 0x7f0000001000), stream);
    /* More streams than the index can tell apart must not wrap into a wrong one. */
    for (uint64_t handle = 1; handle < 70000; handle++)
        sl_trace_stream(trace, handle);
    assert_int_equal(sl_trace_stream(trace, 99999), UINT16_MAX - 1);
    sl_trace_free(trace);
}

static void sorting_is_stable_and_counts_disorder(void **state) {
    SL_UNUSED(state);
    static const int64_t times[] = {5, 1, 5, 3, 1};
    static const uint64_t order[] = {1, 4, 3, 0, 2};
    sl_events events = {0};
    for (size_t i = 0; i < SL_COUNT_OF(times); i++)
        assert_true(sl_events_push(&events, &(sl_event){.time_us = times[i],
                                                        .addr = i,
                                                        .size_bytes = 10 * i,
                                                        .stack_id = (uint32_t)i,
                                                        .kind = SL_EV_ALLOC}));
    assert_int_equal(sl_events_sort(&events), 3);
    for (size_t i = 0; i < SL_COUNT_OF(order); i++) {
        sl_event event = sl_events_get(&events, i);
        assert_int_equal(event.addr, order[i]);
        assert_int_equal(event.size_bytes, 10 * order[i]);
        assert_int_equal(event.stack_id, order[i]);
        assert_int_equal(event.time_us, times[order[i]]);
    }
    assert_int_equal(sl_events_sort(&events), 0);
    sl_events_fini(&events);
}

/* Any number of stretches in order, and one event that belongs far before its neighbours. */
static void sorting_merges_stretches(void **state) {
    SL_UNUSED(state);
    for (size_t stretch = 1; stretch <= 65; stretch++) {
        sl_events events = {0};
        for (size_t i = 0; i < 300; i++)
            assert_true(sl_events_push(
                &events, &(sl_event){.time_us = (int64_t)(i % stretch / 2), .addr = i}));
        assert_true(sl_events_push(&events, &(sl_event){.time_us = -1, .addr = 300}));
        assert_true(sl_events_sort(&events) > 0);
        assert_int_equal(events.addr[0], 300);
        for (size_t i = 1; i < 301; i++) {
            int64_t before = events.time_us[i - 1], now = events.time_us[i];
            assert_true(before < now || (before == now && events.addr[i - 1] < events.addr[i]));
            assert_int_equal(now, (int64_t)(events.addr[i] % stretch / 2));
        }
        sl_events_fini(&events);
    }
}

static void equal_stacks_share_an_id(void **state) {
    SL_UNUSED(state);
    sl_stacks stacks = {0};
    static uint32_t ids[1000];
    for (uint32_t i = 0; i < 1000; i++)
        ids[i] = sl_stacks_intern_frame(&stacks, (sl_frame){i, i, i});
    assert_int_equal(sl_stacks_intern_frame(&stacks, (sl_frame){7, 7, 7}), ids[7]);
    assert_int_equal(sl_stacks_intern(&stacks, NULL, 0), SL_STACK_EMPTY);
    uint32_t first = sl_stacks_intern(&stacks, ids, 3);
    for (uint32_t depth = 1; depth < 900; depth++)
        sl_stacks_intern(&stacks, ids + 1, depth);
    assert_int_equal(sl_stacks_intern(&stacks, ids, 3), first);
    assert_int_equal(sl_stack_depth(&stacks, first), 3);
    assert_int_equal(sl_stack_frame(&stacks, first, 2).line, 2);
    assert_int_equal(sl_stack_depth(&stacks, 123456), 0);
    sl_stacks_fini(&stacks);
}

static void every_event_kind_has_a_unique_name(void **state) {
    SL_UNUSED(state);
    for (unsigned kind = 1; kind < SL_EV_LIMIT; kind++) {
        const char *name = sl_event_kind_name((sl_event_kind)kind);
        assert_int_equal(sl_event_kind_find(name, strlen(name)), kind);
        assert_true(strlen(sl_event_kind_meaning((sl_event_kind)kind)) > 0);
    }
    assert_int_equal(sl_event_kind_find("workspace", 9), SL_EV_UNKNOWN);
    assert_string_equal(sl_event_kind_name((sl_event_kind)200), "unknown");
}

static void every_finding_kind_has_a_name_and_help(void **state) {
    SL_UNUSED(state);
    for (unsigned i = 0; i < SL_FINDING_LIMIT; i++) {
        sl_finding_kind kind = SL_FINDING_LIMIT;
        const char *name = sl_finding_kind_name((sl_finding_kind)i);
        assert_true(sl_finding_kind_find(name, strlen(name), &kind));
        assert_int_equal(kind, i);
        assert_true(strlen(sl_finding_kind_help((sl_finding_kind)i)) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_stay_in_order),
        cmocka_unit_test(streams_and_pools_are_interned),
        cmocka_unit_test(sorting_is_stable_and_counts_disorder),
        cmocka_unit_test(sorting_merges_stretches),
        cmocka_unit_test(equal_stacks_share_an_id),
        cmocka_unit_test(every_event_kind_has_a_unique_name),
        cmocka_unit_test(every_finding_kind_has_a_name_and_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
