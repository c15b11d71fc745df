/* SPDX-License-Identifier: MIT */
/* Alignment and first cause; the four-rank run is the golden one. */
#include "analyze/samples/an_ranks.h"

#include <string.h>

#include "sltest.h"
#include "tm_build.h"

#define MS INT64_C(1000000)

static void add(sl_telemetry *set, int rank, int world, int64_t at_ns, double gib) {
    sl_tm_record r = tm_sample(set, BASE_NS + at_ns);
    r.rank = rank;
    r.world_size = world;
    r.used_bytes = (int64_t)(gib * (double)GIB);
    tm_push(set, r);
}

static sl_ranks *ranks_of(sl_telemetry *set) {
    sl_ranks *ranks = NULL;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_ranks_new(set, &ranks, &err), SL_OK);
    sl_telemetry_free(set);
    return ranks;
}

static bool has_note(const sl_ranks *ranks, const char *part) {
    for (size_t i = 0; i < ranks->notes.cnt; i++)
        if (strstr(ranks->notes.at[i], part))
            return true;
    return false;
}

static void test_first_cause_of_four_ranks(void **state) {
    (void)state;
    static const double values[4][4] = {
        {1, 1, 1, 1.34}, {1, 1, 1, 1.30}, {1, 1, 1.38, 1.40}, {1, 1, 1, 1.28}};
    static const int64_t offsets_ms[] = {0, 20, 40, 10};
    static const int order[] = {2, 0, 1, 3};
    sl_telemetry *set = sl_telemetry_new();
    for (int rank = 0; rank < 4; rank++)
        for (int i = 0; i < 4; i++)
            add(set, rank, 4, (offsets_ms[rank] + 100 * i) * MS, values[rank][i]);
    sl_ranks *ranks = ranks_of(set);
    assert_int_equal(ranks->world_size, 4);
    assert_int_equal(ranks->rows.cnt, 4);
    assert_int_equal(ranks->missing.cnt, 0);
    assert_int_equal(ranks->points.cnt, 16);
    assert_true(ranks->has_onset);
    assert_int_equal(ranks->onset_ns, BASE_NS + 300000000);
    assert_int_equal(ranks->suspects.cnt, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(ranks->suspects.at[i].rank, order[i]);
    const sl_rank_suspect *top = &ranks->suspects.at[0];
    assert_int_equal(top->confidence, SL_RANK_HIGH);
    assert_int_equal(top->lead_ns, 100000000);
    assert_int_equal(top->peak_delta_bytes, 408021893);
    assert_int_equal(top->spike_window_samples, 1);
    assert_int_equal(top->first_spike_ns, BASE_NS + 240 * MS);
    assert_int_equal(top->aligned_first_spike_ns, BASE_NS + 200 * MS);
    assert_int_equal(ranks->rows.at[2].offset_ns, 40 * MS);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(ranks->suspects.at[i].confidence, SL_RANK_LOW);
    assert_int_equal(ranks->notes.cnt, 0);
    sl_ranks_free(ranks);
}

/* One value per rank and sample; a 0 ends the rank. */
static sl_ranks *simple(const double values[][4], int cnt, int world) {
    sl_telemetry *set = sl_telemetry_new();
    for (int rank = 0; rank < cnt; rank++)
        for (int i = 0; i < 4 && values[rank][i] > 0; i++)
            add(set, rank, world, 100 * i * MS, values[rank][i]);
    return ranks_of(set);
}

static void test_tie_is_medium(void **state) {
    (void)state;
    sl_ranks *ranks =
        simple((const double[][4]){{1, 1, 1.3, 1.3}, {1, 1, 1.3, 1.3}, {1, 1, 1, 1.3}}, 3, 3);
    assert_int_equal(ranks->suspects.cnt, 2);
    assert_int_equal(ranks->suspects.at[0].confidence, SL_RANK_MEDIUM);
    assert_int_equal(ranks->suspects.at[1].confidence, SL_RANK_MEDIUM);
    assert_int_equal(ranks->suspects.at[1].supporting_ranks, 2);
    sl_ranks_free(ranks);
}

static void test_missing_ranks_lower_confidence(void **state) {
    (void)state;
    sl_ranks *ranks = simple((const double[][4]){{1, 1, 1.3, 1.3}, {1, 1, 1, 1.3}}, 2, 4);
    assert_int_equal(ranks->missing.cnt, 2);
    assert_int_equal(ranks->missing.at[1], 3);
    assert_int_equal(ranks->suspects.at[0].confidence, SL_RANK_LOW);
    assert_true(has_note(ranks, "2, 3"));
    sl_ranks_free(ranks);
}

static void test_one_candidate(void **state) {
    (void)state;
    sl_ranks *ranks = simple((const double[][4]){{1, 1, 1.3, 1.3}, {1, 0, 0, 0}}, 2, 2);
    assert_false(ranks->has_onset);
    assert_int_equal(ranks->suspects.cnt, 1);
    assert_int_equal(ranks->suspects.at[0].confidence, SL_RANK_LOW);
    assert_true(has_note(ranks, "fewer than two samples"));
    sl_ranks_free(ranks);
}

static void test_one_rank_or_no_rank(void **state) {
    (void)state;
    sl_ranks *ranks = simple((const double[][4]){{1, 1, 1.3, 1.3}}, 1, 1);
    assert_int_equal(ranks->suspects.cnt, 0);
    assert_true(has_note(ranks, "At least two ranks are required"));
    sl_ranks_free(ranks);
    ranks = ranks_of(sl_telemetry_new());
    assert_int_equal(ranks->world_size, 0);
    assert_true(ranks->notes.cnt > 0);
    sl_ranks_free(ranks);
}

static void test_no_spike(void **state) {
    (void)state;
    sl_ranks *ranks = simple((const double[][4]){{1, 1, 1, 1}, {1, 1, 1, 1.01}}, 2, 2);
    assert_true(has_note(ranks, "No qualifying cross-rank spikes were detected."));
    sl_ranks_free(ranks);
}

static void test_other_jobs_and_events_are_skipped(void **state) {
    (void)state;
    sl_telemetry *set = sl_telemetry_new();
    for (int i = 0; i < 2; i++) {
        add(set, 0, 2, i * 100 * MS, 9);
        set->records.at[set->records.cnt - 1].job_id = tm_id(set, "b");
    }
    for (int rank = 0; rank < 2; rank++)
        for (int i = 0; i < 4; i++) {
            add(set, rank, 2, 100 * i * MS, i + rank >= 3 ? 1.3 : 1);
            set->records.at[set->records.cnt - 1].job_id = tm_id(set, "a");
        }
    add(set, 0, 2, 0, 1);
    set->records.at[set->records.cnt - 1].event_type = tm_id(set, "start");
    sl_ranks *ranks = ranks_of(set);
    assert_string_equal(ranks->job_id, "a");
    assert_int_equal(ranks->rows.at[0].sample_cnt, 4);
    assert_true(has_note(ranks, "Multiple job_id values were observed; filtering to the most "
                                "common value."));
    assert_true(has_note(ranks, "Ignored non-sample events during cross-rank analysis."));
    assert_int_equal(ranks->suspects.at[0].rank, 1);
    sl_ranks_free(ranks);
}

static void test_late_rank_is_noted(void **state) {
    (void)state;
    sl_telemetry *set = sl_telemetry_new();
    for (int rank = 0; rank < 2; rank++)
        for (int i = 0; i < 4; i++)
            add(set, rank, 2, (rank * 5000 + 100 * i) * MS, 1);
    sl_ranks *ranks = ranks_of(set);
    assert_true(has_note(ranks, "may be approximate"));
    assert_int_equal(ranks->rows.at[1].offset_ns, 5000 * MS);
    sl_ranks_free(ranks);
}

static void test_extreme_times_and_worlds(void **state) {
    (void)state;
    sl_telemetry *set = sl_telemetry_new();
    sl_tm_record r = tm_sample(set, INT64_MAX);
    tm_push(set, r);
    r.timestamp_ns = 0;
    r.rank = 1;
    r.world_size = 2;
    tm_push(set, r);
    r.timestamp_ns = INT64_MAX;
    tm_push(set, r);
    sl_ranks *ranks = ranks_of(set);
    assert_int_equal(ranks->rows.cnt, 2);
    sl_ranks_free(ranks);
    set = sl_telemetry_new();
    r = tm_sample(set, 1);
    r.world_size = INT32_MAX;
    tm_push(set, r);
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_ranks_new(set, &ranks, &err), SL_E_LIMIT);
    sl_telemetry_free(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_cause_of_four_ranks),
        cmocka_unit_test(test_tie_is_medium),
        cmocka_unit_test(test_missing_ranks_lower_confidence),
        cmocka_unit_test(test_one_candidate),
        cmocka_unit_test(test_one_rank_or_no_rank),
        cmocka_unit_test(test_no_spike),
        cmocka_unit_test(test_other_jobs_and_events_are_skipped),
        cmocka_unit_test(test_late_rank_is_noted),
        cmocka_unit_test(test_extreme_times_and_worlds),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
