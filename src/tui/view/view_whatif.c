/* SPDX-License-Identifier: MIT */
/* What-if: what other allocator settings would have reserved. */
#include <stdio.h>

#include "base/text/human.h"
#include "tui/view/view.h"

static const sl_table_column columns[] = {
    {.title = "reserved peak", .is_right = true},
    {.title = "saves", .is_right = true, .rank = 2},
    {.title = "smallest card", .is_right = true, .rank = 3},
    {.title = "setting", .is_wide = true},
    {.title = "fails", .rank = 4},
};

static void setting_cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                         sl_ink *ink) {
    const sl_tui_setting *setting = &((const sl_tui_whatif *)ctx)->rows[row];
    *ink = setting->is_best ? SL_INK_GOOD : setting->has_failed ? SL_INK_BAD : SL_INK_TEXT;
    switch (column) {
    case 0: sl_human_bytes(text, setting->peak); break;
    case 1: sl_human_bytes_delta(text, setting->saves); break;
    case 2:
        if (setting->card.known)
            sl_human_bytes(text, setting->card.value);
        break;
    case 3: snprintf(text, SL_TABLE_TEXT_CAP, "%s", setting->text); break;
    default: snprintf(text, SL_TABLE_TEXT_CAP, "%.40s", setting->has_failed ? "yes" : ""); break;
    }
}

size_t sl_whatif_view_rows(const sl_screen *screen) {
    return screen->whatif ? screen->whatif->row_cnt : 0;
}

void sl_view_whatif(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_whatif *answer = screen->whatif;
    if (!answer) {
        sl_view_nothing(grid, area, screen,
                        "Enter replays PyTorch's allocator under other settings: what each would "
                        "have reserved, and the smallest card that would do. e tries settings of "
                        "your own, c another card.");
        return;
    }
    if (*answer->asked)
        sl_put_text(grid, sl_rect_take_top(&area, 1), SL_INK_KEY, answer->asked);
    if (answer->problem)
        sl_rect_take_top(&area, sl_put_wrapped(grid, area, SL_INK_WARN, answer->problem));
    int room = answer->row_cnt ? area.h / 2 : area.h;
    for (size_t i = 0; i < answer->line_cnt && room > 0; i++) {
        sl_rect part = {area.x, area.y, area.w, room < 3 ? room : 3};
        int used = sl_put_wrapped(grid, part, SL_INK_TEXT, answer->lines[i]);
        sl_rect_take_top(&area, used);
        room -= used;
    }
    if (answer->row_cnt == 0)
        return;
    sl_rect_take_top(&area, area.h > 6);
    sl_list_state *list = &screen->ui->lists[SL_TAB_WHATIF];
    if (area.h > 8 && list->selected < answer->row_cnt) {
        const sl_tui_setting *chosen = &answer->rows[list->selected];
        sl_rect detail = sl_rect_take_bottom(&area, 2);
        sl_put_wrapped(grid, detail, SL_INK_DIM,
                       chosen->has_failed && *chosen->failure ? chosen->failure : chosen->spread);
    }
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = answer->row_cnt,
                      .ctx = answer,
                      .cell = setting_cell,
                      .sorted_by = SIZE_MAX,
                      .nothing = ""};
    sl_put_table(grid, area, &table, list);
}
