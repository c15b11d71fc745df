/* SPDX-License-Identifier: MIT */
/* From bytes and times to pixels, with ticks at round numbers. Pure arithmetic and drawing. */
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
/* "4 GiB", "512 MiB": a tick without the three digits of a measurement. */
void sl_byte_tick_text(char buf[32], double bytes);
/* Grid lines across the box and their labels to the left of it. */
void sl_byte_axis_draw(sl_plot *plot, const sl_byte_axis *axis);

/* ---- time, to the right ---- */

/* A long silence takes a few pixels instead of its share, and says so: otherwise one idle minute
 * would leave a run of a second no room at all. */
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
    double scale;  /* pixels a microsecond, outside gaps */
    bool has_time; /* false: events counted instead */
} sl_time_axis;

/* Of one recording, with its silences. */
sl_time_axis sl_time_axis_make(sl_box box, const sl_replay *replay);
/* Of several that begin at 0, without. */
sl_time_axis sl_time_axis_plain(sl_box box, double span_us, bool has_time);

/* x of a time of the recording; inside the box whatever it is. */
double sl_time_axis_x(const sl_time_axis *axis, int64_t time_us);
void sl_time_axis_draw(sl_plot *plot, const sl_time_axis *axis);

/* The steps as a ruler below the times. */
void sl_step_ruler_draw(sl_plot *plot, const sl_time_axis *axis, const sl_plot_input *input);

#endif
