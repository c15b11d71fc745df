/* SPDX-License-Identifier: MIT */
#include "base/stats/series.h"

#include <assert.h>
#include <math.h>

#include "base/stats/sample_stats.h"

#define PAIRS_MAX (SL_SERIES_MAX * (SL_SERIES_MAX - 1) / 2)

double sl_theil_sen(const double *y, size_t cnt) {
    /* 64 KiB would not fit the stack's budget; one thread at a time has its own. */
    static _Thread_local double slopes[PAIRS_MAX];
    size_t n = 0;
    assert(cnt <= SL_SERIES_MAX);
    for (size_t i = 0; i < cnt; i++)
        for (size_t j = i + 1; j < cnt; j++)
            slopes[n++] = (y[j] - y[i]) / (double)(j - i);
    return sl_stat_median(slopes, n);
}

sl_slope_range sl_theil_sen_range(const double *x, const double *y, size_t cnt, double z) {
    static _Thread_local double slopes[PAIRS_MAX];
    size_t n = 0;
    assert(cnt <= SL_SERIES_MAX);
    for (size_t i = 0; i < cnt; i++)
        for (size_t j = i + 1; j < cnt; j++)
            if (x[j] > x[i])
                slopes[n++] = (y[j] - y[i]) / (x[j] - x[i]);
    if (n == 0)
        return (sl_slope_range){0};
    sl_stat_sort(slopes, n);
    double d = (double)cnt, spread = z * sqrt(d * (d - 1) * (2 * d + 5) / 18);
    double half = fmin(1, spread / (double)n) / 2;
    return (sl_slope_range){sl_stat_quantile(slopes, n, 0.5),
                            sl_stat_quantile(slopes, n, 0.5 - half),
                            sl_stat_quantile(slopes, n, 0.5 + half)};
}

static double sign_of(double d) {
    return (d > 0) - (d < 0);
}

/* Sum over groups of equal values of t(t-1)(2t+5), and of t(t-1)/2, for the tie corrections. */
static void count_ties(const double *y, size_t cnt, double *variance_part, double *pairs) {
    *variance_part = *pairs = 0;
    for (size_t i = 0; i < cnt; i++) {
        size_t before = 0, t = 0;
        for (size_t j = 0; j < cnt; j++) {
            before += j < i && y[j] == y[i];
            t += y[j] == y[i];
        }
        if (before || t < 2)
            continue;
        double d = (double)t;
        *variance_part += d * (d - 1) * (2 * d + 5);
        *pairs += d * (d - 1) / 2;
    }
}

sl_kendall sl_mann_kendall(const double *y, size_t cnt) {
    double s = 0, n = (double)cnt, tie_variance, tie_pairs;
    for (size_t i = 0; i < cnt; i++)
        for (size_t j = i + 1; j < cnt; j++)
            s += sign_of(y[j] - y[i]);
    count_ties(y, cnt, &tie_variance, &tie_pairs);
    double all = n * (n - 1) / 2, variance = (n * (n - 1) * (2 * n + 5) - tie_variance) / 18;
    double scale = sqrt(all * (all - tie_pairs));
    sl_kendall result = {.tau = scale > 0 ? s / scale : 0, .p = 1};
    if (variance > 0) {
        result.z = (s - sign_of(s)) / sqrt(variance);
        result.p = 0.5 * erfc(result.z / sqrt(2));
    }
    return result;
}

static double largest_fall(const double *y, size_t cnt) {
    double top = cnt ? y[0] : 0, fall = 0;
    for (size_t i = 0; i < cnt; i++) {
        top = y[i] > top ? y[i] : top;
        fall = top - y[i] > fall ? top - y[i] : fall;
    }
    return fall;
}

static void fit_quality(const double *y, size_t cnt, sl_trend *trend) {
    double scratch[SL_SERIES_MAX], mean = 0, total = 0, rest = 0;
    for (size_t i = 0; i < cnt; i++)
        scratch[i] = y[i] - trend->slope * (double)i;
    trend->intercept = sl_stat_median(scratch, cnt);
    for (size_t i = 0; i < cnt; i++)
        mean += y[i] / (double)cnt;
    for (size_t i = 0; i < cnt; i++) {
        double residual = y[i] - trend->intercept - trend->slope * (double)i;
        total += (y[i] - mean) * (y[i] - mean);
        rest += residual * residual;
        scratch[i] = fabs(residual);
    }
    trend->r_squared = total > 0 && rest < total ? 1 - rest / total : 0;
    trend->noise = 1.4826 * sl_stat_median(scratch, cnt);
}

sl_trend sl_trend_of(const double *y, size_t cnt) {
    sl_trend trend = {.p = 1};
    if (cnt < 2)
        return trend;
    trend.slope = sl_theil_sen(y, cnt);
    trend.largest_fall = largest_fall(y, cnt);
    sl_kendall kendall = sl_mann_kendall(y, cnt);
    trend.tau = kendall.tau;
    trend.p = kendall.p;
    fit_quality(y, cnt, &trend);
    return trend;
}
