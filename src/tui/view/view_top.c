/* SPDX-License-Identifier: MIT */
/* `stormlog top`: one process and device on one screen. What the tab Live shows, and below it the lines of code that hold
 * the most. */
#include <stdio.h>

#include "base/text/human.h"
#include "tui/view/view.h"

static const sl_table_column columns[] = {
    {.title = "live", .is_right = true},
    {.title = "growth", .is_right = true, .rank = 2},
    {.title = "blocks", .is_right = true, .rank = 1},
    {.title = "line", .is_wide = true, .is_path = true},
};

static void line_cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                      sl_ink *ink) {
    const sl_screen *screen = ctx;
    const sl_tree *tree = &sl_screen_device(screen)->sites;
    const sl_tree_node *node = &tree->nodes.at[screen->ui->rows.at[row]];
    if (node->level == SL_TREE_FRAME && column < 3)
        return;
    switch (column) {
    case 0: sl_human_bytes(text, (uint64_t)node->figures[SL_TREE_LIVE]); break;
    case 1: sl_human_bytes_delta(text, node->figures[SL_TREE_GROWTH]); break;
    case 2: sl_human_count(text, (uint64_t)node->figures[SL_TREE_BLOCKS]); break;
    default: *ink = SL_INK_PLACE; snprintf(text, SL_TABLE_TEXT_CAP, "%.500s", node->text);
    }
    if (column == 1 && node->figures[SL_TREE_GROWTH] > 0)
        *ink = SL_INK_WARN;
}

/* Half of the screen, and no more than there are. */
static int table_height(const sl_screen *screen, int h) {
    int wanted = (int)screen->ui->rows.cnt + 1;
    return h < 14 ? 0 : wanted < h / 2 ? wanted : h / 2;
}

static void put_keys(sl_grid *grid, sl_rect row) {
    static const struct {
        const char *key, *what;
    } keys[] = {{"q", "quit"}, {"d", "next device"}, {"up down", "lines"}, {"+ -", "time shown"}};
    for (size_t i = 0; i < SL_COUNT_OF(keys); i++)
        if (!sl_put_part(grid, &row, SL_INK_KEY, "%s", keys[i].key) ||
            !sl_put_part(grid, &row, SL_INK_DIM, " %s  ", keys[i].what))
            return;
}

void sl_view_top(sl_grid *grid, const sl_screen *screen) {
    sl_grid_clear(grid);
    sl_rect area = sl_grid_area(grid);
    if (area.h > 3)
        put_keys(grid, sl_rect_take_bottom(&area, 1));
    int rows = table_height(screen, area.h);
    sl_rect below = sl_rect_take_bottom(&area, rows);
    sl_view_live(grid, area, screen);
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = screen->ui->rows.cnt,
                      .ctx = screen,
                      .cell = line_cell,
                      .sorted_by = 0,
                      .nothing = "Nothing is live."};
    if (rows > 1 && sl_screen_device(screen))
        sl_put_table(grid, below, &table, &screen->ui->lists[SL_TAB_SITES]);
}
