/* SPDX-License-Identifier: MIT */
/* A device's memory in each pixel column of a timeline: the true lowest and highest live bytes,
 * and what each band held at the highest moment. No event is skipped. */
#ifndef SL_PLOT_COLUMNS_H
#define SL_PLOT_COLUMNS_H

#include "plot/canvas/plot_axis.h"
#include "run/lines/site_bands.h"

typedef struct sl_plot_column {
    uint64_t min_bytes, max_bytes; /* live, as requested */
    uint64_t max_reserved;
    uint64_t bands[SL_BANDS_MAX + 1]; /* at the moment of max_bytes, which they add up to */
} sl_plot_column;

typedef struct sl_plot_columns {
    sl_plot_column *at; /* owned */
    size_t cnt;
} sl_plot_columns;

/* One column per pixel of the axis's box. False when memory ran out. */
bool sl_plot_columns_init(sl_plot_columns *columns, const sl_time_axis *axis,
                          const sl_site_bands *bands);
void sl_plot_columns_fini(sl_plot_columns *columns);

#endif
