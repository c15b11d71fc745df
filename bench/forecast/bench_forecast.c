/* SPDX-License-Identifier: MIT */
/* Asks the estimator of time to out of memory again and again while a run goes on, and prints what it said;
 * bench/forecast/score.py compares that with what happened. One line per run:
 *   name is_leak end_s start_s | of the first forecast: at_s value low high | asked, forecasts, in range, line
 *   bench_forecast --curves SEEDS    generated curves (tests/lib/curve_habits.h)
 *   bench_forecast --synthetic SEEDS generated traces (tests/lib/synth.h), with limits on their way
 *   bench_forecast 0=FILE 1=FILE...  labelled traces (1: a leak), likewise
 *   bench_forecast --speed N         time of one forecast from N points */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../tests/lib/curve_habits.h"
#include "../../tests/lib/synth.h"
#include "read/core/source.h"
#include "run/run.h"

/* How often a run is asked. */
#define ASKED 240u

typedef struct score {
    double at_s;
    sl_forecast_range first;
    size_t asked, forecasts, in_range;
} score;

static void note(score *s, const sl_forecast *f, double now_s, double end_s) {
    s->asked++;
    if (getenv("FORECAST_WHY"))
        fprintf(stderr, "%g\t%s\n", now_s, f->is_expected ? "expected" : f->why_not);
    if (!f->is_expected)
        return;
    if (!s->forecasts++) {
        s->at_s = now_s;
        s->first = f->seconds;
    }
    double left = end_s - now_s;
    s->in_range += left >= f->seconds.low && left <= f->seconds.high ? 1 : 0;
}

static void print(const char *name, int is_leak, double end_s, double start_s, const score *s) {
    printf("%s\t%d\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t%zu\t%zu\t%zu\n", name, is_leak, end_s,
           start_s, s->at_s, s->first.value, s->first.low, s->first.high, s->asked, s->forecasts,
           s->in_range);
}

/* ---- curves ---- */

static void score_curve(curve_habit habit, uint64_t seed) {
    curve_run run = curve_make(habit, seed);
    score s = {0};
    char name[96];
    size_t stride = run.cnt / ASKED ? run.cnt / ASKED : 1;
    for (size_t at = 0; at < run.cnt && run.points[at].time_s < run.end_s; at += stride) {
        sl_forecast_input input = curve_input(&run, at);
        sl_forecast f = sl_forecast_make(&input);
        note(&s, &f, run.points[at].time_s, run.end_s);
    }
    snprintf(name, sizeof name, "curve/%s/%" PRIu64, curve_rows[habit].name, seed);
    /* A leak that has not filled the card when the run ends is neither. */
    if (curve_rows[habit].is_leak != isinf(run.end_s))
        print(name, curve_rows[habit].is_leak, run.end_s, run.start_s, &s);
    curve_free(&run);
}

static int score_curves(uint64_t seeds) {
    for (int habit = 0; habit < CURVE_HABIT_CNT; habit++)
        for (uint64_t seed = 0; seed < seeds; seed++)
            score_curve((curve_habit)habit, seed);
    return 0;
}

/* ---- traces ---- */

typedef struct trace_curve {
    sl_forecast_point *points;
    size_t cnt;
    double *freed_share; /* up to each of them */
    double peak;
} trace_curve;

/* The traces have few and short steps after seconds of warm-up, so an event counts as a tenth of a second: what the
 * estimator sees is the shape of the curve. */
#define EVENT_S 0.1
#define BINS    2000u

static double step_of(const sl_steps *steps, const sl_replay *replay, uint32_t event) {
    (void)replay;
    if (steps->borders.cnt < 8 || event < steps->borders.at[0])
        return NAN;
    size_t at = sl_steps_at(steps, event);
    uint32_t from = steps->borders.at[at];
    uint32_t to = at + 1 < steps->borders.cnt ? steps->borders.at[at + 1]
                  : at                        ? from + (from - steps->borders.at[at - 1])
                                              : from + 1;
    double part = to > from ? (double)(event - from) / (double)(to - from) : 0;
    return (double)at + fmin(1, part);
}

static bool make_curve(const sl_run_device *device, trace_curve *to) {
    const sl_replay *replay;
    const sl_steps *steps;
    if (sl_run_replay(device, &replay, NULL) != SL_OK ||
        sl_run_steps(device, &steps, NULL) != SL_OK)
        return false;
    const sl_events *events = &device->events->events;
    if (events->cnt < 50)
        return false;
    sl_replay_totals start = {0};
    if (!sl_replay_totals_at(replay, 0, &start))
        return false;
    double live = (double)start.requested_bytes, low = live, high = live;
    double made = 0, freed = 0;
    uint32_t next = 0, bin = (uint32_t)(events->cnt / BINS + 1);
    to->points = calloc(events->cnt + 1, sizeof *to->points);
    to->freed_share = calloc(events->cnt + 1, sizeof *to->freed_share);
    for (uint32_t i = 0; to->points && to->freed_share && i < events->cnt; i++) {
        sl_event ev = sl_events_get(events, i);
        if (i >= next) {
            to->freed_share[to->cnt] = made > 0 ? freed / made : 0;
            to->points[to->cnt++] =
                (sl_forecast_point){i * EVENT_S, step_of(steps, replay, i), low, high};
            low = high = live;
            next = i + bin;
        }
        if (ev.kind == SL_EV_ALLOC) {
            live += (double)ev.size_bytes;
            made += (double)ev.size_bytes;
        } else if (ev.kind == SL_EV_FREE_COMPLETED || ev.kind == SL_EV_FREE) {
            live -= (double)ev.size_bytes;
            freed += (double)ev.size_bytes;
        }
        low = fmin(low, live);
        high = fmax(high, live);
        to->peak = fmax(to->peak, live);
    }
    return to->points && to->freed_share;
}

/* The trace as it was up to where it would not have fitted. */
static void score_limit(const char *name, const trace_curve *curve, double limit, int is_leak) {
    score s = {0};
    char text[300];
    double end_s = INFINITY;
    size_t stride = curve->cnt / ASKED ? curve->cnt / ASKED : 1;
    double reserved = 0;
    for (size_t i = 0; i < curve->cnt && isinf(end_s); i++)
        if (curve->points[i].high > limit)
            end_s = curve->points[i].time_s;
    for (size_t at = 0; at < curve->cnt && curve->points[at].time_s < end_s; at++) {
        reserved = fmax(reserved, curve->points[at].high);
        if (at % stride)
            continue;
        sl_forecast_input input = {.now_s = curve->points[at].time_s,
                                   .reserved = sl_known_u64((uint64_t)reserved),
                                   .device_free = sl_known_u64((uint64_t)fmax(0, limit - reserved)),
                                   .freed_share = sl_known_f64(curve->freed_share[at])};
        input.parts[SL_FORECAST_TENSORS] = (sl_forecast_points){curve->points, at + 1};
        sl_forecast f = sl_forecast_make(&input);
        note(&s, &f, curve->points[at].time_s, end_s);
    }
    snprintf(text, sizeof text, "%s@%.2f", name, limit / curve->peak);
    print(text, is_leak, end_s, 0, &s);
}

static double highest(const trace_curve *curve, size_t cnt) {
    double high = 0;
    for (size_t i = 0; i < cnt; i++)
        high = fmax(high, curve->points[i].high);
    return high;
}

/* Whether what is kept, and not the height of single steps, decides when the limit is met. */
static bool is_filled_by_leak(const trace_curve *curve) {
    double first = INFINITY, last = INFINITY;
    size_t part = curve->cnt / 10;
    for (size_t i = 0; i < part; i++) {
        first = fmin(first, curve->points[part + i].low);
        last = fmin(last, curve->points[curve->cnt - 2 * part + i].low);
    }
    return last - first > 0.5 * (curve->peak - highest(curve, part)) &&
           last - first > 0.25 * (highest(curve, part) - first);
}

/* A healthy run takes at most this share of its room after the first tenth; one that fills its card to the brim and
 * stops there cannot be told from a leak by its memory. */
#define HEALTHY_SHARE 0.25

static int score_trace(const char *name, const sl_trace *trace, int is_leak) {
    static const double leak_limits[] = {0.6, 0.75, 0.9};
    static const double limits[] = {1.01, 1.1, 1.3, 2};
    const sl_trace *const traces[] = {trace};
    sl_run *run;
    if (sl_run_new(traces, 1, &run, NULL) != SL_OK)
        return 1;
    for (size_t d = 0; d < run->inputs[0].device_cnt; d++) {
        trace_curve curve = {0};
        if (make_curve(&run->inputs[0].devices[d], &curve)) {
            double least = highest(&curve, curve.cnt / 40);
            bool is_filled = is_leak && is_filled_by_leak(&curve);
            for (size_t i = 0; is_filled && i < SL_COUNT_OF(leak_limits); i++)
                score_limit(name, &curve, least + leak_limits[i] * (curve.peak - least), 1);
            double grown = (curve.peak - least) / HEALTHY_SHARE;
            for (size_t i = 0; !is_leak && i < SL_COUNT_OF(limits); i++)
                score_limit(name, &curve, fmax(limits[i] * curve.peak, least + grown), 0);
        }
        free(curve.points);
        free(curve.freed_share);
    }
    sl_run_free(run);
    return 0;
}

static int score_synthetic(uint64_t seeds) {
    static const size_t lengths[] = {60, 150, 300};
    int failed = 0;
    for (int habit = 0; habit < SYNTH_HABIT_CNT; habit++)
        for (uint64_t seed = 0; seed < seeds; seed++) {
            sl_trace *trace = synth_run((synth_habit)habit, lengths[seed % 3], seed, true);
            char name[96];
            if (!trace)
                return 1;
            snprintf(name, sizeof name, "trace/%s/%" PRIu64, synth_rows[habit].name, seed);
            failed |= score_trace(name, trace, synth_rows[habit].is_leak);
            sl_trace_free(trace);
        }
    return failed;
}

static int score_file(const char *argument) {
    const char *path = argument + 2;
    sl_trace *trace;
    sl_error err = SL_ERROR_INIT;
    if (sl_trace_load(path, NULL, &trace, &err) != SL_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int failed = score_trace(sl_base_name(path), trace, argument[0] == '1');
    sl_trace_free(trace);
    return failed;
}

static int print_speed(size_t cnt) {
    curve_run run = curve_make(CURVE_NOISY_LEAK, 2);
    struct timespec from, to;
    size_t at = run.cnt < cnt ? run.cnt - 1 : cnt - 1;
    sl_forecast_input input = curve_input(&run, at);
    size_t rounds = 200;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (size_t i = 0; i < rounds; i++)
        sl_forecast_make(&input);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double us = (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
    printf("speed\t%zu\t%.1f\n", at + 1, us / (double)rounds);
    curve_free(&run);
    return 0;
}

int main(int argc, char **argv) {
    int failed = 0;
    if (argc == 3 && strcmp(argv[1], "--curves") == 0)
        return score_curves(strtoull(argv[2], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "--synthetic") == 0)
        return score_synthetic(strtoull(argv[2], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "--speed") == 0)
        return print_speed((size_t)strtoull(argv[2], NULL, 10));
    for (int i = 1; i < argc; i++)
        failed |= score_file(argv[i]);
    return failed;
}
