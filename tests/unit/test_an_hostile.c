/* SPDX-License-Identifier: MIT */
/* Traces that no allocator would write. Nothing may crash, hang or read outside; the result is
 * checked only for what must always hold. Most useful under the sanitizers. */
#include <string.h>

#include "sltest.h"

#include "analyze/analysis.h"
#include "fake_alloc.h"
#include "run/blocks/replay.h"

/* Numbers at the edges as often as small ones, and few addresses, so that they collide. */
static uint64_t wild(uint64_t *seed, uint64_t range) {
    switch (fake_random(seed, 8)) {
    case 0: return 0;
    case 1: return UINT64_MAX - fake_random(seed, 3);
    case 2: return (uint64_t)INT64_MAX + fake_random(seed, 3);
    case 3: return fake_random(seed, UINT64_MAX);
    default: return fake_random(seed, range) * 512;
    }
}

static void wild_device(sl_trace *trace, int index, uint64_t *seed) {
    sl_device_trace *device = sl_trace_device(trace, index);
    size_t events = (size_t)fake_random(seed, 700);
    for (size_t i = 0; i < events; i++) {
        sl_event ev = {(int64_t)wild(seed, 1000),
                       wild(seed, 40),
                       wild(seed, 4000),
                       (uint32_t)fake_random(seed, trace->stacks.spans.cnt),
                       0,
                       (uint16_t)fake_random(seed, 3),
                       (sl_event_kind)fake_random(seed, 21),
                       (sl_tag)fake_random(seed, SL_TAG_LIMIT + 1)};
        (void)sl_events_push(&device->events, &ev);
    }
    (void)sl_events_sort(&device->events);
    device->has_end_state = fake_random(seed, 2);
    uint64_t addr = 0;
    for (uint64_t s = fake_random(seed, 6); device->has_end_state && s > 0; s--) {
        sl_segment segment = {.addr = addr += wild(seed, 40),
                              .total_bytes = wild(seed, 4000),
                              .first_block = (uint32_t)device->blocks.cnt,
                              .block_cnt = 3,
                              .is_large = fake_random(seed, 2),
                              .is_expandable = fake_random(seed, 2)};
        for (int b = 0; b < 3; b++) {
            sl_block block = {wild(seed, 40),
                              wild(seed, 4000),
                              wild(seed, 4000),
                              0,
                              (uint32_t)device->segments.cnt,
                              (uint8_t)fake_random(seed, 3),
                              (uint8_t)fake_random(seed, SL_TAG_LIMIT + 1)};
            (void)sl_vec_push(&device->blocks, block);
        }
        (void)sl_vec_push(&device->segments, segment);
    }
}

static sl_trace *wild_trace(uint64_t *seed) {
    sl_trace *trace = sl_trace_new("wild", (sl_source_kind)fake_random(seed, 4));
    trace->has_requested_sizes = fake_random(seed, 2);
    trace->has_time = fake_random(seed, 2);
    trace->has_event_stacks = fake_random(seed, 2);
    (void)sl_trace_stream(trace, 0);
    (void)sl_trace_pool(trace, 0, 7);
    (void)sl_trace_pool(trace, 9, 0);
    for (uint32_t i = 0; i < 6; i++) {
        static const char *const files[] = {"a.py", "??", "<string>", "/x/site-packages/b.py"};
        const char *file = files[i % 4];
        sl_frame frame = {0, sl_strtab_intern(&trace->strings, file, strlen(file)), i};
        uint32_t id = sl_stacks_intern_frame(&trace->stacks, frame);
        (void)sl_stacks_intern(&trace->stacks, &id, 1);
    }
    for (uint64_t d = fake_random(seed, 3); d > 0; d--)
        wild_device(trace, (int)d - 1, seed);
    return trace;
}

static void check_replay(const sl_trace *trace, const sl_device_trace *device, uint64_t *seed) {
    sl_replay *replay = NULL;
    assert_int_equal(sl_replay_new(trace, device, &replay, NULL), SL_OK);
    for (size_t i = 0; i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        bool is_base = life->begin_event == SL_EVENT_BEFORE;
        assert_int_equal(is_base, i < replay->base_cnt);
        assert_true(is_base || life->begin_event <= life->end_event);
        assert_true(life->drop_event <= life->end_event);
    }
    for (int i = 0; i < 20; i++) {
        sl_extents extents = {0};
        sl_life_ids ids = {0};
        uint32_t event = i && replay->event_cnt ? (uint32_t)fake_random(seed, replay->event_cnt)
                                                : SL_EVENT_BEFORE;
        assert_true(sl_replay_live_at(replay, event, &ids));
        assert_true(sl_replay_geometry_at(replay, event, &extents));
        sl_vec_free(&extents);
        sl_vec_free(&ids);
    }
    sl_curve_bin bins[7];
    sl_replay_curve(replay, sl_replay_time(replay, 0), sl_replay_time(replay, replay->event_cnt),
                    bins, SL_COUNT_OF(bins));
    sl_replay_free(replay);
}

static void test_impossible_traces_do_no_harm(void **state) {
    (void)state;
    uint64_t seed = 20;
    for (int round = 0; round < 400; round++) {
        sl_trace *trace = wild_trace(&seed);
        for (size_t d = 0; d < trace->devices.cnt; d++)
            check_replay(trace, trace->devices.at[d], &seed);
        sl_analysis_options options = {.has_since = fake_random(&seed, 2),
                                       .since_us = (int64_t)wild(&seed, 1000),
                                       .has_until = fake_random(&seed, 2),
                                       .until_us = (int64_t)wild(&seed, 1000),
                                       .group_by = (sl_group_by)fake_random(&seed, 4),
                                       .top = (size_t)fake_random(&seed, 4)};
        const sl_trace *const traces[] = {trace, trace};
        sl_report *report = NULL;
        assert_int_equal(sl_analyze_traces(traces, 2, &options, &report, NULL), SL_OK);
        assert_int_equal(report->devices.cnt, 2 * trace->devices.cnt);
        sl_report_free(report);
        sl_trace_free(trace);
    }
}

static void test_an_empty_list_of_traces(void **state) {
    (void)state;
    sl_report *report = NULL;
    assert_int_equal(sl_analyze_traces(NULL, 0, NULL, &report, NULL), SL_OK);
    assert_int_equal(report->verdict, SL_VERDICT_HEALTHY);
    sl_report_free(report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_impossible_traces_do_no_harm),
        cmocka_unit_test(test_an_empty_list_of_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
