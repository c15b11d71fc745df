/* SPDX-License-Identifier: MIT */
/* Robust statistics on short series of equally spaced values. Formulas and their limits:
 * docs/estimators.md. Pure; no allocation. */
#ifndef SL_SERIES_H
#define SL_SERIES_H

#include "base/core/sl_base.h"

/* The longest series that is looked at whole; longer ones are thinned evenly by the caller. */
#define SL_SERIES_MAX 128u

/* Median; reorders the values. 0 for an empty series. Mean of the middle two when cnt is even. */
double sl_median(double *values, size_t cnt);

/* Theil-Sen: the median of the slopes between all pairs, per step of the index. cnt at most
 * SL_SERIES_MAX; 0 below two values. */
double sl_theil_sen(const double *y, size_t cnt);

typedef struct sl_trend {
    double slope;        /* Theil-Sen, per index */
    double intercept;    /* median of y - slope * x */
    double tau;          /* Kendall's tau-b against the index, -1..1 */
    double p;            /* one-sided probability of so much growth without a trend */
    double r_squared;    /* of the robust line; may be negative for a bad fit, then 0 */
    double noise;        /* median absolute deviation from the line, times 1.4826 */
    double largest_fall; /* from an earlier maximum */
} sl_trend;

/* All of it at once; cnt at most SL_SERIES_MAX. */
sl_trend sl_trend_of(const double *y, size_t cnt);

#endif
