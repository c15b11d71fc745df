/* SPDX-License-Identifier: MIT */
#include "tui/app/tui_app.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tui/facts/machine_facts.h"

#define WARN_PCT 95

void sl_app_say(sl_app *app, bool is_error, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(app->ui.status, sizeof app->ui.status, fmt, args);
    va_end(args);
    app->ui.is_error = is_error;
}

sl_status sl_app_init(sl_app *app, const sl_tui_options *options, sl_error *err) {
    memset(app, 0, sizeof *app);
    app->options = options;
    app->ui.warn_pct = WARN_PCT;
    app->ui.order.search = "";
    app->task.fd = -1;
    app->screen = (sl_screen){.machine = &app->machine,
                              .jobs = &app->jobs,
                              .output = &app->output,
                              .users = &app->users,
                              .follow = &app->follow,
                              .ui = &app->ui};
    SL_TRY(sl_loader_new(&app->loader, err));
    sl_machine_facts_read(&app->machine);
    sl__app_list_runs(app);
    app->wants_newest = !options->what_cnt;
    if (options->what_cnt)
        sl__app_open_all(app, options->what, options->what_cnt);
    else
        sl__app_open_newest(app);
    return SL_OK;
}

void sl_app_fini(sl_app *app) {
    sl_loader_free(app->loader); /* freed first: it may use the inputs */
    sl__app_close(app);
    sl_vec_free(&app->jobs.rows);
    sl_vec_free(&app->ui.rows);
    sl_tui_paths_free(&app->paths);
    free(app->path);
}

/* ---- what the screen needs ---- */

static const char *const job_words[] = {
    [SL_LOAD_READ] = "all events are read; looking for findings ...",
    [SL_LOAD_WHATIF] = "replaying with other settings ...",
    [SL_LOAD_JUDGE] = "looking for findings in this part ...",
    [SL_LOAD_COMPARE] = "comparing ...",
};

static void say_progress(sl_app *app) {
    uint64_t done, total;
    sl_load_kind kind = sl_loader_kind(app->loader);
    sl_loader_progress(app->loader, &done, &total);
    if (!sl_loader_is_busy(app->loader))
        app->ui.progress[0] = '\0';
    else if (total && done < total)
        snprintf(app->ui.progress, sizeof app->ui.progress, "reading: %d %%",
                 (int)(100.0 * (double)done / (double)total));
    else
        snprintf(app->ui.progress, sizeof app->ui.progress, "%s",
                 kind == SL_LOAD_READ && !total ? "reading ..." : job_words[kind]);
}

static bool is_timeline_right(const sl_app *app, size_t columns) {
    const sl_tui_timeline *t = app->timeline;
    bool is_part = app->part_to_us > app->part_from_us;
    if (!t || t->device != app->ui.device || t->split != app->ui.split ||
        t->keeps_silences != app->ui.keeps_silences)
        return false;
    if (t->problem)
        return true;
    return t->cnt == columns &&
           (is_part ? t->from_us == app->part_from_us && t->to_us == app->part_to_us
                    : t->from_us == 0 && t->to_us == t->end_us);
}

/* The cursor stays at its time when the part or the width changes. */
static void place_cursor(sl_app *app) {
    const sl_tui_timeline *t = app->timeline;
    double column = sl_tui_timeline_column(t, app->cursor_us);
    app->ui.cursor = column < 0 ? 0 : column >= (double)t->cnt ? (int)t->cnt - 1 : (int)column;
    app->has_cursor = false;
}

static void make_timeline(sl_app *app, size_t columns) {
    sl_error err = SL_ERROR_INIT;
    sl_tui_timeline *made = NULL;
    sl_timeline_question question = {.split = app->ui.split,
                                     .from_us = app->part_from_us,
                                     .to_us = app->part_to_us,
                                     .columns = columns,
                                     .keeps_silences = app->ui.keeps_silences};
    if (sl_loader_is_busy(app->loader) || is_timeline_right(app, columns))
        return;
    if (app->timeline && !app->timeline->problem && !app->has_cursor &&
        app->timeline->device == app->ui.device) {
        app->cursor_us = sl_tui_timeline_time(app->timeline, app->ui.cursor + 0.5);
        app->has_cursor = true;
    }
    if (sl_timeline_facts(&app->inputs, app->screen.whole, app->ui.device, &question, &made, &err) <
        0) {
        sl_app_say(app, true, "%s", err.text);
        return;
    }
    sl_tui_timeline_free(app->timeline);
    app->timeline = made;
    app->screen.timeline = made;
    if (app->has_cursor && !made->problem)
        place_cursor(app);
}

void sl_app_prepare(sl_app *app, int columns) {
    say_progress(app);
    bool needs_whole = app->ui.tab >= SL_TAB_RANKS || app->ui.tab == SL_TAB_TIMELINE;
    if (needs_whole && app->ui.tab != SL_TAB_FILES && app->live && !app->screen.whole &&
        !sl_loader_is_busy(app->loader) && !app->ui.is_error)
        sl__app_read_whole(app);
    if (app->ui.tab == SL_TAB_TIMELINE && app->screen.whole)
        make_timeline(app, columns > 12 ? (size_t)columns - 9 : 4);
    if (!sl_screen_prepare(&app->screen))
        sl_app_say(app, true, "out of memory for the rows");
    if (app->ui.tab == SL_TAB_SITES) {
        sl__app_keep_selection(app);
        sl__app_follow(app);
    }
}
