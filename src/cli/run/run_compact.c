/* SPDX-License-Identifier: MIT */
#include "cli/run/run_compact.h"

#include <dirent.h>
#include <stdio.h>

#include "cli/core/cli.h"
#include "cli/core/stop_signals.h"
#include "log/compact/log_compact.h"

static void compact(const char *path, const sl_compact_options *options, bool is_quiet) {
    sl_compact_result result;
    sl_error err = SL_ERROR_INIT;
    if (sl_log_compact(path, options, &result, &err) < 0 && !is_quiet && !*options->stop)
        sl_cli_complain("'%s' was not compacted: %s", path, err.text);
}

/* A recording that was renamed meanwhile may be listed twice; the second time it is compact. */
void sl_run_compact(const sl_run_folder *folder, bool is_quiet) {
    DIR *dir = opendir(folder->full_path);
    if (!dir)
        return;
    sl_compact_options options = {.stop = sl_stop_signals_hold()};
    for (struct dirent *entry; !*options.stop && (entry = readdir(dir));) {
        char path[SL_RUN_PATH_CAP];
        int used = snprintf(path, sizeof path, "%s/%s", folder->full_path, entry->d_name);
        if (used > 0 && (size_t)used < sizeof path && sl_run_folder_is_new(folder, path))
            compact(path, &options, is_quiet);
    }
    sl_stop_signals_release();
    closedir(dir);
}
