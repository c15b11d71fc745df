/* SPDX-License-Identifier: MIT */
#include "ranks/change_point.h"

#include <math.h>
#include <string.h>

#include "base/core/order.h"
#include "base/stats/sample_stats.h"

/* Standard deviations per median absolute deviation of normal noise. */
#define MAD_TO_SIGMA 1.4826
/* Of a fleet of thousands the largest difference by chance is below four. */
#define SIGMAS       6.0
/* Borders that are tried before the best one is looked for nearby. */
#define COARSE_CNT   96u

/* Values that make the early and the late level. */
static size_t edge_of(size_t cnt) {
    return sl_min_size(sl_max_size(cnt / 8, 3), 32);
}

static double median_of(const double *y, size_t cnt, double *room) {
    memcpy(room, y, cnt * sizeof *room);
    return sl_stat_median(room, cnt);
}

double sl_change_excess(const double *y, size_t cnt, double *room) {
    if (cnt < SL_CHANGE_MIN)
        return (double)NAN;
    size_t edge = edge_of(cnt);
    double early = median_of(y, edge, room);
    return median_of(y + cnt - edge, edge, room) - early;
}

double sl_change_noise(const double *y, size_t cnt, double *room) {
    size_t edge = edge_of(cnt);
    for (size_t i = 0; i + 1 < cnt; i++)
        room[i] = fabs(y[i + 1] - y[i]);
    double of_steps = MAD_TO_SIGMA / sqrt(2) * sl_stat_median(room, cnt - 1);
    double early = median_of(y, edge, room);
    for (size_t i = 0; i < edge; i++)
        room[i] = fabs(y[i] - early);
    double of_level = MAD_TO_SIGMA * sl_stat_median(room, edge);
    /* A median of n values of deviation s has one of 1.25 s / sqrt(n); the excess has two of them. */
    return 1.25 * sqrt(2.0 / (double)edge) * fmax(of_steps, of_level);
}

/* ---- which model, and where ---- */

typedef struct fitted {
    double squares; /* left over */
    double slope;
} fitted;

/* y = a + b x by least squares, with x = max(0, i - onset) for a slope and (i >= onset) for a step. */
static fitted fit(const double *y, size_t cnt, size_t onset, bool is_slope) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, n = (double)cnt;
    for (size_t i = 0; i < cnt; i++) {
        double x = i < onset ? 0 : is_slope ? (double)(i - onset + 1) : 1;
        sx += x, sy += y[i], sxx += x * x, sxy += x * y[i], syy += y[i] * y[i];
    }
    double spread = sxx - sx * sx / n, common = sxy - sx * sy / n;
    double whole = syy - sy * sy / n;
    double slope = spread > 0 ? common / spread : 0;
    return (fitted){fmax(0, whole - slope * common), slope};
}

static fitted fit_best(const double *y, size_t cnt, bool is_slope, size_t *onset) {
    size_t every = cnt / COARSE_CNT + 1;
    fitted best = {INFINITY, 0};
    for (size_t i = 1; i + 1 < cnt; i += every) {
        fitted found = fit(y, cnt, i, is_slope);
        if (found.squares < best.squares)
            best = found, *onset = i;
    }
    size_t from = *onset > every ? *onset - every : 1, to = sl_min_size(*onset + every, cnt - 1);
    for (size_t i = from; every > 1 && i < to; i++) {
        fitted found = fit(y, cnt, i, is_slope);
        if (found.squares < best.squares)
            best = found, *onset = i;
    }
    return best;
}

bool sl_change_find(const double *y, size_t cnt, double least, double *room, sl_change *change) {
    double excess = sl_change_excess(y, cnt, room);
    if (isnan(excess))
        return false;
    double threshold = fmax(least, SIGMAS * sl_change_noise(y, cnt, room));
    if (!(excess >= threshold) || excess <= 0)
        return false;
    size_t step_at = 1, slope_at = 1;
    /* Relative to the first value: squares of large levels would lose the small differences. */
    for (size_t i = 0; i < cnt; i++)
        room[i] = y[i] - y[0];
    double whole = fit(room, cnt, cnt, false).squares;
    fitted step = fit_best(room, cnt, false, &step_at);
    fitted slope = fit_best(room, cnt, true, &slope_at);
    bool is_slope = slope.squares <= step.squares;
    double left = is_slope ? slope.squares : step.squares;
    *change = (sl_change){.excess = excess,
                          .threshold = threshold,
                          .onset = is_slope ? slope_at : step_at,
                          .is_slope = is_slope,
                          .slope = is_slope ? slope.slope : 0,
                          .fit = whole > 0 ? fmax(0, 1 - left / whole) : 0};
    return true;
}
