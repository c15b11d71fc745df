/* SPDX-License-Identifier: MIT */
/* Against values that numpy 1.24 and scipy 1.10 give for the same arrays. */
#include "base/stats/sample_stats.h"

#include <math.h>

#include "sltest.h"

static void assert_near(double got, double expected) {
    if (fabs(got - expected) > 1e-12 * fmax(1, fabs(expected)))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

static void test_mean_and_deviation(void **state) {
    (void)state;
    static const double v[] = {2, 4, 4, 4, 5, 5, 7, 9};
    assert_near(sl_stat_mean(v, 8), 5);
    assert_near(sl_stat_stdev(v, 8), 2.138089935299395);
    assert_near(sl_stat_stdev(v, 1), 0);
    assert_near(sl_stat_mean(v, 0), 0);
}

static void test_quantiles_and_median(void **state) {
    (void)state;
    double v[] = {9, 1, 8, 2, 7, 3};
    assert_near(sl_stat_median(v, 6), 5);
    sl_stat_sort(v, 6);
    assert_near(sl_stat_quantile(v, 6, 0.25), 2.25);
    assert_near(sl_stat_quantile(v, 6, 0.75), 7.75);
    assert_near(sl_stat_quantile(v, 6, 0.9), 8.5);
    assert_near(sl_stat_quantile(v, 6, 1), 9);
    double odd[] = {5, 5, 1, 5, 5};
    assert_near(sl_stat_median(odd, 5), 5);
    double one[] = {3};
    assert_near(sl_stat_median(one, 1), 3);
    assert_near(sl_stat_median(one, 0), 0);
}

static void test_gaps_and_outliers(void **state) {
    (void)state;
    /* At 0, 2, 4, 10: distances 2, 2, 6; numpy.std 1.88561808, mean 3.33333333. */
    assert_near(sl_stat_gap_variation(10, 3, 44), 0.5656854249492381);
    assert_near(sl_stat_gap_variation(12, 4, 36), 0);
    assert_true(isinf(sl_stat_gap_variation(0, 3, 0)));
    static const double v[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 21}, flat[] = {4, 4, 4};
    sl_outliers out = sl_stat_outliers(v, 12, 3);
    assert_int_equal(out.cnt, 1);
    assert_near(out.largest, 21);
    assert_near(out.largest_z, 3.175426480542942);
    out = sl_stat_outliers(flat, 3, 3);
    assert_true(out.cnt == 0 && out.largest == 4 && out.largest_z == 0);
    out = sl_stat_outliers(flat, 0, 3);
    assert_true(out.cnt == 0 && out.largest == 0 && out.largest_z == 0);
}

/* Selection compared with sorting, on arrays with many equal values. */
static void test_median_of_many(void **state) {
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 300; round++) {
        double v[64], w[64];
        size_t cnt = 1 + (size_t)round % 64;
        for (size_t i = 0; i < cnt; i++) {
            seed = seed * 1664525u + 1013904223u;
            v[i] = w[i] = (double)(seed >> 24 & (round % 2 ? 3u : 255u));
        }
        sl_stat_sort(w, cnt);
        double expected = cnt % 2 ? w[cnt / 2] : (w[cnt / 2 - 1] + w[cnt / 2]) / 2;
        assert_near(sl_stat_median(v, cnt), expected);
    }
}

static void test_line(void **state) {
    (void)state;
    static const double x[] = {0, 1, 2, 3, 4, 5}, y[] = {1, 3, 2, 5, 4, 6};
    sl_fit fit;
    assert_true(sl_stat_fit(x, y, 6, &fit));
    assert_near(fit.slope, 0.8857142857142857);
    assert_near(fit.intercept, 1.2857142857142858);
    assert_near(fit.r, 0.8857142857142857);
    if (fabs(fit.p_value - 0.01884548104956266) > 1e-10)
        fail_msg("p = %.17g", fit.p_value);
    static const double same[] = {2, 2, 2};
    assert_false(sl_stat_fit(same, y, 3, &fit));
}

static void test_students_distribution(void **state) {
    (void)state;
    assert_near(sl_stat_t_two_sided(0, 5), 1);
    if (fabs(sl_stat_t_two_sided(2.570581835636314, 5) - 0.05) > 1e-12)
        fail_msg("t: %.17g", sl_stat_t_two_sided(2.570581835636314, 5));
    assert_true(sl_stat_t_two_sided(1e12, 28) < 1e-100);
}

static void test_rounding_equals_that_of_python(void **state) {
    (void)state;
    assert_true(sl_stat_round(0.8125, 3) == 0.812); /* a tie */
    assert_true(sl_stat_round(2.675, 2) == 2.67);   /* the double lies below */
    assert_true(sl_stat_round(0.5, 0) == 0.0);
    assert_true(sl_stat_round(1.5, 0) == 2.0);
    assert_true(sl_stat_round(-1.25, 1) == -1.2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean_and_deviation),
        cmocka_unit_test(test_quantiles_and_median),
        cmocka_unit_test(test_gaps_and_outliers),
        cmocka_unit_test(test_median_of_many),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_students_distribution),
        cmocka_unit_test(test_rounding_equals_that_of_python),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
