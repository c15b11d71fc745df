/* SPDX-License-Identifier: MIT */
/* Diagnostics: what was found, with its evidence, and what the readers noted. */
#include <stdio.h>

#include "tui/view/view.h"

static const sl_table_column columns[] = {
    {.title = "severity", .rank = 1},
    {.title = "finding", .is_wide = true},
    {.title = "where", .rank = 2},
};

/* Of the whole run, or of the part that was asked for. */
static const sl_tui_source *judged_of(const sl_screen *screen) {
    return screen->judged ? screen->judged : screen->whole;
}

const sl_tui_finding *sl_view_finding(const sl_screen *screen, size_t i) {
    const sl_tui_source *source = judged_of(screen);
    for (size_t at = 0; source && at < source->findings.cnt; at++)
        if (sl_rank_filter_has(screen->ui->rank_filter, source->findings.at[at].rank) && i-- == 0)
            return &source->findings.at[at];
    return NULL;
}

static bool shows_comparison(const sl_screen *screen) {
    return screen->ui->shows_comparison && screen->compared;
}

size_t sl_diagnostics_rows(const sl_screen *screen) {
    size_t cnt = 0;
    if (shows_comparison(screen))
        return screen->compared->rows.cnt;
    while (sl_view_finding(screen, cnt))
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
    const sl_tui_finding *finding = sl_view_finding(ctx, row);
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

static void put_labelled(sl_grid *grid, sl_rect *area, sl_ink ink, const char *label,
                         const char *text) {
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%s", label, text ? text : "");
    if (text && *text)
        put_paragraph(grid, area, ink, whole);
}

static void put_finding(sl_grid *grid, sl_rect area, const sl_tui_finding *finding) {
    put_paragraph(grid, &area, SL_INK_PLACE, finding->place);
    put_paragraph(grid, &area, SL_INK_TEXT, finding->amount);
    put_labelled(grid, &area, SL_INK_TEXT, "Why: ", finding->text);
    put_labelled(grid, &area, SL_INK_GOOD, "Fix: ", finding->advice);
    put_paragraph(grid, &area, SL_INK_DIM, finding->certainty);
    for (size_t i = 0; i < finding->evidence_cnt && area.h > 0; i++) {
        sl_rect row = sl_rect_take_top(&area, 1);
        sl_rect_take_left(&row, 2);
        sl_put_text(grid, row, SL_INK_DIM, finding->evidence[i]);
    }
}

static void put_filters(sl_grid *grid, sl_rect *area, const sl_screen *screen) {
    const sl_ui *ui = screen->ui;
    if (!*ui->rank_filter && !*ui->time_filter)
        return;
    sl_rect row = sl_rect_take_top(area, 1);
    if (*ui->rank_filter)
        sl_put_part(grid, &row, SL_INK_KEY, "ranks: %s   ", ui->rank_filter);
    if (*ui->time_filter)
        sl_put_part(grid, &row, SL_INK_KEY, "time: %s%s   ", ui->time_filter,
                    screen->judged ? "" : " (being judged)");
    sl_put_part(grid, &row, SL_INK_DIM, "%s", "Esc shows everything");
}

static void put_notes(sl_grid *grid, sl_rect *area, const sl_tui_source *source) {
    size_t notes = source->notes.cnt < 3 ? source->notes.cnt : 3;
    if (area->h <= 12)
        return;
    sl_rect place = sl_rect_take_bottom(area, (int)notes);
    for (size_t i = 0; i < notes; i++)
        sl_put(grid, sl_rect_take_top(&place, 1), SL_INK_DIM, "note: %s", source->notes.at[i]);
}

void sl_view_diagnostics(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_source *source = judged_of(screen);
    if (!source) {
        sl_view_nothing(grid, area, screen, "Press r to read the recording as it is now.");
        return;
    }
    if (shows_comparison(screen)) {
        sl__view_comparison(grid, area, screen);
        return;
    }
    size_t rows = sl_diagnostics_rows(screen);
    bool is_filtered = *screen->ui->rank_filter && source->findings.cnt;
    put_paragraph(grid, &area, sl_view_verdict_ink(source->verdict_rank), source->verdict);
    put_filters(grid, &area, screen);
    put_notes(grid, &area, screen->whole ? screen->whole : source);
    sl_list_state *list = &screen->ui->lists[SL_TAB_DIAGNOSTICS];
    const sl_tui_finding *chosen = sl_view_finding(screen, list->selected);
    int top = area.h > 6 ? area.h / 3 : area.h;
    top = (int)rows + 1 < top ? (int)rows + 1 : top;
    sl_rect upper = sl_rect_take_top(&area, rows ? top : area.h);
    sl_table table = {.columns = columns,
                      .column_cnt = SL_COUNT_OF(columns),
                      .row_cnt = rows,
                      .ctx = screen,
                      .cell = finding_cell,
                      .sorted_by = SIZE_MAX,
                      .nothing = is_filtered ? "Nothing was found about these ranks."
                                             : "Nothing was found that is worth a line."};
    sl_put_table(grid, upper, &table, list);
    sl_rect_take_top(&area, area.h > 4);
    if (chosen)
        put_finding(grid, area, chosen);
}
