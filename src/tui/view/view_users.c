/* SPDX-License-Identifier: MIT */
/* Overview, the processes: who uses the cards, as part of which job, and how it grew since the screen was opened. */
#include <stdio.h>
#include <string.h>

#include "base/text/human.h"
#include "tui/facts/user_facts.h"
#include "tui/view/view.h"
#include "tui/widget/curve_chart.h"

#define SPARK_W 16
#define CHART_H 9

static const sl_table_column columns[] = {
    {.title = "process", .is_right = true}, {.title = "card", .is_right = true, .rank = 3},
    {.title = "memory", .is_right = true},  {.title = "growth", .is_right = true, .rank = 2},
    {.title = "history", .rank = 6},        {.title = "job", .rank = 4},
    {.title = "owner", .rank = 5},          {.title = "command", .is_wide = true, .rank = 7},
};

typedef struct user_table {
    const sl_tui_users *users;
    bool is_ascii;
} user_table;

/* The newest values as a row of blocks, from the lowest to the highest of them. */
static void spark_text(char text[SL_TABLE_TEXT_CAP], const sl_tui_user *user, bool is_ascii) {
    size_t cnt = user->history_cnt < SPARK_W ? user->history_cnt : SPARK_W, used = 0;
    const double *values = user->history + user->history_cnt - cnt;
    double low = 0, high = 0;
    for (size_t i = 0; i < cnt; i++) {
        low = i == 0 || values[i] < low ? values[i] : low;
        high = i == 0 || values[i] > high ? values[i] : high;
    }
    for (size_t i = 0; i < cnt; i++) {
        int level = high > low ? (int)((values[i] - low) / (high - low) * 7) : 0;
        if (is_ascii)
            text[used++] = "_.-=+*#@"[level];
        else
            used += sl_utf8_encode(text + used, 0x2581u + (uint32_t)level);
    }
    text[used] = '\0';
}

static void user_cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                      sl_ink *ink) {
    const user_table *table = ctx;
    const sl_tui_user *user = &table->users->rows[row];
    *ink = user->is_gone ? SL_INK_DIM : SL_INK_TEXT;
    switch (column) {
    case 0: snprintf(text, SL_TABLE_TEXT_CAP, "%d", user->pid); break;
    case 1:
        if (user->card >= 0)
            snprintf(text, SL_TABLE_TEXT_CAP, "%d", user->card);
        else
            snprintf(text, SL_TABLE_TEXT_CAP, "host");
        break;
    case 2: sl_view_bytes(text, user->bytes); break;
    case 3:
        sl_human_bytes_delta(text, sl_tui_user_growth(user));
        *ink = sl_tui_user_growth(user) > 0 ? SL_INK_WARN : *ink;
        break;
    case 4:
        spark_text(text, user, table->is_ascii);
        *ink = SL_INK_SERIES_1;
        break;
    case 5:
        snprintf(text, SL_TABLE_TEXT_CAP, "%s", *user->job ? user->job : "-");
        *ink = SL_INK_PLACE;
        break;
    case 6: snprintf(text, SL_TABLE_TEXT_CAP, "%s", user->owner); break;
    default:
        snprintf(text, SL_TABLE_TEXT_CAP, "%s%s%s", user->is_recorded ? "(recorded) " : "",
                 user->is_gone ? "(ended) " : "", user->command);
        *ink = SL_INK_DIM;
    }
}

static void put_user_chart(sl_grid *grid, sl_rect area, const sl_tui_user *user) {
    sl_curve curve = {"memory", user->history, SL_INK_SERIES_1};
    sl_chart_frame frame = {.to_us = (int64_t)user->history_cnt,
                            .cursor = -1,
                            .has_no_legend = true,
                            .has_no_time_axis = true};
    sl_put(grid, sl_rect_take_top(&area, 1), SL_INK_TITLE, "process %d, its last readings",
           user->pid);
    sl_put_curves(grid, area, &curve, 1, user->history_cnt, &frame);
}

void sl__view_users(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_users *users = screen->users;
    sl_list_state *list = &screen->ui->lists[SL_TAB_OVERVIEW];
    user_table rows = {users, grid->is_ascii};
    if (users->problem && area.h > 3)
        sl_put_text(grid, sl_rect_take_bottom(&area, 1), SL_INK_DIM, users->problem);
    if (area.h > CHART_H + 5 && list->selected < users->cnt &&
        users->rows[list->selected].history_cnt > 1)
        put_user_chart(grid, sl_rect_take_bottom(&area, CHART_H), &users->rows[list->selected]);
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = users->cnt,
                      .ctx = &rows,
                      .cell = user_cell,
                      .sorted_by = screen->ui->sorts_by_growth ? 3 : 2,
                      .nothing = "No process uses a card, and none is being recorded."};
    sl_put_table(grid, area, &table, list);
}
