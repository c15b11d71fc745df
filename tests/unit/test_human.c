/* SPDX-License-Identifier: MIT */
#include "base/text/human.h"

#include <string.h>

#include "sltest.h"

static void bytes_have_three_digits(void **state) {
    SL_UNUSED(state);
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {{0, "0 B"},
                {1023, "1023 B"},
                {1024, "1.00 KiB"},
                {1536, "1.50 KiB"},
                {10 * 1024 + 512, "10.5 KiB"},
                {547328, "534 KiB"}, /* 534.5: to the even one, as the page does */
                {1048575, "1.00 MiB"},
                {19306483860u, "18.0 GiB"},
                {UINT64_MAX, "16.0 EiB"}};
    char buf[SL_HUMAN_CAP];
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        assert_string_equal(sl_human_bytes(buf, rows[i].bytes), rows[i].text);
    assert_string_equal(sl_human_bytes_delta(buf, -2048), "-2.00 KiB");
    assert_string_equal(sl_human_bytes_delta(buf, 512), "+512 B");
    assert_string_equal(sl_human_bytes_delta(buf, 0), "0 B");
    assert_string_equal(sl_human_bytes_delta(buf, INT64_MIN), "-8.00 EiB");
}

static void test_ticks_are_round_in_their_own_unit(void **state) {
    SL_UNUSED(state);
    static const double gib = 1073741824.0, mib = 1048576.0;
    char text[SL_HUMAN_CAP];
    assert_string_equal(sl_human_tick(text, sl_human_tick_step(18 * gib, 4)), "5 GiB");
    assert_string_equal(sl_human_tick(text, sl_human_tick_step(140 * gib, 3)), "50 GiB");
    assert_string_equal(sl_human_tick(text, sl_human_tick_step(900 * mib, 2)), "500 MiB");
    assert_string_equal(sl_human_tick(text, sl_human_tick_step(3.7 * gib, 8)), "512 MiB");
    assert_string_equal(sl_human_tick(text, 3 * sl_human_tick_step(3.7 * gib, 8)), "1.5 GiB");
    assert_string_equal(sl_human_tick(text, sl_human_tick_step(1, 1)), "1 B");
    for (double top = 1; top < 1e18; top *= 1.7) {
        double step = sl_human_tick_step(top, 4);
        assert_true(top / step <= 4.0001 && step <= top * 2.6);
        for (double tick = step; tick <= top;
             tick += step) /* few digits: "1.953 GiB" is not round */
            assert_true(strcspn(sl_human_tick(text, tick), " ") <= 5 && !strstr(text, "e+"));
    }
}

static void durations_choose_their_unit(void **state) {
    SL_UNUSED(state);
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {{0, "0 us"},
                {999, "999 us"},
                {1500, "1.50 ms"},
                {1250000, "1.25 s"},
                {200000000, "3 min 20 s"},
                {25320000000, "7 h 02 min"},
                {532800000000, "6 d 4 h"},
                {-1500, "-1.50 ms"}};
    char buf[SL_HUMAN_CAP];
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        assert_string_equal(sl_human_duration_us(buf, rows[i].us), rows[i].text);
    assert_non_null(sl_human_duration_us(buf, INT64_MIN));
}

static void counts_are_grouped(void **state) {
    SL_UNUSED(state);
    char buf[SL_HUMAN_CAP];
    assert_string_equal(sl_human_count(buf, 7), "7");
    assert_string_equal(sl_human_count(buf, 999), "999");
    assert_string_equal(sl_human_count(buf, 1000), "1,000");
    assert_string_equal(sl_human_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void sizes_are_parsed(void **state) {
    SL_UNUSED(state);
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"0", 0},          {"4096", 4096},       {"256MiB", 256u << 20}, {"1.5 GB", 1500000000},
        {"20k", 20 << 10}, {"1TiB", 1ull << 40}, {"2g", 2ull << 30}};
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++) {
        uint64_t bytes = 1;
        assert_int_equal(sl_human_parse_bytes(rows[i].text, &bytes, NULL), SL_OK);
        assert_int_equal(bytes, rows[i].bytes);
    }
    static const char *const wrong[] = {"", "MiB", "-1", "nan", "12 parsecs", "99999999TiB"};
    for (size_t i = 0; i < SL_COUNT_OF(wrong); i++) {
        uint64_t bytes = 1;
        assert_int_equal(sl_human_parse_bytes(wrong[i], &bytes, NULL), SL_E_USAGE);
        assert_int_equal(bytes, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_three_digits),
        cmocka_unit_test(test_ticks_are_round_in_their_own_unit),
        cmocka_unit_test(durations_choose_their_unit),
        cmocka_unit_test(counts_are_grouped),
        cmocka_unit_test(sizes_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
