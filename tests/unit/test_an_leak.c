/* SPDX-License-Identifier: MIT */
/* Made-up runs with a known truth, and what each kind of leak is called. */
#include <math.h>
#include <string.h>

#include "sltest.h"

#include "made_report.h"
#include "synth.h"

static uint32_t line_of(const sl_finding *finding) {
    sl_frame frame;
    return sl_site_frame(finding->site, &frame) ? frame.line : 0;
}

static void test_healthy_programs_have_no_leak(void **state) {
    (void)state;
    for (int habit = 0; habit < SYNTH_HABIT_CNT; habit++) {
        if (synth_rows[habit].is_leak)
            continue;
        for (uint64_t seed = 0; seed < 12; seed++) {
            /* Without stacks, loaded data looks like work, and a list like a leak. */
            bool has_stacks = seed % 4 != 3 || (habit >= SYNTH_LIST && habit <= SYNTH_PREPARE);
            sl_trace *trace =
                synth_run((synth_habit)habit, 30 + 20 * (size_t)seed, seed, has_stacks);
            sl_report *report = report_of(trace, NULL);
            const sl_finding *leak = find_kind(report, SL_FINDING_LEAK);
            if (leak)
                fail_msg("%s, seed %d: %s", synth_rows[habit].name, (int)seed, leak->title);
            sl_report_free(report);
            sl_trace_free(trace);
        }
    }
}

static void test_leaks_are_found_at_their_line(void **state) {
    (void)state;
    for (int habit = 0; habit < SYNTH_HABIT_CNT; habit++) {
        if (!synth_rows[habit].is_leak)
            continue;
        for (uint64_t seed = 0; seed < 8; seed++) {
            sl_trace *trace = synth_run((synth_habit)habit, 80 + 20 * (size_t)seed, seed, true);
            sl_report *report = report_of(trace, NULL);
            const sl_finding *leak = find_kind(report, SL_FINDING_LEAK);
            if (!leak || line_of(leak) != synth_rows[habit].line)
                fail_msg("%s, seed %d: line %u, want %u", synth_rows[habit].name, (int)seed,
                         leak ? line_of(leak) : 0, synth_rows[habit].line);
            assert_int_equal(report->verdict, SL_VERDICT_LEAK);
            assert_true(leak->evidence_cnt >= 4);
            sl_report_free(report);
            sl_trace_free(trace);
        }
    }
}

static void check_numbers(synth_habit habit, const char *subkind, double per_step,
                          uint64_t blocks) {
    sl_trace *trace = synth_run(habit, 100, 3, true);
    sl_report *report = report_of(trace, NULL);
    const sl_finding *leak = find_kind(report, SL_FINDING_LEAK);
    assert_non_null(leak);
    assert_string_equal(leak->subkind, subkind);
    if (fabs(leak->bytes_per_step.value - per_step) > 0.02 * per_step)
        fail_msg("%s: %f bytes a step, want %f", synth_rows[habit].name, leak->bytes_per_step.value,
                 per_step);
    assert_int_equal(leak->blocks.value, blocks);
    assert_true(leak->r_squared.value > 0.95);
    assert_true(leak->bytes_per_second.known && leak->bytes_per_second.value > 0);
    assert_int_equal(report->devices.at[0].steps.value, 100);
    sl_report_free(report);
    sl_trace_free(trace);
}

static void test_numbers_of_a_leak_are_exact(void **state) {
    (void)state;
    check_numbers(SYNTH_EVERY_STEP, "tensor retention", 256 * 1024, 100);
    check_numbers(SYNTH_TINY, "tensor retention", 512, 100);
    check_numbers(SYNTH_BUFFER, "growing buffer", 4096, 1);
    check_numbers(SYNTH_QUEUE, "tensor retention", 128 * 1024, 100);
}

/* The same run with all sizes 4,096 times smaller leaks the same share, but is not critical. */
static void test_small_leaks_are_not_critical(void **state) {
    (void)state;
    static const sl_severity wanted[] = {SL_SEV_CRITICAL, SL_SEV_WARNING};
    for (int is_small = 0; is_small < 2; is_small++) {
        sl_trace *trace = synth_run(SYNTH_EVERY_STEP, 100, 3, true);
        const sl_events *events = &trace->devices.at[0]->events;
        for (size_t i = 0; i < events->cnt && is_small; i++)
            events->size_bytes[i] = (events->size_bytes[i] + 4095) / 4096;
        sl_report *report = report_of(trace, NULL);
        assert_non_null(find_kind(report, SL_FINDING_LEAK));
        assert_int_equal(find_kind(report, SL_FINDING_LEAK)->severity, wanted[is_small]);
        sl_report_free(report);
        sl_trace_free(trace);
    }
}

static void test_a_kept_graph_is_one_finding(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_GRAPH, 60, 1, true);
    sl_report *report = report_of(trace, NULL);
    size_t leaks = 0;
    for (size_t i = 0; i < report->findings.cnt; i++)
        leaks += report->findings.at[i].kind == SL_FINDING_LEAK;
    assert_int_equal(leaks, 1);
    assert_string_equal(find_kind(report, SL_FINDING_LEAK)->subkind, "graph retention");
    assert_non_null(strstr(find_kind(report, SL_FINDING_LEAK)->advice, "detach"));
    sl_report_free(report);
    sl_trace_free(trace);
}

static void test_marked_steps(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_EVERY_STEP, 50, 1, true);
    const sl_events *events = &trace->devices.at[0]->events;
    for (uint64_t i = 1; i <= 25; i++) {
        size_t at = events->cnt * i / 25 - 1;
        sl_mark mark = {events->time_us[at], 0, -1, i, SL_MARK_STEP};
        assert_true(sl_vec_push(&trace->marks, mark));
    }
    sl_report *report = report_of(trace, NULL);
    assert_true(report->devices.at[0].steps_marked);
    assert_int_equal(report->devices.at[0].steps.value, 25);
    const sl_finding *leak = find_kind(report, SL_FINDING_LEAK);
    assert_non_null(leak);
    assert_true(fabs(leak->bytes_per_step.value - 2 * 256 * 1024) < 0.05 * 512 * 1024);
    sl_report_free(report);
    sl_trace_free(trace);
}

/* A list of tensors is neither a leak nor proof that there is none: it is only reported. */
static void test_a_list_of_tensors_is_only_a_remark(void **state) {
    (void)state;
    static const synth_habit habits[] = {SYNTH_LIST, SYNTH_PAIRS};
    for (size_t i = 0; i < 4; i++) {
        sl_trace *trace = synth_run(habits[i % 2], i < 2 ? 20 : 200, 1, true);
        sl_report *report = report_of(trace, NULL);
        const sl_finding *note = find_kind(report, SL_FINDING_BUILD_UP);
        assert_int_equal(report->verdict, SL_VERDICT_HEALTHY);
        assert_null(find_kind(report, SL_FINDING_LEAK));
        assert_non_null(note);
        assert_int_equal(note->severity, SL_SEV_INFO);
        assert_int_equal(line_of(note), i % 2 ? 25 : SYNTH_LIST_LINE);
        assert_int_equal(note->blocks.value, i < 2 ? 20 : 200);
        assert_int_equal(note->bytes.value, (i < 2 ? 20 : 200) * 400000);
        bool has_passes = i == 3; /* enough of them after it to be steps */
        assert_int_equal(report->devices.at[0].leaks_judged, has_passes);
        assert_int_equal(report->devices.at[0].steps.known, has_passes);
        sl_report_free(report);
        sl_trace_free(trace);
    }
}

/* The list is a leak if the program marks steps. A loop that only keeps blocks to the end may be a
 * leak or an unfinished loader, so it is reported as a warning. */
static void test_a_list_kept_over_steps_is_a_leak(void **state) {
    (void)state;
    for (int is_marked = 0; is_marked < 2; is_marked++) {
        sl_trace *trace = synth_run(is_marked ? SYNTH_LIST : SYNTH_HOARD, 60, 1, true);
        const sl_events *events = &trace->devices.at[0]->events;
        for (size_t i = 0; is_marked && i < events->cnt; i++) {
            sl_mark mark = {events->time_us[i], 0, -1, i, SL_MARK_STEP};
            assert_true(sl_vec_push(&trace->marks, mark));
        }
        sl_report *report = report_of(trace, NULL);
        const sl_finding *leak = find_kind(report, SL_FINDING_LEAK);
        assert_non_null(leak);
        assert_int_equal(line_of(leak), is_marked ? SYNTH_LIST_LINE : synth_rows[SYNTH_HOARD].line);
        assert_true(report->devices.at[0].leaks_judged);
        assert_int_equal(strstr(leak->explanation, "meant to stay") != NULL, !is_marked);
        assert_true(is_marked || leak->severity == SL_SEV_WARNING);
        sl_report_free(report);
        sl_trace_free(trace);
    }
}

/* Ten tensors are a warning, because they prove little. Sixty at the same line are critical. */
static void test_few_tensors_are_not_critical(void **state) {
    (void)state;
    static const struct {
        size_t steps;
        sl_severity wanted;
    } rows[] = {{10, SL_SEV_WARNING}, {60, SL_SEV_CRITICAL}};
    for (size_t row = 0; row < 2; row++) {
        sl_trace *trace = synth_run(SYNTH_LIST, rows[row].steps, 1, true);
        const sl_events *events = &trace->devices.at[0]->events;
        for (size_t i = 0; i < events->cnt; i++) {
            sl_mark mark = {events->time_us[i], 0, -1, i, SL_MARK_STEP};
            assert_true(sl_vec_push(&trace->marks, mark));
        }
        sl_report *report = report_of(trace, NULL);
        const sl_finding *leak = find_kind(report, SL_FINDING_LEAK);
        assert_non_null(leak);
        assert_int_equal(leak->severity, rows[row].wanted);
        sl_report_free(report);
        sl_trace_free(trace);
    }
}

/* Eight marked steps that only keep tensors may leak or load: neither is claimed. */
static void test_few_steps_that_only_keep_are_not_judged(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_LIST, 8, 1, true);
    const sl_events *events = &trace->devices.at[0]->events;
    for (size_t i = events->cnt - 8; i < events->cnt; i++) {
        sl_mark mark = {events->time_us[i], 0, -1, i, SL_MARK_STEP};
        assert_true(sl_vec_push(&trace->marks, mark));
    }
    sl_report *report = report_of(trace, NULL);
    assert_int_equal(report->devices.at[0].steps.value, 8);
    assert_null(find_kind(report, SL_FINDING_LEAK));
    assert_false(report->devices.at[0].leaks_judged);
    sl_report_free(report);
    sl_trace_free(trace);
}

/* Loading takes most of the events: the steps are those of the training that follows. */
static void test_steps_after_loading(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_LOAD_LEAK, 50, 1, true);
    sl_report *report = report_of(trace, NULL);
    assert_int_equal(report->devices.at[0].steps.value, 50);
    assert_int_equal(find_kind(report, SL_FINDING_LEAK)->blocks.value, 50);
    assert_int_equal(find_kind(report, SL_FINDING_BUILD_UP)->blocks.value, 50 * 200);
    sl_report_free(report);
    sl_trace_free(trace);
}

/* A loop that frees, but in which no layer runs, is called a leak with less certainty than one of a
 * server; without the layers' frames the server's is such a loop. */
static void test_loop_without_layers(void **state) {
    (void)state;
    double confidence[2];
    for (int is_bare = 0; is_bare < 2; is_bare++) {
        sl_trace *trace = synth_run(SYNTH_SERVING, 100, 1, true);
        uint32_t bare = sl_strtab_intern(&trace->strings, "/home/user/train.py", 19);
        for (size_t i = 0; i < trace->stacks.frames.cnt && is_bare; i++)
            trace->stacks.frames.at[i].file = bare;
        sl_report *report = report_of(trace, NULL);
        const sl_finding *leak = find_kind(report, SL_FINDING_LEAK);
        assert_non_null(leak);
        confidence[is_bare] = leak->confidence;
        assert_int_equal(strstr(leak->explanation, "meant to stay") != NULL, is_bare);
        sl_report_free(report);
        sl_trace_free(trace);
    }
    assert_true(confidence[1] < 0.8 * confidence[0]);
}

static void test_filter_hides_other_sites(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_EVERY_STEP, 60, 1, true);
    sl_analysis_options options = {.filter = "train\\.py:40 "};
    sl_report *report = report_of(trace, &options);
    assert_null(find_kind(report, SL_FINDING_LEAK));
    for (size_t i = 0; i < report->devices.at[0].top_peak.cnt; i++) {
        sl_frame frame;
        assert_true(sl_site_frame(report->devices.at[0].top_peak.at[i].site, &frame));
        assert_int_equal(frame.line, 40);
    }
    sl_report_free(report);
    options.filter = "train\\.py:90 ";
    report = report_of(trace, &options);
    assert_non_null(find_kind(report, SL_FINDING_LEAK));
    sl_report_free(report);
    options.filter = "(";
    sl_error err = SL_ERROR_INIT;
    const sl_trace *const traces[] = {trace};
    report = NULL;
    assert_int_equal(sl_analyze_traces(traces, 1, &options, &report, &err), SL_E_USAGE);
    assert_non_null(strstr(err.text, "'('"));
    assert_null(report);
    sl_trace_free(trace);
}

static void test_grouping(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_EVERY_STEP, 60, 1, true);
    static const size_t least[] = {
        [SL_GROUP_LINE] = 4, [SL_GROUP_FUNCTION] = 2, [SL_GROUP_FILE] = 2, [SL_GROUP_STACK] = 8};
    for (int group = SL_GROUP_LINE; group <= SL_GROUP_STACK; group++) {
        sl_analysis_options options = {.group_by = (sl_group_by)group, .top = 100};
        sl_report *report = report_of(trace, &options);
        const sl_device_report *d = &report->devices.at[0];
        uint64_t sum = d->top_peak.other_bytes;
        for (size_t i = 0; i < d->top_peak.cnt; i++)
            sum += d->top_peak.at[i].bytes;
        assert_int_equal(sum, d->peak_requested_bytes);
        assert_true(d->top_peak.cnt >= least[group]);
        sl_report_free(report);
    }
    sl_trace_free(trace);
}

/* A window's numbers are those of a naive count over it. */
static void test_window(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_EVERY_STEP, 60, 1, true);
    const sl_events *events = &trace->devices.at[0]->events;
    size_t from = events->cnt / 3, to = events->cnt * 2 / 3;
    sl_analysis_options options = {.has_since = true,
                                   .since_us = events->time_us[from] - events->time_us[0],
                                   .has_until = true,
                                   .until_us = events->time_us[to]};
    sl_report *report = report_of(trace, &options);
    const sl_device_report *d = &report->devices.at[0];
    uint64_t live = 0, base = 0, peak = 0, cnt = 0;
    for (size_t i = 0; i < events->cnt && events->time_us[i] <= events->time_us[to]; i++) {
        bool is_inside = events->time_us[i] >= events->time_us[from];
        if (!is_inside)
            base = live;
        live += events->kind[i] == SL_EV_ALLOC ? events->size_bytes[i] : 0;
        live -= events->kind[i] == SL_EV_FREE_COMPLETED ? events->size_bytes[i] : 0;
        base = is_inside ? base : live;
        peak = is_inside && live > peak ? live : peak;
        cnt += is_inside;
    }
    assert_int_equal(d->events, cnt);
    assert_int_equal(d->base_bytes, base);
    assert_int_equal(d->live_requested_bytes, live);
    assert_int_equal(d->peak_requested_bytes, peak > base ? peak : base);
    sl_report_free(report);
    options = (sl_analysis_options){.has_until = true, .until_us = -1000000000};
    const sl_trace *traces[] = {trace};
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_analyze_traces(traces, 1, &options, &report, &err), SL_E_USAGE);
    assert_non_null(strstr(err.text, "the chosen part is outside"));
    sl_trace_free(trace);
}

static void test_missing_device(void **state) {
    (void)state;
    sl_trace *trace = synth_run(SYNTH_PLAIN, 20, 1, true);
    sl_analysis_options options = {.has_device = true, .device = 7};
    sl_report *report = NULL;
    sl_error err = SL_ERROR_INIT;
    const sl_trace *const traces[] = {trace};
    assert_int_equal(sl_analyze_traces(traces, 1, &options, &report, &err), SL_E_DEVICE);
    assert_string_equal(err.text, "no device 7 in the input; it has 0");
    sl_trace_free(trace);
}

static void test_table_of_analyses(void **state) {
    (void)state;
    size_t cnt = 0;
    for (const sl_analysis_info *info; (info = sl_analysis_at(cnt)) != NULL; cnt++) {
        sl_finding_kind kind;
        assert_true(sl_finding_kind_find(info->name, strlen(info->name), &kind));
        assert_true(strlen(info->help) > 10);
        for (size_t i = 0; i < cnt; i++)
            assert_string_not_equal(sl_analysis_at(i)->name, info->name);
    }
    assert_int_equal(cnt, 10);
}

/* One line keeps a block each step and holds another one until the next: that one is not a leak. */
static void test_blocks_in_flight(void **state) {
    (void)state;
    sl_trace *trace = sl_trace_new("in flight", SL_SOURCE_TORCH_SNAPSHOT);
    sl_device_trace *device = sl_trace_device(trace, 0);
    trace->has_time = trace->has_requested_sizes = trace->has_event_stacks = true;
    uint32_t stacks[2];
    for (uint32_t i = 0; i < 2; i++) {
        sl_frame user = {sl_strtab_intern(&trace->strings, "step", 4),
                         sl_strtab_intern(&trace->strings, "train.py", 8), 7};
        sl_frame inner = {sl_strtab_intern(&trace->strings, i ? "keep" : "hold", 4),
                          sl_strtab_intern(&trace->strings, "/lib/python3/torch/x.py", 23), 1 + i};
        uint32_t ids[] = {sl_stacks_intern_frame(&trace->stacks, inner),
                          sl_stacks_intern_frame(&trace->stacks, user)};
        stacks[i] = sl_stacks_intern(&trace->stacks, ids, 2);
    }
    for (uint64_t step = 0; step < 30; step++) {
        sl_event events[] = {
            {.kind = SL_EV_FREE_COMPLETED, .addr = 0x900000 + step - 1, .size_bytes = 1 << 20},
            {.kind = SL_EV_ALLOC,
             .addr = 0x900000 + step,
             .size_bytes = 1 << 20,
             .stack_id = stacks[0]},
            {.kind = SL_EV_ALLOC,
             .addr = 0x100000 + step,
             .size_bytes = 4096,
             .stack_id = stacks[1]},
        };
        for (size_t i = step ? 0 : 1; i < 3; i++) {
            events[i].time_us = (int64_t)(step * 1000 + i);
            assert_true(sl_events_push(&device->events, &events[i]));
        }
        sl_mark mark = {.time_us = (int64_t)(step * 1000 + 500),
                        .kind = SL_MARK_STEP,
                        .device = -1,
                        .number = step};
        assert_true(sl_vec_push(&trace->marks, mark));
    }
    sl_report *report = report_of(trace, NULL);
    assert_int_equal(report->verdict, SL_VERDICT_LEAK);
    assert_int_equal(report->findings.at[0].bytes.value, 30 * 4096);
    assert_int_equal(report->findings.at[0].blocks.value, 30);
    sl_report_free(report);
    sl_trace_free(trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy_programs_have_no_leak),
        cmocka_unit_test(test_leaks_are_found_at_their_line),
        cmocka_unit_test(test_numbers_of_a_leak_are_exact),
        cmocka_unit_test(test_small_leaks_are_not_critical),
        cmocka_unit_test(test_a_kept_graph_is_one_finding),
        cmocka_unit_test(test_marked_steps),
        cmocka_unit_test(test_a_list_of_tensors_is_only_a_remark),
        cmocka_unit_test(test_a_list_kept_over_steps_is_a_leak),
        cmocka_unit_test(test_few_tensors_are_not_critical),
        cmocka_unit_test(test_few_steps_that_only_keep_are_not_judged),
        cmocka_unit_test(test_steps_after_loading),
        cmocka_unit_test(test_loop_without_layers),
        cmocka_unit_test(test_filter_hides_other_sites),
        cmocka_unit_test(test_grouping),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_blocks_in_flight),
        cmocka_unit_test(test_missing_device),
        cmocka_unit_test(test_table_of_analyses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
