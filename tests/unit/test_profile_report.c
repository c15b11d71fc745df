/* SPDX-License-Identifier: MIT */
#include "memprof/profile_report.h"

#include <math.h>
#include <string.h>

#include "sltest.h"

#define MIB INT64_C(1048576)

static sl_profile_call call(const char *name, int64_t before_mib, int64_t after_mib) {
    return (sl_profile_call){.function = name,
                             .seconds = 1,
                             .before_allocated = before_mib * MIB,
                             .after_allocated = after_mib * MIB,
                             .after_reserved = after_mib * MIB,
                             .peak_allocated = after_mib * MIB};
}

static sl_profile_report *report_of(const sl_profile_call *calls, size_t cnt) {
    sl_profile_report *report = NULL;
    assert_int_equal(sl_profile_report_new(calls, cnt, NULL, &report, NULL), SL_OK);
    return report;
}

static const sl_profile_pattern *find(const sl_profile_report *report, const char *type) {
    for (size_t i = 0; i < report->patterns.cnt; i++)
        if (strcmp(report->patterns.at[i].type, type) == 0)
            return &report->patterns.at[i];
    return NULL;
}

static void test_no_calls_give_an_empty_report(void **state) {
    (void)state;
    sl_profile_report *report = report_of(NULL, 0);
    assert_int_equal(report->patterns.cnt, 0);
    assert_int_equal(report->score.score, 100);
    assert_string_equal(report->score.grade, "A");
    sl_profile_report_free(report);
}

static void test_leak(void **state) {
    (void)state;
    sl_profile_call calls[4];
    for (int i = 0; i < 4; i++)
        calls[i] = call("grow", 100 * i, 100 * (i + 1));
    sl_profile_report *report = report_of(calls, 4);
    const sl_profile_pattern *leak = find(report, "memory_leak");
    assert_non_null(leak);
    assert_int_equal(leak->severity, SL_SEV_WARNING);
    assert_int_equal(leak->metrics[0].number, 400 * MIB);
    assert_true(leak->metrics[2].real == 1.0);
    assert_int_equal(leak->metrics[3].number, 4);
    assert_string_equal(leak->functions[0], "grow");
    sl_profile_report_free(report);
    /* Two calls are too few; 100 MiB in all are not more than 100 MiB. */
    report = report_of(calls, 2);
    assert_null(find(report, "memory_leak"));
    sl_profile_report_free(report);
    for (int i = 0; i < 4; i++)
        calls[i] = call("grow", 25 * i, 25 * (i + 1));
    report = report_of(calls, 4);
    assert_null(find(report, "memory_leak"));
    sl_profile_report_free(report);
}

static void test_fragmentation_is_strict(void **state) {
    (void)state;
    sl_profile_call calls[2] = {call("a", 70, 70), call("b", 70, 70)};
    calls[0].after_reserved = calls[1].after_reserved = 100 * MIB; /* exactly 0.3 */
    sl_profile_report *report = report_of(calls, 2);
    assert_null(find(report, "fragmentation"));
    sl_profile_report_free(report);
    calls[0].after_reserved = 200 * MIB;
    report = report_of(calls, 2);
    const sl_profile_pattern *p = find(report, "fragmentation");
    assert_non_null(p);
    assert_int_equal(p->severity, SL_SEV_WARNING);
    assert_int_equal(p->function_cnt, 1);
    assert_string_equal(p->functions[0], "a");
    sl_profile_report_free(report);
}

static void test_spikes_and_repetition(void **state) {
    (void)state;
    sl_profile_call calls[13];
    for (int i = 0; i < 12; i++)
        calls[i] = call("small", 0, 10);
    calls[12] = call("large", 0, 500);
    sl_profile_report *report = report_of(calls, 13);
    const sl_profile_pattern *spikes = find(report, "memory_spikes");
    assert_non_null(spikes);
    assert_int_equal(spikes->metrics[0].number, 1);
    assert_true(spikes->metrics[1].real == 10.0 * (double)MIB);
    const sl_profile_pattern *repeated = find(report, "repeated_allocations");
    assert_non_null(repeated);
    assert_int_equal(repeated->severity, SL_SEV_INFO);
    assert_int_equal(repeated->metrics[2].number, 120 * MIB);
    sl_profile_report_free(report);
}

static void test_growth_trend_and_score(void **state) {
    (void)state;
    sl_profile_call calls[6];
    for (int i = 0; i < 6; i++) {
        calls[i] = call("step", 10 * i, 10 * (i + 1));
        calls[i].before_time = 5 - i; /* given backwards: sorted by time */
        calls[i].after_allocated = (6 - i) * 10 * MIB;
    }
    sl_profile_report *report = report_of(calls, 6);
    const sl_profile_insight *trend = NULL;
    for (size_t i = 0; i < report->insights.cnt; i++)
        if (strcmp(report->insights.at[i].category, "temporal") == 0)
            trend = &report->insights.at[i];
    assert_non_null(trend);
    assert_int_equal(trend->impact, SL_IMPACT_HIGH);
    assert_true(fabs(trend->data[0].real - 10.0 * (double)MIB) < 1);
    assert_true(report->score.score <= 85);
    sl_profile_report_free(report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_calls_give_an_empty_report),
        cmocka_unit_test(test_leak),
        cmocka_unit_test(test_fragmentation_is_strict),
        cmocka_unit_test(test_spikes_and_repetition),
        cmocka_unit_test(test_growth_trend_and_score),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
