/* SPDX-License-Identifier: MIT */
/* The golden runs: 12 samples per rank at 100 ms, ranks 2 ms apart, one spike of hidden memory. */
#include "analyze/samples/an_collective.h"

#include <string.h>

#include "sltest.h"
#include "tm_build.h"

#define SPIKE_AT 6

typedef struct run {
    int world;
    int spiking; /* ranks below this have the spike */
    bool has_markers;
    bool has_total;
    const char *marker; /* context of the marker; NULL = "all_reduce" */
} run;

static sl_collective_results attribute(const run *how, const char *preset) {
    sl_telemetry *set = sl_telemetry_new();
    sl_collective_results results = {0};
    sl_collective_config config;
    sl_error err = SL_ERROR_INIT;
    for (int rank = 0; rank < how->world; rank++) {
        for (int i = 0; i < 12; i++) {
            sl_tm_record r = tm_sample(set, BASE_NS + i * STEP_NS + rank * INT64_C(2000000));
            r.rank = rank;
            r.world_size = how->world;
            r.reserved_bytes = r.allocated_bytes = 2000000000;
            r.used_bytes = 2040000000;
            if (i == SPIKE_AT && rank < how->spiking)
                r.used_bytes = INT64_C(3600000000);
            if (!how->has_total)
                r.total_bytes = SL_TM_NULL;
            tm_push(set, r);
        }
        if (how->has_markers) {
            sl_tm_record m =
                tm_sample(set, BASE_NS + SPIKE_AT * STEP_NS + rank * INT64_C(2000000) + 10000000);
            m.rank = rank;
            m.world_size = how->world;
            m.event_type = tm_id(set, "marker");
            m.context = tm_id(set, how->marker ? how->marker : "all_reduce");
            tm_push(set, m);
        }
    }
    assert_int_equal(sl_collective_preset(preset, &config, &err), SL_OK);
    assert_int_equal(sl_collective_attribute(set, &config, &results, &err), SL_OK);
    sl_telemetry_free(set);
    return results;
}

static bool has_reason(const sl_collective_result *r, sl_collective_reason reason) {
    return r->reasons >> reason & 1;
}

static void test_ranks_with_markers_are_confident(void **state) {
    (void)state;
    sl_collective_results got = attribute(&(run){4, 4, true, true, NULL}, "medium");
    assert_int_equal(got.cnt, 4);
    const sl_collective_result *r = &got.at[0];
    assert_true(r->confidence == 1.0);
    assert_string_equal(sl_collective_class_name(r->class_id), "collective_confident");
    assert_true(r->robust_zscore == 3.1754);
    assert_true(r->peak_gap_ratio.known && r->peak_gap_ratio.value == 0.093132);
    assert_int_equal(r->interval_start_ns, INT64_C(1700000000480000000));
    assert_int_equal(r->interval_end_ns, INT64_C(1700000000730000000));
    assert_int_equal(r->peak_gap_bytes, 1600000000);
    assert_int_equal(r->marker_hits, 1);
    assert_int_equal(r->synchronized_ranks, 4);
    assert_int_equal(r->expected_world_size, 4);
    assert_true(r->synchrony_ratio == 1.0);
    assert_true(has_reason(r, SL_COLLECTIVE_TOKEN) && has_reason(r, SL_COLLECTIVE_OVERLAP) &&
                has_reason(r, SL_COLLECTIVE_SYNCHRONY) && has_reason(r, SL_COLLECTIVE_OUTLIER) &&
                has_reason(r, SL_COLLECTIVE_DIVERGENCE));
    sl_vec_free(&got);
}

static void test_without_markers(void **state) {
    (void)state;
    sl_collective_results got = attribute(&(run){4, 4, false, true, NULL}, "medium");
    assert_int_equal(got.cnt, 4);
    assert_true(got.at[3].confidence == 0.51);
    assert_int_equal(got.at[3].class_id, SL_COLLECTIVE_SUSPECT);
    assert_true(has_reason(&got.at[3], SL_COLLECTIVE_WEAK_MARKER));
    sl_vec_free(&got);
}

static void test_a_single_rank_is_only_a_suspect(void **state) {
    (void)state;
    sl_collective_results got = attribute(&(run){1, 1, true, true, NULL}, "medium");
    assert_int_equal(got.cnt, 1);
    assert_true(got.at[0].confidence == 0.51);
    assert_int_equal(got.at[0].class_id, SL_COLLECTIVE_SUSPECT);
    assert_true(has_reason(&got.at[0], SL_COLLECTIVE_SINGLE_RANK));
    sl_vec_free(&got);
}

static void test_one_of_two(void **state) {
    (void)state;
    sl_collective_results got = attribute(&(run){2, 1, false, true, NULL}, "medium");
    assert_int_equal(got.cnt, 0);
    sl_vec_free(&got);
}

static void test_unknown_total(void **state) {
    (void)state;
    sl_collective_results got = attribute(&(run){3, 3, true, false, NULL}, "medium");
    assert_int_equal(got.cnt, 3);
    assert_true(got.at[0].confidence == 0.95);
    assert_false(got.at[0].peak_gap_ratio.known);
    sl_vec_free(&got);
}

static void test_words_that_count_as_markers(void **state) {
    (void)state;
    static const char *const yes[] = {"NCCL ring",  "ncclAllReduce",  "reduce-scatter",
                                      "All_Gather", "a barrier here", "Broadcast"};
    static const char *const no[] = {"forward", "reduce", "gather", "all the memory", ""};
    for (size_t i = 0; i < SL_COUNT_OF(yes); i++)
        assert_true(sl_collective_has_token((sl_str){yes[i], strlen(yes[i])}));
    for (size_t i = 0; i < SL_COUNT_OF(no); i++)
        assert_false(sl_collective_has_token((sl_str){no[i], strlen(no[i])}));
}

static void test_metadata_values_count_as_markers_and_keys_do_not(void **state) {
    (void)state;
    static const struct {
        const char *metadata;
        double confidence;
    } rows[] = {
        {"{\"op\":[{\"name\":\"nccl_send\"}]}", 1.0},
        {"{\"nccl\":1,\"collective\":\"no\"}", 0.51},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        sl_telemetry *set = sl_telemetry_new();
        sl_collective_results got = {0};
        for (int rank = 0; rank < 2; rank++) {
            for (int s = 0; s < 12; s++) {
                sl_tm_record r = tm_sample(set, BASE_NS + s * STEP_NS);
                r.rank = rank;
                r.world_size = 2;
                r.reserved_bytes = 2000000000;
                r.used_bytes = s == SPIKE_AT ? 3600000000 : 2040000000;
                r.metadata = s == SPIKE_AT ? tm_id(set, rows[i].metadata) : 0;
                tm_push(set, r);
            }
        }
        assert_int_equal(sl_collective_attribute(set, NULL, &got, NULL), SL_OK);
        assert_int_equal(got.cnt, 2);
        assert_true(got.at[0].confidence == rows[i].confidence);
        sl_vec_free(&got);
        sl_telemetry_free(set);
    }
}

static void test_presets_and_overrides(void **state) {
    (void)state;
    sl_collective_config config;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_collective_preset("  HIGH ", &config, &err), SL_OK);
    assert_int_equal(config.min_gap_bytes, 64 << 20);
    assert_int_equal(config.min_samples_per_rank, 5);
    assert_int_equal(sl_collective_preset("extreme", &config, &err), SL_E_USAGE);
    assert_int_equal(sl_collective_override(&config, "min_confidence", 0.9, &err), SL_OK);
    assert_true(config.min_confidence == 0.9);
    assert_int_equal(sl_collective_override(&config, "preset", 1, &err), SL_E_USAGE);
    assert_non_null(strstr(err.text, "Unknown collective attribution override"));
    config.min_samples_per_rank = 2;
    assert_int_equal(sl_collective_validate(&config, &err), SL_E_USAGE);
    assert_non_null(strstr(err.text, "min_samples_per_rank"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_with_markers_are_confident),
        cmocka_unit_test(test_without_markers),
        cmocka_unit_test(test_a_single_rank_is_only_a_suspect),
        cmocka_unit_test(test_one_of_two),
        cmocka_unit_test(test_unknown_total),
        cmocka_unit_test(test_words_that_count_as_markers),
        cmocka_unit_test(test_metadata_values_count_as_markers_and_keys_do_not),
        cmocka_unit_test(test_presets_and_overrides),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
