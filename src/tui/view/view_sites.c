/* SPDX-License-Identifier: MIT */
/* Sites: the lines of code that hold memory, as a tree table; below it the line itself. */
#include <stdio.h>
#include <string.h>

#include "base/text/human.h"
#include "tui/view/view.h"
#include "tui/widget/curve_chart.h"

#define FOLLOW_H 9

static const sl_table_column columns[] = {
    {.title = "live", .is_right = true, .rank = 1},
    {.title = "growth", .is_right = true, .rank = 2},
    {.title = "peak", .is_right = true, .rank = 3},
    {.title = "blocks", .is_right = true, .rank = 4},
    {.title = ""}, /* whether it can be opened */
    {.title = "place", .is_wide = true, .is_path = true},
};

typedef struct site_table {
    const sl_tree *tree;
    const sl_ui *ui;
    bool is_ascii;
} site_table;

static const char *mark_of(const sl_tree_node *node, bool is_ascii) {
    if (!node->has_children)
        return node->level != SL_TREE_FRAME ? "" : is_ascii ? "|" : "\u2502";
    if (is_ascii)
        return node->is_open ? "-" : "+";
    return node->is_open ? "\u25be" : "\u25b8";
}

static void site_cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                      sl_ink *ink) {
    static const sl_tree_figure figures[] = {SL_TREE_LIVE, SL_TREE_GROWTH, SL_TREE_PEAK,
                                             SL_TREE_BLOCKS};
    const site_table *table = ctx;
    const sl_tree_node *node = &table->tree->nodes.at[table->ui->rows.at[row]];
    if (column >= 4) {
        int depth = table->ui->order.by_file && node->level != SL_TREE_FILE ? 1 : 0;
        *ink = node->level == SL_TREE_FRAME ? SL_INK_DIM : SL_INK_PLACE;
        if (column == 4)
            snprintf(text, SL_TABLE_TEXT_CAP, "%*s%s", depth, "", mark_of(node, table->is_ascii));
        else
            snprintf(text, SL_TABLE_TEXT_CAP, "%.500s", node->text);
        return;
    }
    int64_t value = node->figures[figures[column]];
    if (node->level == SL_TREE_FRAME)
        return;
    if (!node->known[figures[column]])
        snprintf(text, SL_TABLE_TEXT_CAP, "unknown");
    else if (figures[column] == SL_TREE_BLOCKS)
        sl_human_count(text, (uint64_t)value);
    else if (figures[column] == SL_TREE_GROWTH)
        sl_human_bytes_delta(text, value);
    else
        sl_human_bytes(text, (uint64_t)value);
    if (figures[column] == SL_TREE_GROWTH && value > 0)
        *ink = SL_INK_WARN;
}

size_t sl_sites_rows(const sl_screen *screen) {
    return screen->ui->rows.cnt;
}

static size_t sorted_column(sl_tree_figure by) {
    static const size_t at[] = {
        [SL_TREE_LIVE] = 0, [SL_TREE_GROWTH] = 1, [SL_TREE_PEAK] = 2, [SL_TREE_BLOCKS] = 3};
    return at[by];
}

/* ---- the source ---- */

static void put_source_row(sl_grid *grid, sl_rect row, const sl_source_excerpt *source, size_t i) {
    uint32_t number = source->first + (uint32_t)i;
    bool is_marked = number == source->marked;
    const char *mark = !is_marked ? " " : grid->is_ascii ? ">" : "\u203a";
    sl_put_part(grid, &row, is_marked ? SL_INK_KEY : SL_INK_DIM, "%s %6u  ", mark, number);
    sl_put_text(grid, row, is_marked ? SL_INK_TEXT : SL_INK_DIM, source->rows[i]);
}

/* As many rows as there are, the marked one in the middle. */
static void put_source(sl_grid *grid, sl_rect area, const sl_source_excerpt *source) {
    size_t at = source->marked - source->first, rows = (size_t)area.h;
    size_t from = at > rows / 2 ? at - rows / 2 : 0;
    for (size_t i = from; i < source->cnt && area.h > 0; i++)
        put_source_row(grid, sl_rect_take_top(&area, 1), source, i);
}

static int source_height(const sl_source_excerpt *source, int height) {
    int rows = height > 24 ? SL_EXCERPT_ROWS : height > 14 ? 3 : height > 8 ? 1 : 0;
    return (int)source->cnt < rows ? (int)source->cnt : rows;
}

/* ---- the line that is followed ---- */

static void put_follow(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_follow *follow = screen->follow;
    char now[SL_HUMAN_CAP], peak[SL_HUMAN_CAP];
    sl_rect head = sl_rect_take_top(&area, 1);
    sl_put_part(grid, &head, SL_INK_TITLE, "%s", "following ");
    sl_put_part(grid, &head, SL_INK_TEXT, "%s now, peak %s  ", sl_human_bytes(now, follow->now),
                sl_human_bytes(peak, follow->peak));
    sl_put_path(grid, head, SL_INK_PLACE, screen->ui->followed);
    sl_curve curve = {screen->ui->followed, follow->values, SL_INK_SERIES_1};
    sl_chart_frame frame = {.from_us = follow->from_us,
                            .to_us = follow->to_us,
                            .has_time = follow->has_time,
                            .cursor = -1,
                            .has_no_legend = true};
    if (follow->cnt)
        sl_put_curves(grid, area, &curve, 1, follow->cnt, &frame);
}

static void put_foot(sl_grid *grid, sl_rect row, const sl_ui *ui, const sl_tui_device *device) {
    static const char *const groups[] = {"", "by file   ", "by module   "};
    sl_put_part(grid, &row, SL_INK_KEY, "%s", groups[ui->group]);
    sl_put_part(grid, &row, SL_INK_DIM, "growth: %s", device->growth_span);
    if (*ui->search)
        sl_put_part(grid, &row, SL_INK_KEY, "   with \"%s\"", ui->search);
}

void sl_view_sites(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    sl_tui_device *device = sl_screen_device(screen);
    sl_ui *ui = screen->ui;
    if (!device || device->sites.nodes.cnt == 0) {
        sl_view_nothing(grid, area, screen,
                        "No lines are known: nothing is live, or the input holds samples of "
                        "counters, which have no lines. Press d for another device.");
        return;
    }
    if (area.h > 4)
        sl_view_device_row(grid, sl_rect_take_top(&area, 1), screen);
    int height = area.h;
    if (height > 5)
        put_foot(grid, sl_rect_take_bottom(&area, 1), ui, device);
    if (*ui->followed && screen->follow && height > FOLLOW_H + 8)
        put_follow(grid, sl_rect_take_bottom(&area, FOLLOW_H), screen);
    put_source(grid, sl_rect_take_bottom(&area, source_height(&ui->source, area.h)), &ui->source);
    site_table rows = {sl_screen_tree(screen, device), ui, grid->is_ascii};
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = ui->rows.cnt,
                      .ctx = &rows,
                      .cell = site_cell,
                      .sorted_by = sorted_column(ui->order.by),
                      .nothing = "No place has this text. Esc forgets the search."};
    sl_put_table(grid, area, &table, &ui->lists[SL_TAB_SITES]);
}
