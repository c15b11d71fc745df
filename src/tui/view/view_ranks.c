/* SPDX-License-Identifier: MIT */
/* Ranks: one row each, with a heat line of its memory; missing ones, and which diverged first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/human.h"
#include "tui/view/view.h"
#include "tui/widget/curve_chart.h"

/* In more columns than this, the heat lines are beside the table. */
#define TABLE_W 72

static const sl_table_column columns[] = {
    {.title = "rank", .is_right = true},
    {.title = "peak", .is_right = true, .rank = 1},
    {.title = "last", .is_right = true, .rank = 2},
    {.title = "first", .is_right = true, .rank = 5},
    {.title = "events", .is_right = true, .rank = 4},
    {.title = "status", .is_wide = true, .rank = 3},
};

bool sl_rank_filter_has(const char *filter, sl_maybe_u64 rank) {
    if (!*filter || strcmp(filter, "all") == 0 || strcmp(filter, "*") == 0 || !rank.known)
        return true;
    for (const char *at = filter; *at;) {
        char *end;
        unsigned long from = strtoul(at, &end, 10), to = from;
        if (end == at)
            return false;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        if (rank.value >= from && rank.value <= to)
            return true;
        at = *end == ',' ? end + 1 : end;
        if (at == end && *at)
            return false;
    }
    return false;
}

const char *sl_rank_filter_error(const char *filter) {
    if (!*filter || strcmp(filter, "all") == 0 || strcmp(filter, "*") == 0)
        return NULL;
    for (const char *at = filter; *at;) {
        char *end;
        unsigned long from = strtoul(at, &end, 10), to = from;
        if (end == at || *at < '0' || *at > '9')
            return "expected numbers and ranges, like 0,2-5";
        if (*end == '-') {
            const char *second = end + 1;
            to = strtoul(second, &end, 10);
            if (end == second)
                return "expected a number after '-'";
        }
        if (to < from)
            return "the range ends before it starts";
        if (*end && *end != ',')
            return "expected ',' between ranks";
        at = *end ? end + 1 : end;
    }
    return NULL;
}

static void rank_cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                      sl_ink *ink) {
    const sl_tui_rank *rank = &((const sl_tui_source *)ctx)->ranks.at[row];
    const sl_maybe_u64 *bytes[] = {NULL, &rank->peak, &rank->last, &rank->first};
    if (rank->is_missing)
        *ink = SL_INK_BAD;
    if (column == 0)
        snprintf(text, SL_TABLE_TEXT_CAP, "%d", rank->number);
    else if (column == 4 && !rank->is_missing)
        sl_human_count(text, rank->samples);
    else if (column == 5 && rank->lead_s.known)
        snprintf(text, SL_TABLE_TEXT_CAP, "diverged %.3g s before the others", rank->lead_s.value),
            *ink = SL_INK_WARN;
    else if (column == 5)
        snprintf(text, SL_TABLE_TEXT_CAP, "%s", rank->ending);
    else if (column < 4 && !rank->is_missing && bytes[column]->known)
        sl_human_bytes(text, bytes[column]->value);
}

size_t sl_ranks_rows(const sl_screen *screen) {
    return screen->whole ? screen->whole->ranks.cnt : 0;
}

static void put_heat_lines(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_list_state *list = &screen->ui->lists[SL_TAB_RANKS];
    double top = 0;
    for (size_t i = 0; i < screen->whole->ranks.cnt; i++) {
        const sl_tui_rank *rank = &screen->whole->ranks.at[i];
        top = rank->peak.known && (double)rank->peak.value > top ? (double)rank->peak.value : top;
    }
    sl_put_text(grid, sl_rect_take_top(&area, 1), SL_INK_HEAD, "memory over time");
    for (size_t i = list->first; i < screen->whole->ranks.cnt && area.h > 0; i++) {
        sl_rect row = sl_rect_take_top(&area, 1);
        if (screen->whole->ranks.at[i].heat)
            sl_put_heat(grid, row, screen->whole->ranks.at[i].heat, SL_TUI_POINTS, top);
    }
}

void sl_view_ranks(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_source *source = screen->whole;
    if (!source || source->ranks.cnt == 0) {
        sl_view_nothing(grid, area, screen,
                        source ? "This input is not of several ranks."
                               : "Press r to read the recordings as they are now.");
        return;
    }
    sl_rect head = sl_rect_take_top(&area, 1);
    sl_put_part(grid, &head, SL_INK_TITLE, "%d rank%s", source->world_size,
                sl_plural((uint64_t)source->world_size));
    if (source->rank_verdict)
        sl_rect_take_left(&head, 2), sl_put_text(grid, head, SL_INK_WARN, source->rank_verdict);
    sl_rect heat = {0};
    if (area.w > TABLE_W + 20) {
        heat = sl_rect_take_right(&area, area.w - TABLE_W);
        sl_rect_take_right(&area, 2);
    }
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = source->ranks.cnt,
                      .ctx = source,
                      .cell = rank_cell,
                      .sorted_by = SIZE_MAX,
                      .nothing = ""};
    sl_put_table(grid, area, &table, &screen->ui->lists[SL_TAB_RANKS]);
    if (heat.w)
        put_heat_lines(grid, heat, screen);
}
