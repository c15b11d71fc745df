/* SPDX-License-Identifier: MIT */
/* The tabs, and the frame around them: tab bar, status, keys, help. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/term.h"
#include "tui/view/view.h"
#include "tui/widget/curve_chart.h"

const sl_view sl_views[SL_TAB_CNT] = {
    [SL_TAB_OVERVIEW] = {sl_view_overview, sl_overview_rows},
    [SL_TAB_LIVE] = {sl_view_live, NULL},
    [SL_TAB_SITES] = {sl_view_sites, sl_sites_rows},
    [SL_TAB_TIMELINE] = {sl_view_timeline, NULL},
    [SL_TAB_LEDGER] = {sl_view_ledger, sl_ledger_view_rows},
    [SL_TAB_RANKS] = {sl_view_ranks, sl_ranks_rows},
    [SL_TAB_WHATIF] = {sl_view_whatif, sl_whatif_view_rows},
    [SL_TAB_DIAGNOSTICS] = {sl_view_diagnostics, sl_diagnostics_rows},
    [SL_TAB_FILES] = {sl_view_files, sl_files_rows},
};

/* In fewer columns, the tab bar shows only the open tab. */
#define TAB_BAR_W 77
/* In fewer rows, the status replaces the keys. */
#define STATUS_H  10

sl_tui_source *sl_screen_source(const sl_screen *screen) {
    return screen->live ? screen->live : screen->whole;
}

sl_tui_device *sl_screen_device(const sl_screen *screen) {
    sl_tui_source *source = sl_screen_source(screen);
    return source && screen->ui->device < source->devices.cnt
               ? &source->devices.at[screen->ui->device]
               : NULL;
}

sl_tree *sl_screen_tree(const sl_screen *screen, sl_tui_device *device) {
    return screen->ui->group == SL_SITES_BY_MODULE ? &device->modules : &device->sites;
}

bool sl_screen_prepare(const sl_screen *screen) {
    sl_ui *ui = screen->ui;
    const sl_tui_source *source = sl_screen_source(screen);
    if (source && source->devices.cnt && ui->device >= source->devices.cnt)
        ui->device = 0;
    sl_tui_device *device = sl_screen_device(screen);
    ui->order.search = ui->search;
    ui->order.by_file = ui->group != SL_SITES_PLAIN;
    ui->rows.cnt = 0;
    bool has_room =
        !device || sl_tree_flatten(sl_screen_tree(screen, device), &ui->order, &ui->rows);
    for (size_t i = 0; i < SL_TAB_CNT; i++)
        if (sl_views[i].row_cnt)
            sl_list_move(&ui->lists[i], 0, sl_views[i].row_cnt(screen));
    return has_room;
}

/* ---- shared by the views ---- */

const char *sl_view_bytes(char buf[SL_TABLE_TEXT_CAP], sl_maybe_u64 bytes) {
    if (bytes.known)
        sl_human_bytes(buf, bytes.value);
    else
        snprintf(buf, SL_TABLE_TEXT_CAP, "unknown");
    return buf;
}

sl_ink sl_view_verdict_ink(int verdict_rank) {
    return verdict_rank >= 3 ? SL_INK_BAD : verdict_rank > 0 ? SL_INK_WARN : SL_INK_GOOD;
}

void sl_view_nothing(sl_grid *grid, sl_rect area, const sl_screen *screen, const char *what) {
    if (screen->ui->progress[0])
        sl_put_wrapped(grid, area, SL_INK_DIM, screen->ui->progress);
    else if (!sl_screen_source(screen))
        sl_put_wrapped(grid, area, SL_INK_DIM,
                       "Nothing is open. Choose a run in Overview, or press o and name a path.");
    else
        sl_put_wrapped(grid, area, SL_INK_DIM, what);
}

void sl_view_device_row(sl_grid *grid, sl_rect area, const sl_screen *screen) {
    const sl_tui_source *source = sl_screen_source(screen);
    const sl_tui_device *device = sl_screen_device(screen);
    if (!device)
        return;
    const sl_tui_process *process = &source->processes.at[device->process];
    sl_rect row = sl_rect_take_top(&area, 1);
    if (source->devices.cnt > 1)
        sl_put_part(grid, &row, SL_INK_DIM, "%zu/%zu ", screen->ui->device + 1,
                    source->devices.cnt);
    sl_put_part(grid, &row, SL_INK_TITLE, "%s", device->label);
    if (row.w > 3)
        sl_rect_take_left(&row, 2), sl_put_path(grid, row, SL_INK_PLACE, process->label);
}

void sl_view_ledger_bar(sl_grid *grid, sl_rect area, const sl_ledger_state *ledger) {
    sl_bar_part parts[64];
    size_t cnt = 0;
    double whole = (double)sl_u64_or_0(ledger->card_total);
    for (size_t i = 0; i < ledger->row_cnt && cnt < SL_COUNT_OF(parts); i++)
        if (ledger->rows[i].bytes.known && ledger->rows[i].bytes.value) {
            parts[cnt] = (sl_bar_part){(double)ledger->rows[i].bytes.value, sl_ink_series(cnt)};
            cnt++;
        }
    for (size_t i = 0; i < cnt && !ledger->card_total.known; i++)
        whole += parts[i].value;
    sl_put_bar(grid, area, parts, cnt, whole);
}

/* ---- the frame ---- */

static int tab_width(size_t i) {
    return (int)strlen(sl_tab_name((sl_tab)i)) + 2;
}

sl_tab sl_screen_tab_at(const sl_grid *grid, const sl_screen *screen, int x) {
    if (grid->w < TAB_BAR_W)
        return (sl_tab)((screen->ui->tab + 1) % SL_TAB_CNT);
    for (size_t i = 0; i < SL_TAB_CNT; i++) {
        if (x < tab_width(i))
            return (sl_tab)i;
        x -= tab_width(i);
    }
    return SL_TAB_CNT;
}

static void put_tabs(sl_grid *grid, sl_rect row, const sl_screen *screen) {
    sl_tab tab = screen->ui->tab;
    const sl_tui_source *source = sl_screen_source(screen);
    if (grid->w < TAB_BAR_W) {
        sl_put_part(grid, &row, SL_INK_TAB_OPEN, "%d %s", tab + 1, sl_tab_name(tab));
        sl_put_part(grid, &row, SL_INK_DIM, " of %d", SL_TAB_CNT);
        return;
    }
    for (size_t i = 0; i < SL_TAB_CNT; i++) {
        sl_rect cell = sl_rect_take_left(&row, tab_width(i));
        sl_put_part(grid, &cell, SL_INK_KEY, "%zu", i + 1);
        sl_put_part(grid, &cell, i == tab ? SL_INK_TAB_OPEN : SL_INK_TAB, "%s",
                    sl_tab_name((sl_tab)i));
    }
    if (source && row.w > 12)
        sl_rect_take_left(&row, 2), sl_put_path(grid, row, SL_INK_PLACE, source->name);
}

/* Columns between two keys of the footer. */
#define KEY_GAP 2

static int key_width(const sl_key_row *key) {
    return (int)(strlen(key->shown) + strlen(key->label)) + 1;
}

/* A bit for each row of the table that has room. Whole entries only. */
static uint64_t choose_keys(const sl_screen *screen, int room) {
    uint64_t chosen = 0;
    for (sl_key_need need = SL_NEED_ALWAYS; need < SL_NEED_CNT; need++)
        for (size_t i = 0; i < sl_key_row_cnt; i++) {
            const sl_key_row *key = &sl_key_rows[i];
            if (key->need != need || !key->label || !(key->tabs >> screen->ui->tab & 1u))
                continue;
            int width = key_width(key) + (chosen ? KEY_GAP : 0);
            if (width > room)
                continue;
            room -= width;
            chosen |= (uint64_t)1 << i;
        }
    return chosen;
}

static void put_keys(sl_grid *grid, sl_rect row, const sl_screen *screen) {
    uint64_t chosen = choose_keys(screen, row.w);
    for (size_t i = 0; i < sl_key_row_cnt; i++) {
        if (!(chosen >> i & 1u))
            continue;
        sl_put_part(grid, &row, SL_INK_KEY, "%s", sl_key_rows[i].shown);
        sl_put_part(grid, &row, SL_INK_DIM, " %s", sl_key_rows[i].label);
        sl_rect_take_left(&row, KEY_GAP);
    }
}

const char *sl_view_question(sl_prompt prompt) {
    static const char *const questions[] = {
        [SL_PROMPT_NONE] = "",
        [SL_PROMPT_SEARCH] = "search: ",
        [SL_PROMPT_OPEN] = "open (paths with commas, or a process number): ",
        [SL_PROMPT_RUN] = "run under the recorder: ",
        [SL_PROMPT_FILTER] = "ranks (0,2-5; empty = all): ",
        [SL_PROMPT_TIME] = "time (10s-2m; empty = all): ",
        [SL_PROMPT_COMPARE] = "compare with (a path; empty = none): ",
        [SL_PROMPT_SETTINGS] = "settings (max_split_size_mb=128; blanks separate sets): ",
        [SL_PROMPT_CARD] = "card (24GiB; empty = as recorded): ",
    };
    return questions[prompt];
}

static void put_prompt(sl_grid *grid, sl_rect row, const sl_ui *ui) {
    const char *question = sl_view_question(ui->prompt);
    if ((int)strlen(question) + 8 < row.w)
        sl_put_part(grid, &row, SL_INK_KEY, "%s", question);
    sl_rect text = row;
    text.w = row.w > 1 ? row.w - 1 : row.w;
    size_t width = sl_term_width(ui->prompt_text, strlen(ui->prompt_text));
    const char *shown = ui->prompt_text;
    while ((int)width > text.w && *shown) { /* keep the end, where the user types */
        size_t step = 1;
        while ((shown[step] & 0xc0) == 0x80)
            step++;
        width -= sl_term_width(shown, step);
        shown += step;
    }
    int used = sl_put_text(grid, text, SL_INK_TEXT, shown);
    sl_grid_put(grid, row.x + used, row.y, '_', SL_INK_CURSOR);
}

static void put_status(sl_grid *grid, sl_rect row, const sl_ui *ui) {
    if (ui->prompt)
        put_prompt(grid, row, ui);
    else if (ui->status[0])
        sl_put_text(grid, row, ui->is_error ? SL_INK_BAD : SL_INK_GOOD, ui->status);
    else if (ui->progress[0])
        sl_put_text(grid, row, SL_INK_DIM, ui->progress);
    else if (ui->task[0])
        sl_put(grid, row, SL_INK_WARN, "running: %s", ui->task);
}

static bool has_status(const sl_ui *ui) {
    return ui->prompt || ui->status[0] || ui->progress[0] || ui->task[0];
}

static size_t help_rows(const sl_screen *screen) {
    size_t cnt = 0;
    for (size_t i = 0; i < sl_key_row_cnt; i++)
        cnt += sl_key_rows[i].tabs >> screen->ui->tab & 1u;
    return cnt;
}

static void put_help(sl_grid *grid, const sl_screen *screen) {
    int w = grid->w - 4 < 64 ? grid->w : 64, h = (int)help_rows(screen) + 2;
    h = h < grid->h ? h : grid->h;
    sl_rect window = {(grid->w - w) / 2, (grid->h - h) / 2, w, h};
    sl_grid_erase(grid, window);
    sl_rect inside = sl_put_box(grid, window, " Keys ");
    for (size_t i = 0; i < sl_key_row_cnt && inside.h > 0; i++) {
        if (!(sl_key_rows[i].tabs >> screen->ui->tab & 1u))
            continue;
        sl_rect row = sl_rect_take_top(&inside, 1);
        sl_rect key = sl_rect_take_left(&row, 10);
        sl_put_text(grid, key, SL_INK_KEY, sl_key_rows[i].shown);
        sl_put_text(grid, row, SL_INK_TEXT, sl_key_rows[i].help);
    }
}

void sl_screen_draw(sl_grid *grid, const sl_screen *screen) {
    sl_grid_clear(grid);
    sl_rect area = sl_grid_area(grid);
    sl_rect tabs = sl_rect_take_top(&area, 1);
    sl_rect keys = sl_rect_take_bottom(&area, 1);
    put_tabs(grid, tabs, screen);
    if (has_status(screen->ui) && grid->h < STATUS_H)
        put_status(grid, keys, screen->ui);
    else
        put_keys(grid, keys, screen);
    if (grid->h >= STATUS_H)
        put_status(grid, sl_rect_take_bottom(&area, 1), screen->ui);
    sl_views[screen->ui->tab].draw(grid, area, screen);
    if (screen->ui->has_help)
        put_help(grid, screen);
}
