/* SPDX-License-Identifier: MIT */
/* `stormlog tui`, and bare `stormlog` on a terminal: the full-screen program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/core/cmd_list.h"
#include "cli/runs/run_list.h"
#include "cli/settings/config.h"
#include "cli/top/top_find.h"
#include "tui/tui_run.h"

static sl_status find_process(const char *pid, sl_tui_paths *paths, sl_error *err) {
    sl_top_paths found = {0};
    sl_status status = sl_top_find_process(&found, pid, err);
    for (size_t i = 0; i < found.cnt; i++) {
        if (sl_vec_push(paths, found.at[i]))
            found.at[i] = NULL;
        else
            status = sl_fail_no_memory(err, "the recordings");
    }
    sl_top_paths_free(&found);
    return status;
}

static sl_tui_job make_job(const sl_run_row *row) {
    sl_tui_job job = {.is_running = row->state == SL_RUN_RUNNING,
                      .start_s = row->start_s,
                      .bytes = row->bytes,
                      .process_cnt = row->recording_cnt};
    snprintf(job.path, sizeof job.path, "%.511s", row->path);
    snprintf(job.name, sizeof job.name, "%.95s", row->name);
    snprintf(job.command, sizeof job.command, "%.255s", row->command);
    snprintf(job.state, sizeof job.state, "%.15s", sl_run_state_name(row->state));
    return job;
}

/* Running ones first; the list is newest first already. */
static sl_status list_runs(sl_tui_jobs *jobs, sl_error *err) {
    struct stat info;
    sl_run_list list = {0};
    snprintf(jobs->folder, sizeof jobs->folder, SL_RUNS_FOLDER);
    if (stat(SL_RUNS_FOLDER, &info) != 0 && errno == ENOENT)
        return SL_OK;
    SL_TRY(sl_run_list_read(&list, SL_RUNS_FOLDER, err));
    sl_status status = SL_OK;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < list.rows.cnt; i++)
            if ((list.rows.at[i]->state == SL_RUN_RUNNING) == (pass == 0) &&
                !sl_vec_push(&jobs->rows, make_job(list.rows.at[i])))
                status = sl_fail_no_memory(err, "the runs");
    sl_run_list_fini(&list);
    return status;
}

static int run(const sl_opts *opts, sl_error *err) {
    static const sl_tui_services services = {find_process, list_runs};
    sl_tui_options options = {
        .what = (const char *const *)opts->operands.at,
        .what_cnt = opts->operands.cnt,
        .interval_us = sl_opts_number(opts, "interval"),
        .is_ascii = sl_opts_flag(opts, "ascii"),
        .code = &sl_config_get()->code,
        .services = &services,
    };
    if (options.interval_us < 100000)
        return sl_fail(err, SL_E_USAGE, "--interval: expected at least 100ms");
    return sl_tui_run(&options, err);
}

static const sl_opt options[] = {
    {.name = "interval",
     .type = SL_OPT_DURATION,
     .initial = "1s",
     .help = "time between two readings, at least 100ms"},
    {.name = "ascii",
     .type = SL_OPT_FLAG,
     .help = "charts and frames of ASCII characters (default by the locale)"},
};

const sl_cmd sl_cmd_tui = {
    .name = "tui",
    .operands = "[PATH...|PID]",
    .operand_min = 0,
    .operand_max = SL_OPERANDS_ANY,
    .summary = "the full-screen program: live and recorded runs",
    .description =
        "Opens recordings, run folders, snapshots, telemetry, bundles, or what a running process "
        "records; several are shown together. "
        "Without an argument the run that is being recorded from this folder, else an overview of "
        "the machine and its runs. Bare 'stormlog' on a terminal does the same.\n\n"
        "Tabs are reached by Tab or by their numbers; '?' lists the keys. Reading a running "
        "recording does not disturb the recorded program. NO_COLOR switches colours off.",
    .examples = "stormlog tui\n"
                "stormlog tui stormlog-runs/latest\n"
                "stormlog tui snap.pickle\n"
                "stormlog tui rank0.json rank1.json\n"
                "stormlog tui 4711\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
