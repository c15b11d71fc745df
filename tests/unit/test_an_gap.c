/* SPDX-License-Identifier: MIT */
/* The values are those that the specification of the compatible analyses lists as golden. */
#include "analyze/samples/an_gap.h"

#include <string.h>

#include "sltest.h"
#include "tm_build.h"

typedef struct fixture {
    sl_telemetry *set;
    sl_gap_result result;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->set = sl_telemetry_new();
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    sl_telemetry_free(f->set);
    free(f);
    return 0;
}

static void analyze(fixture *f) {
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(
        sl_gap_analyze(f->set->records.at, f->set->records.cnt, NULL, &f->result, &err), SL_OK);
}

static double number(const sl_gap_finding *finding, const char *name) {
    for (size_t i = 0; i < finding->evidence_cnt; i++)
        if (strcmp(finding->evidence[i].name, name) == 0)
            return finding->evidence[i].value;
    fail_msg("no evidence '%s'", name);
    return 0;
}

static void push(fixture *f, size_t i, int64_t allocated, int64_t reserved, int64_t used) {
    sl_tm_record r = tm_sample(f->set, BASE_NS + (int64_t)i * STEP_NS);
    r.allocated_bytes = allocated;
    r.reserved_bytes = reserved;
    r.used_bytes = used;
    tm_push(f->set, r);
}

static void test_drift(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < 30; i++)
        push(f, i, 2000000000, 2500000000, 3000000000 + (int64_t)i * 100000000);
    analyze(f);
    assert_int_equal(f->result.cnt, 1);
    const sl_gap_finding *drift = &f->result.at[0];
    assert_string_equal(sl_gap_class_name(drift->class_id), "persistent_drift");
    assert_int_equal(drift->severity, SL_SEV_CRITICAL);
    assert_true(drift->confidence == 1.0);
    assert_true(number(drift, "slope_bytes_per_sec") == 1e9);
    assert_true(number(drift, "r_squared") == 1.0);
    assert_true(number(drift, "p_value") == 0.0);
    assert_true(number(drift, "gap_start_bytes") == 5e8);
    assert_non_null(strstr(drift->description, "953.67 MB/s"));
}

static void test_spike(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < 30; i++)
        push(f, i, 2000000000, 2500000000,
             2500000000 + (i == 10 || i == 20 ? 4000000000 : 100000000));
    analyze(f);
    assert_int_equal(f->result.cnt, 1);
    const sl_gap_finding *spike = &f->result.at[0];
    assert_string_equal(sl_gap_class_name(spike->class_id), "transient_spike");
    assert_int_equal(spike->severity, SL_SEV_WARNING);
    assert_true(number(spike, "spike_count") == 2);
    assert_true(number(spike, "max_zscore") == 3.679);
    assert_true(number(spike, "mean_gap_bytes") == 3.6e8);
    assert_true(number(spike, "std_gap_bytes") == 989461713.6);
    assert_true(spike->confidence == 0.613);
}

static void test_fragmentation(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < 20; i++) {
        int64_t reserved = 3000000000 + (int64_t)i * 50000000;
        push(f, i, 1000000000, reserved, reserved + 1500000000);
    }
    analyze(f);
    assert_int_equal(f->result.cnt, 1);
    const sl_gap_finding *found = &f->result.at[0];
    assert_string_equal(sl_gap_class_name(found->class_id), "fragmentation_like");
    assert_int_equal(found->severity, SL_SEV_CRITICAL);
    assert_true(number(found, "avg_fragmentation_ratio") == 0.7102);
    assert_true(number(found, "max_fragmentation_ratio") == 0.7468);
    assert_true(number(found, "sample_count") == 20);
    assert_true(found->confidence == 1.0);
}

static void test_small_gaps_are_not_reported(void **state) {
    fixture *f = *state;
    /* Below 5 % of the card, the class of unused memory is held back too. */
    for (size_t i = 0; i < 20; i++)
        push(f, i, 100000000, 3000000000, 3000000000 + (int64_t)i * 40000000);
    analyze(f);
    assert_int_equal(f->result.cnt, 0);
}

static void test_too_few_complete_records_give_no_finding(void **state) {
    fixture *f = *state;
    push(f, 0, 1, 1, 9000000000);
    push(f, 1, 1, 1, 9000000000);
    analyze(f);
    assert_int_equal(f->result.cnt, 0);
    /* Without a total a record does not count. */
    sl_tm_record r = tm_sample(f->set, BASE_NS);
    r.total_bytes = SL_TM_NULL;
    r.used_bytes = 12000000000;
    tm_push(f->set, r);
    analyze(f);
    assert_int_equal(f->result.cnt, 0);
}

static void test_equal_time_stamps_are_not_a_drift(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < 10; i++)
        push(f, 0, 1000, 1000, 3000000000 + (int64_t)i * 1000000);
    analyze(f);
    for (size_t i = 0; i < f->result.cnt; i++)
        assert_int_not_equal(f->result.at[i].class_id, SL_GAP_DRIFT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_drift, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fragmentation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_gaps_are_not_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_few_complete_records_give_no_finding, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_equal_time_stamps_are_not_a_drift, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
