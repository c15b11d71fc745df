/* SPDX-License-Identifier: MIT */
/* `stormlog run`: starts a command with the recorder preloaded and ends with its exit code. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "api/run_folder.h"
#include "base/core/vec.h"
#include "base/files/file_rights.h"
#include "base/text/shell_word.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/run/run_compact.h"
#include "cli/run/run_preload.h"
#include "cli/run/run_process.h"
#include "cli/run/run_settings.h"
#include "cli/run/run_target.h"
#include "cli/run/run_verdict.h"
#include "cli/run/run_watch.h"
#include "model/job/launcher.h"

/* The exit codes of a shell. */
#define EXIT_NOT_FOUND    127
#define EXIT_NOT_RUNNABLE 126

/* Time between two scans of the recordings; a bundle must appear within a second of the failure. */
#define WATCH_MS 250

static sl_status export_library(sl_error *err) {
    char library[SL_RUN_PATH_CAP];
    SL_TRY(sl_target_find_library(library, err));
    char *list = sl_preload_list(library, getenv("LD_PRELOAD"));
    if (!list)
        return sl_fail_no_memory(err, "LD_PRELOAD");
    bool is_set = setenv("LD_PRELOAD", list, 1) == 0;
    free(list);
    return is_set ? SL_OK : sl_fail_errno(err, SL_E_SYSTEM, "cannot set LD_PRELOAD");
}

/* With a file size limit (ulimit -f) the recorder may have refused to start, and has printed why. */
static bool has_file_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static void say_nothing_recorded(const sl_run_folder *folder, const sl_target *target) {
    sl_error err = SL_ERROR_INIT;
    const char *disable = sl_settings[SL_SETTING_ID_DISABLE].env;
    const char *is_disabled = getenv(disable);
    if (is_disabled && *is_disabled && strcmp(is_disabled, "0") != 0)
        sl_cli_complain("recording is disabled: %s is set", disable);
    else if (has_file_limit())
        sl_cli_complain("nothing was recorded");
    else if (sl_run_folder_try(folder, &err) < 0)
        sl_cli_complain("nothing was recorded: %s", err.text);
    else if (target->fit != SL_TARGET_OK)
        sl_cli_complain("nothing was recorded of '%s': %s; no program that it started wrote memory "
                        "events either",
                        target->binary, sl_target_fit_text(target->fit));
    else
        sl_cli_complain("nothing was recorded: no process wrote memory events; if ssh, a "
                        "container or 'env -i' starts the program, put 'stormlog run --' directly "
                        "before it");
}

/* Quoted for the shell, because the line is meant to be pasted. */
static void say_next(const char *command, const char *path) {
    char word[SL_ERROR_TEXT_CAP];
    if (sl_shell_word(word, sizeof word, path))
        sl_cli_complain("next: stormlog %s %s", command, word);
    else
        sl_cli_complain("next: stormlog analyze, with a recording in that folder");
}

/* The shell would say it of its own child, but that is us. Of Ctrl-C and a closed pipe it says nothing. */
static void say_signal(sl_run_end end) {
    if (end.signal && end.signal != SIGINT && end.signal != SIGPIPE)
        sl_cli_complain("the command was ended by signal %d (%s)", end.signal,
                        strsignal(end.signal));
}

static void say_result(const sl_run_folder *folder, const sl_target *target) {
    size_t cnt = sl_run_folder_count_new(folder);
    if (cnt == 0) {
        say_nothing_recorded(folder, target);
        sl_run_folder_discard(folder);
        return;
    }
    sl_cli_complain("recorded %zu process%s in %s", cnt, cnt == 1 ? "" : "es", folder->path);
    static sl_run_verdict verdict; /* too large for a stack frame; the command runs once */
    sl_run_verdict_find(&verdict, folder);
    if (verdict.unreadable_cnt)
        sl_cli_complain("%zu of them cannot be read; 'stormlog fsck' shows why",
                        verdict.unreadable_cnt);
    if (!verdict.path[0])
        return;
    sl_cli_complain("%s", verdict.sentence);
    if (folder->own_start[0])
        say_next("ranks", folder->path);
    else
        say_next("analyze", verdict.path);
}

/* A thousand ranks must not print three lines each: the first one does. A rank that recorded nothing says so. */
static bool is_spokesman(const sl_run_folder *folder) {
    return !folder->own_start[0] || strcmp(folder->own_start, "rank0-") == 0 ||
           sl_run_folder_count_new(folder) == 0;
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
    sl_run_end end = {0};
    sl_cli_complain("not recording '%s': %s; it runs unrecorded", target->binary, why);
    SL_TRY(sl_run_process(target->path, argv, NULL, &end, err));
    say_signal(end);
    return end.exit_code;
}

static void look(void *self) {
    sl_run_watch_look(self);
}

static sl_status run_watched(const sl_opts *opts, const sl_target *target, char **argv,
                             const sl_run_folder *folder, sl_run_end *end, sl_error *err) {
    const sl_run_watch_options options = {.is_quiet = sl_opts_flag(opts, "quiet"),
                                          .no_forecast = sl_opts_flag(opts, "no-forecast")};
    sl_run_watch *watch = sl_run_watch_new(folder, &options);
    sl_run_idle idle = {look, watch, WATCH_MS};
    /* Without memory for watching the command still runs and is recorded. */
    sl_status status = sl_run_process(target->path, argv, watch ? &idle : NULL, end, err);
    if (status == SL_OK && watch)
        sl_run_watch_finish(watch);
    sl_run_watch_free(watch);
    return status;
}

/* Everything the command inherits. LD_PRELOAD comes last: without it nothing is recorded. */
static sl_status prepare(const sl_opts *opts, const sl_run_folder *folder, sl_error *err) {
    if (!sl_run_settings_export(opts, folder->full_path))
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot set the environment");
    return export_library(err);
}

static int run_recorded(const sl_opts *opts, const sl_target *target, char **argv, sl_error *err) {
    static sl_run_folder folder; /* too large for a stack frame; the command runs once */
    char name[64];
    sl_run_end end = {0};
    sl_run_folder_name(name, (int)opts->operands.cnt, opts->operands.at);
    bool is_launcher = sl_launcher_is_command(opts->operands.cnt, opts->operands.at);
    sl_status status =
        sl_run_folder_open(&folder, sl_opts_text(opts, "output"), name, is_launcher, err);
    if (status == SL_E_USAGE)
        return status;
    if (status == SL_OK && (status = prepare(opts, &folder, err)) < 0)
        sl_run_folder_discard(&folder);
    if (status < 0)
        return run_unrecorded(target, argv, err->text, err);
    status = run_watched(opts, target, argv, &folder, &end, err);
    if (status < 0) {
        sl_run_folder_discard(&folder);
        return status;
    }
    if (!sl_opts_flag(opts, "no-compact"))
        sl_run_compact(&folder, sl_opts_flag(opts, "quiet"));
    if (!sl_opts_flag(opts, "quiet")) {
        say_signal(end);
        if (is_spokesman(&folder))
            say_result(&folder, target);
    } else if (sl_run_folder_count_new(&folder) == 0)
        sl_run_folder_discard(&folder);
    return end.exit_code;
}

static int run(const sl_opts *opts, sl_error *err) {
    static sl_target target; /* too large for a stack frame; the command runs once */
    SL_TRY(sl_run_settings_check(opts, err));
    /* Read by this program for folders and bundles, and by the recorder for its files. */
    if (sl_opts_flag(opts, "share") && setenv(SL_SHARE_ENV, "1", 1) != 0)
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot set the environment");
    sl_status found = sl_target_find(&target, opts->operands.at[0], err);
    if (found < 0) {
        sl_cli_complain("%s", err->text);
        return found == SL_E_PERMISSION ? EXIT_NOT_RUNNABLE : EXIT_NOT_FOUND;
    }
    char **argv = make_argv(opts);
    if (!argv)
        return sl_fail_no_memory(err, "the command");
    int result = sl_target_passes_on(target.fit)
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
    .summary = "run a command and record every memory allocation",
    .description =
        "Starts CMD with the recorder inside; its code needs no change. Every process of CMD that "
        "allocates memory through PyTorch writes one .slog file, created at its first event. The "
        "file can be read while the process runs, and nothing that was written is lost if the "
        "process is killed. When CMD ends, three lines on standard error show where the recordings "
        "are, the most severe verdict, and what to type next.\n\n"
        "When a request for memory fails, <recording>.oom-<n>/ appears next to the recording "
        "within a second, even if the program catches the error or is killed. It contains what was "
        "live and where, the newest events, the counters and the report. There are at most 8 per "
        "process. An alert is raised when a card or the host's memory is fuller than the "
        "threshold; the first of each kind is printed on standard error, 'stormlog top' shows the "
        "newest. When memory keeps growing, a line shows when it will be out and which line of "
        "code "
        "grows the most, once and again when it gets clearly worse; alerts.jsonl in the run folder "
        "has the same as JSON.\n\n"
        "The exit code is that of CMD (128 + n if signal n ended it, 127 if there is no such "
        "command, 126 if it cannot be run). SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 "
        "are passed on to it. CMD always runs: if it cannot be recorded, one line explains why. "
        "With STORMLOG_DISABLE=1 in the environment, nothing is recorded.\n\n"
        "Recordings and bundles contain the command line and the paths of source files, so only "
        "their owner may read them, unless --share is given.",
    .examples = "stormlog run -- python train.py\n"
                "  record a training run\n"
                "stormlog run -o runs/a --no-cpu -- torchrun --nproc-per-node 8 train.py\n"
                "  one file per rank, GPU memory only\n",
    .options = sl_run_options,
    .option_cnt = SL_RUN_OPTION_CNT,
    .check_value = sl_run_setting_check,
    .run = run,
};
