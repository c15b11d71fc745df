/* SPDX-License-Identifier: MIT */
/* Commands that are started from the screen. They are commands of this program, run in a separate
 * process: an export cannot freeze the screen, and writes exactly what the command line writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text/human.h"
#include "tui/app/tui_app.h"

#define SELF     "/proc/self/exe"
#define ARGS_MAX 64
#define SELF_CAP 1024

/* "train-20261116-120000.html": named after the open input, in the current folder. */
static void output_name(const sl_app *app, const char *extension, char name[256]) {
    char stamp[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
    const char *path = app->paths.cnt ? app->paths.at[0] : "stormlog";
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t from = len;
    while (from > 0 && path[from - 1] != '/')
        from--;
    size_t stem = strcspn(path + from, ".");
    stem = stem < len - from ? stem : len - from;
    snprintf(name, 256, "%.*s-%s%s%s", (int)(stem < 100 ? stem : 100), path + from, stamp,
             *extension ? "." : "", extension);
}

/* The file this process runs, from /proc: argv[0] could name another program. */
static const char *self_path(char buf[SELF_CAP]) {
    ssize_t len = readlink(SELF, buf, SELF_CAP - 1);
    buf[len > 0 ? len : 0] = '\0';
    return len > 0 ? buf : SELF;
}

static void start(sl_app *app, const char *const *argv, const char *shown) {
    sl_error err = SL_ERROR_INIT;
    if (sl_task_start(&app->task, argv, &err) < 0) {
        sl_app_say(app, true, "%s", err.text);
        return;
    }
    snprintf(app->ui.task, sizeof app->ui.task, "%s", shown);
    app->task_output[0] = '\0';
    sl_output_add(&app->output, shown);
}

/* For commands that take a single input: that of the selected device where there are several. */
static const char *selected_path(const sl_app *app) {
    const sl_tui_source *source = sl_screen_source(&app->screen);
    const sl_tui_device *device = sl_screen_device(&app->screen);
    if (source && device && source->processes.cnt > 1)
        return source->processes.at[device->process].path;
    return app->paths.at[0];
}

void sl__app_do_file_action(sl_app *app) {
    size_t row = app->ui.lists[SL_TAB_FILES].selected, cnt = 1;
    char name[256], words[256], self[SELF_CAP], *rest = words;
    const char *argv[ARGS_MAX] = {0};
    if (row >= sl_file_action_cnt)
        return;
    const sl_file_action *action = &sl_file_actions[row];
    if (app->paths.cnt == 0 && strstr(action->command, "PATH")) {
        sl_app_say(app, true, "nothing is open; choose a run in Overview, or press o");
        return;
    }
    output_name(app, action->extension, name);
    snprintf(words, sizeof words, "%s", action->command);
    argv[0] = self_path(self);
    for (char *word; (word = strsep(&rest, " ")) != NULL && cnt + 1 < ARGS_MAX;) {
        bool is_all = strcmp(word, "PATHS") == 0;
        if (!is_all)
            argv[cnt++] = strcmp(word, "OUT") == 0    ? name
                          : strcmp(word, "PATH") == 0 ? selected_path(app)
                                                      : word;
        for (size_t i = 0; is_all && i < app->paths.cnt && cnt + 1 < ARGS_MAX; i++)
            argv[cnt++] = app->paths.at[i];
    }
    start(app, argv, action->label);
    if (app->task.pid && *action->extension)
        snprintf(app->task_output, sizeof app->task_output, "%s", name);
}

/* The tools are beside this program, or in PATH. */
void sl__app_run_tool(sl_app *app, const char *name) {
    char self[SELF_CAP], path[SELF_CAP + 32], shown[64];
    const char *end = strrchr(self_path(self), '/');
    snprintf(path, sizeof path, "%.*s/%s", (int)(end ? end - self : 0), self, name);
    snprintf(shown, sizeof shown, "%s info", name);
    const char *here[] = {path, "info", NULL};
    const char *in_path[] = {"/usr/bin/env", name, "info", NULL};
    start(app, access(path, X_OK) == 0 ? here : in_path, shown);
}

void sl__app_run_command(sl_app *app, const char *command) {
    char self[SELF_CAP];
    const char *argv[] = {self_path(self), "run", "--", "/bin/sh", "-c", command, NULL};
    start(app, argv, command);
    app->wants_newest = app->task.pid != 0;
    app->tick_cnt = 0;
}

/* A file with its size; a folder with the number of its files. */
static bool say_written(sl_app *app) {
    char size[SL_HUMAN_CAP];
    struct stat info;
    if (!*app->task_output || stat(app->task_output, &info) != 0)
        return false;
    if (S_ISDIR(info.st_mode))
        snprintf(size, sizeof size, "a folder");
    else
        sl_human_bytes(size, (uint64_t)info.st_size);
    sl_app_say(app, false, "done: %s: wrote %s (%s)", app->ui.task, app->task_output, size);
    sl_output_add(&app->output, app->ui.status);
    return true;
}

void sl__app_task_ended(sl_app *app, int exit_code) {
    if (exit_code != 0)
        sl_app_say(app, true, "%.100s: exit code %d: %.300s", app->ui.task, exit_code,
                   app->task.last[0] ? app->task.last : "it printed nothing");
    else if (!say_written(app))
        sl_app_say(app, false, "done: %s", app->ui.task);
    app->ui.task[0] = '\0';
    app->wants_newest = false;
    app->tick_cnt = 0; /* the runs of this folder may have changed */
}
