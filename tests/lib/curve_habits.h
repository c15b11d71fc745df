/* SPDX-License-Identifier: MIT */
/* Generated curves of trainings whose end is known: what is held in bins of 100 ms, seeded, with one habit, healthy or
 * not. Unlike the traces of synth.h they have times, from seconds to days, and a limit that a leak reaches. Header
 * only; used by tests and bench. */
#ifndef SL_CURVE_HABITS_H
#define SL_CURVE_HABITS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/forecast/forecast.h"

/* enumerator, name, runs out of memory, has steps, what happens. */
#define CURVE_HABIT_MAP(X)                                                                         \
    X(PLAIN, "plain", false, true, "nothing is kept")                                              \
    X(NOISY, "varying-batch", false, true, "batches of 0.3 to 2 times the size")                   \
    X(WARM_UP, "warm-up", false, true, "weights, optimizer state and workspaces come first")       \
    X(EPOCH, "cleared-per-epoch", false, true, "kept outputs are dropped after each epoch")        \
    X(LONG_EPOCH, "long-epoch", false, true, "the same, and only two epochs are seen")             \
    X(EVAL, "evaluation", false, true, "larger batches for a while, again and again")              \
    X(CACHE, "bounded-cache", false, true, "a cache fills at a steady rate, up to its bound")      \
    X(HITS, "cache-with-hits", false, true, "a cache that fills ever more slowly")                 \
    X(STAIRS, "unfreezing", false, true, "four jumps, then a plateau")                             \
    X(SEQUENCES, "curriculum", false, true, "sequences grow from epoch to epoch, up to a bound")   \
    X(DRIFT, "drift", false, true, "a random walk that is pulled back")                            \
    X(LOADING, "loading", false, false, "weights are loaded, filling most of the card")            \
    X(LOAD_TRAIN, "loading-training", false, true, "the same, and then a training begins")         \
    X(SERVING, "serving", false, false, "requests of all sizes, no steps")                         \
    X(SESSIONS, "sessions", false, false, "sessions grow and end, no steps")                       \
    X(LEAK, "leak", true, true, "the same is kept in each step")                                   \
    X(NOISY_LEAK, "leak-varying-batch", true, true, "a leak under batches of 0.3 to 2 times")      \
    X(RARE_LEAK, "leak-every-tenth", true, true, "kept in each tenth step")                        \
    X(LATE_LEAK, "leak-late", true, true, "a leak that begins after half of the run")              \
    X(EVAL_LEAK, "leak-evaluation", true, true, "a leak, with larger batches now and then")        \
    X(EPOCH_LEAK, "leak-epochs", true, true, "a leak below outputs that are cleared per epoch")    \
    X(RANDOM_LEAK, "leak-random", true, true, "kept in a third of the steps, of varying size")     \
    X(FASTER_LEAK, "leak-faster", true, true, "a buffer that grows by more and more")              \
    X(SLOWER_STEPS, "leak-slower-steps", true, true,                                               \
      "a leak in steps that take longer and longer")                                               \
    X(SERVING_LEAK, "leak-serving", true, false,                                                   \
      "requests of all sizes, something of each is kept")                                          \
    X(COPIED, "leak-copied", true, true, "a buffer that is copied into a larger one in each step") \
    X(OTHERS, "other-process", true, true, "another process takes the card")                       \
    X(LIBRARY, "library-leak", true, true, "a library of this process takes the card")

typedef enum curve_habit {
#define CURVE_ENUM(id, name, is_leak, has_steps, what) CURVE_##id,
    CURVE_HABIT_MAP(CURVE_ENUM)
#undef CURVE_ENUM
        CURVE_HABIT_CNT
} curve_habit;

static const struct {
    const char *name;
    bool is_leak, has_steps;
} curve_rows[CURVE_HABIT_CNT] = {
#define CURVE_ROW(id, name, is_leak, has_steps, what) {name, is_leak, has_steps},
    CURVE_HABIT_MAP(CURVE_ROW)
#undef CURVE_ROW
};

#define CURVE_GIB ((double)(1u << 30))

typedef struct curve_run {
    sl_forecast_point *points; /* owned; of `part` */
    size_t cnt;
    sl_forecast_part part;
    sl_forecast_point *tensors; /* owned; where another part grows */
    double card;                /* bytes */
    double limit;               /* what the part may hold */
    double end_s;               /* when it does not fit any more; INFINITY = never */
    double start_s;             /* when the growth begins */
    double loaded_s;            /* until then memory is only made */
} curve_run;

static double curve_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

typedef struct curve_state {
    curve_habit habit;
    uint64_t seed;
    size_t step, step_cnt;
    double room;  /* below the card, above base and activations */
    double rate;  /* bytes of a leak in a step */
    double bound; /* of a cache */
    double kept, extra, drift, sessions;
} curve_state;

static bool curve_leaks(const curve_state *s) {
    bool is_late = s->habit == CURVE_LATE_LEAK;
    return !is_late || s->step > s->step_cnt / 2;
}

/* What the habit holds between two steps. */
static double curve_keep(curve_state *s) {
    double share = (double)s->step / (double)s->step_cnt, epoch;
    size_t steps_per_epoch = s->habit == CURVE_LONG_EPOCH ? s->step_cnt / 2 : s->step_cnt / 7;
    switch (s->habit) {
    case CURVE_EPOCH:
    case CURVE_LONG_EPOCH:
        epoch = (double)(s->step % steps_per_epoch) / (double)steps_per_epoch;
        return s->bound * epoch;
    case CURVE_CACHE: return s->bound * fmin(1, 3 * share);
    case CURVE_HITS: return s->bound * (1 - exp(-6 * share));
    case CURVE_STAIRS: return s->bound * fmin(4, floor(share * 8)) / 4;
    case CURVE_SEQUENCES: return s->bound * fmin(5, floor(share * 10)) / 5;
    case CURVE_DRIFT:
        s->drift += (curve_random(&s->seed) - 0.5) * s->room * 0.02 - s->drift * 0.01;
        return fabs(s->drift);
    case CURVE_SESSIONS:
        s->sessions += s->room * 0.004 * curve_random(&s->seed);
        if (curve_random(&s->seed) < 0.02 || s->sessions > 0.3 * s->room)
            s->sessions *= curve_random(&s->seed);
        return s->sessions;
    case CURVE_LEAK:
    case CURVE_NOISY_LEAK:
    case CURVE_LATE_LEAK:
    case CURVE_EVAL_LEAK:
    case CURVE_SLOWER_STEPS:
    case CURVE_SERVING_LEAK:
    case CURVE_COPIED:
    case CURVE_OTHERS:
    case CURVE_LIBRARY: s->kept += curve_leaks(s) ? s->rate : 0; return s->kept;
    case CURVE_EPOCH_LEAK:
        s->kept += s->rate;
        epoch = (double)(s->step % steps_per_epoch) / (double)steps_per_epoch;
        return s->kept + 0.1 * s->room * epoch;
    case CURVE_RARE_LEAK: s->kept += s->step % 10 == 9 ? 10 * s->rate : 0; return s->kept;
    case CURVE_RANDOM_LEAK:
        if (curve_random(&s->seed) < 1.0 / 3)
            s->kept += 6 * s->rate * curve_random(&s->seed);
        return s->kept;
    case CURVE_FASTER_LEAK: s->kept += s->rate * (0.5 + share); return s->kept;
    default: return 0;
    }
}

/* Above that, at the peak of the step, in shares of the activations. */
static double curve_peak(curve_state *s) {
    switch (s->habit) {
    case CURVE_NOISY:
    case CURVE_SERVING:
    case CURVE_SERVING_LEAK:
    case CURVE_NOISY_LEAK: return 0.15 + 0.85 * curve_random(&s->seed);
    case CURVE_EVAL:
    case CURVE_EVAL_LEAK: return s->step % 50 >= 45 ? 1 : 0.5;
    default: return 0.48 + 0.04 * curve_random(&s->seed);
    }
}

typedef struct curve_clock {
    double now_s, bin_s, low, high;
    size_t cap;
} curve_clock;

static void curve_emit(curve_run *run, curve_clock *clock, double step) {
    if (run->cnt == clock->cap) {
        clock->cap = clock->cap ? clock->cap * 2 : 1024;
        run->points = realloc(run->points, clock->cap * sizeof *run->points);
        if (!run->points)
            abort();
    }
    run->points[run->cnt++] = (sl_forecast_point){clock->now_s, step, clock->low, clock->high};
    clock->low = INFINITY;
    clock->high = 0;
}

/* One step: up to the peak and down again, in parts of at most a bin. */
static void curve_step(curve_run *run, curve_clock *clock, double step, double seconds, double low,
                       double peak) {
    size_t parts = (size_t)fmin(12, fmax(1, ceil(seconds / 0.1)));
    for (size_t i = 0; i < parts; i++) {
        double from = (double)i / (double)parts, to = (double)(i + 1) / (double)parts;
        double at[] = {from, to, 0.6};
        clock->now_s += seconds / (double)parts;
        for (size_t k = 0; k < (from < 0.6 && to > 0.6 ? 3u : 2u); k++) {
            double shape = at[k] < 0.6 ? at[k] / 0.6 : (1 - at[k]) / 0.4;
            clock->low = fmin(clock->low, low + (peak - low) * shape);
            clock->high = fmax(clock->high, low + (peak - low) * shape);
        }
        if (isinf(run->end_s) && clock->high > run->limit) {
            run->end_s = clock->now_s;
            curve_emit(run, clock, step + to);
            return;
        }
        if (clock->now_s >= clock->bin_s) {
            curve_emit(run, clock, step + to);
            clock->bin_s = clock->now_s + 0.0999;
        }
    }
}

/* Base, warm-up or loading. */
static double curve_base(curve_state *s, double base) {
    double share = (double)s->step / (double)s->step_cnt;
    if (s->habit == CURVE_LOADING)
        return s->room * 0.93 * share;
    if (s->habit == CURVE_LOAD_TRAIN)
        return s->room * 0.7 * fmin(1, 3 * share);
    if (s->habit == CURVE_WARM_UP)
        return base * (1 - 0.5 * exp(-40 * share));
    return s->step < 3 ? base * (0.5 + 0.15 * (double)s->step) : base;
}

static curve_run curve_make(curve_habit habit, uint64_t seed) {
    static const size_t lengths[] = {120, 500, 2500};
    static const double seconds[] = {0.03, 0.25, 1.5, 20};
    static const double bounds[] = {0.05, 0.15, 0.3};
    curve_run run = {.end_s = INFINITY};
    curve_state s = {.habit = habit, .seed = seed * 7919 + (uint64_t)habit + 1};
    curve_clock clock = {.low = INFINITY};
    curve_random(&s.seed);
    s.step_cnt = lengths[seed % 3];
    double step_s = seconds[seed / 3 % 4];
    run.card = (24 + 120 * curve_random(&s.seed)) * CURVE_GIB;
    double base = run.card * (0.1 + 0.4 * curve_random(&s.seed));
    double activations = run.card * (0.05 + 0.15 * curve_random(&s.seed));
    s.room = run.card - base - activations;
    s.rate = s.room / (double)s.step_cnt * (1.1 + 2 * curve_random(&s.seed));
    s.bound = s.room * bounds[seed % 5 % 3];
    s.rate *= habit == CURVE_LATE_LEAK ? 2.5 : 1;
    bool is_other = habit == CURVE_OTHERS || habit == CURVE_LIBRARY;
    run.part = habit == CURVE_OTHERS    ? SL_FORECAST_OTHERS
               : habit == CURVE_LIBRARY ? SL_FORECAST_LIBRARIES
                                        : SL_FORECAST_TENSORS;
    run.limit = is_other ? s.room : run.card;
    for (s.step = 0; s.step < s.step_cnt && isinf(run.end_s); s.step++) {
        double slower = habit == CURVE_SLOWER_STEPS ? 1 + (double)s.step / (double)s.step_cnt : 1;
        double kept = curve_keep(&s), low = is_other ? kept : curve_base(&s, base) + kept;
        double peak = is_other ? kept : low + curve_peak(&s) * activations;
        bool is_loading =
            habit == CURVE_LOADING || (habit == CURVE_LOAD_TRAIN && s.step < s.step_cnt / 3);
        if (is_loading) {
            peak = low + run.card / 500;
            run.loaded_s = INFINITY;
        } else if (isinf(run.loaded_s))
            run.loaded_s = clock.now_s;
        if (habit == CURVE_COPIED)
            peak += kept;
        if (habit == CURVE_LATE_LEAK && s.step == s.step_cnt / 2)
            run.start_s = clock.now_s;
        curve_step(&run, &clock, curve_rows[habit].has_steps && !is_loading ? (double)s.step : NAN,
                   step_s * slower * (0.9 + 0.2 * curve_random(&s.seed)), low, peak);
    }
    if (is_other) {
        run.tensors = malloc(run.cnt * sizeof *run.tensors);
        for (size_t i = 0; run.tensors && i < run.cnt; i++) {
            run.tensors[i] = run.points[i];
            run.tensors[i].low = base;
            run.tensors[i].high = base + activations;
        }
    }
    return run;
}

static void curve_free(curve_run *run) {
    free(run->points);
    free(run->tensors);
}

/* What a reader would know at the point `at`. */
static sl_forecast_input curve_input(const curve_run *run, size_t at) {
    const sl_forecast_point *now = &run->points[at];
    sl_forecast_input input = {.now_s = now->time_s,
                               .freed_share =
                                   sl_known_f64(now->time_s <= run->loaded_s ? 0.02 : 0.9)};
    input.parts[run->part] = (sl_forecast_points){run->points, at + 1};
    double used = now->high;
    if (run->tensors) {
        input.parts[SL_FORECAST_TENSORS] = (sl_forecast_points){run->tensors, at + 1};
        used = now->high + run->tensors[at].high;
        input.reserved = sl_known_u64((uint64_t)run->tensors[at].high);
    } else {
        double reserved = 0;
        for (size_t i = 0; i <= at; i++)
            reserved = fmax(reserved, run->points[i].high);
        input.reserved = sl_known_u64((uint64_t)reserved);
        used = reserved;
    }
    input.device_free = sl_known_u64((uint64_t)fmax(0, run->card - used));
    return input;
}

#endif
