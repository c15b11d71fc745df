/* SPDX-License-Identifier: MIT */
/* Curves over time: braille dots (2 x 4 in a cell), or characters where there is only ASCII;
 * stacked areas; and bars of parts. Pure: numbers and an area in, cells out. */
#ifndef SL_CURVE_CHART_H
#define SL_CURVE_CHART_H

#include "tui/grid/cells.h"

typedef struct sl_curve {
    const char *name;
    const double *values; /* one per step of the axis; NAN = not known then */
    sl_ink ink;
} sl_curve;

/* A level that is drawn as a horizontal line. */
typedef struct sl_chart_level {
    double value;
    sl_ink ink;
} sl_chart_level;

typedef struct sl_chart_frame {
    int64_t from_us, to_us; /* of the axis, after the start of the run */
    int64_t middle_us;      /* 0 = halfway between them */
    const bool *gaps;       /* of a stack: columns that stand for a longer time; NULL = none */
    bool has_time;          /* false: the axis counts events */
    double top;             /* of the axis of bytes; 0 = the largest value */
    const sl_chart_level *levels;
    size_t level_cnt;
    int cursor;         /* step of the axis that is marked; -1 = none */
    bool has_no_legend; /* the caller has its own */
    bool has_no_time_axis;
} sl_chart_frame;

/* All curves have `cnt` values. */
void sl_put_curves(sl_grid *grid, sl_rect area, const sl_curve *curves, size_t curve_cnt,
                   size_t cnt, const sl_chart_frame *frame);

/* Curves of one stack; more are not drawn. */
#define SL_STACK_MAX 64

/* The same, each curve on top of the one before it. */
void sl_put_stack(sl_grid *grid, sl_rect area, const sl_curve *curves, size_t curve_cnt, size_t cnt,
                  const sl_chart_frame *frame);

typedef struct sl_bar_part {
    double value;
    sl_ink ink;
} sl_bar_part;

/* One row: parts side by side, `whole` is the full width. Every part that is not 0 gets a cell if
 * there are enough. */
void sl_put_bar(sl_grid *grid, sl_rect area, const sl_bar_part *parts, size_t cnt, double whole);

/* One row of shades from low to high: how full a rank was over time. */
void sl_put_heat(sl_grid *grid, sl_rect area, const double *values, size_t cnt, double top);

/* The character that fills the area of series i. */
uint32_t sl_series_glyph(const sl_grid *grid, size_t i);

#endif
