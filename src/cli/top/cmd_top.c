/* SPDX-License-Identifier: MIT */
/* `stormlog top`: what a recording shows at this moment, once or again and again. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/run_folder.h"
#include "base/core/order.h"
#include "base/text/term.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/core/latest_run.h"
#include "cli/core/recordings.h"
#include "cli/core/shared_options.h"
#include "cli/top/top_find.h"
#include "cli/top/top_frame.h"
#include "cli/top/top_json.h"
#include "tui/tui_top.h"

#define LEAST_INTERVAL_US 100000

static sl_status add_path(sl_top_paths *list, const char *folder, const char *name, sl_error *err) {
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0 || !sl_vec_push(list, path))
        return sl_fail_no_memory(err, "a path");
    return SL_OK;
}

/* The words of the other commands: it may be a folder of runs. */
static sl_status fail_empty(const char *folder, sl_error *err) {
    sl_recordings found;
    SL_TRY(sl_recordings_find(&found, folder, SL_FIND_RECORDINGS, err));
    sl_recordings_fini(&found);
    return sl_fail(err, SL_E_OPEN, "no recording in '%s'", folder);
}

static sl_status list_folder(sl_top_paths *list, const char *folder, sl_error *err) {
    DIR *dir = opendir(folder);
    sl_status status = SL_OK;
    if (!dir)
        return sl_fail_errno(err, SL_E_OPEN, "cannot open '%s'", folder);
    for (struct dirent *entry; status == SL_OK && (entry = readdir(dir));)
        if (sl_recordings_is_file(dirfd(dir), entry->d_name))
            status = add_path(list, folder, entry->d_name, err);
    closedir(dir);
    if (status == SL_OK && list->cnt == 0)
        return fail_empty(folder, err);
    if (list->cnt)
        qsort(list->at, list->cnt, sizeof list->at[0], sl_order_texts);
    return status;
}

static sl_status list_recordings(sl_top_paths *list, const char *what, sl_error *err) {
    struct stat info;
    if (stat(what, &info) == 0)
        return S_ISDIR(info.st_mode) ? list_folder(list, what, err) : add_path(list, "", what, err);
    if (*what && strspn(what, "0123456789") == strlen(what))
        return sl_top_find_process(list, what, err);
    return sl_fail_errno(err, SL_E_OPEN, "cannot open '%s'", what);
}

/* Prints all of them; *is_live: at least one is still being written. */
static sl_status print_processes(const sl_top_process *processes, size_t cnt,
                                 const sl_top_options *options, bool *is_live, sl_error *err) {
    *is_live = false;
    for (size_t i = 0; i < cnt; i++) {
        sl_log_reader *reader;
        sl_status status = sl_log_open(processes[i].path, &reader, err);
        if (status == SL_OK) {
            *is_live |= sl_log_get_ending(reader) == SL_LOG_LIVE;
            if (i)
                putchar('\n');
            status = sl_top_print(reader, &processes[i], options, stdout, err);
            sl_log_reader_close(reader);
        }
        if (status < 0)
            return sl_error_prefix(err, "cannot read '%s'", processes[i].path);
    }
    return SL_OK;
}

static sl_status print_all(const sl_top_paths *list, const sl_top_options *options, bool *is_live,
                           sl_error *err) {
    sl_top_process *processes;
    SL_TRY(sl_top_processes_find(list->at, list->cnt, &processes, err));
    sl_status status = print_processes(processes, list->cnt, options, is_live, err);
    sl_top_processes_free(processes, list->cnt);
    return status;
}

/* One array, an object for each recording. */
static sl_status write_processes(const sl_top_process *processes, size_t cnt, sl_error *err) {
    sl_json_out json;
    sl_json_init(&json, stdout, 2);
    sl_json_begin_array(&json);
    for (size_t i = 0; i < cnt; i++) {
        sl_log_reader *reader;
        sl_status status = sl_log_open(processes[i].path, &reader, err);
        if (status == SL_OK) {
            status = sl_top_write_json(&json, reader, &processes[i], err);
            sl_log_reader_close(reader);
        }
        if (status < 0)
            return sl_error_prefix(err, "cannot read '%s'", processes[i].path);
    }
    sl_json_end_array(&json);
    return sl_json_finish(&json, err);
}

static sl_status print_json(const sl_top_paths *list, sl_error *err) {
    sl_top_process *processes;
    SL_TRY(sl_top_processes_find(list->at, list->cnt, &processes, err));
    sl_status status = write_processes(processes, list->cnt, err);
    sl_top_processes_free(processes, list->cnt);
    return status;
}

static sl_status follow(const sl_top_paths *list, const sl_top_options *options,
                        int64_t interval_us, sl_error *err) {
    struct timespec pause = {interval_us / 1000000, interval_us % 1000000 * 1000};
    bool is_live = false;
    /* What has ended is printed below what is on the screen; only a picture that changes takes it over. */
    SL_TRY(print_all(list, options, &is_live, err));
    while (is_live) {
        fputs("\033[H\033[J", stdout);
        SL_TRY(print_all(list, options, &is_live, err));
        fflush(stdout);
        if (is_live)
            nanosleep(&pause, NULL);
    }
    return SL_OK;
}

static bool is_any_live(const sl_top_paths *list) {
    bool is_live = false;
    for (size_t i = 0; i < list->cnt && !is_live; i++) {
        sl_log_reader *reader;
        if (sl_log_open(list->at[i], &reader, NULL) < 0)
            continue;
        is_live = sl_log_get_ending(reader) == SL_LOG_LIVE;
        sl_log_reader_close(reader);
    }
    return is_live;
}

/* The screen while the processes run, and after their end the plain text below what is on the terminal. */
static sl_status show(const sl_top_paths *list, const sl_top_options *options, int64_t interval_us,
                      sl_error *err) {
    bool has_ended = false, is_live;
    sl_tui_top_options screen = {list->at, list->cnt, interval_us, &has_ended};
    if (!is_any_live(list))
        return print_all(list, options, &is_live, err);
    sl_status status = sl_tui_top(&screen, err);
    if (status == SL_E_UNSUPPORTED) /* such as TERM=dumb */
        return follow(list, options, interval_us, err);
    if (status == SL_OK && has_ended)
        status = print_all(list, options, &is_live, err);
    return status;
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_path_span paths;
    sl_top_options options = {.line_cnt = (size_t)sl_opts_number(opts, "top"),
                              .has_color = sl_term_has_color(stdout)};
    sl_top_paths list = {0};
    bool is_live;
    if (sl_opts_number(opts, "interval") < LEAST_INTERVAL_US)
        return sl_fail(err, SL_E_USAGE, "--interval: expected at least 100ms");
    SL_TRY(sl_latest_or_operands(opts, &paths, err));
    sl_status status = list_recordings(&list, sl_latest_path(paths.at[0]), err);
    if (status == SL_OK && strcmp(sl_opts_text(opts, "format"), "json") == 0)
        status = print_json(&list, err);
    else if (status == SL_OK && (sl_opts_flag(opts, "once") || !isatty(STDOUT_FILENO)))
        status = print_all(&list, &options, &is_live, err);
    else if (status == SL_OK)
        status = show(&list, &options, sl_opts_number(opts, "interval"), err);
    sl_top_paths_free(&list);
    return status;
}

static const sl_opt options[] = {
    {.name = "once",
     .type = SL_OPT_FLAG,
     .help = "print once and exit (default when the output is not a terminal)"},
    SL_SHARED_FORMAT(
        "output format; json prints once, in bytes, with null for what was not measured"),
    {.name = "interval",
     .type = SL_OPT_DURATION,
     .initial = "1s",
     .help = "time between two updates, at least 100ms"},
    {.name = "top",
     .type = SL_OPT_INT,
     .initial = "10",
     .min = 0,
     .max = 1000,
     .help = "lines of code to list per device"},
};

const sl_cmd sl_cmd_top = {
    .name = "top",
    .operands = "[DIR|FILE|PID]",
    .operand_min = 0,
    .operand_max = 1,
    .summary = "show live what a running or finished recording holds, and where",
    .description = "Without an argument, the latest run in this folder is shown. For each process "
                   "it lists what fills every device and the lines of code with the most live "
                   "memory. What was not measured is shown as unknown. On a terminal the view is "
                   "updated until the recorded processes have ended.",
    .examples = "stormlog top --once\n"
                "stormlog top 4711\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
