/* SPDX-License-Identifier: MIT */
/* `stormlog run`: starts a command with the recorder preloaded and ends with its exit code. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/core/vec.h"
#include "base/files/file_rights.h"
#include "base/text/shell_word.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/run/run_folder.h"
#include "cli/run/run_preload.h"
#include "cli/run/run_process.h"
#include "cli/run/run_target.h"
#include "cli/run/run_verdict.h"
#include "cli/run/run_watch.h"
#include "record/core/record_options.h"

/* As a shell has it: the command was not found, or was found and could not be run. */
#define EXIT_NOT_FOUND    127
#define EXIT_NOT_RUNNABLE 126

/* Between two looks at the recordings: a bundle is there within a second of the failure. */
#define WATCH_MS 250

static const sl_opt options[] = {
    {.name = "output",
     .short_name = 'o',
     .type = SL_OPT_FILE,
     .metavar = "DIR",
     .help = "folder for the recordings instead of " SL_RUNS_FOLDER "/<time>-<name>"},
    {.name = "ring",
     .type = SL_OPT_SIZE,
     .help = "room for raw events per process (the newest are kept); totals per line of code and "
             "curves cover the whole run in any case"},
    {.name = "cpu",
     .type = SL_OPT_FLAG,
     .help = "record PyTorch's CPU allocator too; this is so by itself where there is no GPU"},
    {.name = "no-cpu", .type = SL_OPT_FLAG, .help = "never record PyTorch's CPU allocator"},
    {.name = "no-driver",
     .type = SL_OPT_FLAG,
     .help = "only what PyTorch's allocators report, not the CUDA driver's own functions"},
    {.name = "stacks",
     .type = SL_OPT_CHOICE,
     .choices = "python|native|none",
     .initial = "python",
     .help = "what is kept about where an allocation came from: its Python frames, those and the "
             "frames of native code (C, C++) inside them, or nothing"},
    {.name = "no-tags",
     .type = SL_OPT_FLAG,
     .help =
         "never look at the program's optimizers; what blocks are for is then told from phases and "
         "stacks alone"},
    {.name = "modules",
     .type = SL_OPT_FLAG,
     .help = "the path of the module that runs (encoder.layers.3.attn) in the stacks of PyTorch "
             "programs"},
    {.name = "interval",
     .type = SL_OPT_DURATION,
     .initial = "100ms",
     .help = "time between two readings of the counters of host and device"},
    {.name = "alert-device",
     .type = SL_OPT_STRING,
     .metavar = "PERCENT",
     .initial = "95%",
     .help = "raise an alert when a card is this full; off: never"},
    {.name = "alert-host",
     .type = SL_OPT_STRING,
     .metavar = "PERCENT",
     .initial = "95%",
     .help = "the same for the host's memory"},
    {.name = "share",
     .type = SL_OPT_FLAG,
     .help = "let other users read the recordings and bundles (modes 0644 and 0755 instead of 0600 "
             "and 0700; the same as " SL_SHARE_ENV "=1 in the environment)"},
    {.name = "quiet",
     .short_name = 'q',
     .type = SL_OPT_FLAG,
     .help = "no closing lines, and no messages from inside the command"},
};

static bool set_env(const char *name, const char *value) {
    return value ? setenv(name, value, 1) == 0 : unsetenv(name) == 0;
}

/* Number of a DURATION option in milliseconds. */
static int64_t interval_ms(const sl_opts *opts) {
    return sl_opts_number(opts, "interval") / 1000;
}

static sl_status check_percent(const sl_opts *opts, const char *name, sl_error *err) {
    unsigned percent;
    if (sl_record_parse_percent(sl_opts_text(opts, name), &percent))
        return SL_OK;
    return sl_fail(err, SL_E_USAGE, "--%s is '%s'; expected %s", name, sl_opts_text(opts, name),
                   SL_RECORD_PERCENT_EXPECTED);
}

static sl_status check_options(const sl_opts *opts, sl_error *err) {
    int64_t ms = interval_ms(opts);
    SL_TRY(check_percent(opts, "alert-device", err));
    SL_TRY(check_percent(opts, "alert-host", err));
    if (sl_opts_flag(opts, "cpu") && sl_opts_flag(opts, "no-cpu"))
        return sl_fail(err, SL_E_USAGE, "--cpu and --no-cpu exclude each other");
    if (ms < 10 || ms > 60000)
        return sl_fail(err, SL_E_USAGE, "--interval is %s; expected 10ms to 1min",
                       sl_opts_text(opts, "interval"));
    return SL_OK;
}

/* What the recorder reads in the process and in all its children. */
static bool export_settings(const sl_opts *opts, const sl_run_folder *folder) {
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)interval_ms(opts));
    const char *cpu = sl_opts_flag(opts, "cpu") ? "1" : sl_opts_flag(opts, "no-cpu") ? "0" : "auto";
    const char *driver = sl_opts_flag(opts, "no-driver") ? "0" : NULL;
    const char *tags = sl_opts_flag(opts, "no-tags") ? "0" : NULL;
    const char *modules = sl_opts_flag(opts, "modules") ? "1" : NULL;
    const char *quiet = sl_opts_flag(opts, "quiet") ? "1" : NULL;
    return set_env(sl_record_env_name(SL_RECORD_ENV_DIR), folder->full_path) &&
           set_env(sl_record_env_name(SL_RECORD_ENV_RING), sl_opts_text(opts, "ring")) &&
           set_env(sl_record_env_name(SL_RECORD_ENV_CPU), cpu) &&
           set_env(sl_record_env_name(SL_RECORD_ENV_STACKS), sl_opts_text(opts, "stacks")) &&
           set_env(sl_record_env_name(SL_RECORD_ENV_DRIVER), driver) &&
           set_env(sl_record_env_name(SL_RECORD_ENV_TAGS), tags) &&
           set_env(sl_record_env_name(SL_RECORD_ENV_MODULES), modules) &&
           set_env(sl_record_env_name(SL_RECORD_ENV_INTERVAL), number) &&
           set_env(sl_record_env_name(SL_RECORD_ENV_ALERT_DEVICE),
                   sl_opts_text(opts, "alert-device")) &&
           set_env(sl_record_env_name(SL_RECORD_ENV_ALERT_HOST),
                   sl_opts_text(opts, "alert-host")) &&
           set_env(sl_record_env_name(SL_RECORD_ENV_QUIET), quiet);
}

static sl_status export_library(sl_error *err) {
    char library[SL_RUN_PATH_CAP];
    SL_TRY(sl_target_find_library(library, err));
    char *list = sl_preload_list(library, getenv("LD_PRELOAD"));
    if (!list)
        return sl_fail_no_memory(err, "LD_PRELOAD");
    bool is_set = set_env("LD_PRELOAD", list);
    free(list);
    return is_set ? SL_OK : sl_fail_errno(err, SL_E_SYSTEM, "cannot set LD_PRELOAD");
}

/* Under a limit for files (ulimit -f) the recorder may have refused, and said so itself. */
static bool has_file_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static void say_nothing_recorded(const sl_run_folder *folder) {
    sl_error err = SL_ERROR_INIT;
    if (has_file_limit())
        sl_cli_complain("nothing was recorded");
    else if (sl_run_folder_try(folder, &err) < 0)
        sl_cli_complain("nothing was recorded: %s", err.text);
    else
        sl_cli_complain("no memory event was seen in this run, so nothing was recorded");
}

/* A command to paste: whatever the folder is called, the shell must see one word. */
static void say_next(const char *path) {
    char word[SL_ERROR_TEXT_CAP];
    if (sl_shell_word(word, sizeof word, path))
        sl_cli_complain("next: stormlog analyze %s", word);
    else
        sl_cli_complain("next: stormlog analyze, with the recording in that folder");
}

static void say_result(const sl_run_folder *folder) {
    size_t cnt = sl_run_folder_count_new(folder);
    if (cnt == 0) {
        say_nothing_recorded(folder);
        sl_run_folder_discard(folder);
        return;
    }
    sl_cli_complain("recorded %zu process%s in %s", cnt, cnt == 1 ? "" : "es", folder->path);
    static sl_run_verdict verdict; /* too large for a stack frame; the command runs once */
    sl_run_verdict_find(&verdict, folder);
    if (verdict.unreadable_cnt)
        sl_cli_complain("%zu of them cannot be read; 'stormlog fsck' says why",
                        verdict.unreadable_cnt);
    if (!verdict.path[0])
        return;
    sl_cli_complain("%s", verdict.sentence);
    say_next(verdict.path);
}

/* The operands as argv of the command, with the NULL exec wants; NULL when memory ran out. */
static char **make_argv(const sl_opts *opts) {
    char **argv = calloc(opts->operands.cnt + 1, sizeof *argv);
    for (size_t i = 0; argv && i < opts->operands.cnt; i++)
        argv[i] = (char *)(uintptr_t)opts->operands.at[i]; /* exec does not write to them */
    return argv;
}

/* A run without a recording is worth more to its owner than no run. */
static int run_unrecorded(const sl_target *target, char **argv, const char *why, sl_error *err) {
    int exit_code = 0;
    sl_cli_complain("not recording '%s': %s; it runs on its own", target->binary, why);
    SL_TRY(sl_run_process(target->path, argv, NULL, &exit_code, err));
    return exit_code;
}

static void look(void *self) {
    sl_run_watch_look(self);
}

static sl_status run_watched(const sl_opts *opts, const sl_target *target, char **argv,
                             const sl_run_folder *folder, int *exit_code, sl_error *err) {
    sl_run_watch *watch = sl_run_watch_new(folder, sl_opts_flag(opts, "quiet"));
    sl_run_idle idle = {look, watch, WATCH_MS};
    /* Without memory for watching the command still runs and is recorded. */
    sl_status status = sl_run_process(target->path, argv, watch ? &idle : NULL, exit_code, err);
    if (status == SL_OK && watch)
        sl_run_watch_finish(watch);
    sl_run_watch_free(watch);
    return status;
}

/* Everything the command inherits. LD_PRELOAD comes last: without it nothing is recorded. */
static sl_status prepare(const sl_opts *opts, const sl_run_folder *folder, sl_error *err) {
    if (!export_settings(opts, folder))
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot set the environment");
    return export_library(err);
}

static int run_recorded(const sl_opts *opts, const sl_target *target, char **argv, sl_error *err) {
    static sl_run_folder folder; /* too large for a stack frame; the command runs once */
    char name[64];
    int exit_code = 0;
    sl_run_folder_name(name, (int)opts->operands.cnt, opts->operands.at);
    sl_status status = sl_run_folder_open(&folder, sl_opts_text(opts, "output"), name, err);
    if (status == SL_E_USAGE)
        return status;
    if (status == SL_OK && (status = prepare(opts, &folder, err)) < 0)
        sl_run_folder_discard(&folder);
    if (status < 0)
        return run_unrecorded(target, argv, err->text, err);
    status = run_watched(opts, target, argv, &folder, &exit_code, err);
    if (status < 0) {
        sl_run_folder_discard(&folder);
        return status;
    }
    if (!sl_opts_flag(opts, "quiet"))
        say_result(&folder);
    else if (sl_run_folder_count_new(&folder) == 0)
        sl_run_folder_discard(&folder);
    return exit_code;
}

static int run(const sl_opts *opts, sl_error *err) {
    static sl_target target; /* too large for a stack frame; the command runs once */
    SL_TRY(check_options(opts, err));
    /* Read by this program for folders and bundles, and by the recorder for its files. */
    if (sl_opts_flag(opts, "share") && !set_env(SL_SHARE_ENV, "1"))
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot set the environment");
    sl_status found = sl_target_find(&target, opts->operands.at[0], err);
    if (found < 0) {
        sl_cli_complain("%s", err->text);
        return found == SL_E_PERMISSION ? EXIT_NOT_RUNNABLE : EXIT_NOT_FOUND;
    }
    char **argv = make_argv(opts);
    if (!argv)
        return sl_fail_no_memory(err, "the command");
    int result = target.fit == SL_TARGET_OK
                     ? run_recorded(opts, &target, argv, err)
                     : run_unrecorded(&target, argv, sl_target_fit_text(target.fit), err);
    free(argv);
    return result;
}

const sl_cmd sl_cmd_run = {
    .name = "run",
    .operands = "CMD [ARG...]",
    .operand_min = 1,
    .operand_max = SL_OPERANDS_ANY,
    .stops_at_operand = true,
    .summary = "run a command and record every allocation of its memory",
    .description =
        "Starts CMD with the recorder inside, without any change to its code. Every process below "
        "CMD that touches memory through PyTorch gets one .slog file, made at its first event; the "
        "file can be read while the process runs, and nothing that was written is lost when it is "
        "killed. At the end three lines on standard error say where the recordings are, what the "
        "most "
        "severe of them shows, and what to type next.\n\n"
        "When a request for memory fails, <recording>.oom-<n>/ appears beside the recording within "
        "a "
        "second, also when the program catches the error or is killed: what was live and where, "
        "the "
        "newest events, the counters, the report. At most 8 per process. Alerts are raised when a "
        "card or the host's memory is fuller than the threshold; the first of each kind is one "
        "line "
        "on standard error, 'stormlog top' shows the newest.\n\n"
        "The exit code is that of CMD (128 + n when signal n ended it, 127 when there is no such "
        "command, 126 when it cannot be run). SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and "
        "SIGUSR2 are handed on to it. CMD runs in any case: when it cannot be recorded, one line "
        "says why. With STORMLOG_DISABLE=1 in the environment nothing is recorded.\n\n"
        "Recordings and bundles hold the command line and the paths of source files, so only their "
        "owner may read them, unless --share is given.",
    .examples = "stormlog run -- python train.py\n"
                "  record a training\n"
                "stormlog run -o runs/a --no-cpu -- torchrun --nproc-per-node 8 train.py\n"
                "  one file for each rank, GPU memory only\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
