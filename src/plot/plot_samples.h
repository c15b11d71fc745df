/* SPDX-License-Identifier: MIT */
/* Samples of counters in the pixel columns of a picture, as a collector read them from time to
 * time. A column shows its sample with the most memory in use; one without samples repeats the
 * last. */
#ifndef SL_PLOT_SAMPLES_H
#define SL_PLOT_SAMPLES_H

#include "plot/canvas/plot_axis.h"

typedef struct sl_sample {
    int64_t time_us;
    uint64_t allocated, reserved, used; /* reserved >= allocated, used >= reserved */
    sl_maybe_u64 total;
} sl_sample;

typedef SL_VEC(sl_sample) sl_samples;

/* The samples of the input's device by ascending time; empty when the input is not telemetry.
 * False when memory ran out; free in either case. */
bool sl_samples_collect(sl_samples *samples, const sl_plot_input *input);

/* Fills one sample for each of cnt columns of equal time; samples must not be empty. */
void sl_samples_bin(const sl_samples *samples, double span_us, sl_sample *columns, size_t cnt);

/* Microseconds from the first sample to the last. */
double sl_samples_span(const sl_samples *samples);

/* Draws a timeline of samples: allocated and reserved bytes. */
sl_status sl_plot_sampled_timeline(sl_plot *plot, sl_error *err);

#endif
