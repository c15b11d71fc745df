/* SPDX-License-Identifier: MIT */
#include "run/ledger.h"

#include <stdio.h>
#include <string.h>

#include "model/counter_series.h"
#include "sltest.h"

#define MIB UINT64_C(1048576)

/* ---- one moment ---- */

static sl_maybe_u64 mib(uint64_t n) {
    return sl_known_u64(n * MIB);
}

static const sl_ledger_row *find_row(const sl_ledger_rows *rows, const char *label) {
    char buf[SL_LEDGER_LABEL_CAP];
    for (size_t i = 0; i < rows->cnt; i++)
        if (strcmp(sl_ledger_label(buf, &rows->at[i]), label) == 0)
            return &rows->at[i];
    fail_msg("no row '%s'", label);
    return NULL;
}

static void check_row(const sl_ledger_rows *rows, const char *label, uint64_t expected_mib) {
    const sl_ledger_row *row = find_row(rows, label);
    assert_true(row->bytes.known);
    assert_int_equal(row->bytes.value, expected_mib * MIB);
}

static void check_unknown(const sl_ledger_rows *rows, const char *label) {
    assert_false(find_row(rows, label)->bytes.known);
}

static const sl_ledger_figures full = {
    .card_used = {2000 * MIB, true},
    .card_total = {8000 * MIB, true},
    .process = {1200 * MIB, true},
    .others = {300 * MIB, true},
    .driver = {400 * MIB, true},
    .allocated = {100 * MIB, true},
    .reserved = {160 * MIB, true},
    .libraries_known = true,
};

static void test_rows_add_up(void **state) {
    SL_UNUSED(state);
    sl_ledger_rows rows = {0};
    assert_true(sl_ledger_make_rows(&rows, false));
    assert_true(sl_ledger_add_library(&rows, SL_STR("libnccl"), 30 * MIB));
    assert_true(sl_ledger_add_library(&rows, SL_STR("libnccl"), 20 * MIB));
    /* PyTorch's own segments, and 40 MiB that somebody else took through the same library. */
    assert_true(sl_ledger_add_library(&rows, SL_STR("libcudart"), 200 * MIB));
    sl_ledger_balance(&rows, &full);
    check_row(&rows, "tensors", 100);
    check_row(&rows, "allocator's cache", 60);
    check_row(&rows, "libnccl", 50);
    check_row(&rows, "libcudart", 40);
    check_row(&rows, "CUDA context and modules", 1200 - 160 - 50 - 40);
    check_row(&rows, "other processes", 300);
    check_row(&rows, "kept by the driver", 400);
    check_row(&rows, "rest", 100);
    uint64_t sum = 0;
    for (size_t i = 0; i < rows.cnt; i++)
        sum += rows.at[i].bytes.value;
    assert_int_equal(sum, full.card_used.value);
    sl_vec_free(&rows);
}

static void test_tagged_and_untagged_bytes(void **state) {
    SL_UNUSED(state);
    sl_ledger_rows rows = {0};
    assert_true(sl_ledger_make_rows(&rows, true));
    rows.at[SL_TAG_PARAMETER - 1].bytes = mib(30);
    rows.at[SL_TAG_GRADIENT - 1].bytes = mib(25);
    sl_ledger_balance(&rows, &full);
    check_row(&rows, "tensors: parameter", 30);
    check_row(&rows, "tensors: gradient", 25);
    check_row(&rows, "tensors: activation", 0);
    check_row(&rows, "tensors: without a tag", 45);
    check_row(&rows, "allocator's cache", 60);
    sl_vec_free(&rows);
}

static void test_what_was_not_measured_is_unknown(void **state) {
    SL_UNUSED(state);
    sl_ledger_rows rows = {0};
    sl_ledger_figures f = full;
    f.process.known = f.others.known = false; /* as in a container */
    assert_true(sl_ledger_make_rows(&rows, false));
    sl_ledger_balance(&rows, &f);
    check_unknown(&rows, "CUDA context and modules");
    check_unknown(&rows, "other processes");
    check_row(&rows, "rest", 2000 - 160 - 400);
    f = full;
    f.card_used.known = false;
    sl_ledger_balance(&rows, &f);
    check_unknown(&rows, "rest");
    f = full;
    f.allocated.known = f.reserved.known = false; /* no PyTorch in the process */
    sl_ledger_balance(&rows, &f);
    check_unknown(&rows, "tensors");
    check_unknown(&rows, "allocator's cache");
    check_row(&rows, "CUDA context and modules", 1200);
    sl_vec_free(&rows);
}

/* Figures of different moments: more reserved bytes than the driver reports for the process. */
static void test_below_zero_is_unknown_and_not_zero(void **state) {
    SL_UNUSED(state);
    sl_ledger_rows rows = {0};
    sl_ledger_figures f = full;
    f.reserved = mib(1300);
    assert_true(sl_ledger_make_rows(&rows, false));
    sl_ledger_balance(&rows, &f);
    check_unknown(&rows, "CUDA context and modules");
    check_row(&rows, "rest", 100);
    f = full;
    f.others = mib(500);
    sl_ledger_balance(&rows, &f);
    check_unknown(&rows, "rest");
    sl_vec_free(&rows);
}

/* The process allocated 100 MiB between the two queries. */
static void test_the_card_is_at_least_the_sum_of_its_parts(void **state) {
    SL_UNUSED(state);
    sl_ledger_rows rows = {0};
    sl_ledger_figures f = full;
    f.process = mib(1400);
    sl_ledger_reconcile(&f);
    assert_int_equal(f.card_used.value, 2100 * MIB);
    assert_true(sl_ledger_make_rows(&rows, false));
    sl_ledger_balance(&rows, &f);
    check_row(&rows, "rest", 0);
    f = full;
    sl_ledger_reconcile(&f);
    assert_int_equal(f.card_used.value, 2000 * MIB);
    f.process = mib(9000); /* more than the card has: not one of its parts */
    sl_ledger_reconcile(&f);
    assert_int_equal(f.card_used.value, 2000 * MIB);
    f = full;
    f.card_used.known = false;
    sl_ledger_reconcile(&f);
    assert_false(f.card_used.known);
    sl_vec_free(&rows);
}

/* ---- over time ---- */

typedef struct fixture {
    sl_trace *trace;
    sl_replay *replay;
    sl_ledger *ledger;
} fixture;

static fixture begin(void) {
    fixture f = {.trace = sl_trace_new("made up", SL_SOURCE_SLOG)};
    assert_non_null(f.trace);
    f.trace->has_time = true;
    assert_non_null(sl_trace_device(f.trace, 0));
    return f;
}

static void add_event(fixture *f, int64_t time_us, sl_event_kind kind, uint64_t addr,
                      uint64_t bytes, sl_tag tag) {
    sl_event event = {.time_us = time_us,
                      .addr = addr,
                      .size_bytes = bytes,
                      .pool_idx = SL_POOL_UNKNOWN,
                      .kind = kind,
                      .tag = tag};
    assert_true(sl_events_push(&f->trace->devices.at[0]->events, &event));
}

static void add_reading(fixture *f, const char *name, int64_t from_us, int64_t to_us,
                        const uint64_t min_max_last[3]) {
    sl_counter_series *series = (sl_counter_series *)sl_series_find(f->trace, 0, name);
    if (!series) {
        uint32_t id = sl_strtab_intern(&f->trace->strings, name, strlen(name));
        assert_true(sl_vec_push(&f->trace->counters, ((sl_counter_series){.name = id})));
        series = &f->trace->counters.at[f->trace->counters.cnt - 1];
    }
    sl_reading reading = {from_us, to_us, min_max_last[0] * MIB, min_max_last[1] * MIB,
                          min_max_last[2] * MIB};
    assert_true(sl_vec_push(&series->readings, reading));
}

/* A value that holds for a bin of 100 ms, counted from 0. */
static void add_bin(fixture *f, const char *name, int64_t bin, uint64_t value_mib) {
    add_reading(f, name, bin * 100000, bin * 100000 + 99999,
                (const uint64_t[3]){value_mib, value_mib, value_mib});
}

static void add_change(fixture *f, const char *name, int64_t time_us, uint64_t value_mib) {
    add_reading(f, name, time_us, time_us, (const uint64_t[3]){value_mib, value_mib, value_mib});
}

static void finish(fixture *f) {
    assert_int_equal(sl_replay_new(f->trace, f->trace->devices.at[0], &f->replay, NULL), SL_OK);
    assert_int_equal(sl_ledger_new(f->trace, f->replay, &f->ledger, NULL), SL_OK);
}

static void end(fixture *f) {
    sl_ledger_free(f->ledger);
    sl_replay_free(f->replay);
    sl_trace_free(f->trace);
}

static sl_maybe_u64 at(const fixture *f, size_t moment, const char *label) {
    const sl_ledger_row *row = find_row(&f->ledger->rows, label);
    return sl_ledger_bytes(f->ledger, moment)[row - f->ledger->rows.at];
}

static void check_at(const fixture *f, size_t moment, const char *label, uint64_t expected_mib) {
    sl_maybe_u64 bytes = at(f, moment, label);
    assert_true(bytes.known);
    assert_int_equal(bytes.value, expected_mib * MIB);
}

static void check_sum(const fixture *f, size_t moment) {
    uint64_t sum = 0;
    for (size_t i = 0; i < f->ledger->rows.cnt; i++)
        sum += sl_ledger_bytes(f->ledger, moment)[i].known
                   ? sl_ledger_bytes(f->ledger, moment)[i].value
                   : 0;
    assert_int_equal(sum, f->ledger->moments[moment].card_used.value);
}

/* The driver is read early in bin 1, before PyTorch takes another 500 MiB in the same bin. */
static void test_a_reading_within_a_bin_uses_the_state_of_its_moment(void **state) {
    SL_UNUSED(state);
    fixture f = begin();
    add_event(&f, 50000, SL_EV_ALLOC, 0x1000, 90 * MIB, SL_TAG_UNKNOWN);
    add_event(&f, 160000, SL_EV_ALLOC, 0x100000000, 450 * MIB, SL_TAG_UNKNOWN);
    add_bin(&f, SL_SERIES_RESERVED, 0, 100);
    add_reading(&f, SL_SERIES_RESERVED, 100000, 199999, (const uint64_t[3]){600, 600, 600});
    add_bin(&f, SL_SERIES_ALLOCATED, 0, 90);
    add_reading(&f, SL_SERIES_ALLOCATED, 100000, 199999, (const uint64_t[3]){540, 540, 540});
    add_change(&f, SL_SERIES_LIBRARY "libcudart", 0, 0);
    add_change(&f, SL_SERIES_LIBRARY "libcudart", 40000, 100);
    add_change(&f, SL_SERIES_LIBRARY "libcudart", 159000, 600);
    for (int64_t bin = 1; bin <= 2; bin++) {
        add_bin(&f, SL_SERIES_DEVICE_USED, bin, bin == 1 ? 600 : 1200);
        add_bin(&f, SL_SERIES_PROCESS_USED, bin, bin == 1 ? 550 : 1150);
    }
    finish(&f);
    assert_int_equal(f.ledger->moment_cnt, 2);
    assert_int_equal(f.ledger->moments[0].time_us, 158999);
    check_at(&f, 0, "tensors", 90);
    check_at(&f, 0, "allocator's cache", 10);
    check_at(&f, 0, "CUDA context and modules", 450);
    check_at(&f, 0, "rest", 50);
    check_at(&f, 1, "tensors", 540);
    check_at(&f, 1, "CUDA context and modules", 550);
    check_sum(&f, 0);
    check_sum(&f, 1);
    assert_int_equal(sl_ledger_fullest(f.ledger), 1);
    assert_int_equal(sl_ledger_at(f.ledger, 0), 0);
    assert_int_equal(sl_ledger_at(f.ledger, 199999), 0);
    assert_int_equal(sl_ledger_at(f.ledger, 200000), 1);
    end(&f);
}

/* The driver was read before a library grew: the context must not shrink by that growth. */
static void test_growth_of_a_library_does_not_shrink_the_context(void **state) {
    SL_UNUSED(state);
    fixture f = begin();
    add_change(&f, SL_SERIES_LIBRARY "libxla", 0, 0);
    add_change(&f, SL_SERIES_LIBRARY "libxla", 250000, 300);
    for (int64_t bin = 1; bin <= 3; bin++) {
        add_bin(&f, SL_SERIES_DEVICE_USED, bin, bin < 3 ? 500 : 800);
        add_bin(&f, SL_SERIES_PROCESS_USED, bin, bin < 3 ? 500 : 800);
    }
    finish(&f);
    for (size_t i = 0; i < 3; i++) {
        check_at(&f, i, "CUDA context and modules", 500);
        check_at(&f, i, "libxla", i < 2 ? 0 : 300);
        check_sum(&f, i);
    }
    end(&f);
}

/* An exception frees the tensors: the card stays full, and grows by a module. */
static void test_the_fullest_moment_shows_what_filled_it(void **state) {
    SL_UNUSED(state);
    static const uint64_t used[] = {300, 990, 1000, 995}, tensors[] = {100, 800, 20, 0};
    fixture f = begin();
    for (int64_t bin = 0; bin < 4; bin++) {
        add_bin(&f, SL_SERIES_DEVICE_USED, bin, used[bin]);
        add_bin(&f, SL_SERIES_ALLOCATED, bin, tensors[bin]);
        add_bin(&f, SL_SERIES_RESERVED, bin, used[bin] - 100);
    }
    finish(&f);
    assert_int_equal(sl_ledger_fullest(f.ledger), 1);
    assert_int_equal(sl_ledger_most_used(f.ledger), 1000 * MIB);
    check_at(&f, 1, "tensors", 800);
    end(&f);
}

/* Before the allocator's first figure the tensors are unknown, whatever the events add up to. */
static void test_unknown_tensors_do_not_make_a_moment_fuller(void **state) {
    SL_UNUSED(state);
    fixture f = begin();
    f.trace->has_tags = true;
    add_event(&f, 10000, SL_EV_ALLOC, 0x1000, 500 * MIB, SL_TAG_PARAMETER);
    add_event(&f, 20000, SL_EV_ALLOC, 0x100000000, 10 * MIB, SL_TAG_PARAMETER);
    add_event(&f, 150000, SL_EV_FREE, 0x1000, 500 * MIB, SL_TAG_UNKNOWN);
    add_bin(&f, SL_SERIES_DEVICE_USED, 0, 995);
    add_bin(&f, SL_SERIES_DEVICE_USED, 1, 1000);
    add_bin(&f, SL_SERIES_ALLOCATED, 1, 10);
    finish(&f);
    assert_false(at(&f, 0, "tensors: parameter").known);
    check_at(&f, 1, "tensors: parameter", 10);
    assert_int_equal(sl_ledger_fullest(f.ledger), 1);
    end(&f);
}

static void test_tags_over_time(void **state) {
    SL_UNUSED(state);
    fixture f = begin();
    f.trace->has_tags = true;
    add_event(&f, 10000, SL_EV_ALLOC, 0x1000, 64 * MIB, SL_TAG_PARAMETER);
    add_event(&f, 20000, SL_EV_ALLOC, 0x100000000, 8 * MIB, SL_TAG_ACTIVATION);
    add_event(&f, 150000, SL_EV_FREE, 0x100000000, 8 * MIB, SL_TAG_UNKNOWN);
    add_bin(&f, SL_SERIES_ALLOCATED, 0, 75); /* 3 MiB were there before */
    add_bin(&f, SL_SERIES_ALLOCATED, 1, 67);
    add_bin(&f, SL_SERIES_RESERVED, 0, 80);
    add_bin(&f, SL_SERIES_DEVICE_USED, 0, 100);
    add_bin(&f, SL_SERIES_DEVICE_USED, 1, 100);
    finish(&f);
    check_at(&f, 0, "tensors: parameter", 64);
    check_at(&f, 0, "tensors: activation", 8);
    check_at(&f, 0, "tensors: without a tag", 3);
    check_at(&f, 1, "tensors: parameter", 64);
    check_at(&f, 1, "tensors: activation", 0);
    check_at(&f, 1, "allocator's cache", 13);
    check_sum(&f, 0);
    for (size_t i = 0; i < f.ledger->rows.cnt; i++) /* tags that never held anything are no rows */
        assert_true(!f.ledger->rows.at[i].has_tag || f.ledger->rows.at[i].tag != SL_TAG_GRADIENT);
    end(&f);
}

/* The events before 150 ms are gone: which libraries had what is not known until then. */
static void test_libraries_before_the_first_event_are_unknown(void **state) {
    SL_UNUSED(state);
    fixture f = begin();
    add_change(&f, SL_SERIES_LIBRARY "libnccl", 250000, 40);
    for (int64_t bin = 1; bin <= 2; bin++) {
        add_bin(&f, SL_SERIES_DEVICE_USED, bin, 100);
        add_bin(&f, SL_SERIES_PROCESS_USED, bin, 90);
    }
    finish(&f);
    assert_false(at(&f, 0, "libnccl").known);
    check_at(&f, 0, "CUDA context and modules", 90); /* what was not seen is in it */
    check_at(&f, 0, "rest", 10);
    check_sum(&f, 0);
    check_at(&f, 1, "libnccl", 40);
    check_at(&f, 1, "CUDA context and modules", 50);
    check_sum(&f, 1);
    end(&f);
}

static void test_without_readings_there_is_no_moment(void **state) {
    SL_UNUSED(state);
    fixture f = begin();
    finish(&f);
    assert_int_equal(f.ledger->moment_cnt, 0);
    end(&f);
}

/* ---- series ---- */

static void test_series_of_the_ledger(void **state) {
    SL_UNUSED(state);
    fixture f = begin();
    add_reading(&f, "x", 100, 199, (const uint64_t[3]){1, 9, 4});
    add_reading(&f, "x", 300, 399, (const uint64_t[3]){2, 8, 3});
    const sl_counter_series *x = sl_series_find(f.trace, 0, "x");
    uint64_t low = 0, high = 0;
    assert_null(sl_series_find(f.trace, 1, "x"));
    assert_false(sl_series_at(NULL, 0).known);
    assert_false(sl_series_at(x, 99).known);
    assert_int_equal(sl_series_at(x, 199).value, 4 * MIB);
    assert_int_equal(sl_series_at(x, 350).value, 4 * MIB); /* where its last value is not yet */
    assert_int_equal(sl_series_at(x, 399).value, 3 * MIB);
    assert_false(sl_series_range(x, 0, 99, &low, &high));
    assert_true(sl_series_range(x, 200, 299, &low, &high)); /* between two: the last one holds */
    assert_int_equal(low, 4 * MIB);
    assert_int_equal(high, 4 * MIB);
    assert_true(sl_series_range(x, 250, 350, &low, &high));
    assert_int_equal(low, 2 * MIB);
    assert_int_equal(high, 8 * MIB);
    assert_int_equal(sl_series_last(x).value, 3 * MIB);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_add_up),
        cmocka_unit_test(test_tagged_and_untagged_bytes),
        cmocka_unit_test(test_what_was_not_measured_is_unknown),
        cmocka_unit_test(test_below_zero_is_unknown_and_not_zero),
        cmocka_unit_test(test_the_card_is_at_least_the_sum_of_its_parts),
        cmocka_unit_test(test_a_reading_within_a_bin_uses_the_state_of_its_moment),
        cmocka_unit_test(test_growth_of_a_library_does_not_shrink_the_context),
        cmocka_unit_test(test_the_fullest_moment_shows_what_filled_it),
        cmocka_unit_test(test_unknown_tensors_do_not_make_a_moment_fuller),
        cmocka_unit_test(test_tags_over_time),
        cmocka_unit_test(test_libraries_before_the_first_event_are_unknown),
        cmocka_unit_test(test_without_readings_there_is_no_moment),
        cmocka_unit_test(test_series_of_the_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
