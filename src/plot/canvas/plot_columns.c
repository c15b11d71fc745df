/* SPDX-License-Identifier: MIT */
#include "plot/canvas/plot_columns.h"

#include <stdlib.h>
#include <string.h>

static void begin(sl_plot_column *column, const sl_band_walk *walk) {
    uint64_t live = walk->totals.totals.requested_bytes;
    *column = (sl_plot_column){live, live, walk->totals.totals.reserved_bytes, {0}};
    memcpy(column->bands, walk->live, sizeof column->bands);
}

static void widen(sl_plot_column *column, const sl_band_walk *walk) {
    uint64_t live = walk->totals.totals.requested_bytes;
    uint64_t reserved = walk->totals.totals.reserved_bytes;
    if (live < column->min_bytes)
        column->min_bytes = live;
    if (live > column->max_bytes) {
        column->max_bytes = live;
        memcpy(column->bands, walk->live, sizeof column->bands);
    }
    if (reserved > column->max_reserved)
        column->max_reserved = reserved;
}

static void fill(sl_plot_columns *columns, const sl_time_axis *axis, const sl_site_bands *bands) {
    const int64_t *times = bands->replay->device->events.time_us;
    sl_band_walk walk;
    size_t current = 0;
    sl_band_walk_init(&walk, bands);
    begin(&columns->at[0], &walk);
    for (uint32_t event = 0; event < bands->replay->event_cnt; event++) {
        size_t column = (size_t)(sl_time_axis_x(axis, times[event]) - axis->box.x);
        column = column < columns->cnt ? column : columns->cnt - 1;
        while (current < column)
            begin(&columns->at[++current], &walk);
        (void)sl_band_walk_next(&walk);
        widen(&columns->at[current], &walk);
    }
    while (current + 1 < columns->cnt)
        begin(&columns->at[++current], &walk);
}

bool sl_plot_columns_init(sl_plot_columns *columns, const sl_time_axis *axis,
                          const sl_site_bands *bands) {
    columns->cnt = axis->box.w > 1 ? (size_t)axis->box.w : 1;
    columns->at = calloc(columns->cnt, sizeof *columns->at);
    if (!columns->at)
        return false;
    fill(columns, axis, bands);
    return true;
}

void sl_plot_columns_fini(sl_plot_columns *columns) {
    free(columns->at);
    *columns = (sl_plot_columns){0};
}
