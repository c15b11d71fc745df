/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "sltest.h"

#include "analyze/forecast/forecast.h"
#include "curve_habits.h"

#define SEEDS 8u
#define ASKED 60u

typedef struct outcome {
    size_t forecasts;
    double first_s, first_error; /* of the first one, as a share of what was left */
    size_t in_range;
    sl_forecast last;
} outcome;

static outcome ask(const curve_run *run) {
    outcome o = {0};
    size_t stride = run->cnt / ASKED ? run->cnt / ASKED : 1;
    for (size_t at = 0; at < run->cnt && run->points[at].time_s < run->end_s; at += stride) {
        sl_forecast_input input = curve_input(run, at);
        sl_forecast f = sl_forecast_make(&input);
        double now = run->points[at].time_s, left = run->end_s - now;
        if (!f.is_expected) {
            assert_non_null(f.why_not);
            continue;
        }
        assert_true(f.seconds.low <= f.seconds.value && f.seconds.value <= f.seconds.high);
        if (!o.forecasts++) {
            o.first_s = now;
            o.first_error = fabs(f.seconds.value / left - 1);
        }
        o.in_range += left >= f.seconds.low && left <= f.seconds.high ? 1 : 0;
        o.last = f;
    }
    return o;
}

static void test_healthy_runs_say_nothing(void **state) {
    (void)state;
    for (int habit = 0; habit < CURVE_HABIT_CNT; habit++)
        for (uint64_t seed = 0; seed < SEEDS && !curve_rows[habit].is_leak; seed++) {
            curve_run run = curve_make((curve_habit)habit, seed);
            outcome o = ask(&run);
            if (o.forecasts)
                fail_msg("%s, seed %d: %zu forecasts, the first after %g s", curve_rows[habit].name,
                         (int)seed, o.forecasts, o.first_s);
            curve_free(&run);
        }
}

/* Most leaks of each kind are forecast, with a quarter of the growth's time left or more, and the ranges hold for most
 * of them; the figures are those of `make bench-forecast`, with room. */
static void test_leaks_are_forecast(void **state) {
    (void)state;
    size_t asked = 0, in_range = 0;
    for (int habit = 0; habit < CURVE_HABIT_CNT; habit++) {
        size_t runs = 0, found = 0;
        for (uint64_t seed = 0; seed < SEEDS && curve_rows[habit].is_leak; seed++) {
            curve_run run = curve_make((curve_habit)habit, seed);
            if (!isinf(run.end_s)) {
                outcome o = ask(&run);
                double lead = (run.end_s - o.first_s) / (run.end_s - run.start_s);
                runs++;
                found += o.forecasts && lead > 0.25 ? 1 : 0;
                asked += o.forecasts;
                in_range += o.in_range;
                if (o.forecasts)
                    assert_int_equal(o.last.part, run.part);
            }
            curve_free(&run);
        }
        if (found * 4 < runs * 2)
            fail_msg("%s: %zu of %zu were forecast in time", curve_rows[habit].name, found, runs);
    }
    if (in_range * 10 < asked * 7)
        fail_msg("the range was right in %zu of %zu forecasts", in_range, asked);
}

/* A straight line of 100 bytes a step, from 1000 on; steps of half a second. */
static size_t straight_line(sl_forecast_point *points, size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        double held = 1000 + 100.0 * (double)i;
        points[i] = (sl_forecast_point){0.5 * (double)(i + 1), (double)(i + 1), held, held + 50};
    }
    return cnt;
}

static void test_straight_line(void **state) {
    (void)state;
    sl_forecast_point points[100];
    sl_forecast_input input = {.now_s = 50, .device_free = sl_known_u64(8050)};
    input.parts[SL_FORECAST_TENSORS] = (sl_forecast_points){points, straight_line(points, 100)};
    sl_forecast f = sl_forecast_make(&input);
    assert_true(f.is_expected);
    assert_int_equal(f.limit, SL_FORECAST_LIMIT_CARD);
    assert_true(fabs(f.bytes_per_step.value - 100) < 1);
    assert_true(fabs(f.bytes_per_s - 200) < 2);
    assert_true(fabs(f.steps.value - 80) < 5);
    assert_true(fabs(f.seconds.value - 40) < 3);
    assert_true(f.seconds.low < 39 && f.seconds.high > 41);
    /* The limit of the process is nearer. */
    input.process_limit = sl_known_u64(12000);
    f = sl_forecast_make(&input);
    assert_int_equal(f.limit, SL_FORECAST_LIMIT_PROCESS);
    assert_true(fabs(f.seconds.value - 5) < 2);
}

static void test_what_cannot_be_said(void **state) {
    (void)state;
    sl_forecast_point points[100];
    sl_forecast_input input = {.now_s = 50};
    assert_false(sl_forecast_make(&input).is_expected);
    input.parts[SL_FORECAST_TENSORS] = (sl_forecast_points){points, straight_line(points, 100)};
    assert_string_equal(sl_forecast_make(&input).why_not, "the limit is not known");
    input.device_free = sl_known_u64(1000000); /* (F3) */
    assert_string_equal(sl_forecast_make(&input).why_not,
                        "too far ahead for the growth that was seen");
    input.device_free = sl_known_u64(8050);
    input.freed_share = sl_known_f64(0.01); /* (F4) holds before the first step only */
    assert_true(sl_forecast_make(&input).is_expected);
    for (size_t i = 0; i < 100; i++)
        points[i].step = NAN;
    assert_false(sl_forecast_make(&input).is_expected);
    /* Values that no recording has, but a damaged file might. */
    for (size_t i = 0; i < 100; i++)
        points[i] = (sl_forecast_point){i % 2 ? INFINITY : (double)i, NAN, NAN, -1e300};
    sl_forecast_make(&input);
}

static void test_words(void **state) {
    (void)state;
    char buf[SL_FORECAST_TEXT_CAP];
    sl_forecast f = {.is_expected = true,
                     .seconds = {720, 600, 840},
                     .bytes_per_s = 1048576,
                     .part = SL_FORECAST_TENSORS};
    assert_string_equal(
        sl_forecast_text(buf, &f, SL_STR("train.py:41")),
        "out of memory in 12 min ± 2 at this rate, because of train.py:41 (+1.00 MiB "
        "per second)");
    f.seconds = (sl_forecast_range){90, 88.5, 91.5};
    f.part = SL_FORECAST_OTHERS;
    f.bytes_per_step = sl_known_f64(2048);
    assert_string_equal(sl_forecast_text(buf, &f, SL_STR("train.py:41")),
                        "out of memory in 90 s ± 2 at this rate, because of memory of other "
                        "processes (+2.00 KiB per step)");
    f.seconds = (sl_forecast_range){3.2 * 86400, 3 * 86400, 3.4 * 86400};
    sl_forecast_text(buf, &f, SL_STR(""));
    assert_non_null(strstr(buf, "in 3.2 d ± 0.2 at this rate"));
    f.is_expected = false;
    assert_string_equal(sl_forecast_text(buf, &f, SL_STR("")), "");
}

static void test_said_once_per_worsening(void **state) {
    (void)state;
    sl_forecast_said said = {0};
    sl_forecast f = {.is_expected = true, .seconds = {1000, 900, 1100}}, none = {0};
    assert_false(sl_forecast_is_news(&said, &none, 0));
    assert_false(sl_forecast_is_news(&said, &f, 9)); /* one moment may mislead */
    assert_true(sl_forecast_is_news(&said, &f, 10));
    for (double now = 20; now < 800; now += 10) { /* as was said */
        f.seconds = (sl_forecast_range){1010 - now, 900 - now, 1100 - now};
        assert_false(sl_forecast_is_news(&said, &f, now));
    }
    f.seconds = (sl_forecast_range){50, 45, 55}; /* 850, not 1010 */
    assert_true(sl_forecast_is_news(&said, &f, 800));
    assert_false(sl_forecast_is_news(&said, &f, 801));
    assert_false(sl_forecast_is_news(&said, &none, 802));
    assert_false(sl_forecast_is_news(&said, &f, 1000)); /* it was over meanwhile */
    assert_true(sl_forecast_is_news(&said, &f, 1001));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy_runs_say_nothing),
        cmocka_unit_test(test_leaks_are_forecast),
        cmocka_unit_test(test_straight_line),
        cmocka_unit_test(test_what_cannot_be_said),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_said_once_per_worsening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
