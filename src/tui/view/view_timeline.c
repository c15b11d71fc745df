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

/* How long the silence at the cursor is; else how many are shortened. */
static void put_silence(sl_grid *grid, sl_rect *row, const sl_tui_timeline *t, size_t column) {
    char length[SL_HUMAN_CAP];
    const sl_tui_silence *here = sl_tui_timeline_silence(t, column);
    if (here)
        sl_put_part(grid, row, SL_INK_WARN, "  no event for %s",
                    sl_human_duration_us(length, here->to_us - here->from_us));
    else if (t->silence_cnt)
        sl_put_part(grid, row, SL_INK_DIM, "  %zu silence%s shortened", t->silence_cnt,
                    sl_plural(t->silence_cnt));
}

static void put_head(sl_grid *grid, sl_rect row, const sl_screen *screen) {
    const sl_tui_timeline *t = screen->timeline;
    char bytes[SL_HUMAN_CAP], at[SL_HUMAN_CAP];
    size_t column = cursor_column(screen);
    double total = 0;
    for (size_t b = 0; b < t->band_cnt; b++)
        total += isnan(t->bands[b][column]) ? 0 : t->bands[b][column];
    time_text(at, t, sl_tui_timeline_time(t, (double)column));
    sl_put_part(grid, &row, SL_INK_TEXT, "by %s  ", t->split == SL_TUI_BY_LINE ? "line" : "tag");
    sl_put_part(grid, &row, SL_INK_CURSOR, "at %s: ", at);
    sl_put_part(grid, &row, SL_INK_TEXT, "%s live", sl_human_bytes(bytes, (uint64_t)total));
    if (!isnan(t->reserved[column]))
        sl_put_part(grid, &row, SL_INK_DIM, ", %s reserved",
                    sl_human_bytes(bytes, (uint64_t)t->reserved[column]));
    put_silence(grid, &row, t, column);
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
    bool gaps[SL_GRID_MAX] = {false};
    for (size_t i = 0; t->silence_cnt && i < t->cnt && i < SL_GRID_MAX; i++)
        gaps[i] = sl_tui_timeline_silence(t, i) != NULL;
    sl_chart_frame frame = {.from_us = t->from_us,
                            .to_us = t->to_us,
                            .middle_us = sl_tui_timeline_time(t, (double)t->cnt / 2),
                            .gaps = t->silence_cnt && t->cnt <= SL_GRID_MAX ? gaps : NULL,
                            .has_time = t->has_time,
                            .cursor = (int)cursor_column(screen),
                            .has_no_legend = true};
    sl_put_stack(grid, area, curves, t->band_cnt, t->cnt, &frame);
}
