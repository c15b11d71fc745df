/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sltest.h"

#include "base/stats/sample_stats.h"
#include "base/stats/series.h"
#include "fake_alloc.h"

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double sorted_median(const double *values, size_t cnt) {
    double *copy = malloc((cnt + 1) * sizeof *copy);
    memcpy(copy, values, cnt * sizeof *copy);
    qsort(copy, cnt, sizeof *copy, compare_doubles);
    double m = cnt % 2 ? copy[cnt / 2] : (copy[cnt / 2 - 1] + copy[cnt / 2]) / 2;
    free(copy);
    return m;
}

static void close_to(double got, double want, double within) {
    if (fabs(got - want) > within)
        fail_msg("%.17g is not within %g of %.17g", got, within, want);
}

/* Many equal values, sorted and reversed input are what selection gets wrong. */
static void test_median_against_sorting(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int round = 0; round < 2000; round++) {
        double v[64], w[64];
        size_t cnt = 1 + (size_t)fake_random(&seed, 64);
        uint64_t range = 1 + fake_random(&seed, round % 2 ? 4 : 100000);
        for (size_t i = 0; i < cnt; i++)
            v[i] = round % 3 == 0 ? (double)(round % 2 ? i : cnt - i)
                                  : (double)fake_random(&seed, range);
        memcpy(w, v, cnt * sizeof *v);
        assert_true(sl_stat_median(v, cnt) == sorted_median(w, cnt));
    }
}

static void test_theil_sen_against_brute_force(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (int round = 0; round < 200; round++) {
        double y[SL_SERIES_MAX], *slopes = malloc(sizeof(double) * SL_SERIES_MAX * SL_SERIES_MAX);
        size_t cnt = 2 + (size_t)fake_random(&seed, SL_SERIES_MAX - 1), n = 0;
        for (size_t i = 0; i < cnt; i++)
            y[i] = (double)fake_random(&seed, 1000) + 3.0 * (double)i;
        for (size_t j = 1; j < cnt; j++)
            for (size_t i = 0; i < j; i++)
                slopes[n++] = (y[j] - y[i]) / (double)(j - i);
        assert_true(sl_theil_sen(y, cnt) == sorted_median(slopes, n));
        free(slopes);
    }
}

/* Up to 29 % of the values may be wild before the slope moves far. */
static void test_slope_ignores_outliers(void **state) {
    (void)state;
    double y[100];
    for (int i = 0; i < 100; i++)
        y[i] = i % 5 == 4 ? 1e9 : 1000 + 512.0 * i;
    close_to(sl_theil_sen(y, 100), 512, 60);
}

static void test_trend_of_a_line(void **state) {
    (void)state;
    double y[20];
    for (int i = 0; i < 20; i++)
        y[i] = 7 + 2.0 * i;
    sl_trend t = sl_trend_of(y, 20);
    close_to(t.slope, 2, 1e-12);
    close_to(t.intercept, 7, 1e-12);
    close_to(t.tau, 1, 1e-12);
    close_to(t.r_squared, 1, 1e-12);
    close_to(t.noise, 0, 1e-12);
    close_to(t.largest_fall, 0, 0);
    /* S = 190, var = 950, z = 189 / sqrt(950) = 6.132: the tables give 4.3e-10. */
    close_to(t.p, 4.34e-10, 0.1e-10);
    close_to(sl_mann_kendall(y, 20).z, 6.1320, 1e-4);
}

static void test_flat_or_too_few_values_have_no_trend(void **state) {
    (void)state;
    double flat[12] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    sl_trend t = sl_trend_of(flat, 12);
    assert_true(t.slope == 0 && t.tau == 0 && t.p == 1 && t.r_squared == 0);
    t = sl_trend_of(flat, 1);
    assert_true(t.slope == 0 && t.p == 1);
    t = sl_trend_of(flat, 0);
    assert_true(t.slope == 0 && t.p == 1);
}

/* By hand: S = 13, two pairs of equals, so var = (6 * 5 * 17 - 2 * 18) / 18 = 26.33 and
 * z = 12 / sqrt(26.33); falling values mirror it. */
static void test_ties_of_mann_kendall(void **state) {
    (void)state;
    double y[] = {1, 1, 2, 3, 3, 4}, down[] = {4, 3, 3, 2, 1, 1};
    sl_kendall up = sl_mann_kendall(y, 6), fall = sl_mann_kendall(down, 6);
    close_to(up.z, 2.3385, 1e-4);
    close_to(up.z + fall.z, 0, 1e-12);
    close_to(up.p + fall.p, 1, 1e-12);
    close_to(up.tau, 13 / sqrt(15 * 13), 1e-12);
}

static void test_falling_values(void **state) {
    (void)state;
    double y[] = {0, 10, 4, 12, 11, 20};
    close_to(sl_trend_of(y, 6).largest_fall, 6, 0);
}

/* Under "no trend" the share of p below 1 % must be about 1 %. */
static void test_false_alarms_of_mann_kendall(void **state) {
    (void)state;
    uint64_t seed = 11;
    int alarms = 0;
    for (int round = 0; round < 5000; round++) {
        double y[20];
        for (int i = 0; i < 20; i++)
            y[i] = (double)fake_random(&seed, 1000000);
        alarms += sl_trend_of(y, 20).p < 0.01;
    }
    assert_in_range(alarms, 20, 85);
}

/* Unequal distances, and an interval that contains the slope of a line with noise about as often as it says. */
static void test_slope_range(void **state) {
    (void)state;
    double x[40], y[40];
    uint64_t seed = 11;
    size_t held = 0, rounds = 300;
    for (size_t i = 0; i < 40; i++)
        x[i] = (double)(i * i), y[i] = 3 * x[i] - 7;
    sl_slope_range exact = sl_theil_sen_range(x, y, 40, 1.645);
    close_to(exact.slope, 3, 1e-9);
    close_to(exact.low, 3, 1e-9);
    close_to(exact.high, 3, 1e-9);
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < 40; i++)
            x[i] = (double)i, y[i] = 0.5 * x[i] + (double)fake_random(&seed, 1000) / 100;
        sl_slope_range range = sl_theil_sen_range(x, y, 40, 1.645);
        assert_true(range.low <= range.slope && range.slope <= range.high);
        held += range.low <= 0.5 && 0.5 <= range.high ? 1 : 0;
    }
    if (held < rounds * 8 / 10 || held == rounds)
        fail_msg("the interval of 90 %% held %zu of %zu times", held, rounds);
    x[0] = x[1] = 1;
    assert_true(sl_theil_sen_range(x, y, 2, 1.645).slope == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slope_range),
        cmocka_unit_test(test_median_against_sorting),
        cmocka_unit_test(test_theil_sen_against_brute_force),
        cmocka_unit_test(test_slope_ignores_outliers),
        cmocka_unit_test(test_trend_of_a_line),
        cmocka_unit_test(test_flat_or_too_few_values_have_no_trend),
        cmocka_unit_test(test_ties_of_mann_kendall),
        cmocka_unit_test(test_falling_values),
        cmocka_unit_test(test_false_alarms_of_mann_kendall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
