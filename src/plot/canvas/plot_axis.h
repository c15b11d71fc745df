/* SPDX-License-Identifier: MIT */
/* Converts bytes and times to pixels, and draws ticks at round numbers. */
#ifndef SL_PLOT_AXIS_H
#define SL_PLOT_AXIS_H

#include "plot/canvas/plot_frame.h"

/* ---- bytes, upwards ---- */

typedef struct sl_byte_axis {
    sl_box box;
    double max_bytes;
    double step_bytes; /* between ticks; a round number of a binary unit */
} sl_byte_axis;

sl_byte_axis sl_byte_axis_make(sl_box box, double max_bytes);
double sl_byte_axis_y(const sl_byte_axis *axis, double bytes);
/* Grid lines across the box and their labels to the left of it. */
void sl_byte_axis_draw(sl_plot *plot, const sl_byte_axis *axis);

/* ---- time, to the right ---- */

/* A long idle time is drawn a few pixels wide and labelled: to scale, one idle minute would
 * leave no room for a run of one second. */
#define SL_GAPS_MAX 8u

typedef struct sl_time_gap {
    double from_us, to_us;
} sl_time_gap;

typedef struct sl_time_axis {
    sl_box box;
    int64_t first_us;
    double span_us; /* whole */
    sl_time_gap gaps[SL_GAPS_MAX];
    size_t gap_cnt;
    double scale;  /* pixels per microsecond, outside gaps */
    bool has_time; /* false: the axis counts events */
} sl_time_axis;

/* The axis of one recording, with gaps for its idle times. */
sl_time_axis sl_time_axis_make(sl_box box, const sl_replay *replay);
/* The axis of several recordings that all begin at 0, without gaps. */
sl_time_axis sl_time_axis_plain(sl_box box, double span_us, bool has_time);

/* x of a time of the recording, clamped to the box. */
double sl_time_axis_x(const sl_time_axis *axis, int64_t time_us);
void sl_time_axis_draw(sl_plot *plot, const sl_time_axis *axis);

/* The steps as a ruler below the times. */
void sl_step_ruler_draw(sl_plot *plot, const sl_time_axis *axis, const sl_plot_input *input);

#endif
