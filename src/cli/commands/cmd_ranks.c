/* SPDX-License-Identifier: MIT */
/* Several ranks put together: recordings, run folders, snapshots, telemetry, bundles, mixed. */
#include <string.h>

#include "base/files/file_atomic.h"
#include "cli/core/cmd_list.h"
#include "cli/core/latest_run.h"
#include "cli/core/shared_options.h"
#include "memprof/compat_report.h"
#include "ranks/fleet_format.h"

static sl_status write_json(FILE *to, sl_fleet *fleet, sl_error *err) {
    sl_json_out json;
    sl_json_init(&json, to, 2);
    sl_json_begin_object(&json);
    sl_fleet_json(&json, fleet);
    sl_compat_ranks_members(&json, fleet->by_samples);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}

static sl_status write_answer(const sl_opts *opts, sl_fleet *fleet, sl_error *err) {
    const char *format = sl_opts_text(opts, "format");
    bool is_all = sl_opts_flag(opts, "all");
    sl_status status = SL_OK;
    sl_file_out out;
    SL_TRY(sl_file_out_open(&out, sl_opts_text(opts, "output"), err));
    if (strcmp(format, "json") == 0)
        status = write_json(out.stream, fleet, err);
    else if (strcmp(format, "md") == 0)
        sl_fleet_md(out.stream, fleet, is_all);
    else if (strcmp(format, "html") == 0)
        sl_fleet_html(out.stream, fleet);
    else
        sl_fleet_text(out.stream, fleet, is_all);
    return sl_file_out_end(&out, status, err);
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_fleet_options options = {.job = sl_opts_text(opts, "job"),
                                .skips_bad = sl_opts_flag(opts, "skip-bad")};
    sl_path_span paths;
    sl_fleet *fleet;
    SL_TRY(sl_latest_or_operands(opts, &paths, err));
    SL_TRY(sl_fleet_read(paths.at, paths.cnt, &options, &fleet, err));
    sl_status status = write_answer(opts, fleet, err);
    sl_fleet_free(fleet);
    return status;
}

static const sl_opt options[] = {
    {.name = "format",
     .short_name = 'f',
     .type = SL_OPT_CHOICE,
     .choices = "txt|json|md|html",
     .initial = "txt",
     .help = "output format: for people, for programs, for a ticket, or as a page"},
    SL_SHARED_OUTPUT,
    {.name = "job",
     .type = SL_OPT_STRING,
     .metavar = "ID",
     .help = "of several jobs in a folder, the one to compare (default: the one with most files)"},
    {.name = "all",
     .type = SL_OPT_FLAG,
     .help = "every rank in the table (default: those with something to say, if there are many)"},
    {.name = "skip-bad", .type = SL_OPT_FLAG, .help = "skip bad records"},
};

const sl_cmd sl_cmd_ranks = {
    .name = "ranks",
    .operands = "[PATH...]",
    .operand_min = 0,
    .operand_max = SL_OPERANDS_ANY,
    .summary = "compare the ranks of a job and name the first that went wrong",
    .description =
        "PATH is a run folder, a recording, a PyTorch snapshot, a telemetry file (JSON, JSON "
        "lines, "
        "CSV), an OOM bundle, or a folder of them; by default the latest run. Ranks are aligned by "
        "the numbers of their steps, so clocks that differ do not matter; without steps by their "
        "first readings. The answer names the rank that diverged, failed or fell silent first, "
        "with "
        "step, line and confidence, what followed from it, missing ranks, and groups of ranks that "
        "behave alike.\n\n"
        "Of recordings only what comes before the raw events is read (steps, totals by line, "
        "curves); of the first cause also its events, to name the line.",
    .examples = "stormlog ranks stormlog-runs/latest\n"
                "stormlog ranks rank0.json rank1.json\n"
                "stormlog ranks runs/telemetry --format json\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
