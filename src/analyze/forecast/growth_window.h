/* SPDX-License-Identifier: MIT */
/* Whether the points of a curve show growth that goes on (F2), and how fast; for forecast.c alone. */
#ifndef SL_GROWTH_WINDOW_H
#define SL_GROWTH_WINDOW_H

#include "analyze/forecast/forecast.h"
#include "base/stats/series.h"

/* Parts of a window. */
#define SL_FORECAST_GROUPS 40u

typedef struct sl_growth {
    bool is_growing; /* else only why_not is set */
    bool by_step;
    sl_slope_range slope;    /* bytes per step or second */
    double seconds_per_x;    /* of a step, now; 1 without steps */
    double seconds_apart;    /* how much that has changed, as a factor */
    sl_forecast_range level; /* highest use now, as the line gives it */
    double window_s;
    const char *why_not;
} sl_growth;

sl_growth sl__growth_find(sl_forecast_points points);

#endif
