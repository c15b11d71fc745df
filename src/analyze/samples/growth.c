/* SPDX-License-Identifier: MIT */
#include "analyze/samples/growth.h"

#include <math.h>

#include "analyze/thresholds.h"
#include "base/core/order.h"
#include "base/stats/sample_stats.h"
#include "base/stats/series.h"

#define BINS_MAX 64
#define BINS_MIN 8

typedef struct bins {
    size_t cnt;
    double mid_s[BINS_MAX];
    double floor[BINS_MAX];
    double largest;
} bins;

/* The smallest value in force during each bin: a value holds until the next sample. */
static void fill(bins *b, const sl_growth_point *points, size_t cnt) {
    int64_t first = points[0].time_ns, span = points[cnt - 1].time_ns - first;
    size_t at = 0;
    double held = (double)points[0].bytes;
    b->largest = held;
    for (size_t i = 0; i < b->cnt; i++) {
        double end = (double)span * (double)(i + 1) / (double)b->cnt;
        double lowest = INFINITY;
        bool is_last = i + 1 == b->cnt;
        /* What was held when the bin began counts only if it lasted into it. */
        if (at >= cnt ||
            (double)(points[at].time_ns - first) > (double)span * (double)i / (double)b->cnt)
            lowest = held;
        for (; at < cnt && (is_last || (double)(points[at].time_ns - first) < end); at++) {
            held = (double)points[at].bytes;
            lowest = fmin(lowest, held);
            b->largest = fmax(b->largest, held);
        }
        b->floor[i] = lowest;
        b->mid_s[i] = (double)span * ((double)i + 0.5) / (double)b->cnt / 1e9;
    }
}

static double middle(const double *values, size_t cnt) {
    double copy[BINS_MAX];
    for (size_t i = 0; i < cnt; i++)
        copy[i] = values[i];
    return sl_stat_median(copy, cnt);
}

/* Median distance of the floor from its line. */
static double noise(const bins *b, size_t from, const sl_fit *fit) {
    double rest[BINS_MAX];
    size_t n = b->cnt - from;
    for (size_t i = 0; i < n; i++)
        rest[i] = fabs(b->floor[from + i] - fit->intercept - fit->slope * b->mid_s[from + i]);
    return sl_stat_median(rest, n);
}

static bool fit_from(const bins *b, size_t from, sl_fit *fit) {
    return sl_stat_fit(b->mid_s + from, b->floor + from, b->cnt - from, fit);
}

/* True when both halves of the last part rise, each by a good part of the whole. */
static bool rises_throughout(const bins *b, size_t from, double least) {
    size_t n = b->cnt - from, edge = n / 6 ? n / 6 : 1;
    double begin = middle(b->floor + from, edge);
    double half = middle(b->floor + from + (n - edge) / 2, edge);
    double end = middle(b->floor + b->cnt - edge, edge);
    double whole = end - begin;
    return whole >= least && half - begin >= SL_T_GROWTH_MIN_HALF * whole &&
           end - half >= SL_T_GROWTH_MIN_HALF * whole;
}

/* The earliest beginning from which one line still describes the growth. */
static size_t widen(const bins *b, size_t from, sl_fit *fit) {
    double best = fit->r * fit->r;
    for (size_t start = from; start-- > 0;) {
        sl_fit wider;
        if (!fit_from(b, start, &wider) || wider.r * wider.r < SL_T_GROWTH_WIDEN_R2 * best)
            break;
        best = fmax(best, wider.r * wider.r);
        *fit = wider;
        from = start;
    }
    return from;
}

/* A program that ends frees everything: what follows a maximum in the last tenth of the time is its
 * exit, not its behaviour. */
static size_t without_end(const sl_growth_point *points, size_t cnt) {
    size_t top = 0;
    for (size_t i = 0; i < cnt; i++)
        if (points[i].bytes >= points[top].bytes)
            top = i;
    double span = (double)(points[cnt - 1].time_ns - points[0].time_ns);
    double rest = (double)(points[cnt - 1].time_ns - points[top].time_ns);
    return rest <= SL_T_GROWTH_END_TIME * span ? top + 1 : cnt;
}

/* A program that starts loads libraries and data first. Where that takes most of the time, growth has
 * only a few bins left; so what comes before a first tenth of the maximum is left out then. */
static size_t without_start(const sl_growth_point *points, size_t cnt) {
    int64_t largest = 0;
    size_t first = 0;
    for (size_t i = 0; i < cnt; i++)
        largest = sl_max_i64(points[i].bytes, largest);
    while (first + 1 < cnt &&
           (double)points[first].bytes < SL_T_GROWTH_START_SHARE * (double)largest)
        first++;
    double span = (double)(points[cnt - 1].time_ns - points[0].time_ns);
    double start = (double)(points[first].time_ns - points[0].time_ns);
    return start >= SL_T_GROWTH_START_TIME * span ? first : 0;
}

/* Looks with bins of one width. */
static bool find_with(bins *b, const sl_growth_point *points, size_t cnt, sl_growth *out) {
    sl_fit fit;
    fill(b, points, cnt);
    size_t from = b->cnt - (size_t)((double)b->cnt * SL_T_GROWTH_TAIL);
    if (!fit_from(b, from, &fit) || !(fit.slope > 0))
        return false;
    double least = fmax((double)SL_T_GROWTH_MIN_BYTES, SL_T_GROWTH_MIN_SHARE * b->largest);
    least = fmax(least, SL_T_GROWTH_MIN_NOISES * noise(b, from, &fit));
    out->trend_z = sl_mann_kendall(b->floor + from, b->cnt - from).z;
    double min_z =
        b->cnt - from < SL_T_GROWTH_FEW_BINS ? SL_T_GROWTH_FEW_BINS_Z : SL_T_GROWTH_MIN_Z;
    if (out->trend_z < min_z || !rises_throughout(b, from, least))
        return false;
    from = widen(b, from, &fit);
    double bin_ns = (double)(points[cnt - 1].time_ns - points[0].time_ns) / (double)b->cnt;
    out->is_found = true;
    out->bytes_per_second = fit.slope;
    out->r_squared = fit.r * fit.r;
    out->noise_bytes = (int64_t)noise(b, from, &fit);
    out->first_ns = points[0].time_ns + (int64_t)(bin_ns * (double)from);
    out->last_ns = points[cnt - 1].time_ns;
    out->from_bytes = (int64_t)b->floor[from];
    out->to_bytes = (int64_t)b->floor[b->cnt - 1];
    return true;
}

/* A bin must be longer than a step, so that its lowest value is a real low. The length of a step is
 * unknown, so wider bins are tried if narrow ones show nothing. */
static void find_in(const sl_growth_point *points, size_t cnt, sl_growth *out) {
    static const size_t widths[] = {BINS_MAX, 24, 10};
    if (cnt < SL_T_GROWTH_MIN_POINTS || points[cnt - 1].time_ns <= points[0].time_ns)
        return;
    for (size_t i = 0; i < SL_COUNT_OF(widths) && !out->is_found; i++) {
        bins b = {.cnt = widths[i]};
        if (b.cnt > cnt / 2)
            b.cnt = cnt / 2 < BINS_MIN ? BINS_MIN : cnt / 2;
        if (find_with(&b, points, cnt, out))
            return;
    }
}

void sl_growth_find(const sl_growth_point *points, size_t cnt, sl_growth *out) {
    *out = (sl_growth){0};
    if (cnt == 0)
        return;
    cnt = without_end(points, cnt);
    find_in(points, cnt, out);
    size_t start = without_start(points, cnt);
    if (!out->is_found && start > 0)
        find_in(points + start, cnt - start, out);
}
