/* SPDX-License-Identifier: MIT */
#include "cli/core/latest_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/run_folder.h"
#include "cli/core/cli.h"

#define LATEST SL_RUNS_FOLDER "/" SL_LATEST_NAME

/* The folder's own name says when it was recorded; the shortcut's does not. */
static void resolve(char path[SL_RUN_PATH_CAP]) {
    char target[SL_RUN_PATH_CAP / 2];
    ssize_t len = readlink(LATEST, target, sizeof target - 1);
    target[len > 0 ? len : 0] = '\0';
    if (*target && !strchr(target, '/'))
        snprintf(path, SL_RUN_PATH_CAP, SL_RUNS_FOLDER "/%s", target);
    else
        snprintf(path, SL_RUN_PATH_CAP, LATEST);
}

sl_status sl_latest_or_operands(const sl_opts *opts, sl_path_span *paths, sl_error *err) {
    static char text[SL_RUN_PATH_CAP]; /* the command runs once */
    static const char *const latest = text;
    struct stat info;
    *paths = (sl_path_span){opts->operands.at, opts->operands.cnt};
    if (paths->cnt)
        return SL_OK;
    if (stat(LATEST, &info) != 0 || !S_ISDIR(info.st_mode))
        return sl_fail(err, SL_E_USAGE,
                       "no PATH given, and there is no latest run in '" SL_RUNS_FOLDER
                       "'; give a PATH, or record with 'stormlog run'");
    resolve(text);
    sl_cli_complain("no PATH given: the latest run, %s", text);
    *paths = (sl_path_span){&latest, 1};
    return SL_OK;
}
