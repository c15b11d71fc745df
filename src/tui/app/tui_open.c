/* SPDX-License-Identifier: MIT */
/* Opening an input, reading it again, and taking what the loader has read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/recording_files.h"
#include "base/core/str.h"
#include "base/text/human.h"
#include "tui/app/tui_app.h"
#include "tui/facts/machine_facts.h"
#include "tui/facts/user_facts.h"

/* Ticks between two scans of the folder of runs. */
#define JOBS_TICKS  5
/* Recordings whose tables are shown at once; a run of more is shown when all of them are read. */
#define PREVIEW_MAX 16

void sl__app_list_runs(sl_app *app) {
    sl_error err = SL_ERROR_INIT;
    app->jobs.rows.cnt = 0;
    if (app->options->services->list_runs(&app->jobs, &err) < 0)
        sl_app_say(app, true, "%s", err.text);
}

static bool has_running(const sl_app *app) {
    const sl_tui_job *first = app->jobs.rows.cnt ? &app->jobs.rows.at[0] : NULL;
    return first && first->is_running && first->process_cnt;
}

/* ---- closing ---- */

/* Everything derived from the inputs that were read whole. */
static void close_whole(sl_app *app) {
    sl_tui_timeline_free(app->timeline);
    sl_tui_whatif_free(app->whatif);
    sl_tui_source_free(app->judged);
    sl_tui_comparison_free(app->compared);
    sl_tui_source_free(app->screen.whole);
    sl_tui_inputs_fini(&app->inputs);
    app->timeline = NULL, app->whatif = NULL, app->judged = NULL, app->compared = NULL;
    app->screen.timeline = NULL, app->screen.whatif = NULL, app->screen.whole = NULL;
    app->screen.judged = NULL, app->screen.compared = NULL;
    app->ui.shows_comparison = false;
}

static void close_live(sl_app *app) {
    sl_tui_source_free(app->screen.live);
    sl_live_close(app->live);
    app->screen.live = NULL, app->live = NULL;
}

void sl__app_close(sl_app *app) {
    close_live(app);
    close_whole(app);
}

/* ---- recordings that are written now ---- */

/* The devices may come in another order when the input is read again, or read whole. */
static size_t same_device(const sl_tui_source *now, const sl_tui_source *before, size_t device) {
    if (!before || device >= before->devices.cnt)
        return device;
    const sl_tui_device *old = &before->devices.at[device];
    for (size_t i = 0; i < now->devices.cnt; i++)
        if (now->devices.at[i].process == old->process && now->devices.at[i].number == old->number)
            return i;
    return 0;
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

static void keep_all_open(sl_tui_source *now, const sl_tui_source *before) {
    for (size_t b = 0; before && b < before->devices.cnt; b++) {
        size_t n = same_device(now, before, b);
        if (n >= now->devices.cnt)
            continue;
        keep_open(&now->devices.at[n].sites, &before->devices.at[b].sites);
        keep_open(&now->devices.at[n].modules, &before->devices.at[b].modules);
    }
}

static void take_live(sl_app *app, sl_tui_source *source) {
    sl_tui_source *before = app->screen.live;
    sl__app_note_selection(app);
    keep_all_open(source, before);
    sl_tui_source_free(before);
    app->screen.live = source;
}

static bool read_live(sl_app *app, bool wants_sites) {
    sl_error err = SL_ERROR_INIT;
    sl_tui_source *source = NULL;
    if (sl_live_read(app->live, app->path, app->ui.window_us, wants_sites, &source, &err) < 0) {
        sl_app_say(app, true, "%s", err.text);
        return false;
    }
    take_live(app, source);
    return true;
}

/* The tables of a finished recording show its end; how lines grew is in the events. */
static void forget_growth(sl_tui_source *source) {
    for (size_t d = 0; source && d < source->devices.cnt; d++) {
        sl_tui_device *device = &source->devices.at[d];
        sl_tree *trees[] = {&device->sites, &device->modules};
        for (size_t t = 0; t < SL_COUNT_OF(trees); t++)
            for (size_t i = 0; i < trees[t]->nodes.cnt; i++)
                trees[t]->nodes.at[i].known[SL_TREE_GROWTH] = false;
        device->growth_span = "known when all events are read";
    }
}

/* The tables and curves of recordings, which are small however long the run was. Where a process still writes
 * one of them they are read again and again; else they are the first screen, until all events are read. */
static void open_recordings(sl_app *app, const sl_tui_paths *recordings) {
    sl_error err = SL_ERROR_INIT;
    if (recordings->cnt == 0 || sl_live_open(recordings->at, recordings->cnt, &app->live, &err) < 0)
        return;
    bool is_read = read_live(app, true);
    if (is_read && sl_live_is_written(app->live))
        return;
    forget_growth(app->screen.live);
    sl_live_close(app->live);
    app->live = NULL;
    if (!is_read || recordings->cnt > PREVIEW_MAX)
        close_live(app);
}

/* ---- paths ---- */

/* A compressed recording must be unpacked first, so it has no quick first screen. */
static bool is_plain_recording(const char *path) {
    size_t len = strlen(path);
    return sl_recordings_is_name(path) && len > 5 && strcmp(path + len - 5, ".slog") == 0;
}

static sl_status find_recordings(sl_app *app, const char *what, sl_tui_paths *found,
                                 sl_error *err) {
    struct stat info;
    bool is_number = *what && strspn(what, "0123456789") == strlen(what);
    bool is_there = stat(what, &info) == 0;
    if (!is_there && is_number)
        return app->options->services->find_process(what, found, err);
    if (!is_there)
        return sl_fail_errno(err, SL_E_OPEN, "cannot open '%s'", what);
    sl_recordings list = {0};
    sl_status status = sl_recordings_list(&list, what, SL_FIND_INPUTS, err);
    for (size_t i = 0; status >= 0 && i < list.paths.cnt; i++)
        if (is_plain_recording(list.paths.at[i]) && !sl_tui_paths_add(found, list.paths.at[i]))
            status = sl_fail_no_memory(err, "the paths");
    sl_recordings_fini(&list);
    return status;
}

/* The paths of a process are those of its recordings. */
static sl_status find_all(sl_app *app, sl_tui_paths *paths, sl_tui_paths *recordings,
                          sl_error *err) {
    for (size_t i = 0; i < paths->cnt; i++) {
        struct stat info;
        size_t before = recordings->cnt;
        SL_TRY(find_recordings(app, paths->at[i], recordings, err));
        if (stat(paths->at[i], &info) == 0 || recordings->cnt == before)
            continue;
        free(paths->at[i]);
        paths->at[i] = strdup(recordings->at[before]);
        for (size_t r = before + 1; r < recordings->cnt; r++)
            if (!sl_tui_paths_add(paths, recordings->at[r]))
                return sl_fail_no_memory(err, "the paths");
        if (!paths->at[i])
            return sl_fail_no_memory(err, "the paths");
    }
    return SL_OK;
}

/* Takes both; shows what is there at once, and starts to read all of it. */
static void show_paths(sl_app *app, char *name, sl_tui_paths paths,
                       const sl_tui_paths *recordings) {
    sl_loader_drop(app->loader); /* the input before: the user wants this one */
    sl__app_close(app);
    sl_tui_paths_free(&app->paths);
    free(app->path);
    app->path = name, app->paths = paths;
    app->part_from_us = app->part_to_us = 0;
    app->ui.device = 0, app->ui.cursor = 0;
    app->ui.followed[0] = app->ui.time_filter[0] = app->ui.rank_filter[0] = '\0';
    open_recordings(app, recordings);
    if (!app->live)
        sl__app_read_whole(app);
    if (app->ui.tab == SL_TAB_OVERVIEW && app->live)
        app->ui.tab = SL_TAB_LIVE;
}

/* Takes the paths. */
static void open_paths(sl_app *app, sl_tui_paths paths) {
    sl_error err = SL_ERROR_INIT;
    sl_tui_paths recordings = {0};
    char *name = paths.cnt ? strdup(paths.at[0]) : NULL;
    bool is_asked = sl_loader_is_busy(app->loader) && sl_loader_kind(app->loader) != SL_LOAD_READ;
    sl_status status = is_asked ? sl_fail(&err, SL_E_BUSY,
                                          "a question about the open input is not "
                                          "answered yet")
                                : find_all(app, &paths, &recordings, &err);
    if (status >= 0 && !name)
        status = sl_fail_no_memory(&err, "the path");
    if (status >= 0) {
        show_paths(app, name, paths, &recordings);
    } else {
        sl_app_say(app, true, "%s", err.text);
        sl_tui_paths_free(&paths);
        free(name);
    }
    sl_tui_paths_free(&recordings);
}

void sl_app_open(sl_app *app, const char *what) {
    sl_error err = SL_ERROR_INIT;
    sl_tui_paths paths = {0};
    if (sl_tui_paths_split(&paths, what, &err) >= 0) {
        open_paths(app, paths);
        return;
    }
    sl_app_say(app, true, "%s", err.text);
    sl_tui_paths_free(&paths);
}

void sl__app_open_all(sl_app *app, const char *const *what, size_t cnt) {
    sl_tui_paths paths = {0};
    for (size_t i = 0; i < cnt; i++)
        if (!sl_tui_paths_add(&paths, what[i]))
            break;
    open_paths(app, paths);
}

/* A recording that has just begun may have nothing to show yet: it is tried again at the next tick. */
void sl__app_open_newest(sl_app *app) {
    if (!has_running(app) || sl_loader_is_busy(app->loader))
        return;
    sl_app_open(app, app->jobs.rows.at[0].path);
    app->wants_newest = !app->live;
}

/* ---- the loader's jobs ---- */

static bool copy_paths(sl_tui_paths *to, const sl_tui_paths *from) {
    for (size_t i = 0; i < from->cnt; i++)
        if (!sl_tui_paths_add(to, from->at[i]))
            return false;
    return true;
}

static void start_job(sl_app *app, sl_load_job job) {
    job.code = app->options->code;
    job.asked = &app->inputs;
    job.source = app->screen.whole;
    job.err = (sl_error)SL_ERROR_INIT;
    if (!sl_loader_start(app->loader, &job))
        sl_app_say(app, true, "the work before it is not done yet");
}

void sl__app_read_whole(sl_app *app) {
    sl_load_job job = {.kind = SL_LOAD_READ};
    if (app->paths.cnt == 0)
        return;
    if (copy_paths(&job.paths, &app->paths))
        start_job(app, job);
    else
        sl_tui_paths_free(&job.paths);
}

void sl__app_ask_whatif(sl_app *app) {
    if (!app->screen.whole)
        sl__app_read_whole(app);
    else
        start_job(app, (sl_load_job){.kind = SL_LOAD_WHATIF,
                                     .device = app->ui.device,
                                     .question = app->question});
}

void sl__app_judge(sl_app *app) {
    if (app->screen.whole)
        start_job(app, (sl_load_job){.kind = SL_LOAD_JUDGE,
                                     .since_us = app->since_us,
                                     .until_us = app->until_us});
}

void sl__app_compare(sl_app *app, const char *what) {
    sl_load_job job = {.kind = SL_LOAD_COMPARE};
    sl_error err = SL_ERROR_INIT;
    if (!app->screen.whole)
        sl_app_say(app, true, "nothing is open that could be compared");
    else if (sl_tui_paths_split(&job.paths, what, &err) < 0)
        sl_app_say(app, true, "%s", err.text), sl_tui_paths_free(&job.paths);
    else
        start_job(app, job);
}

/* ---- refreshing ---- */

void sl_app_tick(sl_app *app) {
    bool is_overview = app->ui.tab == SL_TAB_OVERVIEW;
    if (is_overview) {
        sl_machine_facts_read(&app->machine);
        sl_user_facts_read(&app->users, app->screen.live);
        sl_user_facts_sort(&app->users, app->ui.sorts_by_growth);
    }
    if ((is_overview || app->wants_newest) && app->tick_cnt % JOBS_TICKS == 0)
        sl__app_list_runs(app);
    app->tick_cnt++;
    if (app->wants_newest)
        sl__app_open_newest(app);
    if (!app->live || !read_live(app, app->ui.tab == SL_TAB_SITES) || sl_live_is_written(app->live))
        return;
    /* The process ended: from now on the finished recording is shown. */
    close_live(app);
    sl__app_read_whole(app);
}

static void take_whole(sl_app *app, sl_load_job *job) {
    bool had_comparison = app->ui.shows_comparison;
    sl__app_note_selection(app);
    if (app->screen.live && !app->live) {
        app->ui.device = same_device(job->whole, app->screen.live, app->ui.device);
        keep_all_open(job->whole, app->screen.live);
        close_live(app);
    }
    close_whole(app);
    app->is_follow_made = false;
    app->inputs = job->inputs;
    app->screen.whole = job->whole;
    job->inputs = (sl_tui_inputs){0};
    job->whole = NULL;
    if (had_comparison)
        sl__app_compare(app, app->ui.compared_with);
    else if (*app->ui.time_filter)
        sl__app_judge(app);
}

static void take_job(sl_app *app, sl_load_job *job) {
    if (job->status < 0) {
        sl_app_say(app, true, "%s", job->err.text);
        return;
    }
    switch (job->kind) {
    case SL_LOAD_READ: take_whole(app, job); break;
    case SL_LOAD_WHATIF:
        sl_tui_whatif_free(app->whatif);
        app->screen.whatif = app->whatif = job->answer;
        job->answer = NULL;
        break;
    case SL_LOAD_JUDGE:
        sl_tui_source_free(app->judged);
        app->screen.judged = app->judged = job->whole;
        job->whole = NULL;
        break;
    case SL_LOAD_COMPARE:
        sl_tui_comparison_free(app->compared);
        app->screen.compared = app->compared = job->compared;
        app->ui.shows_comparison = true;
        job->compared = NULL;
        break;
    }
}

/* Not when more is shown already: the same input, read once more. */
static void take_first(sl_app *app) {
    sl_tui_source *first = sl_loader_take_first(app->loader);
    if (first && !app->screen.whole && !app->live)
        take_live(app, first);
    else
        sl_tui_source_free(first);
}

bool sl_app_poll(sl_app *app) {
    int exit_code = 0;
    size_t lines_before = app->output.cnt;
    take_first(app);
    sl_load_job *job = sl_loader_take(app->loader);
    if (job)
        take_job(app, job);
    sl_load_job_free(job);
    bool has_ended = sl_task_poll(&app->task, &app->output, &exit_code);
    if (has_ended)
        sl__app_task_ended(app, exit_code);
    return job || has_ended || app->output.cnt != lines_before || sl_loader_is_busy(app->loader);
}
