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

static uint32_t line_of(sl_site site) {
    sl_frame frame;
    return sl_site_frame(site, &frame) ? frame.line : 0;
}

/* What is live changes by exactly the sum of the rows. */
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
    sl_instant before = {trace, 0, SL_AT_TIME, events->time_us[events->cnt / 2]};
    sl_instant after = {trace, 0, SL_AT_END, 0};
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
    sl_trace_free(trace);
}

/* Two traces have different ids for the same lines. */
static void test_two_traces(void **state) {
    (void)state;
    sl_trace *plain = synth_run(SYNTH_PLAIN, 40, 1, true);
    sl_trace *leaky = synth_run(SYNTH_EVERY_STEP, 40, 2, true);
    (void)sl_strtab_intern(&leaky->strings, "unrelated", 9);
    sl_instant before = {plain, 0, SL_AT_END, 0}, after = {leaky, 0, SL_AT_END, 0};
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
    sl_trace_free(plain);
    sl_trace_free(leaky);
}

static void test_same_is_empty(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_EVERY_STEP, 30, 1, true);
    sl_instant peak = {trace, 0, SL_AT_PEAK, 0};
    sl_diff *diff = diff_of(&peak, &peak, NULL);
    assert_int_equal(diff->rows.cnt, 0);
    assert_int_equal(diff->same_bytes, diff->after.live_bytes);
    sl_diff_free(diff);
    sl_trace_free(trace);
}

/* By prefix: all stacks of the loop have one outermost frame. */
static void test_prefix_and_grouping(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_GRAPH, 40, 1, true);
    const sl_events *events = &trace->devices.at[0]->events;
    sl_instant before = {trace, 0, SL_AT_TIME, events->time_us[events->cnt / 2]};
    sl_instant after = {trace, 0, SL_AT_END, 0};
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
    sl_trace_free(trace);
}

static void test_missing_device(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_PLAIN, 20, 1, true);
    sl_instant here = {trace, 0, SL_AT_END, 0}, nowhere = {trace, 4, SL_AT_END, 0};
    sl_diff *diff = NULL;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_diff_new(&here, &nowhere, NULL, &diff, &err), SL_E_DEVICE);
    assert_string_equal(err.text, "'synthetic' has no device 4");
    sl_trace_free(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_trace_at_two_times), cmocka_unit_test(test_two_traces),
        cmocka_unit_test(test_same_is_empty),          cmocka_unit_test(test_prefix_and_grouping),
        cmocka_unit_test(test_missing_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
