/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log/read/log_reader.h"
#include "log/write/log_writer_impl.h"
#include "log_fixture.h"
#include "sltest.h"

#define SECOND UINT64_C(1000000000)

static char path[100];

static sl_log *create(void) {
    sl_log *log = NULL;
    sl_log_options o = {.struct_size = sizeof o,
                        .path = path,
                        .ring_bytes = 1u << 20,
                        .live_cap = 64,
                        .live_levels = 1,
                        .counter_cap = 4,
                        .overwrite = true};
    assert_int_equal(sl_log_create(&o, &log, NULL), SL_OK);
    return log;
}

static sl_log_bins load(uint32_t counter) {
    sl_log_reader *r = NULL;
    sl_log_bins bins;
    sl_error err = SL_ERROR_INIT;
    assert_int_equal(sl_log_open(path, &r, &err), SL_OK);
    assert_int_equal(sl_log_load_curve(r, counter, &bins, &err), SL_OK);
    sl_log_reader_close(r);
    return bins;
}

/* Bins ascend without overlap, cover all samples, and have the true extremes. */
typedef struct expected {
    uint64_t min, max, last, cnt;
} expected;

static uint64_t value_at(uint64_t second) {
    return fixture_hash(second) % 1000000;
}

static void check_bins(const sl_log_bins *bins, uint64_t seconds) {
    uint64_t next_second = 0, end_ns = 0;
    for (size_t i = 0; i < bins->cnt; i++) {
        const sl_log_bin *b = &bins->at[i];
        expected e = {.min = UINT64_MAX};
        assert_true(b->start_ns >= end_ns);
        end_ns = b->start_ns + b->length_ns;
        for (; next_second < seconds && next_second * SECOND < end_ns; next_second++) {
            uint64_t v = value_at(next_second);
            e.min = v < e.min ? v : e.min;
            e.max = v > e.max ? v : e.max;
            e.last = v;
            e.cnt++;
        }
        assert_int_equal(b->min, e.min);
        assert_int_equal(b->max, e.max);
        assert_int_equal(b->last, e.last);
        assert_int_equal(b->cnt, e.cnt);
    }
    assert_int_equal(next_second, seconds);
}

static void a_week_of_samples_keeps_its_extremes_in_a_few_megabytes(void **state) {
    SL_UNUSED(state);
    const uint64_t seconds = 7 * 24 * 3600;
    sl_log *log = create();
    int counter = sl_log_counter(log, SL_COUNTER_HOST_RSS, -1, 0);
    for (uint64_t s = 0; s < seconds; s++) {
        sl__curve_set(log, (uint32_t)counter, value_at(s), s * SECOND);
        if (s % 5 == 0)
            sl__curve_roll(log, s * SECOND);
    }
    assert_true(sl_curve_bytes(log->curve_bins, SL_CURVE_LEVELS) * 16 < 4u << 20);
    /* Not closed, and last rolled up seconds ago: as after a kill. */
    sl_log_bins bins = load((uint32_t)counter);
    check_bins(&bins, seconds);
    assert_true(bins.cnt > 2000);
    sl_vec_free(&bins);
    sl_log_close(log);
}

/* Samples that come seconds after their time still reach every level that has been rolled up. */
static void late_samples_are_not_lost(void **state) {
    SL_UNUSED(state);
    sl_log *log = create();
    int counter = sl_log_counter(log, SL_COUNTER_HOST_RSS, -1, 0);
    for (uint64_t s = 0; s < 1000; s++) {
        sl__curve_set(log, (uint32_t)counter, 500, s * SECOND);
        sl__curve_roll(log, s * SECOND);
        if (s == 700)
            sl__curve_set(log, (uint32_t)counter, 9000, 690 * SECOND);
        if (s == 800)
            sl__curve_set(log, (uint32_t)counter, 1,
                          400 * SECOND); /* level 0 has forgotten this time */
    }
    sl_log_bins bins = load((uint32_t)counter);
    uint64_t min = UINT64_MAX, max = 0, cnt = 0;
    for (size_t i = 0; i < bins.cnt; i++) {
        const sl_log_bin *b = &bins.at[i];
        if (b->max == 9000)
            assert_true(b->start_ns <= 690 * SECOND && 690 * SECOND < b->start_ns + b->length_ns);
        min = b->min < min ? b->min : min;
        max = b->max > max ? b->max : max;
        cnt += b->cnt;
    }
    assert_int_equal(min, 1);
    assert_int_equal(max, 9000);
    assert_int_equal(cnt, 1002);
    sl_vec_free(&bins);
    sl_log_close(log);
}

static void old_values_do_not_reappear_after_a_long_pause(void **state) {
    SL_UNUSED(state);
    sl_log *log = create();
    int counter = sl_log_counter(log, SL_COUNTER_POWER, 3, 0);
    sl__curve_set(log, (uint32_t)counter, 10, 0);
    sl__curve_roll(log, SECOND);
    uint64_t later = 3 * 24 * 3600 * SECOND;
    sl__curve_roll(log, later);
    sl__curve_set(log, (uint32_t)counter, 20, later);
    sl_log_bins bins = load((uint32_t)counter);
    assert_int_equal(bins.cnt, 2);
    assert_int_equal(bins.at[0].max, 10);
    assert_int_equal(bins.at[0].start_ns, 0);
    assert_int_equal(bins.at[1].min, 20);
    sl_vec_free(&bins);
    sl_log_close(log);
}

static void unavailable_counters_are_marked_as_such(void **state) {
    SL_UNUSED(state);
    sl_log *log = create();
    int power = sl_log_counter(log, SL_COUNTER_POWER, 1, 0);
    assert_int_equal(power, sl_log_counter(log, SL_COUNTER_POWER, 1, 0));
    int heat = sl_log_counter(log, SL_COUNTER_TEMPERATURE, 1, 0);
    sl_log_counter_unavailable(log, heat, sl_log_string(log, "no driver", 9));
    sl_log_counter_set(log, power, 300000);
    assert_int_equal(sl_log_counter(log, SL_COUNTER_UTILIZATION, 1, 0), 2);
    assert_int_equal(sl_log_counter(log, SL_COUNTER_UTILIZATION, 2, 0), 3);
    assert_int_equal(sl_log_counter(log, SL_COUNTER_UTILIZATION, 4, 0), -1);
    sl_log_counter_set(log, -1, 1);
    sl_log_close(log);
    sl_log_reader *r = NULL;
    sl_log_counters counters;
    assert_int_equal(sl_log_open(path, &r, NULL), SL_OK);
    assert_int_equal(sl_log_load_names(r, NULL), SL_OK);
    assert_int_equal(sl_log_load_counters(r, &counters, NULL), SL_OK);
    assert_int_equal(counters.cnt, 4);
    assert_true(counters.at[0].is_available);
    assert_int_equal(counters.at[0].last, 300000);
    assert_false(counters.at[1].is_available);
    assert_memory_equal(sl_log_get_string(r, counters.at[1].why).ptr, "no driver", 9);
    assert_int_equal(sl_log_state(r)->health[SL_HEALTH_COUNTER_OVERFLOW], 1);
    sl_vec_free(&counters);
    sl_log_reader_close(r);
}

/* As the recorder does it: the host's counters first, then a device at a time, all of its own at
 * once, with a maintain before each. Nothing may be refused. */
static void sixteen_devices_fit_at_once(void **state) {
    SL_UNUSED(state);
    const uint32_t host_cnt = 5, device_cnt = 10;
    sl_log *log = NULL;
    sl_log_options o = {
        .struct_size = sizeof o, .path = path, .ring_bytes = 1u << 20, .overwrite = true};
    assert_int_equal(sl_log_create(&o, &log, NULL), SL_OK);
    for (uint32_t name = 1; name <= host_cnt; name++)
        assert_true(sl_log_counter(log, SL_COUNTER_CUSTOM, -1, name) >= 0);
    for (int device = 0; device < 16; device++) {
        sl_log_maintain(log);
        for (uint32_t name = 1; name <= device_cnt; name++)
            assert_true(sl_log_counter(log, SL_COUNTER_CUSTOM, device, name) >= 0);
    }
    assert_int_equal(sl_get(&log->state->health[SL_HEALTH_COUNTER_OVERFLOW]), 0);
    sl_log_close(log);
}

/* Totals that come with events must not be lost for good because they came too early. */
static void a_total_that_did_not_fit_is_requested_again(void **state) {
    SL_UNUSED(state);
    sl_log *log = NULL;
    sl_log_options o = {
        .struct_size = sizeof o, .path = path, .ring_bytes = 1u << 20, .overwrite = true};
    assert_int_equal(sl_log_create(&o, &log, NULL), SL_OK);
    uint32_t name = 1;
    while (sl_log_counter(log, SL_COUNTER_CUSTOM, -1, name) >= 0)
        name++;
    sl_log_event event = {.kind = SL_EV_ALLOC,
                          .addr = 0x1000,
                          .size = 512,
                          .total_allocated = 512,
                          .total_reserved = SL_LOG_UNKNOWN};
    sl_log_write(log, &event);
    sl_log_maintain(log);
    event.addr = 0x2000;
    event.total_allocated = 1024;
    sl_log_write(log, &event);
    int counter = sl_log_counter(log, SL_COUNTER_ALLOCATED, 0, 0);
    assert_true(counter >= 0);
    sl_log_close(log);
    sl_log_bins bins = load((uint32_t)counter);
    assert_int_equal(bins.cnt, 1);
    assert_int_equal(bins.at[0].last, 1024);
    sl_vec_free(&bins);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_week_of_samples_keeps_its_extremes_in_a_few_megabytes),
        cmocka_unit_test(late_samples_are_not_lost),
        cmocka_unit_test(old_values_do_not_reappear_after_a_long_pause),
        cmocka_unit_test(unavailable_counters_are_marked_as_such),
        cmocka_unit_test(sixteen_devices_fit_at_once),
        cmocka_unit_test(a_total_that_did_not_fit_is_requested_again),
    };
    snprintf(path, sizeof path, "/tmp/stormlog-curve-%d.slog", (int)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
