/* SPDX-License-Identifier: MIT */
#include "cli/run/run_verdict.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/analysis_options.h"
#include "cli/core/inputs.h"
#include "cli/core/recordings.h"

/* Which of two verdicts to show: the more severe one, and of two equal ones the larger peak. */
typedef struct weight {
    int severity;
    uint64_t peak_bytes;
} weight;

static weight weigh(const sl_report *report) {
    weight found = {(int)report->verdict, 0};
    for (size_t i = 0; i < report->devices.cnt; i++)
        if (report->devices.at[i].peak_requested_bytes > found.peak_bytes)
            found.peak_bytes = report->devices.at[i].peak_requested_bytes;
    return found;
}

static bool is_heavier(weight a, weight b) {
    return a.severity != b.severity ? a.severity > b.severity : a.peak_bytes > b.peak_bytes;
}

/* Judges one recording; false when it cannot be read. */
static bool judge(const char *path, sl_run_verdict *verdict, weight *heaviest) {
    sl_inputs inputs;
    sl_report *report;
    if (sl_inputs_load(&inputs, &path, 1, NULL) < 0)
        return false;
    inputs.run->effort.no_whatif = true; /* only the verdict is shown */
    bool is_judged = sl_cli_analyze(inputs.run, &(sl_analysis_options){0}, &report, NULL) == SL_OK;
    if (is_judged) {
        weight found = weigh(report);
        if (!verdict->path[0] || is_heavier(found, *heaviest)) {
            *heaviest = found;
            snprintf(verdict->path, sizeof verdict->path, "%s", path);
            verdict->verdict = report->verdict;
            sl_words_verdict(verdict->sentence, report);
        }
        sl_report_free(report);
    }
    sl_inputs_fini(&inputs);
    return is_judged;
}

/* `run` NULL: every recording. */
static void judge_folder(sl_run_verdict *verdict, const char *folder, const sl_run_folder *run) {
    DIR *dir = opendir(folder);
    weight heaviest = {0, 0};
    *verdict = (sl_run_verdict){.unreadable_cnt = 0};
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[SL_RUN_PATH_CAP];
        int used = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (used > 0 && (size_t)used < sizeof path &&
            (run ? sl_run_folder_is_new(run, path) : sl_recordings_is_file(AT_FDCWD, path)))
            verdict->unreadable_cnt += !judge(path, verdict, &heaviest);
    }
    closedir(dir);
}

void sl_run_verdict_find(sl_run_verdict *verdict, const sl_run_folder *folder) {
    judge_folder(verdict, folder->path, folder);
}

void sl_run_verdict_of(sl_run_verdict *verdict, const char *folder) {
    judge_folder(verdict, folder, NULL);
}
