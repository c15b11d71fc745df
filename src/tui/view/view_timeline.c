/* SPDX-License-Identifier: MIT */
/* Timeline: live bytes over time, split by line or by tag, with a cursor. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/term.h"
#include "tui/view/view.h"
#include "tui/widget/curve_chart.h"

static void time_text(char text[SL_HUMAN_CAP], const sl_tui_timeline *t, int64_t us) {
    if (us == 0)
        snprintf(text, SL_HUMAN_CAP, "0 s");
    else if (t->has_time)
        sl_human_duration_us(text, us);
    else
        sl_human_count(text, (uint64_t)us);
}

static size_t cursor_column(const sl_screen *screen) {
    const sl_tui_timeline *t = screen->timeline;
    int at = screen->ui->cursor;
    return at < 0 ? 0 : (size_t)at >= t->cnt ? t->cnt - 1 : (size_t)at;
}

static void put_head(sl_grid *grid, sl_rect row, const sl_screen *screen) {
    const sl_tui_timeline *t = screen->timeline;
    char from[SL_HUMAN_CAP], to[SL_HUMAN_CAP], at[SL_HUMAN_CAP];
    size_t column = cursor_column(screen);
    double total = 0;
    for (size_t b = 0; b < t->band_cnt; b++)
        total += isnan(t->bands[b][column]) ? 0 : t->bands[b][column];
    time_text(from, t, t->from_us);
    time_text(to, t, t->to_us);
    time_text(at, t,
              t->from_us +
                  (int64_t)((double)(t->to_us - t->from_us) * (double)column / (double)t->cnt));
    sl_put_part(grid, &row, SL_INK_TEXT, "by %s  ", t->split == SL_TUI_BY_LINE ? "line" : "tag");
    sl_put_part(grid, &row, SL_INK_CURSOR, "at %s: ", at);
    sl_put_part(grid, &row, SL_INK_TEXT, "%s live", sl_human_bytes(from, (uint64_t)total));
    if (!isnan(t->reserved[column]))
        sl_put_part(grid, &row, SL_INK_DIM, ", %s reserved",
                    sl_human_bytes(from, (uint64_t)t->reserved[column]));
    if (t->steps.cnt)
        sl_put_part(grid, &row, SL_INK_DIM, "  %zu step%s in this part", t->steps.cnt,
                    sl_plural(t->steps.cnt));
}

/* One row per band: its mark, what it holds at the cursor, its name. */
static void put_bands(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_timeline *t = screen->timeline;
    size_t column = cursor_column(screen);
    char bytes[SL_HUMAN_CAP];
    for (size_t b = 0; b < t->band_cnt && area.h > 0; b++) {
        sl_rect row = sl_rect_take_top(&area, 1);
        double value = t->bands[b][column];
        sl_grid_put(grid, row.x, row.y, sl_series_glyph(grid, b), sl_ink_series(b));
        sl_rect_take_left(&row, 2);
        sl_put_right(grid, sl_rect_take_left(&row, 9), SL_INK_TEXT,
                     sl_human_bytes(bytes, isnan(value) ? 0 : (uint64_t)value));
        sl_rect_take_left(&row, 2);
        sl_put_path(grid, row, SL_INK_PLACE, t->names[b]);
    }
}

void sl_view_timeline(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_timeline *t = screen->timeline;
    if (!t || t->problem || t->cnt == 0) {
        sl_view_nothing(grid, area, screen,
                        t && t->problem ? t->problem
                                        : "Press r to read the recording as it is now.");
        return;
    }
    sl_curve curves[SL_TUI_BANDS_MAX];
    for (size_t b = 0; b < t->band_cnt; b++)
        curves[b] = (sl_curve){t->names[b], t->bands[b], sl_ink_series(b)};
    if (area.h > 3)
        sl_view_device_row(grid, sl_rect_take_top(&area, 1), screen);
    put_head(grid, sl_rect_take_top(&area, 1), screen);
    int rows = (int)t->band_cnt;
    if (area.h > 8)
        put_bands(grid, sl_rect_take_bottom(&area, area.h - 8 < rows ? area.h - 8 : rows), screen);
    sl_chart_frame frame = {.from_us = t->from_us,
                            .to_us = t->to_us,
                            .has_time = t->has_time,
                            .cursor = (int)cursor_column(screen),
                            .has_no_legend = true};
    sl_put_stack(grid, area, curves, t->band_cnt, t->cnt, &frame);
}
