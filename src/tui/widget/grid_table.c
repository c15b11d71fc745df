/* SPDX-License-Identifier: MIT */
#include "tui/widget/grid_table.h"

#include <stdio.h>
#include <string.h>

#include "base/text/term.h"
#include "tui/grid/cell_text.h"

#define GAP      2
#define WIDE_MIN 8

typedef struct layout {
    int width[SL_TABLE_COLUMNS_MAX]; /* 0 = not shown */
    bool is_shown[SL_TABLE_COLUMNS_MAX];
    int wide; /* what the wide column needs to show all of its texts */
} layout;

void sl_list_move(sl_list_state *state, int64_t by, size_t row_cnt) {
    int64_t at = (int64_t)state->selected + by, last = row_cnt ? (int64_t)row_cnt - 1 : 0;
    state->selected = (size_t)(at < 0 ? 0 : at > last ? last : at);
}

void sl_list_scroll(sl_list_state *state, size_t row_cnt, size_t shown) {
    sl_list_move(state, 0, row_cnt);
    if (shown == 0)
        return;
    if (state->first + shown > row_cnt)
        state->first = row_cnt > shown ? row_cnt - shown : 0;
    if (state->selected < state->first)
        state->first = state->selected;
    if (state->selected >= state->first + shown)
        state->first = state->selected - shown + 1;
}

static int text_width(const char *text) {
    return (int)sl_term_width(text, strlen(text));
}

static void measure(const sl_table *table, size_t first, size_t rows, layout *out) {
    char text[SL_TABLE_TEXT_CAP];
    for (size_t c = 0; c < table->column_cnt; c++) {
        sl_ink ink;
        out->is_shown[c] = true;
        out->width[c] = text_width(table->columns[c].title);
        int *most = table->columns[c].is_wide ? &out->wide : &out->width[c];
        for (size_t r = first; r < first + rows; r++) {
            text[0] = '\0';
            table->cell(table->ctx, r, c, text, &ink);
            int width = text_width(text);
            *most = width > *most ? width : *most;
        }
        if (table->columns[c].is_wide && out->width[c] < WIDE_MIN)
            out->width[c] = WIDE_MIN;
    }
}

static int total_width(const sl_table *table, const layout *at) {
    int total = -GAP;
    for (size_t c = 0; c < table->column_cnt; c++)
        if (at->is_shown[c])
            total += at->width[c] + GAP;
    return total;
}

/* False when there is none to drop. */
static bool drop_worst(const sl_table *table, layout *at, bool of_extras) {
    size_t worst = SIZE_MAX;
    for (size_t c = 0; c < table->column_cnt; c++)
        if (at->is_shown[c] && table->columns[c].rank &&
            (!of_extras || table->columns[c].is_extra) &&
            (worst == SIZE_MAX || table->columns[c].rank >= table->columns[worst].rank))
            worst = c;
    if (worst != SIZE_MAX)
        at->is_shown[worst] = false;
    return worst != SIZE_MAX;
}

/* The columns that the wide one lacks. */
static int lacking(const sl_table *table, const layout *at, int width) {
    for (size_t c = 0; c < table->column_cnt; c++)
        if (table->columns[c].is_wide && at->is_shown[c])
            return at->wide - at->width[c] - (width - total_width(table, at));
    return 0;
}

/* Drops columns until the rest fits; the wide one gets the remaining columns of cells. */
static void lay_out(const sl_table *table, int width, layout *at) {
    while (total_width(table, at) > width && drop_worst(table, at, false))
        continue;
    while (lacking(table, at, width) > 0 && drop_worst(table, at, true))
        continue;
    int over = width - total_width(table, at);
    for (size_t c = 0; c < table->column_cnt; c++)
        if (at->is_shown[c] && table->columns[c].is_wide && (over > 0 || at->width[c] + over > 0))
            at->width[c] += over;
}

static void put_cell(sl_grid *grid, sl_rect area, const sl_table_column *column, const char *text,
                     sl_ink ink) {
    if (column->is_right)
        sl_put_right(grid, area, ink, text);
    else if (column->is_path)
        sl_put_path(grid, area, ink, text);
    else
        sl_put_text(grid, area, ink, text);
}

/* row SIZE_MAX is the head. */
static void put_row(sl_grid *grid, sl_rect area, const sl_table *table, const layout *at,
                    size_t row) {
    char text[SL_TABLE_TEXT_CAP];
    for (size_t c = 0; c < table->column_cnt; c++) {
        sl_ink ink = row == SIZE_MAX ? SL_INK_HEAD : SL_INK_TEXT;
        if (!at->is_shown[c])
            continue;
        sl_rect place = sl_rect_take_left(&area, at->width[c]);
        sl_rect_take_left(&area, GAP);
        text[0] = '\0';
        if (row != SIZE_MAX)
            table->cell(table->ctx, row, c, text, &ink);
        else
            snprintf(text, sizeof text, "%s", table->columns[c].title);
        if (row == SIZE_MAX && table->sorted_by == c)
            ink = SL_INK_KEY;
        put_cell(grid, place, &table->columns[c], text, ink);
    }
}

void sl_put_table(sl_grid *grid, sl_rect area, const sl_table *table, sl_list_state *state) {
    layout at = {0};
    if (area.h <= 0 || area.w <= 0)
        return;
    if (table->row_cnt == 0) {
        sl_put_wrapped(grid, area, SL_INK_DIM, table->nothing);
        return;
    }
    bool has_head = area.h > 1;
    sl_list_scroll(state, table->row_cnt, (size_t)(area.h - has_head));
    size_t rows = table->row_cnt - state->first, room = (size_t)(area.h - has_head);
    rows = rows < room ? rows : room;
    measure(table, state->first, rows, &at);
    lay_out(table, area.w, &at);
    if (has_head)
        put_row(grid, sl_rect_take_top(&area, 1), table, &at, SIZE_MAX);
    for (size_t r = 0; r < rows; r++) {
        sl_rect line = sl_rect_take_top(&area, 1);
        put_row(grid, line, table, &at, state->first + r);
        if (state->first + r == state->selected)
            sl_grid_paint(grid, line, SL_INK_SELECTED);
    }
}
