/* SPDX-License-Identifier: MIT */
/* What log_tail.h reads in parts is what log_reader.h reads whole. */
#include "log/read/log_tail.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log/write/log_writer_impl.h"
#include "log_fixture.h"
#include "sltest.h"

#define SECOND UINT64_C(1000000000)
#define TENTH  UINT64_C(100000000)

static char path[100];

/* The log's clock stands at this time. */
static void turn_clock(sl_log *log, uint64_t ns) {
    log->start_mono_ns = sl_clock_mono_ns() - ns;
}

/* Two hours; a value every tenth of a second, but for a pause, and a step every second. */
static void make(uint64_t seconds) {
    sl_log *log = NULL;
    sl_log_options o = {.struct_size = sizeof o,
                        .path = path,
                        .ring_bytes = 1u << 20,
                        .live_cap = 64,
                        .live_levels = 1,
                        .counter_cap = 4,
                        .mark_cap = 1000,
                        .overwrite = true};
    assert_int_equal(sl_log_create(&o, &log, NULL), SL_OK);
    uint32_t name = sl_log_string(log, "libnccl.so.2", 12);
    int counter = sl_log_counter(log, SL_COUNTER_DRIVER_USED, 0, name);
    for (uint64_t tenth = 0; tenth < seconds * 10; tenth++) {
        if (tenth % 1000 < 900)
            sl__curve_set(log, (uint32_t)counter, fixture_hash(tenth) % 1000000, tenth * TENTH);
        turn_clock(log, tenth * TENTH);
        sl_log_maintain(log);
        if (tenth % 10 == 0)
            sl_log_step(log, tenth / 10, name);
    }
    turn_clock(log, seconds * SECOND);
    sl_log_close(log);
}

static sl_log_reader *open_log(void) {
    sl_log_reader *r = NULL;
    sl_error err = SL_ERROR_INIT;
    if (sl_log_open(path, &r, &err) < 0)
        fail_msg("%s", err.text);
    return r;
}

/* Whatever the windows, their bins together have every sample once, and its extremes. */
static void windows_are_the_curve(void **state) {
    SL_UNUSED(state);
    const uint64_t seconds = 7200;
    make(seconds);
    sl_log_reader *r = open_log();
    sl_log_bins parts = {0};
    uint64_t sample_cnt = 0;
    for (uint64_t from = 0; from < seconds; from += 7)
        assert_int_equal(sl_log_load_window(r, 0, from * SECOND, (from + 7) * SECOND, &parts, NULL),
                         SL_OK);
    assert_true(parts.cnt > 1000);
    for (size_t i = 0; i < parts.cnt; i++) {
        const sl_log_bin *bin = &parts.at[i];
        uint64_t min = UINT64_MAX, max = 0;
        for (uint64_t tenth = bin->start_ns / TENTH; tenth * TENTH < bin->start_ns + bin->length_ns;
             tenth++)
            if (tenth % 1000 < 900 && tenth < seconds * 10) {
                uint64_t v = fixture_hash(tenth) % 1000000;
                min = v < min ? v : min;
                max = v > max ? v : max;
            }
        assert_int_equal(bin->min, min);
        assert_int_equal(bin->max, max);
        sample_cnt += bin->cnt;
        if (i)
            assert_true(bin->start_ns >= parts.at[i - 1].start_ns + parts.at[i - 1].length_ns);
    }
    assert_int_equal(sample_cnt, seconds * 9); /* every sample is in exactly one bin */
    sl_vec_free(&parts);
    sl_log_reader_close(r);
}

static void the_last_minute_is_fine_and_older_bins_are_longer(void **state) {
    SL_UNUSED(state);
    make(7200);
    sl_log_reader *r = open_log();
    assert_int_equal(sl_log_newest_ns(r) / SECOND, 7200);
    assert_int_equal(sl_log_bin_ns(r, 7199 * SECOND), TENTH);
    assert_int_equal(sl_log_bin_ns(r, 7160 * SECOND), TENTH);
    assert_int_equal(sl_log_bin_ns(r, 7100 * SECOND), 4 * TENTH);
    assert_int_equal(sl_log_bin_ns(r, 6800 * SECOND), 16 * TENTH);
    assert_int_equal(sl_log_bin_ns(r, 10 * SECOND), 256 * TENTH);
    sl_log_reader_close(r);
}

static void the_value_before_a_moment(void **state) {
    SL_UNUSED(state);
    make(100);
    sl_log_reader *r = open_log();
    sl_log_bin bin;
    bool is_found;
    assert_int_equal(sl_log_find_before(r, 0, 0, &bin, &is_found, NULL), SL_OK);
    assert_false(is_found);
    /* In the pause, from 90 s on, the last value still holds. */
    assert_int_equal(sl_log_find_before(r, 0, 95 * SECOND, &bin, &is_found, NULL), SL_OK);
    assert_true(is_found);
    assert_int_equal(bin.last, fixture_hash(899) % 1000000);
    sl_log_reader_close(r);
}

static void steps_until_a_moment(void **state) {
    SL_UNUSED(state);
    make(7200); /* the list has room for 1,000 */
    sl_log_reader *r = open_log();
    sl_log_list_entry entry;
    uint64_t cnt;
    for (uint64_t second = 6300; second < 7200; second += 7) {
        assert_int_equal(
            sl_log_count_until(r, SL_SECTION_MARKS, second * SECOND + TENTH / 2, &cnt, NULL),
            SL_OK);
        assert_int_equal(cnt, second + 1);
        assert_int_equal(sl_log_read_entry(r, SL_SECTION_MARKS, cnt - 1, &entry, NULL), SL_OK);
        assert_true(entry.is_there);
        assert_int_equal(entry.number, second);
    }
    assert_int_equal(sl_log_read_entry(r, SL_SECTION_MARKS, 3, &entry, NULL), SL_OK);
    assert_false(entry.is_there); /* overwritten */
    assert_int_equal(sl_log_read_entry(r, SL_SECTION_MARKS, UINT64_MAX, &entry, NULL), SL_OK);
    assert_false(entry.is_there);
    sl_log_reader_close(r);
}

static void one_string(void **state) {
    SL_UNUSED(state);
    make(1);
    sl_log_reader *r = open_log();
    sl_log_counters counters;
    char text[64], cut[8];
    assert_int_equal(sl_log_load_counters(r, &counters, NULL), SL_OK);
    assert_int_equal(sl_log_read_string(r, counters.at[0].name, text, sizeof text, NULL), SL_OK);
    assert_string_equal(text, "libnccl.so.2");
    assert_int_equal(sl_log_read_string(r, counters.at[0].name, cut, sizeof cut, NULL), SL_OK);
    assert_string_equal(cut, "libnccl");
    for (uint32_t id = 0; id < 100; id++) /* in the middle of one, after the last, none */
        assert_int_equal(sl_log_read_string(r, id, text, sizeof text, NULL), SL_OK);
    assert_int_equal(sl_log_read_string(r, UINT32_MAX, text, sizeof text, NULL), SL_OK);
    assert_string_equal(text, "");
    sl_vec_free(&counters);
    sl_log_reader_close(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_are_the_curve),
        cmocka_unit_test(the_last_minute_is_fine_and_older_bins_are_longer),
        cmocka_unit_test(the_value_before_a_moment),
        cmocka_unit_test(steps_until_a_moment),
        cmocka_unit_test(one_string),
    };
    snprintf(path, sizeof path, "/tmp/stormlog-log-tail-%d.slog", (int)getpid());
    int failed = cmocka_run_group_tests_name("log_tail", tests, NULL, NULL);
    unlink(path);
    return failed;
}
