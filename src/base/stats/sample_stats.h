/* SPDX-License-Identifier: MIT */
/* Small statistics on arrays of doubles, with the definitions that numpy and scipy use, so that
 * results can be held against theirs digit by digit. Pure functions. */
#ifndef SL_SAMPLE_STATS_H
#define SL_SAMPLE_STATS_H

#include "base/core/sl_base.h"

/* 0 for an empty array. */
double sl_stat_mean(const double *values, size_t cnt);

/* With n - 1 in the denominator; 0 below two values. */
double sl_stat_stdev(const double *values, size_t cnt);

/* Standard deviation over mean of the distances between events that are known by their span, the number
 * of distances and the sum of the squared distances. INFINITY when the span is 0. */
double sl_stat_gap_variation(double span, double gap_cnt, double gap_squares);

typedef struct sl_outliers {
    size_t cnt; /* values more than z_limit standard deviations above the mean */
    double largest, largest_z;
    double mean, stdev;
} sl_outliers;

/* None, and a largest_z of 0, when the values do not vary. */
sl_outliers sl_stat_outliers(const double *values, size_t cnt, double z_limit);

/* Linear interpolation between the closest ranks, share 0..1. `sorted` ascends; cnt > 0. */
double sl_stat_quantile(const double *sorted, size_t cnt, double share);

void sl_stat_sort(double *values, size_t cnt);

/* The middle value, or the mean of the two; 0 for an empty array. Reorders it, linear time. */
double sl_stat_median(double *values, size_t cnt);

/* Pearson's r; NaN when either side does not vary. */
double sl_stat_pearson(const double *x, const double *y, size_t cnt);

typedef struct sl_fit {
    double slope, intercept;
    double r;       /* 0 when y does not vary */
    double p_value; /* two-sided t test of slope = 0 */
} sl_fit;

/* Ordinary least squares of y on x. False when x does not vary or there are fewer than 3 points. */
bool sl_stat_fit(const double *x, const double *y, size_t cnt, sl_fit *fit);

/* P(|T| >= |t|) of Student's distribution. */
double sl_stat_t_two_sided(double t, double freedom);

/* Decimal rounding of the exact binary value, ties to even: Python's round(x, digits). */
double sl_stat_round(double value, int digits);

#endif
