/* SPDX-License-Identifier: MIT */
/* What keys do. */
#include <stdio.h>
#include <string.h>

#include "tui/app/tui_app.h"
#include "tui/facts/user_facts.h"

#define PAGE_ROWS 10

/* ---- rows ---- */

static void move_rows(sl_app *app, int64_t by) {
    const sl_view *view = &sl_views[app->ui.tab];
    if (view->row_cnt)
        sl_list_move(&app->ui.lists[app->ui.tab], by, view->row_cnt(&app->screen));
}

static sl_tree_node *selected_node(sl_app *app) {
    sl_tui_device *device = sl_screen_device(&app->screen);
    size_t row = app->ui.lists[SL_TAB_SITES].selected;
    return device && row < app->ui.rows.cnt
               ? &sl_screen_tree(&app->screen, device)->nodes.at[app->ui.rows.at[row]]
               : NULL;
}

static void open_process(sl_app *app, size_t row) {
    char pid[16];
    if (row >= app->users.cnt)
        return;
    snprintf(pid, sizeof pid, "%d", app->users.rows[row].pid);
    sl_app_open(app, pid);
}

static void open_row(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    size_t row = app->ui.lists[app->ui.tab].selected;
    sl_tree_node *node;
    switch (app->ui.tab) {
    case SL_TAB_OVERVIEW:
        if (app->ui.shows_processes)
            open_process(app, row);
        else if (row < app->jobs.rows.cnt)
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

/* What "copy" means in each tab: a place, a path, or a line to paste. */
static const char *text_to_copy(sl_app *app) {
    size_t row = app->ui.lists[app->ui.tab].selected;
    const sl_tree_node *node;
    const sl_tui_finding *finding;
    switch (app->ui.tab) {
    case SL_TAB_SITES:
        if ((node = selected_node(app)))
            return node->text;
        break;
    case SL_TAB_OVERVIEW:
        if (!app->ui.shows_processes && row < app->jobs.rows.cnt)
            return app->jobs.rows.at[row].path;
        break;
    case SL_TAB_DIAGNOSTICS:
        if (!app->ui.shows_comparison && (finding = sl_view_finding(&app->screen, row)) &&
            *finding->place)
            return finding->place;
        break;
    case SL_TAB_WHATIF:
        if (app->whatif && row < app->whatif->row_cnt)
            return app->whatif->rows[row].text;
        break;
    default: break;
    }
    return app->path ? app->path : "";
}

static void copy_selected(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    const char *text = text_to_copy(app);
    snprintf(app->copied, sizeof app->copied, "%s", text);
    if (*text)
        sl_app_say(app, false, "copied: %s", text);
    else
        sl_app_say(app, true, "there is nothing to copy here");
}

static void sort_rows(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    if (app->ui.tab == SL_TAB_OVERVIEW) {
        app->ui.sorts_by_growth = !app->ui.sorts_by_growth;
        sl_user_facts_sort(&app->users, app->ui.sorts_by_growth);
    } else {
        app->ui.order.by = (sl_tree_figure)((app->ui.order.by + 1) % SL_TREE_FIGURE_CNT);
    }
    app->ui.lists[app->ui.tab] = (sl_list_state){0};
}

static void group_rows(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    const sl_tui_device *device = sl_screen_device(&app->screen);
    sl_ui *ui = &app->ui;
    ui->group = (sl_sites_group)((ui->group + 1) % SL_SITES_GROUP_CNT);
    if (ui->group == SL_SITES_BY_MODULE && (!device || device->modules.nodes.cnt == 0)) {
        ui->group = SL_SITES_PLAIN;
        sl_app_say(app, false, "this input has no modules");
    }
    ui->lists[SL_TAB_SITES] = (sl_list_state){0};
}

static void follow_line(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    const sl_tree_node *node = selected_node(app);
    bool is_same = node && strcmp(node->text, app->ui.followed) == 0;
    if (is_same || !node || node->level != SL_TREE_LINE) {
        if (!is_same)
            sl_app_say(app, true, "select a line to follow it");
        app->ui.followed[0] = '\0';
        return;
    }
    snprintf(app->ui.followed, sizeof app->ui.followed, "%s", node->text);
    app->follow = (sl_tui_follow){0};
    app->is_follow_made = false;
}

/* The other list of a tab that has two. */
static void switch_list(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    sl_ui *ui = &app->ui;
    if (ui->tab == SL_TAB_OVERVIEW)
        ui->shows_processes = !ui->shows_processes;
    else if (app->compared)
        ui->shows_comparison = !ui->shows_comparison;
    else
        sl_app_say(app, true, "nothing is compared; c compares with another input");
    ui->lists[ui->tab] = (sl_list_state){0};
}

static void next_device(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    const sl_tui_source *source = sl_screen_source(&app->screen);
    if (source && source->devices.cnt)
        app->ui.device = (app->ui.device + 1) % source->devices.cnt;
    app->ui.lists[SL_TAB_SITES] = app->ui.lists[SL_TAB_LEDGER] = (sl_list_state){0};
    sl__app_zoom_all(app, 0);
}

static void refresh(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    app->tick_cnt = 0; /* scans the folder of runs, too */
    sl_app_tick(app);
    if (app->path && !sl_loader_is_busy(app->loader)) {
        sl__app_read_whole(app);
        sl_app_say(app, false, "reading %s again", app->path);
    }
}

static void go_back(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    if (sl_loader_drop(app->loader))
        sl_app_say(app, true, "reading was stopped; r reads %s again", app->path);
    app->ui.search[0] = app->ui.rank_filter[0] = app->ui.time_filter[0] = '\0';
    app->ui.shows_comparison = false;
    app->screen.judged = NULL;
}

static void stop_task(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    if (!app->task.pid)
        sl_app_say(app, true, "no command is running");
    sl_task_stop(&app->task);
}

static void go_tab(sl_app *app, int64_t tab) {
    app->ui.tab = (sl_tab)((tab + SL_TAB_CNT) % SL_TAB_CNT);
    if (app->live)
        sl_app_tick(app); /* reads what only this tab needs */
}

static void set_threshold(sl_app *app, int64_t by) {
    int64_t pct = app->ui.warn_pct + by;
    app->ui.warn_pct = (unsigned)(pct < 5 ? 5 : pct > 100 ? 100 : pct);
    sl_app_say(app, false, "threshold: %u %% of the card", app->ui.warn_pct);
}

static void split_or_moment(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    if (app->ui.tab == SL_TAB_TIMELINE)
        app->ui.split = (sl_tui_split)((app->ui.split + 1) % SL_TUI_SPLIT_CNT);
    else
        app->ui.shows_fullest = !app->ui.shows_fullest;
}

static void quit(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    app->is_quitting = true;
}

static void show_help(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    app->ui.has_help = true;
}

static void save_screen(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    app->wants_save = true;
}

static void switch_silences(sl_app *app, int64_t arg) {
    SL_UNUSED(arg);
    app->ui.keeps_silences = !app->ui.keeps_silences;
}

static void next_tab(sl_app *app, int64_t by) {
    go_tab(app, (int64_t)app->ui.tab + by);
}

static void ask(sl_app *app, int64_t prompt) {
    sl__app_ask(app, (sl_prompt)prompt);
}

static void run_tool(sl_app *app, int64_t is_tensorflow) {
    sl__app_run_tool(app, is_tensorflow ? "tfmemprof" : "gpumemprof");
    go_tab(app, SL_TAB_FILES);
}

/* What each action does; the digit that opens a tab is apart. */
static const struct {
    void (*run)(sl_app *app, int64_t arg);
    int64_t arg;
} actions[] = {
    [SL_DO_QUIT] = {quit, 0},
    [SL_DO_HELP] = {show_help, 0},
    [SL_DO_NEXT_TAB] = {next_tab, 1},
    [SL_DO_LAST_TAB] = {next_tab, -1},
    [SL_DO_UP] = {move_rows, -1},
    [SL_DO_DOWN] = {move_rows, 1},
    [SL_DO_PAGE_UP] = {move_rows, -PAGE_ROWS},
    [SL_DO_PAGE_DOWN] = {move_rows, PAGE_ROWS},
    [SL_DO_TOP] = {move_rows, INT32_MIN},
    [SL_DO_BOTTOM] = {move_rows, INT32_MAX},
    [SL_DO_OPEN] = {open_row, 0},
    [SL_DO_BACK] = {go_back, 0},
    [SL_DO_LEFT] = {sl__app_move_cursor, -1},
    [SL_DO_RIGHT] = {sl__app_move_cursor, 1},
    [SL_DO_DEVICE] = {next_device, 0},
    [SL_DO_REFRESH] = {refresh, 0},
    [SL_DO_SORT] = {sort_rows, 0},
    [SL_DO_SEARCH] = {ask, SL_PROMPT_SEARCH},
    [SL_DO_GROUP] = {group_rows, 0},
    [SL_DO_ZOOM_IN] = {sl__app_zoom, 1},
    [SL_DO_ZOOM_OUT] = {sl__app_zoom, -1},
    [SL_DO_ZOOM_ALL] = {sl__app_zoom_all, 0},
    [SL_DO_SPLIT] = {split_or_moment, 0},
    [SL_DO_WARN_UP] = {set_threshold, 5},
    [SL_DO_WARN_DOWN] = {set_threshold, -5},
    [SL_DO_FILTER] = {ask, SL_PROMPT_FILTER},
    [SL_DO_COPY] = {copy_selected, 0},
    [SL_DO_SAVE] = {save_screen, 0},
    [SL_DO_LOAD] = {ask, SL_PROMPT_OPEN},
    [SL_DO_RUN] = {ask, SL_PROMPT_RUN},
    [SL_DO_STOP] = {stop_task, 0},
    [SL_DO_TIME] = {ask, SL_PROMPT_TIME},
    [SL_DO_COMPARE] = {ask, SL_PROMPT_COMPARE},
    [SL_DO_SWITCH] = {switch_list, 0},
    [SL_DO_SETTINGS] = {ask, SL_PROMPT_SETTINGS},
    [SL_DO_CARD] = {ask, SL_PROMPT_CARD},
    [SL_DO_FOLLOW] = {follow_line, 0},
    [SL_DO_SILENCES] = {switch_silences, 0},
    [SL_DO_PAN_LEFT] = {sl__app_pan, -1},
    [SL_DO_PAN_RIGHT] = {sl__app_pan, 1},
    [SL_DO_FIND_PEAK] = {sl__app_find_peak, 0},
    [SL_DO_LOG] = {go_tab, SL_TAB_FILES},
    [SL_DO_INFO] = {run_tool, 0},
    [SL_DO_TF_INFO] = {run_tool, 1},
};

static void do_action(sl_app *app, sl_action action, uint32_t key) {
    if (action == SL_DO_GO_TAB)
        go_tab(app, (int64_t)key - '1');
    else if (action < SL_COUNT_OF(actions) && actions[action].run)
        actions[action].run(app, actions[action].arg);
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
    if (app->ui.tab == SL_TAB_TIMELINE) {
        sl__app_set_cursor(app, x - (grid->w - (int)(app->timeline ? app->timeline->cnt : 0)));
        return;
    }
    /* The row that is painted is the selected one; the others are above and below it. */
    for (int row = 1; view->row_cnt && row < grid->h - 1; row++)
        if (sl_grid_at(grid, 0, row)->back == SL_INK_SELECTED) {
            if (row == y)
                open_row(app, 0);
            else
                move_rows(app, y - row);
            return;
        }
}

/* Through a list, or into a chart. */
static void turn_wheel(sl_app *app, bool is_up) {
    if (sl_views[app->ui.tab].row_cnt)
        move_rows(app, is_up ? -3 : 3);
    else
        sl__app_zoom(app, is_up ? 1 : -1);
}

void sl_app_key(sl_app *app, uint32_t key, int x, int y, const sl_grid *grid) {
    app->ui.status[0] = '\0';
    app->ui.is_error = false;
    app->wants_newest = app->wants_newest && app->task.pid; /* the user looks at something else */
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
    else if (key == SL_KEY_WHEEL_UP || key == SL_KEY_WHEEL_DOWN)
        turn_wheel(app, key == SL_KEY_WHEEL_UP);
    else
        do_action(app, sl_key_action(key, app->ui.tab), key);
}
