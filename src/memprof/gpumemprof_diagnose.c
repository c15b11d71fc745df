/* SPDX-License-Identifier: MIT */
#include "cli/core/cmd_list.h"
#include "memprof/diagnose_bundle.h"
#include "memprof/watch/watch_options.h"

#define OUTPUT_OPTION                                              \
    {                                                              \
        .name = "output", .type = SL_OPT_FILE,                     \
        .help = "a new folder, or an existing one for a subfolder" \
    }
#define DURATION_OPTION                                            \
    {                                                              \
        .name = "duration", .type = SL_OPT_REAL, .initial = "5.0", \
        .help = "seconds to measure; 0 = once"                     \
    }

static const sl_opt gpumemprof_options[] = {
    OUTPUT_OPTION,       {.name = "device", .type = SL_OPT_INT, .help = "which card"},
    DURATION_OPTION,     SL_WATCH_INTERVAL_OPTION("0.5"),
    SL_WATCH_PID_OPTION,
};

static const char description[] =
    "Writes environment.json, telemetry_timeline.json, diagnostic_summary.json and manifest.json "
    "into a folder, atomically. The result is based on what was measured: the card as a whole, or "
    "the host's memory, and the process given by --pid.";

static int run_gpumemprof(const sl_opts *opts, sl_error *err) {
    return sl_diagnose_command(opts, "stormlog-diagnose", err);
}

const sl_cmd sl_cmd_gpumemprof_diagnose = {
    .name = "diagnose",
    .operands = "",
    .summary = "write a folder with the facts about memory",
    .description = description,
    .options = gpumemprof_options,
    .option_cnt = SL_COUNT_OF(gpumemprof_options),
    .run = run_gpumemprof,
};

static const sl_opt tfmemprof_options[] = {
    OUTPUT_OPTION,
    {.name = "device", .type = SL_OPT_STRING, .initial = "/GPU:0", .help = "/GPU:0, /CPU:0"},
    DURATION_OPTION,
    SL_WATCH_INTERVAL_OPTION("0.5"),
    SL_WATCH_PID_OPTION,
};

static int run_tfmemprof(const sl_opts *opts, sl_error *err) {
    return sl_diagnose_command(opts, "stormlog-tensorflow-diagnose", err);
}

const sl_cmd sl_cmd_tfmemprof_diagnose = {
    .name = "diagnose",
    .operands = "",
    .summary = "write a folder with the facts about memory",
    .description = description,
    .options = tfmemprof_options,
    .option_cnt = SL_COUNT_OF(tfmemprof_options),
    .run = run_tfmemprof,
};

/* The same command under the name stormlog, with stormlog's messages and exit codes. */
static int run_stormlog(const sl_opts *opts, sl_error *err) {
    sl_diagnose_result result;
    char line[SL_DIAGNOSE_LINE_CAP];
    sl_diagnose what = {
        .prefix = "stormlog-diagnose",
        .command_line = sl_diagnose_line(line),
        .output = sl_opts_text(opts, "output"),
        .duration_s = (double)sl_opts_number(opts, "duration") / 1e6,
        .interval_s = (double)sl_opts_number(opts, "interval") / 1e6,
        .device = -1,
        .pid = (int)sl_opts_number(opts, "pid"),
    };
    if (what.interval_s < 0.001)
        return sl_fail(err, SL_E_USAGE, "--interval must be at least 1ms");
    SL_TRY(sl_diagnose_write(&what, &result, err));
    printf("%s\n", result.path);
    if (!result.high_utilization)
        return 0;
    printf("memory is nearly full\n");
    return SL_EXIT_FOUND;
}

static const sl_opt stormlog_options[] = {
    {.name = "output",
     .short_name = 'o',
     .type = SL_OPT_FILE,
     .help = "a new folder, or an existing one for a subfolder named after the time"},
    {.name = "duration",
     .type = SL_OPT_DURATION,
     .initial = "5s",
     .help = "how long to measure; 0s = once"},
    {.name = "interval",
     .type = SL_OPT_DURATION,
     .initial = "500ms",
     .help = "time between samples"},
    SL_WATCH_PID_OPTION,
};

const sl_cmd sl_cmd_diagnose = {
    .name = "diagnose",
    .operands = "",
    .summary = "write a folder with facts to attach to an issue",
    .description = "Writes what is known about this machine and its memory into a folder, "
                   "atomically, and prints its path. The exit code is 1 if memory is nearly full.",
    .examples = "stormlog diagnose --duration 10s --pid 4711 -o facts\n",
    .options = stormlog_options,
    .option_cnt = SL_COUNT_OF(stormlog_options),
    .run = run_stormlog,
};
