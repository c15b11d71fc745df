/* SPDX-License-Identifier: MIT */
/* Robust trends of short series of equally spaced values; the statistics of a sample without an order
 * are in sample_stats.h. Formulas and their limits: docs/estimators.md. Pure; no allocation. */
#ifndef SL_SERIES_H
#define SL_SERIES_H

#include "base/core/sl_base.h"

/* The longest series; callers thin longer ones evenly. */
#define SL_SERIES_MAX 128u

/* Theil-Sen: the median of the slopes between all pairs, per step of the index. cnt at most
 * SL_SERIES_MAX; 0 below two values. */
double sl_theil_sen(const double *y, size_t cnt);

typedef struct sl_slope_range {
    double slope;     /* Theil-Sen */
    double low, high; /* Sen's interval: order statistics of the slopes */
} sl_slope_range;

/* The same for values at ascending places, and how sure it is: the true slope is between low and high with the
 * probability that belongs to `z` (1.64: 90 %), if the deviations from the line are independent. */
sl_slope_range sl_theil_sen_range(const double *x, const double *y, size_t cnt, double z);

typedef struct sl_kendall {
    double tau; /* Kendall's tau-b against the index, -1..1; 0 when the series does not vary */
    double z;   /* Mann-Kendall's, with ties in the variance, corrected for continuity; 0 when the
                 * series does not vary */
    double p;   /* one-sided probability of so much growth without a trend; 1 when the series does
                 * not vary */
} sl_kendall;

/* Whether the values rise. Quadratic. */
sl_kendall sl_mann_kendall(const double *y, size_t cnt);

typedef struct sl_trend {
    double slope;        /* Theil-Sen, per index */
    double intercept;    /* median of y - slope * x */
    double tau, p;       /* of sl_kendall */
    double r_squared;    /* of the robust line; may be negative for a bad fit, then 0 */
    double noise;        /* median absolute deviation from the line, times 1.4826 */
    double largest_fall; /* from an earlier maximum */
} sl_trend;

/* All of it at once; cnt at most SL_SERIES_MAX. */
sl_trend sl_trend_of(const double *y, size_t cnt);

#endif
