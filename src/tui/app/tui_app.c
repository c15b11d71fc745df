/* SPDX-License-Identifier: MIT */
#include "tui/app/tui_app.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/recording_files.h"
#include "base/text/human.h"
#include "tui/facts/machine_facts.h"

/* Ticks between two scans of the folder of runs. */
#define JOBS_TICKS 5
#define WARN_PCT   95

void sl_app_say(sl_app *app, bool is_error, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(app->ui.status, sizeof app->ui.status, fmt, args);
    va_end(args);
    app->ui.is_error = is_error;
}

static void list_runs(sl_app *app) {
    sl_error err = SL_ERROR_INIT;
    app->jobs.rows.cnt = 0;
    if (app->options->services->list_runs(&app->jobs, &err) < 0)
        sl_app_say(app, true, "%s", err.text);
}

/* A run that is being recorded, and has something to show. */
static bool has_running(const sl_app *app) {
    const sl_tui_job *first = app->jobs.rows.cnt ? &app->jobs.rows.at[0] : NULL;
    return first && first->is_running && first->process_cnt;
}

sl_status sl_app_init(sl_app *app, const sl_tui_options *options, sl_error *err) {
    memset(app, 0, sizeof *app);
    app->options = options;
    app->ui.warn_pct = WARN_PCT;
    app->ui.order.search = "";
    app->line_node = SIZE_MAX;
    app->task.fd = -1;
    app->screen = (sl_screen){
        .machine = &app->machine, .jobs = &app->jobs, .output = &app->output, .ui = &app->ui};
    SL_TRY(sl_loader_new(&app->loader, err));
    sl_machine_facts_read(&app->machine);
    list_runs(app);
    if (options->what)
        sl_app_open(app, options->what);
    else if (has_running(app))
        sl_app_open(app, app->jobs.rows.at[0].path);
    else /* a run without anything to show yet is opened as soon as it has something */
        app->wants_newest = app->jobs.rows.cnt && app->jobs.rows.at[0].is_running;
    return SL_OK;
}

/* Drops everything derived from the inputs that were read whole. */
static void close_whole(sl_app *app) {
    sl_tui_timeline_free(app->timeline);
    sl_tui_whatif_free(app->whatif);
    sl_tui_source_free(app->screen.whole);
    sl_tui_inputs_fini(&app->inputs);
    app->timeline = NULL, app->whatif = NULL;
    app->screen.timeline = NULL, app->screen.whatif = NULL, app->screen.whole = NULL;
}

void sl_app_fini(sl_app *app) {
    sl_task_stop(&app->task);
    sl_loader_free(app->loader); /* freed first: it may use the inputs */
    close_whole(app);
    sl_tui_source_free(app->screen.live);
    sl_live_close(app->live);
    sl_vec_free(&app->jobs.rows);
    sl_vec_free(&app->ui.rows);
    free(app->path);
}

/* ---- opening ---- */

static void free_paths(sl_tui_paths *paths) {
    for (size_t i = 0; i < paths->cnt; i++)
        free(paths->at[i]);
    sl_vec_free(paths);
}

/* Nodes that the user opened stay so when the facts are read again. */
static void keep_open(sl_tree *now, const sl_tree *before) {
    for (size_t b = 0; b < before->nodes.cnt; b++) {
        const sl_tree_node *old = &before->nodes.at[b];
        for (size_t n = 0; old->is_open && n < now->nodes.cnt; n++)
            if (now->nodes.at[n].level == old->level &&
                strcmp(now->nodes.at[n].text, old->text) == 0)
                now->nodes.at[n].is_open = true;
    }
}

static void take_live(sl_app *app, sl_tui_source *source) {
    sl_tui_source *before = app->screen.live;
    for (size_t i = 0; before && i < before->devices.cnt && i < source->devices.cnt; i++)
        keep_open(&source->devices.at[i].sites, &before->devices.at[i].sites);
    sl_tui_source_free(before);
    app->screen.live = source;
}

static bool read_live(sl_app *app) {
    sl_error err = SL_ERROR_INIT;
    sl_tui_source *source = NULL;
    if (sl_live_read(app->live, app->path, app->ui.window_us, app->ui.tab == SL_TAB_SITES, &source,
                     &err) < 0) {
        sl_app_say(app, true, "%s", err.text);
        return false;
    }
    take_live(app, source);
    return true;
}

static void close_live(sl_app *app) {
    sl_tui_source_free(app->screen.live);
    sl_live_close(app->live);
    app->screen.live = NULL, app->live = NULL;
}

/* The recordings of a path, where it has any that a process still writes. */
static void try_live(sl_app *app, const sl_tui_paths *paths) {
    sl_error err = SL_ERROR_INIT;
    if (paths->cnt == 0 || sl_live_open(paths->at, paths->cnt, &app->live, &err) < 0)
        return;
    if (!read_live(app) || !sl_live_is_written(app->live))
        close_live(app);
}

static sl_status find_paths(sl_app *app, const char *what, sl_tui_paths *paths, sl_error *err) {
    struct stat info;
    bool is_number = *what && strspn(what, "0123456789") == strlen(what);
    bool is_there = stat(what, &info) == 0;
    if (!is_there && is_number)
        return app->options->services->find_process(what, paths, err);
    if (!is_there)
        return sl_fail_errno(err, SL_E_OPEN, "cannot open '%s'", what);
    sl_recordings list = {0};
    sl_status status = sl_recordings_list(&list, what, SL_FIND_INPUTS, err);
    for (size_t i = 0; status >= 0 && i < list.paths.cnt; i++) {
        char *copy = sl_recordings_is_name(list.paths.at[i]) ? strdup(list.paths.at[i]) : NULL;
        if (copy && !sl_vec_push(paths, copy))
            free(copy);
    }
    sl_recordings_fini(&list);
    return status;
}

void sl_app_open(sl_app *app, const char *what) {
    sl_error err = SL_ERROR_INIT;
    sl_tui_paths paths = {0};
    if (sl_loader_is_busy(app->loader)) {
        sl_app_say(app, true, "another input is still being read");
        return;
    }
    if (find_paths(app, what, &paths, &err) < 0) {
        sl_app_say(app, true, "%s", err.text);
        return;
    }
    char *path = strdup(what);
    if (path) {
        close_live(app);
        close_whole(app);
        free(app->path);
        app->path = path;
        app->part_from_us = app->part_to_us = 0;
        app->ui.device = 0, app->ui.cursor = 0;
        try_live(app, &paths);
        if (!app->live)
            sl__app_read_whole(app);
        if (app->ui.tab == SL_TAB_OVERVIEW && app->live)
            app->ui.tab = SL_TAB_LIVE;
    }
    free_paths(&paths);
}

void sl__app_read_whole(sl_app *app) {
    sl_load_job job = {.kind = SL_LOAD_READ,
                       .path = app->path ? strdup(app->path) : NULL,
                       .code = app->options->code,
                       .err = SL_ERROR_INIT};
    if (!job.path)
        return;
    if (!sl_loader_start(app->loader, &job))
        sl_app_say(app, true, "another input is still being read");
}

void sl__app_ask_whatif(sl_app *app) {
    sl_load_job job = {.kind = SL_LOAD_WHATIF,
                       .asked = &app->inputs,
                       .source = app->screen.whole,
                       .device = app->ui.device,
                       .err = SL_ERROR_INIT};
    if (!app->screen.whole)
        sl__app_read_whole(app);
    else if (!sl_loader_start(app->loader, &job))
        sl_app_say(app, true, "another input is still being read");
}

/* ---- refreshing ---- */

void sl_app_tick(sl_app *app) {
    bool is_overview = app->ui.tab == SL_TAB_OVERVIEW;
    if (is_overview)
        sl_machine_facts_read(&app->machine);
    if ((is_overview || app->wants_newest) && app->tick_cnt % JOBS_TICKS == 0)
        list_runs(app);
    app->tick_cnt++;
    if (app->wants_newest && has_running(app)) {
        app->wants_newest = false;
        sl_app_open(app, app->jobs.rows.at[0].path);
    }
    if (!app->live || !read_live(app) || sl_live_is_written(app->live))
        return;
    /* The process ended: from now on the finished recording is shown. */
    close_live(app);
    sl__app_read_whole(app);
}

static void take_read(sl_app *app, sl_load_job *job) {
    if (job->status < 0) {
        sl_app_say(app, true, "%s", job->err.text);
        return;
    }
    close_whole(app);
    app->inputs = job->inputs;
    app->screen.whole = job->whole;
    job->inputs = (sl_tui_inputs){0};
    job->whole = NULL;
}

static void say_progress(sl_app *app) {
    uint64_t done, total;
    sl_loader_progress(app->loader, &done, &total);
    if (!sl_loader_is_busy(app->loader))
        app->ui.progress[0] = '\0';
    else if (total && done < total)
        snprintf(app->ui.progress, sizeof app->ui.progress, "reading: %d %%",
                 (int)(100.0 * (double)done / (double)total));
    else
        snprintf(app->ui.progress, sizeof app->ui.progress, "working ...");
}

bool sl_app_poll(sl_app *app) {
    int exit_code = 0;
    size_t lines_before = app->output.cnt;
    sl_load_job *job = sl_loader_take(app->loader);
    if (job && job->kind == SL_LOAD_READ)
        take_read(app, job);
    if (job && job->kind == SL_LOAD_WHATIF && job->status >= 0) {
        sl_tui_whatif_free(app->whatif);
        app->whatif = job->answer;
        app->screen.whatif = app->whatif;
        job->answer = NULL;
    }
    sl_load_job_free(job);
    bool has_ended = sl_task_poll(&app->task, &app->output, &exit_code);
    if (has_ended)
        sl__app_task_ended(app, exit_code);
    return job || has_ended || app->output.cnt != lines_before || sl_loader_is_busy(app->loader);
}

/* ---- what the screen needs ---- */

static bool is_timeline_right(const sl_app *app, size_t columns) {
    const sl_tui_timeline *t = app->timeline;
    bool is_part = app->part_to_us > app->part_from_us;
    if (!t || t->device != app->ui.device || t->split != app->ui.split)
        return false;
    if (t->problem)
        return true;
    return t->cnt == columns &&
           (is_part ? t->from_us == app->part_from_us && t->to_us == app->part_to_us
                    : t->from_us == 0 && t->to_us == t->end_us);
}

static void make_timeline(sl_app *app, size_t columns) {
    sl_error err = SL_ERROR_INIT;
    sl_tui_timeline *made = NULL;
    if (sl_loader_is_busy(app->loader) || is_timeline_right(app, columns))
        return;
    if (sl_timeline_facts(&app->inputs, app->screen.whole, app->ui.device, app->ui.split,
                          app->part_from_us, app->part_to_us, columns, &made, &err) < 0) {
        sl_app_say(app, true, "%s", err.text);
        return;
    }
    sl_tui_timeline_free(app->timeline);
    app->timeline = made;
    app->screen.timeline = made;
}

/* The line itself, where the file is readable here. */
static void read_source_line(sl_app *app, const sl_tree_node *node) {
    char line[sizeof app->ui.source_line];
    struct stat info;
    app->ui.source_line[0] = '\0';
    if (!node->line_number || stat(node->file, &info) != 0 || !S_ISREG(info.st_mode))
        return;
    FILE *file = fopen(node->file, "re");
    for (uint32_t i = 1; file && fgets(line, sizeof line, file);) {
        bool is_end = strchr(line, '\n') != NULL;
        if (i == node->line_number) {
            line[strcspn(line, "\n")] = '\0';
            memcpy(app->ui.source_line, line, sizeof line);
            break;
        }
        i += is_end;
    }
    if (file)
        fclose(file);
}

static void follow_selection(sl_app *app) {
    const sl_tui_device *device = sl_screen_device(&app->screen);
    size_t row = app->ui.lists[SL_TAB_SITES].selected;
    if (app->ui.tab != SL_TAB_SITES || !device || row >= app->ui.rows.cnt)
        return;
    size_t node = app->ui.rows.at[row];
    if (node != app->line_node)
        read_source_line(app, &device->sites.nodes.at[node]);
    app->line_node = node;
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
    follow_selection(app);
}
