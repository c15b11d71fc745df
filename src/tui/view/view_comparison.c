/* SPDX-License-Identifier: MIT */
/* Diagnostics, two inputs compared: the peaks of devices, then the lines that hold more or less. */
#include <stdio.h>

#include "base/text/human.h"
#include "tui/view/view.h"

static const sl_table_column columns[] = {
    {.title = "difference", .is_right = true},
    {.title = "before", .is_right = true, .rank = 3},
    {.title = "after", .is_right = true, .rank = 2},
    {.title = "change", .rank = 4},
    {.title = "where", .is_wide = true, .is_path = true},
};

static void change_cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                        sl_ink *ink) {
    const sl_tui_change *change = &((const sl_tui_comparison *)ctx)->rows.at[row];
    int64_t by = (int64_t)change->after - (int64_t)change->before;
    switch (column) {
    case 0:
        sl_human_bytes_delta(text, by);
        *ink = by > 0 ? SL_INK_WARN : by < 0 ? SL_INK_GOOD : SL_INK_DIM;
        break;
    case 1: sl_human_bytes(text, change->before); break;
    case 2: sl_human_bytes(text, change->after); break;
    case 3:
        snprintf(text, SL_TABLE_TEXT_CAP, "%s", change->what);
        *ink = SL_INK_DIM;
        break;
    default:
        snprintf(text, SL_TABLE_TEXT_CAP, "%.500s", change->where);
        *ink = change->is_line ? SL_INK_PLACE : SL_INK_TEXT;
    }
}

void sl__view_comparison(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_comparison *compared = screen->compared;
    sl_rect head = sl_rect_take_top(&area, 1);
    sl_put_part(grid, &head, SL_INK_TITLE, "%s", "compared with ");
    sl_put_path(grid, head, SL_INK_PLACE, compared->before);
    for (size_t i = 0; i < compared->line_cnt && area.h > 4; i++) {
        sl_rect part = {area.x, area.y, area.w, area.h > 12 ? 2 : 1};
        sl_rect_take_top(&area, sl_put_wrapped(grid, part, SL_INK_TEXT, compared->lines[i]));
    }
    sl_rect_take_top(&area, area.h > 6);
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = compared->rows.cnt,
                      .ctx = compared,
                      .cell = change_cell,
                      .sorted_by = SIZE_MAX,
                      .nothing = "No figure and no line differs."};
    sl_put_table(grid, area, &table, &screen->ui->lists[SL_TAB_DIAGNOSTICS]);
}
