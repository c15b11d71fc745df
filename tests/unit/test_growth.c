/* SPDX-License-Identifier: MIT */
/* What grows to the end, and what only looks like it. */
#include "analyze/samples/growth.h"

#include <math.h>

#include "sltest.h"

#define MIB INT64_C(1048576)
#define CNT 400

static uint32_t seed;

static int64_t noise(int64_t width) {
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)(seed >> 8) % width;
}

typedef int64_t shape_fn(int64_t i);

static sl_growth judge(shape_fn *shape) {
    static sl_growth_point points[CNT];
    sl_growth growth;
    seed = 7;
    for (int64_t i = 0; i < CNT; i++)
        points[i] = (sl_growth_point){i * 100000000, shape(i)};
    sl_growth_find(points, CNT, &growth);
    return growth;
}

static int64_t flat_noisy(int64_t i) {
    (void)i;
    return 1000 * MIB + noise(300 * MIB);
}
static int64_t warm_up(int64_t i) {
    return (i < 60 ? i * 15 : 900) * MIB + noise(40 * MIB);
}
static int64_t one_spike(int64_t i) {
    return (i > 200 && i < 210 ? 4000 : 500) * MIB + noise(10 * MIB);
}
static int64_t two_levels(int64_t i) {
    return (i < 300 ? 500 : 900) * MIB + noise(10 * MIB);
}
static int64_t saw_teeth(int64_t i) {
    return (500 + i % 40 * 20) * MIB;
}
static int64_t shrinking(int64_t i) {
    return (2000 - i) * MIB;
}
static int64_t level_after_long_start(int64_t i) {
    return i < 320 ? 5 * MIB : (i < 335 ? (i - 320) * 60 : 900) * MIB + noise(40 * MIB);
}

static void test_healthy_shapes(void **state) {
    (void)state;
    static shape_fn *const shapes[] = {
        flat_noisy, warm_up, one_spike, two_levels, saw_teeth, shrinking, level_after_long_start};
    for (size_t i = 0; i < SL_COUNT_OF(shapes); i++)
        if (judge(shapes[i]).is_found)
            fail_msg("shape %zu is called growth", i);
}

static int64_t line(int64_t i) {
    return (200 + i) * MIB;
}
static int64_t late(int64_t i) {
    return (100 + (i > 200 ? (i - 200) * 5 : 0)) * MIB;
}
static int64_t under_noise(int64_t i) {
    return (1000 + i / 4) * MIB + noise(60 * MIB);
}
static int64_t rising_teeth(int64_t i) {
    return (500 + i % 20 * 30 + i / 20 * 40) * MIB;
}
static int64_t freed_at_the_end(int64_t i) {
    return i > 395 ? 5 * MIB : (100 + i * 3) * MIB;
}
static int64_t after_long_start(int64_t i) {
    return i < 320 ? 5 * MIB : (100 + (i - 320) * 10 + i % 4 * 20) * MIB;
}

static void test_growing_shapes(void **state) {
    (void)state;
    static shape_fn *const shapes[] = {
        line, late, under_noise, rising_teeth, freed_at_the_end, after_long_start};
    for (size_t i = 0; i < SL_COUNT_OF(shapes); i++)
        if (!judge(shapes[i]).is_found)
            fail_msg("shape %zu is not called growth", i);
}

static void test_rate_and_window(void **state) {
    (void)state;
    sl_growth g = judge(line); /* 1 MiB each 0.1 s */
    if (fabs(g.bytes_per_second / (10.0 * (double)MIB) - 1) > 0.02)
        fail_msg("rate %.0f", g.bytes_per_second);
    assert_true(g.r_squared > 0.99);
    g = judge(late); /* 5 MiB each 0.1 s from the middle on */
    if (fabs(g.bytes_per_second / (50.0 * (double)MIB) - 1) > 0.1)
        fail_msg("rate %.0f", g.bytes_per_second);
    assert_in_range(g.first_ns, INT64_C(17000000000), INT64_C(23000000000));
}

static void test_too_few_values_are_not_growth(void **state) {
    (void)state;
    sl_growth g;
    sl_growth_point points[8] = {{0}};
    sl_growth_find(points, 0, &g);
    assert_false(g.is_found);
    sl_growth_find(points, 8, &g); /* all at one time */
    assert_false(g.is_found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy_shapes),
        cmocka_unit_test(test_growing_shapes),
        cmocka_unit_test(test_rate_and_window),
        cmocka_unit_test(test_too_few_values_are_not_growth),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
