/* SPDX-License-Identifier: MIT */
/* What keys do. */
#include <stdio.h>
#include <string.h>

#include "tui/app/tui_app.h"

#define PAGE_ROWS   10
#define WINDOW_MIN  INT64_C(10000000)
#define WINDOW_MAX  INT64_C(86400000000)
#define ZOOM_MIN_US 16

/* ---- the part of a run that is shown ---- */

static void zoom_live(sl_app *app, bool is_in) {
    const sl_tui_device *device = sl_screen_device(&app->screen);
    int64_t window = app->ui.window_us;
    if (window == 0 && device)
        window = device->to_us;
    window = is_in ? window / 2 : window * 2;
    bool is_all = device && !is_in && window >= device->to_us;
    app->ui.window_us = is_all                ? 0
                        : window < WINDOW_MIN ? WINDOW_MIN
                        : window > WINDOW_MAX ? 0
                                              : window;
}

static void zoom_timeline(sl_app *app, bool is_in) {
    const sl_tui_timeline *t = app->timeline;
    if (!t || t->problem || !t->cnt)
        return;
    int64_t length = t->to_us - t->from_us;
    int64_t at = t->from_us + (int64_t)((double)length * app->ui.cursor / (double)t->cnt);
    int64_t wanted = is_in ? length / 2 : length * 2;
    if (wanted < ZOOM_MIN_US)
        return;
    app->part_from_us = at - wanted / 2 > 0 ? at - wanted / 2 : 0;
    app->part_to_us = app->part_from_us + wanted;
    if (app->part_to_us > t->end_us) {
        app->part_to_us = t->end_us;
        app->part_from_us = t->end_us - wanted > 0 ? t->end_us - wanted : 0;
    }
    if (app->part_from_us == 0 && app->part_to_us == t->end_us)
        app->part_to_us = 0; /* all of it */
    int64_t span =
        app->part_to_us > app->part_from_us ? app->part_to_us - app->part_from_us : t->end_us;
    app->ui.cursor =
        span ? (int)((double)(at - app->part_from_us) / (double)span * (double)t->cnt) : 0;
}

static void zoom(sl_app *app, bool is_in) {
    if (app->ui.tab == SL_TAB_LIVE)
        zoom_live(app, is_in);
    else
        zoom_timeline(app, is_in);
}

static void zoom_all(sl_app *app) {
    app->ui.window_us = 0;
    app->part_from_us = app->part_to_us = 0;
}

/* At the border, the shown part moves by a quarter of its length. */
static void move_cursor(sl_app *app, int by) {
    const sl_tui_timeline *t = app->timeline;
    if (app->ui.tab != SL_TAB_TIMELINE || !t || !t->cnt)
        return;
    app->ui.cursor += by;
    bool is_out = app->ui.cursor < 0 || app->ui.cursor >= (int)t->cnt;
    int64_t quarter = (t->to_us - t->from_us) / 4;
    bool can_move = app->part_to_us > app->part_from_us &&
                    (by < 0 ? app->part_from_us > 0 : app->part_to_us < t->end_us);
    if (is_out && can_move) {
        int64_t room = by < 0 ? app->part_from_us : t->end_us - app->part_to_us;
        int64_t shift = quarter < room ? quarter : room;
        app->part_from_us += by < 0 ? -shift : shift;
        app->part_to_us += by < 0 ? -shift : shift;
        app->ui.cursor += (by < 0 ? 1 : -1) * (int)t->cnt / 4;
    }
    if (app->ui.cursor < 0)
        app->ui.cursor = 0;
    if (app->ui.cursor >= (int)t->cnt)
        app->ui.cursor = (int)t->cnt - 1;
}

/* ---- rows ---- */

static void move_rows(sl_app *app, int64_t by) {
    const sl_view *view = &sl_views[app->ui.tab];
    if (view->row_cnt)
        sl_list_move(&app->ui.lists[app->ui.tab], by, view->row_cnt(&app->screen));
}

static sl_tree_node *selected_node(sl_app *app) {
    sl_tui_device *device = sl_screen_device(&app->screen);
    size_t row = app->ui.lists[SL_TAB_SITES].selected;
    return device && row < app->ui.rows.cnt ? &device->sites.nodes.at[app->ui.rows.at[row]] : NULL;
}

static void open_row(sl_app *app) {
    size_t row = app->ui.lists[app->ui.tab].selected;
    sl_tree_node *node;
    switch (app->ui.tab) {
    case SL_TAB_OVERVIEW:
        if (row < app->jobs.rows.cnt)
            sl_app_open(app, app->jobs.rows.at[row].path);
        break;
    case SL_TAB_SITES:
        if ((node = selected_node(app)) && node->has_children)
            node->is_open = !node->is_open;
        break;
    case SL_TAB_WHATIF: sl__app_ask_whatif(app); break;
    case SL_TAB_FILES: sl__app_do_file_action(app); break;
    default: break;
    }
}

static void copy_selected(sl_app *app) {
    const sl_tree_node *node = app->ui.tab == SL_TAB_SITES ? selected_node(app) : NULL;
    size_t row = app->ui.lists[SL_TAB_OVERVIEW].selected;
    const char *text = app->path ? app->path : "";
    if (node)
        text = node->text;
    else if (app->ui.tab == SL_TAB_OVERVIEW && row < app->jobs.rows.cnt)
        text = app->jobs.rows.at[row].path;
    snprintf(app->copied, sizeof app->copied, "%s", text);
    if (*text)
        sl_app_say(app, false, "copied: %s", text);
    else
        sl_app_say(app, true, "there is nothing to copy here");
}

static void sort_rows(sl_app *app) {
    app->ui.order.by = (sl_tree_figure)((app->ui.order.by + 1) % SL_TREE_FIGURE_CNT);
    app->ui.lists[SL_TAB_SITES] = (sl_list_state){0};
}

static void next_device(sl_app *app) {
    const sl_tui_source *source = sl_screen_source(&app->screen);
    if (source && source->devices.cnt)
        app->ui.device = (app->ui.device + 1) % source->devices.cnt;
    app->ui.lists[SL_TAB_SITES] = app->ui.lists[SL_TAB_LEDGER] = (sl_list_state){0};
    app->line_node = SIZE_MAX;
    zoom_all(app);
}

static void refresh(sl_app *app) {
    app->tick_cnt = 0; /* scans the folder of runs, too */
    sl_app_tick(app);
    if (app->path && !sl_loader_is_busy(app->loader)) {
        sl__app_read_whole(app);
        sl_app_say(app, false, "reading %s again", app->path);
    }
}

static void ask(sl_app *app, sl_prompt prompt, const char *text) {
    app->ui.prompt = prompt;
    snprintf(app->ui.prompt_text, sizeof app->ui.prompt_text, "%s", text);
}

static void go_back(sl_app *app) {
    app->ui.search[0] = '\0';
    app->ui.rank_filter[0] = '\0';
}

static void stop_task(sl_app *app) {
    if (!app->task.pid)
        sl_app_say(app, true, "no command is running");
    sl_task_stop(&app->task);
}

static void go_tab(sl_app *app, int tab) {
    app->ui.tab = (sl_tab)((tab + SL_TAB_CNT) % SL_TAB_CNT);
    if (app->live)
        sl_app_tick(app); /* reads what only this tab needs */
}

static void set_threshold(sl_app *app, int by) {
    int pct = (int)app->ui.warn_pct + by;
    app->ui.warn_pct = (unsigned)(pct < 5 ? 5 : pct > 100 ? 100 : pct);
    sl_app_say(app, false, "threshold: %u %% of the card", app->ui.warn_pct);
}

static void split_or_moment(sl_app *app) {
    if (app->ui.tab == SL_TAB_TIMELINE)
        app->ui.split = (sl_tui_split)((app->ui.split + 1) % SL_TUI_SPLIT_CNT);
    else
        app->ui.shows_fullest = !app->ui.shows_fullest;
}

static void do_action(sl_app *app, sl_action action, uint32_t key) {
    sl_ui *ui = &app->ui;
    switch (action) {
    case SL_DO_NOTHING: break;
    case SL_DO_QUIT: app->is_quitting = true; break;
    case SL_DO_HELP: ui->has_help = true; break;
    case SL_DO_NEXT_TAB: go_tab(app, (int)ui->tab + 1); break;
    case SL_DO_LAST_TAB: go_tab(app, (int)ui->tab - 1); break;
    case SL_DO_GO_TAB: go_tab(app, (int)(key - '1')); break;
    case SL_DO_UP: move_rows(app, -1); break;
    case SL_DO_DOWN: move_rows(app, 1); break;
    case SL_DO_PAGE_UP: move_rows(app, -PAGE_ROWS); break;
    case SL_DO_PAGE_DOWN: move_rows(app, PAGE_ROWS); break;
    case SL_DO_TOP: move_rows(app, INT32_MIN); break;
    case SL_DO_BOTTOM: move_rows(app, INT32_MAX); break;
    case SL_DO_OPEN: open_row(app); break;
    case SL_DO_BACK: go_back(app); break;
    case SL_DO_LEFT: move_cursor(app, -1); break;
    case SL_DO_RIGHT: move_cursor(app, 1); break;
    case SL_DO_DEVICE: next_device(app); break;
    case SL_DO_REFRESH: refresh(app); break;
    case SL_DO_SORT: sort_rows(app); break;
    case SL_DO_SEARCH: ask(app, SL_PROMPT_SEARCH, ui->search); break;
    case SL_DO_GROUP: ui->order.by_file = !ui->order.by_file; break;
    case SL_DO_ZOOM_IN: zoom(app, true); break;
    case SL_DO_ZOOM_OUT: zoom(app, false); break;
    case SL_DO_ZOOM_ALL: zoom_all(app); break;
    case SL_DO_SPLIT: split_or_moment(app); break;
    case SL_DO_WARN_UP: set_threshold(app, 5); break;
    case SL_DO_WARN_DOWN: set_threshold(app, -5); break;
    case SL_DO_FILTER: ask(app, SL_PROMPT_FILTER, ui->rank_filter); break;
    case SL_DO_COPY: copy_selected(app); break;
    case SL_DO_SAVE: app->wants_save = true; break;
    case SL_DO_LOAD: ask(app, SL_PROMPT_OPEN, ""); break;
    case SL_DO_RUN: ask(app, SL_PROMPT_RUN, ""); break;
    case SL_DO_STOP: stop_task(app); break;
    }
}

/* ---- questions ---- */

static void answer(sl_app *app) {
    char text[SL_PROMPT_CAP];
    sl_prompt prompt = app->ui.prompt;
    snprintf(text, sizeof text, "%s", app->ui.prompt_text);
    app->ui.prompt = SL_PROMPT_NONE;
    if (prompt == SL_PROMPT_SEARCH)
        snprintf(app->ui.search, sizeof app->ui.search, "%s", text);
    else if (prompt == SL_PROMPT_FILTER)
        snprintf(app->ui.rank_filter, sizeof app->ui.rank_filter, "%s", text);
    else if (prompt == SL_PROMPT_OPEN && *text)
        sl_app_open(app, text);
    else if (prompt == SL_PROMPT_RUN && *text)
        sl__app_run_command(app, text);
}

void sl__app_prompt_key(sl_app *app, uint32_t key) {
    char *text = app->ui.prompt_text;
    size_t len = strlen(text);
    if (key == SL_KEY_ENTER) {
        answer(app);
    } else if (key == SL_KEY_ESCAPE || key == 3) {
        app->ui.prompt = SL_PROMPT_NONE;
    } else if (key == SL_KEY_BACKSPACE) {
        while (len > 0 && (text[--len] & 0xc0) == 0x80)
            continue;
        text[len] = '\0';
    } else if (key == 21) { /* Ctrl-U, as in a shell */
        text[0] = '\0';
    } else if (key >= ' ' && key < SL_KEY_UP && len + 5 < SL_PROMPT_CAP) {
        sl_utf8_encode(text + len, key);
    }
}

/* ---- the mouse ---- */

static void click(sl_app *app, int x, int y, const sl_grid *grid) {
    const sl_view *view = &sl_views[app->ui.tab];
    if (y == 0) {
        sl_tab tab = sl_screen_tab_at(grid, &app->screen, x);
        if (tab < SL_TAB_CNT)
            go_tab(app, (int)tab);
        return;
    }
    /* The row that is painted is the selected one; the others are above and below it. */
    for (int row = 1; view->row_cnt && row < grid->h - 1; row++)
        if (sl_grid_at(grid, 0, row)->back == SL_INK_SELECTED) {
            if (row == y)
                open_row(app);
            else
                move_rows(app, y - row);
            return;
        }
}

void sl_app_key(sl_app *app, uint32_t key, int x, int y, const sl_grid *grid) {
    app->ui.status[0] = '\0';
    app->ui.is_error = false;
    if (app->ui.prompt) {
        sl__app_prompt_key(app, key);
        return;
    }
    if (app->ui.has_help) {
        app->ui.has_help = false;
        return;
    }
    if (key == SL_KEY_CLICK)
        click(app, x, y, grid);
    else if (key == SL_KEY_WHEEL_UP)
        move_rows(app, -3);
    else if (key == SL_KEY_WHEEL_DOWN)
        move_rows(app, 3);
    else
        do_action(app, sl_key_action(key, app->ui.tab), key);
}
