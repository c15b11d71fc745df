/* SPDX-License-Identifier: MIT */
/* Commands that are started from the screen. They are commands of this program, run in a separate
 * process: an export cannot freeze the screen, and writes exactly what the command line writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/str.h"
#include "tui/app/tui_app.h"

#define SELF     "/proc/self/exe"
#define ARGS_MAX 12
#define SELF_CAP 1024

/* "train-20261116-120000.html": named after the open input, in the current folder. */
static void output_name(const sl_app *app, const char *extension, char name[256]) {
    char stamp[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &parts);
    const char *path = app->path ? app->path : "stormlog";
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
    sl_output_add(&app->output, shown);
}

void sl__app_do_file_action(sl_app *app) {
    size_t row = app->ui.lists[SL_TAB_FILES].selected, cnt = 1;
    char name[256], words[256], self[SELF_CAP], *rest = words;
    const char *argv[ARGS_MAX] = {0};
    if (row >= sl_file_action_cnt)
        return;
    const sl_file_action *action = &sl_file_actions[row];
    if (!app->path && strstr(action->command, "PATH")) {
        sl_app_say(app, true, "nothing is open; choose a run in Overview, or press o");
        return;
    }
    output_name(app, action->extension, name);
    snprintf(words, sizeof words, "%s", action->command);
    argv[0] = self_path(self);
    for (char *word; (word = strsep(&rest, " ")) != NULL && cnt + 1 < ARGS_MAX;)
        argv[cnt++] = strcmp(word, "PATH") == 0  ? app->path
                      : strcmp(word, "OUT") == 0 ? name
                                                 : word;
    start(app, argv, action->label);
    if (app->task.pid && *action->extension)
        snprintf(app->ui.task, sizeof app->ui.task, "%s: %s", action->label, name);
}

void sl__app_run_command(sl_app *app, const char *command) {
    char self[SELF_CAP];
    const char *argv[] = {self_path(self), "run", "--", "/bin/sh", "-c", command, NULL};
    start(app, argv, command);
    app->wants_newest = app->task.pid != 0;
    app->tick_cnt = 0;
}

void sl__app_task_ended(sl_app *app, int exit_code) {
    if (exit_code == 0)
        sl_app_say(app, false, "done: %s", app->ui.task);
    else
        sl_app_say(app, true, "exit code %d: %.300s", exit_code,
                   app->task.last[0] ? app->task.last : app->ui.task);
    app->ui.task[0] = '\0';
    app->wants_newest = false;
}
