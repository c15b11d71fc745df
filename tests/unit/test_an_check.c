/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sltest.h"

#include "made_report.h"
#include "synth.h"

typedef struct fixture {
    sl_trace *plain, *leaky;
    sl_report *plain_report, *leaky_report;
    sl_baseline baseline;
} fixture;

static int setup(void **state) {
    static fixture f;
    f.plain = synth_run(SYNTH_PLAIN, 60, 1, true);
    f.leaky = synth_run(SYNTH_EVERY_STEP, 60, 1, true);
    f.plain_report = report_of(f.plain, NULL);
    f.leaky_report = report_of(f.leaky, NULL);
    sl_baseline_from_report(f.plain_report, &f.baseline);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    sl_report_free(f->plain_report);
    sl_report_free(f->leaky_report);
    sl_trace_free(f->plain);
    sl_trace_free(f->leaky);
    return 0;
}

static sl_check_result *run(const sl_report *report, const sl_baseline *baseline, sl_gates gates) {
    sl_check_result *result = NULL;
    sl_error err = SL_ERROR_INIT;
    if (sl_check_run(report, baseline, &gates, &result, &err) != SL_OK)
        fail_msg("%s", err.text);
    return result;
}

static void test_same_run_passes(void **state) {
    const fixture *f = *state;
    sl_gates gates = {.max_peak = {SL_LIMIT_PERCENT, 0},
                      .max_live = {SL_LIMIT_MORE, 0},
                      .max_slope = {SL_LIMIT_MORE, 0},
                      .no_leak = true,
                      .no_oom = true};
    sl_check_result *result = run(f->plain_report, &f->baseline, gates);
    assert_true(result->passed);
    assert_int_equal(result->rows.cnt, 5);
    assert_string_equal(result->rows.at[0].name, "max-peak");
    sl_check_result_free(result);
}

static void test_leak_fails_each_gate(void **state) {
    const fixture *f = *state;
    sl_gates gates = {.max_peak = {SL_LIMIT_PERCENT, 5},
                      .max_live = {SL_LIMIT_PERCENT, 5},
                      .max_slope = {SL_LIMIT_ABSOLUTE, 1000},
                      .no_leak = true};
    sl_check_result *result = run(f->leaky_report, &f->baseline, gates);
    assert_false(result->passed);
    for (size_t i = 0; i < result->rows.cnt; i++) {
        assert_false(result->rows.at[i].passed);
        assert_true(result->rows.at[i].actual.value > result->rows.at[i].limit.value);
    }
    assert_non_null(strstr(result->rows.at[3].text, "train.py:90"));
    sl_check_result_free(result);
}

static void test_limits_are_checked(void **state) {
    const fixture *f = *state;
    double peak = (double)f->baseline.peak_bytes.value;
    sl_gates gates = {.max_peak = {SL_LIMIT_PERCENT, 5}};
    sl_check_result *result = run(f->plain_report, &f->baseline, gates);
    assert_true(result->rows.at[0].limit.value > peak * 1.0499 &&
                result->rows.at[0].limit.value < peak * 1.0501);
    sl_check_result_free(result);
    gates.max_peak = (sl_limit){SL_LIMIT_ABSOLUTE, peak - 1};
    result = run(f->plain_report, NULL, gates);
    assert_false(result->passed);
    sl_check_result_free(result);
    gates.max_peak = (sl_limit){SL_LIMIT_ABSOLUTE, peak};
    result = run(f->plain_report, NULL, gates);
    assert_true(result->passed);
    sl_check_result_free(result);
}

/* A missing baseline or an unknown value never passes a gate. */
static void test_unknown_numbers_pass_no_gate(void **state) {
    const fixture *f = *state;
    sl_gates gates = {.max_peak = {SL_LIMIT_PERCENT, 5}};
    sl_check_result *result = NULL;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_check_run(f->plain_report, NULL, &gates, &result, &err), SL_E_USAGE);
    assert_non_null(strstr(err.text, "max-peak"));
    gates = (sl_gates){.max_reserved = {SL_LIMIT_ABSOLUTE, 1e12}};
    result = run(f->plain_report, NULL, gates); /* made-up runs have no segments */
    assert_false(result->passed);
    assert_non_null(strstr(result->rows.at[0].text, "not known"));
    sl_check_result_free(result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_run_passes),
        cmocka_unit_test(test_leak_fails_each_gate),
        cmocka_unit_test(test_limits_are_checked),
        cmocka_unit_test(test_unknown_numbers_pass_no_gate),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
