/* SPDX-License-Identifier: MIT */
/* Diagnostics: what was found, with its evidence, and what the readers noted. */
#include <stdio.h>

#include "tui/view/view.h"

static const sl_table_column columns[] = {
    {.title = "severity", .rank = 1},
    {.title = "finding", .is_wide = true},
    {.title = "where", .rank = 2},
};

/* The i-th finding that passes the filter; NULL after the last. */
static const sl_tui_finding *finding_at(const sl_screen *screen, size_t i) {
    const sl_tui_source *source = screen->whole;
    for (size_t at = 0; source && at < source->findings.cnt; at++)
        if (sl_rank_filter_has(screen->ui->rank_filter, source->findings.at[at].rank) && i-- == 0)
            return &source->findings.at[at];
    return NULL;
}

size_t sl_diagnostics_rows(const sl_screen *screen) {
    size_t cnt = 0;
    while (finding_at(screen, cnt))
        cnt++;
    return cnt;
}

static sl_ink severity_ink(sl_severity severity) {
    return severity >= SL_SEV_CRITICAL  ? SL_INK_BAD
           : severity >= SL_SEV_WARNING ? SL_INK_WARN
                                        : SL_INK_DIM;
}

static void finding_cell(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                         sl_ink *ink) {
    const sl_tui_finding *finding = finding_at(ctx, row);
    if (column == 0) {
        snprintf(text, SL_TABLE_TEXT_CAP, "%s", sl_severity_name(finding->severity));
        *ink = severity_ink(finding->severity);
    } else if (column == 1) {
        snprintf(text, SL_TABLE_TEXT_CAP, "%s", finding->title);
    } else {
        snprintf(text, SL_TABLE_TEXT_CAP, "%s", finding->device);
        *ink = SL_INK_DIM;
    }
}

static void put_paragraph(sl_grid *grid, sl_rect *area, sl_ink ink, const char *text) {
    if (text && *text)
        sl_rect_take_top(area, sl_put_wrapped(grid, *area, ink, text));
}

static void put_finding(sl_grid *grid, sl_rect area, const sl_tui_finding *finding) {
    put_paragraph(grid, &area, SL_INK_PLACE, finding->place);
    put_paragraph(grid, &area, SL_INK_TEXT, finding->amount);
    put_paragraph(grid, &area, SL_INK_TEXT, finding->text);
    put_paragraph(grid, &area, SL_INK_GOOD, finding->advice);
    put_paragraph(grid, &area, SL_INK_DIM, finding->certainty);
    for (size_t i = 0; i < finding->evidence_cnt && area.h > 0; i++) {
        sl_rect row = sl_rect_take_top(&area, 1);
        sl_rect_take_left(&row, 2);
        sl_put_text(grid, row, SL_INK_DIM, finding->evidence[i]);
    }
}

void sl_view_diagnostics(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_source *source = screen->whole;
    if (!source) {
        sl_view_nothing(grid, area, screen, "Press r to read the recording as it is now.");
        return;
    }
    size_t rows = sl_diagnostics_rows(screen);
    put_paragraph(grid, &area, sl_view_verdict_ink(source->verdict_rank), source->verdict);
    if (*screen->ui->rank_filter)
        sl_put(grid, sl_rect_take_top(&area, 1), SL_INK_KEY, "ranks: %s", screen->ui->rank_filter);
    size_t notes = source->notes.cnt < 3 ? source->notes.cnt : 3;
    if (area.h > 12) {
        sl_rect place = sl_rect_take_bottom(&area, (int)notes);
        for (size_t i = 0; i < notes; i++)
            sl_put(grid, sl_rect_take_top(&place, 1), SL_INK_DIM, "note: %s", source->notes.at[i]);
    }
    sl_list_state *list = &screen->ui->lists[SL_TAB_DIAGNOSTICS];
    const sl_tui_finding *chosen = finding_at(screen, list->selected);
    int top = area.h > 6 ? area.h / 3 : area.h;
    top = (int)rows + 1 < top ? (int)rows + 1 : top;
    sl_rect upper = sl_rect_take_top(&area, rows ? top : area.h);
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = rows,
                      .ctx = screen,
                      .cell = finding_cell,
                      .sorted_by = SIZE_MAX,
                      .nothing = "Nothing was found that is worth a line."};
    sl_put_table(grid, upper, &table, list);
    sl_rect_take_top(&area, area.h > 4);
    if (chosen)
        put_finding(grid, area, chosen);
}
