/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sltest.h"

#include "analyze/analysis.h"
#include "synth.h"

static sl_diff *diff_of(const sl_instant *before, const sl_instant *after,
                        const sl_diff_options *options) {
    sl_diff *diff = NULL;
    sl_error err = SL_ERROR_INIT;
    if (sl_diff_new(before, after, options, &diff, &err) != SL_OK)
        fail_msg("%s", err.text);
    return diff;
}

/* A moment of a trace's device 0, and the run it is asked through, which is freed with forget(). */
static sl_run *runs[4];
static size_t run_cnt;

static sl_instant at(const sl_trace *trace, sl_moment_kind kind, int64_t time_us) {
    assert_true(run_cnt < SL_COUNT_OF(runs));
    assert_int_equal(sl_run_new(&trace, 1, &runs[run_cnt], NULL), SL_OK);
    return (sl_instant){&runs[run_cnt++]->inputs[0].devices[0], {kind, time_us}};
}

static void forget(sl_trace *trace) {
    while (run_cnt > 0)
        sl_run_free(runs[--run_cnt]);
    sl_trace_free(trace);
}

static uint32_t line_of(sl_site site) {
    sl_frame frame;
    return sl_site_frame(site, &frame) ? frame.line : 0;
}

/* Live bytes change by exactly the sum of the rows. */
static void check_balance(const sl_diff *diff) {
    int64_t delta = (int64_t)(diff->after.live_bytes - diff->before.live_bytes);
    int64_t rows = (int64_t)(diff->appeared_bytes + diff->grown_bytes) -
                   (int64_t)(diff->gone_bytes + diff->shrunk_bytes);
    assert_int_equal(delta, rows);
}

static void test_one_trace_at_two_times(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_EVERY_STEP, 60, 1, true);
    const sl_events *events = &trace->devices.at[0]->events;
    sl_instant before = at(trace, SL_AT_TIME, events->time_us[events->cnt / 2]);
    sl_instant after = at(trace, SL_AT_END, 0);
    sl_diff *diff = diff_of(&before, &after, NULL);
    check_balance(diff);
    assert_true(diff->rows.cnt > 0);
    bool has_leak = false;
    for (size_t i = 0; i < diff->rows.cnt; i++)
        if (line_of(diff->rows.at[i].site) == 90) {
            has_leak = true;
            assert_int_equal(diff->rows.at[i].change, SL_CHANGE_GROWN);
            assert_int_equal(diff->rows.at[i].after_blocks, 60);
        }
    assert_true(has_leak);
    sl_diff_free(diff);
    forget(trace);
}

/* Two traces have different ids for the same lines. */
static void test_two_traces(void **state) {
    (void)state;
    sl_trace *plain = synth_run(SYNTH_PLAIN, 40, 1, true);
    sl_trace *leaky = synth_run(SYNTH_EVERY_STEP, 40, 2, true);
    (void)sl_strtab_intern(&leaky->strings, "unrelated", 9);
    sl_instant before = at(plain, SL_AT_END, 0), after = at(leaky, SL_AT_END, 0);
    sl_diff *diff = diff_of(&before, &after, NULL);
    check_balance(diff);
    assert_int_equal(diff->change_cnt[SL_CHANGE_APPEARED], 1);
    assert_int_equal(line_of(diff->rows.at[0].site), 90);
    assert_int_equal(diff->rows.at[0].after_bytes, 40 * 256 * 1024);
    assert_true(diff->same_sites >= 2);
    sl_diff_free(diff);
    diff = diff_of(&after, &before, NULL);
    assert_int_equal(diff->rows.at[0].change, SL_CHANGE_GONE);
    sl_diff_free(diff);
    forget(plain);
    forget(leaky);
}

static void test_equal_traces_have_no_difference(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_EVERY_STEP, 30, 1, true);
    sl_instant peak = at(trace, SL_AT_PEAK, 0);
    sl_diff *diff = diff_of(&peak, &peak, NULL);
    assert_int_equal(diff->rows.cnt, 0);
    assert_int_equal(diff->same_bytes, diff->after.live_bytes);
    sl_diff_free(diff);
    forget(trace);
}

/* By prefix: all stacks of the loop have one outermost frame. */
static void test_prefix_and_grouping(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_GRAPH, 40, 1, true);
    const sl_events *events = &trace->devices.at[0]->events;
    sl_instant before = at(trace, SL_AT_TIME, events->time_us[events->cnt / 2]);
    sl_instant after = at(trace, SL_AT_END, 0);
    sl_diff_options options = {.prefix_frames = 1, .filter = "train"};
    sl_diff *diff = diff_of(&before, &after, &options);
    check_balance(diff);
    assert_int_equal(diff->rows.cnt, 1);
    sl_diff_free(diff);
    options = (sl_diff_options){.group_by = SL_GROUP_STACK};
    diff = diff_of(&before, &after, &options);
    check_balance(diff);
    assert_true(diff->rows.cnt >= SYNTH_LAYERS);
    sl_diff_free(diff);
    options = (sl_diff_options){.group_by = SL_GROUP_STACK, .top = 2};
    diff = diff_of(&before, &after, &options);
    assert_int_equal(diff->rows.cnt, 2);
    assert_true(diff->change_cnt[SL_CHANGE_GROWN] >= SYNTH_LAYERS);
    sl_diff_free(diff);
    forget(trace);
}

static void test_pairs(void **state) {
    (void)state;
    sl_trace *one = synth_run(SYNTH_PLAIN, 20, 1, true),
             *other = synth_run(SYNTH_PLAIN, 20, 1, true);
    assert_non_null(sl_trace_device(other, 4));
    const sl_run_input *before = at(one, SL_AT_END, 0).device->input;
    const sl_run_input *after = at(other, SL_AT_END, 0).device->input;
    sl_diff_pairs pairs = {0};
    assert_true(sl_diff_pair_devices(before, after, NULL, &pairs));
    assert_int_equal(pairs.cnt, 1); /* 4 has nothing to be compared with */
    assert_int_equal(pairs.at[0].after->events->device, 0);
    pairs.cnt = 0;
    assert_true(sl_diff_pair_devices(before, after, &(int){4}, &pairs));
    assert_int_equal(pairs.cnt, 0);
    sl_vec_free(&pairs);
    forget(one);
    sl_trace_free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_trace_at_two_times),
        cmocka_unit_test(test_two_traces),
        cmocka_unit_test(test_equal_traces_have_no_difference),
        cmocka_unit_test(test_prefix_and_grouping),
        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
