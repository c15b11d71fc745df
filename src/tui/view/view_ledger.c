/* SPDX-License-Identifier: MIT */
/* Ledger: every byte that is in use on the card, by what holds it. */
#include <stdio.h>

#include "base/text/human.h"
#include "tui/view/view.h"
#include "tui/widget/curve_chart.h"

static const sl_table_column columns[] = {
    {.title = "bytes", .is_right = true},
    {.title = "share", .is_right = true, .rank = 2},
    {.title = "part"},
    {.title = "what it holds", .is_wide = true, .rank = 5},
};

static const sl_ledger_state *state_of(const sl_screen *screen) {
    const sl_tui_device *device = sl_screen_device(screen);
    if (!device)
        return NULL;
    return screen->ui->shows_fullest && device->ledger_fullest.row_cnt ? &device->ledger_fullest
                                                                       : &device->ledger;
}

size_t sl_ledger_view_rows(const sl_screen *screen) {
    const sl_ledger_state *state = state_of(screen);
    return state ? state->row_cnt : 0;
}

static void ledger_cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                        sl_ink *ink) {
    const sl_ledger_state *state = ctx;
    const sl_ledger_row *at = &state->rows[row];
    char label[SL_LEDGER_LABEL_CAP];
    switch (column) {
    case 0: sl_view_bytes(text, at->bytes); break;
    case 1:
        if (at->bytes.known && state->card_used.known && state->card_used.value)
            snprintf(text, SL_TABLE_TEXT_CAP, "%.1f %%",
                     100.0 * (double)at->bytes.value / (double)state->card_used.value);
        break;
    case 2:
        snprintf(text, SL_TABLE_TEXT_CAP, "%s", sl_ledger_label(label, at));
        *ink = SL_INK_PLACE;
        break;
    default: snprintf(text, SL_TABLE_TEXT_CAP, "%s", sl_ledger_meaning(at)); *ink = SL_INK_DIM;
    }
}

static void put_meaning(sl_grid *grid, sl_rect area, const sl_ledger_row *row) {
    char label[SL_LEDGER_LABEL_CAP], text[512];
    snprintf(text, sizeof text, "%s: %s", sl_ledger_label(label, row), sl_ledger_meaning(row));
    sl_put_wrapped(grid, area, SL_INK_DIM, text);
}

void sl_view_ledger(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_ledger_state *state = state_of(screen);
    char used[SL_TABLE_TEXT_CAP], total[SL_TABLE_TEXT_CAP];
    if (!state || state->row_cnt == 0) {
        sl_view_nothing(grid, area, screen,
                        "The card was not read in this input, so there is no ledger. Recordings of "
                        "a process on a card have one.");
        return;
    }
    if (area.h > 4)
        sl_view_device_row(grid, sl_rect_take_top(&area, 1), screen);
    sl_put(grid, sl_rect_take_top(&area, 1), SL_INK_TEXT, "%s of %s in use on the card%s",
           sl_view_bytes(used, state->card_used), sl_view_bytes(total, state->card_total),
           screen->ui->shows_fullest ? ", when it was fullest" : "");
    if (area.h > 3) {
        sl_view_ledger_bar(grid, sl_rect_take_top(&area, 1), state);
        sl_rect_take_top(&area, area.h > 6);
    }
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = state->row_cnt,
                      .ctx = state,
                      .cell = ledger_cell,
                      .sorted_by = SIZE_MAX,
                      .nothing = ""};
    sl_list_state *list = &screen->ui->lists[SL_TAB_LEDGER];
    sl_rect rows = sl_rect_take_top(
        &area, (int)state->row_cnt + 4 < area.h ? (int)state->row_cnt + 1 : area.h);
    sl_put_table(grid, rows, &table, list);
    sl_rect_take_top(&area, 1);
    if (area.h > 0 && list->selected < state->row_cnt) /* all of what the table may have cut */
        put_meaning(grid, area, &state->rows[list->selected]);
}
