/* SPDX-License-Identifier: MIT */
/* Whether, where and how a series leaves its early level: at once (a step) or bit by bit (a slope). Robust against
 * noise and single outliers. Pure. */
#ifndef SL_CHANGE_POINT_H
#define SL_CHANGE_POINT_H

#include "base/core/sl_base.h"

typedef struct sl_change {
    double excess;    /* late level less early level */
    double threshold; /* that it was held against */
    size_t onset;     /* index at which it begins */
    bool is_slope;    /* else a step */
    double slope;     /* per index, where is_slope */
    double fit;       /* share of the variance that the model explains, 0..1 */
} sl_change;

#define SL_CHANGE_MIN 8u

/* Late less early level; NaN below SL_CHANGE_MIN values. `room` is scratch of cnt values. */
double sl_change_excess(const double *y, size_t cnt, double *room);

/* The noise of that difference, from how the values differ from their neighbours and from their early median. */
double sl_change_noise(const double *y, size_t cnt, double *room);

/* True and *change set when the excess is above `least` and above six times its noise. */
bool sl_change_find(const double *y, size_t cnt, double least, double *room, sl_change *change);

#endif
