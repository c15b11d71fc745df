/* SPDX-License-Identifier: MIT */
#include "base/stats/sample_stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Sums of 10^7 byte counts keep their last digits only when the rounding errors are carried along
 * (Kahan, in Neumaier's form). */
typedef struct exact_sum {
    double sum, rest;
} exact_sum;

static void sum_add(exact_sum *acc, double value) {
    double total = acc->sum + value;
    acc->rest +=
        fabs(acc->sum) >= fabs(value) ? (acc->sum - total) + value : (value - total) + acc->sum;
    acc->sum = total;
}

static double sum_get(const exact_sum *acc) {
    return acc->sum + acc->rest;
}

double sl_stat_mean(const double *values, size_t cnt) {
    exact_sum acc = {0};
    for (size_t i = 0; i < cnt; i++)
        sum_add(&acc, values[i]);
    return cnt ? sum_get(&acc) / (double)cnt : 0;
}

/* Sum of (x - mean x)(y - mean y). */
static double cross(const double *x, double mean_x, const double *y, double mean_y, size_t cnt) {
    exact_sum acc = {0};
    for (size_t i = 0; i < cnt; i++)
        sum_add(&acc, (x[i] - mean_x) * (y[i] - mean_y));
    return sum_get(&acc);
}

double sl_stat_stdev(const double *values, size_t cnt) {
    if (cnt < 2)
        return 0;
    double mean = sl_stat_mean(values, cnt);
    return sqrt(cross(values, mean, values, mean, cnt) / (double)(cnt - 1));
}

double sl_stat_gap_variation(double span, double gap_cnt, double gap_squares) {
    double mean = span / gap_cnt;
    double variance = gap_squares / gap_cnt - mean * mean;
    return mean > 0 ? sqrt(fmax(variance, 0)) / mean : INFINITY;
}

double sl_stat_quantile(const double *sorted, size_t cnt, double share) {
    double place = share * (double)(cnt - 1);
    size_t low = (size_t)place;
    if (low + 1 >= cnt)
        return sorted[cnt - 1];
    return sorted[low] + (place - (double)low) * (sorted[low + 1] - sorted[low]);
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

void sl_stat_sort(double *values, size_t cnt) {
    if (cnt > 1)
        qsort(values, cnt, sizeof *values, compare);
}

static void swap(double *a, double *b) {
    double kept = *a;
    *a = *b;
    *b = kept;
}

/* Middle of three, so that sorted and constant arrays stay linear. */
static double pivot_of(const double *v, size_t low, size_t high) {
    double a = v[low], b = v[low + (high - low) / 2], c = v[high];
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Puts the value of rank k in its place, smaller ones before it, larger ones after (Hoare). */
static double select_rank(double *v, size_t cnt, size_t k) {
    size_t low = 0, high = cnt - 1;
    while (low < high) {
        double pivot = pivot_of(v, low, high);
        size_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i > j)
                break;
            swap(&v[i], &v[j]);
            i++;
            if (j == 0)
                break;
            j--;
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return v[k];
}

double sl_stat_median(double *values, size_t cnt) {
    if (cnt == 0)
        return 0;
    double upper = select_rank(values, cnt, cnt / 2);
    if (cnt % 2)
        return upper;
    double lower = values[0];
    for (size_t i = 1; i < cnt / 2; i++)
        lower = values[i] > lower ? values[i] : lower;
    return (lower + upper) / 2;
}

double sl_stat_pearson(const double *x, const double *y, size_t cnt) {
    double mean_x = sl_stat_mean(x, cnt), mean_y = sl_stat_mean(y, cnt);
    double sxx = cross(x, mean_x, x, mean_x, cnt), syy = cross(y, mean_y, y, mean_y, cnt);
    if (!(sxx > 0) || !(syy > 0))
        return NAN;
    double r = cross(x, mean_x, y, mean_y, cnt) / (sqrt(sxx) * sqrt(syy));
    return fmax(-1, fmin(1, r));
}

sl_outliers sl_stat_outliers(const double *values, size_t cnt, double z_limit) {
    sl_outliers out = {.largest = cnt ? values[0] : 0,
                       .mean = sl_stat_mean(values, cnt),
                       .stdev = sl_stat_stdev(values, cnt)};
    for (size_t i = 0; i < cnt; i++) {
        out.largest = fmax(out.largest, values[i]);
        out.cnt += out.stdev > 0 && (values[i] - out.mean) / out.stdev > z_limit;
    }
    if (out.stdev > 0)
        out.largest_z = (out.largest - out.mean) / out.stdev;
    return out;
}

/* Continued fraction of the incomplete beta function (Lentz's method). */
static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double result = d;
    for (int m = 1; m < 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double steps[2] = {even, odd}, last = result;
        for (int i = 0; i < 2; i++) {
            d = 1 + steps[i] * d;
            c = 1 + steps[i] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            result *= d * c;
        }
        if (fabs(result - last) <= 1e-15 * fabs(result))
            break;
    }
    return result;
}

/* The regularised incomplete beta function I_x(a, b). */
static double beta_share(double a, double b, double x) {
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double sl_stat_t_two_sided(double t, double freedom) {
    return beta_share(freedom / 2, 0.5, freedom / (freedom + t * t));
}

bool sl_stat_fit(const double *x, const double *y, size_t cnt, sl_fit *fit) {
    if (cnt < 3)
        return false;
    double mean_x = sl_stat_mean(x, cnt), mean_y = sl_stat_mean(y, cnt);
    double sxx = cross(x, mean_x, x, mean_x, cnt);
    if (!(sxx > 0))
        return false;
    double syy = cross(y, mean_y, y, mean_y, cnt), sxy = cross(x, mean_x, y, mean_y, cnt);
    double r = syy > 0 ? sxy / sqrt(sxx * syy) : 0;
    r = fmax(-1, fmin(1, r));
    /* A perfect line has no residue; scipy keeps the quotient finite with the same constant. */
    const double tiny = 1e-20;
    double freedom = (double)cnt - 2;
    double t = r * sqrt(freedom / ((1 - r + tiny) * (1 + r + tiny)));
    *fit = (sl_fit){.slope = sxy / sxx,
                    .intercept = mean_y - sxy / sxx * mean_x,
                    .r = r,
                    .p_value = sl_stat_t_two_sided(t, freedom)};
    return true;
}

double sl_stat_round(double value, int digits) {
    char text[400];
    if (!isfinite(value))
        return value;
    snprintf(text, sizeof text, "%.*f", digits, value);
    return strtod(text, NULL);
}
