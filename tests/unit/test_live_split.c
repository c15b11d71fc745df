/* SPDX-License-Identifier: MIT */
#include "run/lines/live_split.h"

#include <string.h>

#include "model/torch_frames.h"
#include "sltest.h"

static uint32_t stack_of(sl_trace *trace, const char *function, const char *file) {
    sl_frame frame = {sl_strtab_intern(&trace->strings, function, strlen(function)),
                      sl_strtab_intern(&trace->strings, file, strlen(file)), 1};
    uint32_t id = sl_stacks_intern_frame(&trace->stacks, frame);
    return sl_stacks_intern(&trace->stacks, &id, 1);
}

static void add(sl_device_trace *device, sl_event_kind kind, uint64_t addr, uint32_t stack,
                sl_tag tag) {
    sl_event event = {
        (int64_t)device->events.cnt, addr, addr, stack, 0, SL_POOL_UNKNOWN, kind, tag};
    assert_true(sl_events_push(&device->events, &event));
}

/* Sizes are the addresses. */
static sl_trace *make_trace(void) {
    sl_trace *trace = sl_trace_new("made up", SL_SOURCE_SLOG);
    sl_device_trace *device = sl_trace_device(trace, 0);
    trace->has_tags = trace->has_event_stacks = trace->has_requested_sizes = true;
    uint32_t forward = stack_of(trace, "Module._call_impl", "/x/torch/nn/modules/module.py");
    uint32_t plain = stack_of(trace, "main", "/home/me/train.py");
    add(device, SL_EV_ALLOC, 0x1000, plain, SL_TAG_PARAMETER);
    add(device, SL_EV_ALLOC, 0x2000, forward, SL_TAG_ACTIVATION);
    add(device, SL_EV_ALLOC, 0x4000, forward, SL_TAG_ACTIVATION);
    add(device, SL_EV_FREE, 0x2000, plain, SL_TAG_UNKNOWN);
    add(device, SL_EV_ALLOC, 0x8000, SL_STACK_EMPTY, SL_TAG_GRADIENT);
    return trace;
}

static void splits_what_is_live_at_an_instant(void **state) {
    (void)state;
    sl_trace *trace = make_trace();
    sl_replay *replay;
    sl_split split;
    assert_int_equal(sl_replay_new(trace, trace->devices.at[0], &replay, NULL), SL_OK);
    assert_true(sl_live_split_by_tag(replay, NULL, 2, &split));
    assert_true(split.is_known);
    assert_string_equal(split.names[SL_TAG_ACTIVATION], "activation");
    assert_int_equal(split.shares[SL_TAG_ACTIVATION].bytes, 0x6000);
    assert_int_equal(split.shares[SL_TAG_ACTIVATION].blocks, 2);
    assert_int_equal(split.shares[SL_TAG_GRADIENT].blocks, 0);
    assert_true(sl_live_split_by_phase(replay, NULL, 4, &split));
    assert_int_equal(split.shares[SL_PHASE_NONE].bytes, 0x1000);
    assert_int_equal(split.shares[SL_PHASE_FORWARD].bytes, 0x4000);
    assert_int_equal(split.shares[SL_PHASE_BACKWARD].bytes, 0x8000); /* no Python frames */
    sl_replay_free(replay);
    sl_trace_free(trace);
}

static void skips_blocks_that_the_filter_hides(void **state) {
    (void)state;
    sl_trace *trace = make_trace();
    sl_replay *replay;
    sl_sites sites = {0};
    sl_split split;
    assert_int_equal(sl_replay_new(trace, trace->devices.at[0], &replay, NULL), SL_OK);
    assert_int_equal(sl_sites_init(&sites, trace, SL_GROUP_LINE, "train", NULL), SL_OK);
    assert_true(sl_live_split_by_tag(replay, &sites, 4, &split));
    assert_int_equal(split.shares[SL_TAG_PARAMETER].bytes, 0x1000);
    assert_int_equal(split.shares[SL_TAG_ACTIVATION].blocks, 0);
    sl_sites_fini(&sites);
    sl_replay_free(replay);
    sl_trace_free(trace);
}

static void reports_a_split_that_is_unknown(void **state) {
    (void)state;
    sl_trace *trace = make_trace();
    sl_replay *replay;
    sl_split split;
    trace->has_tags = trace->has_event_stacks = false;
    assert_int_equal(sl_replay_new(trace, trace->devices.at[0], &replay, NULL), SL_OK);
    assert_true(sl_live_split_by_tag(replay, NULL, 4, &split));
    assert_false(split.is_known);
    assert_true(sl_live_split_by_phase(replay, NULL, 4, &split));
    assert_false(split.is_known);
    sl_replay_free(replay);
    sl_trace_free(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_what_is_live_at_an_instant),
        cmocka_unit_test(skips_blocks_that_the_filter_hides),
        cmocka_unit_test(reports_a_split_that_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
