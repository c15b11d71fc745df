/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/oom_bundles.h"
#include "base/core/str.h"
#include "base/files/file_atomic.h"
#include "base/text/human.h"
#include "cli/core/cli.h"
#include "cli/core/cmd_list.h"
#include "cli/core/inputs.h"
#include "cli/core/latest_run.h"
#include "cli/core/recordings.h"
#include "cli/core/shared_options.h"
#include "cli/export/export_input.h"
#include "cli/export/push_out.h"
#include "cli/export/table_out.h"
#include "cli/ship/net_options.h"
#include "export/bundle/bundle_folder.h"
#include "export/formats/exporter.h"

static sl_status check_push(const sl_opts *opts, const sl_exporter *exporter, sl_error *err) {
    static const char *const needs_push[] = {"service", "label", "token-file", "ca-file", "tries"};
    bool is_push = sl_opts_is_given(opts, "push");
    if (is_push && strcmp(exporter->name, "pprof") != 0)
        return sl_fail(err, SL_E_USAGE,
                       "option '--push' has no meaning for '%s': only 'pprof' is pushed",
                       exporter->name);
    if (is_push && sl_opts_is_given(opts, "output"))
        return sl_fail(err, SL_E_USAGE, "'--push' and '--output' exclude each other");
    for (size_t i = 0; i < SL_COUNT_OF(needs_push); i++)
        if (!is_push && sl_opts_is_typed(opts, needs_push[i]))
            return sl_fail(err, SL_E_USAGE, "option '--%s' needs '--push'", needs_push[i]);
    return SL_OK;
}

/* An option that the chosen format would ignore is an error. */
static sl_status check_options(const sl_opts *opts, const sl_exporter *exporter, sl_error *err) {
    static const char *const window[] = {"since", "until"};
    bool takes_window = (exporter->wants & SL_EXPORT_WINDOW) || sl_opts_is_given(opts, "push");
    for (size_t i = 0; i < SL_COUNT_OF(window); i++)
        if (sl_opts_is_given(opts, window[i]) && !takes_window)
            return sl_fail(err, SL_E_USAGE, "option '--%s' has no meaning for '%s'", window[i],
                           exporter->name);
    if (sl_opts_is_given(opts, "at") && !(exporter->wants & SL_EXPORT_INSTANT))
        return sl_fail(err, SL_E_USAGE, "option '--at' has no meaning for '%s'", exporter->name);
    if (sl_opts_is_given(opts, "device") && (exporter->wants & SL_EXPORT_FOLDER))
        return sl_fail(err, SL_E_USAGE, "option '--device' has no meaning for '%s'",
                       exporter->name);
    SL_TRY(check_push(opts, exporter, err));
    if ((exporter->wants & SL_EXPORT_BINARY) && !sl_opts_text(opts, "output") &&
        !sl_opts_is_given(opts, "push") && isatty(STDOUT_FILENO))
        return sl_fail(err, SL_E_USAGE, "'%s' is binary; write it to a file with -o",
                       exporter->name);
    return SL_OK;
}

static sl_status write_input(const sl_opts *opts, const sl_exporter *exporter,
                             const sl_run_input *input, const char *path, sl_error *err) {
    sl_export_options export;
    sl_file_out out;
    SL_TRY(sl_export_prepare(opts, input, &export, err));
    SL_TRY(sl_file_out_open(&out, path, err));
    sl_status status = exporter->write(input, &export, out.stream, err);
    return sl_file_out_end(&out, status, err);
}

/* ---- where it goes ---- */

/* -o names a folder: one that is there, or a name that ends in '/'. */
static bool is_folder(const char *path) {
    struct stat info;
    size_t len = path ? strlen(path) : 0;
    return len && (path[len - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)));
}

/* Bytes of a file's name before its extension, and before that of a compressed one. */
static size_t stem_length(const char *name) {
    static const char *const packed[] = {".gz", ".zst"};
    size_t len = strlen(name);
    for (size_t i = 0; i < SL_COUNT_OF(packed); i++)
        if (len > strlen(packed[i]) && strcmp(name + len - strlen(packed[i]), packed[i]) == 0)
            len -= strlen(packed[i]);
    for (size_t i = len; i-- > 1;)
        if (name[i] == '.')
            return i;
    return len;
}

/* "<folder>/python3-4711.pickle" for the recording "python3-4711.slog"; the caller frees it. */
static char *path_in_folder(const char *folder, const char *recording, const char *extension) {
    const char *name = sl_base_name(recording);
    size_t len = stem_length(name);
    size_t folder_len = strlen(folder);
    while (folder_len > 1 && folder[folder_len - 1] == '/')
        folder_len--;
    char *path = NULL;
    return asprintf(&path, "%.*s/%.*s.%s", (int)folder_len, folder, (int)len, name, extension) < 0
               ? NULL
               : path;
}

static sl_status write_into_folder(const sl_opts *opts, const sl_exporter *exporter,
                                   const char *recording, sl_error *err) {
    const char *folder = sl_opts_text(opts, "output");
    char *path = path_in_folder(folder, recording, exporter->extension);
    sl_inputs inputs = {0};
    if (!path)
        return sl_fail_no_memory(err, "a path");
    sl_status status = sl_inputs_load(&inputs, &recording, 1, err);
    if (status == SL_OK)
        status = write_input(opts, exporter, &inputs.run->inputs[0], path, err);
    if (status == SL_OK)
        printf("%s\n", path);
    sl_inputs_fini(&inputs);
    free(path);
    return status;
}

static sl_status write_each(const sl_opts *opts, const sl_exporter *exporter,
                            const sl_recordings *list, sl_error *err) {
    SL_TRY(sl_make_folders(sl_opts_text(opts, "output"), err));
    for (size_t i = 0; i < list->paths.cnt; i++)
        SL_TRY(write_into_folder(opts, exporter, list->paths.at[i], err));
    return SL_OK;
}

/* No format holds several recordings, so a run of several processes needs a folder. */
static sl_status write_one(const sl_opts *opts, const char *path, const sl_exporter *exporter,
                           const sl_recordings *list, sl_error *err) {
    const char *recording;
    sl_inputs inputs;
    if (sl_recordings_one(list, path, &recording, err) < 0)
        return sl_fail(err, SL_E_USAGE,
                       "'%s' contains %zu recordings, but '%s' can hold only one; give a folder "
                       "with -o (%s/), or one recording",
                       path, list->paths.cnt, exporter->name,
                       sl_opts_text(opts, "output") ? sl_opts_text(opts, "output") : "DIR");
    SL_TRY(sl_inputs_load(&inputs, &recording, 1, err));
    sl_status status =
        write_input(opts, exporter, &inputs.run->inputs[0], sl_opts_text(opts, "output"), err);
    sl_inputs_fini(&inputs);
    return status;
}

/* ---- bundles ---- */

static void tell_path(void *self, const char *path) {
    SL_UNUSED(self);
    printf("%s\n", path);
}

/* Bundles that exist already count as written. */
static sl_status write_bundles(const sl_opts *opts, const char *path, const sl_recordings *list,
                               sl_error *err) {
    sl_oom_bundles_result sum = {0}, result = {0};
    for (size_t i = 0; i < list->paths.cnt; i++) {
        SL_TRY(sl_oom_bundles_write_all(list->paths.at[i], sl_opts_text(opts, "output"), tell_path,
                                        NULL, &result, err));
        sum.written_cnt += result.written_cnt;
        sum.present_cnt += result.present_cnt;
        sum.beyond_cnt += result.beyond_cnt;
    }
    if (sum.beyond_cnt)
        sl_cli_complain("note: %zu failed request%s got no bundle: at most %d are written per "
                        "recording, if it still has the events",
                        sum.beyond_cnt, sl_plural(sum.beyond_cnt), SL_OOM_BUNDLES_MAX);
    if (sum.written_cnt == 0 && sum.present_cnt == 0 && sum.beyond_cnt)
        return sl_fail(
            err, SL_E_LAPPED,
            "no bundle to write: the events of the failed requests in '%s' were overwritten", path);
    if (sum.written_cnt == 0 && sum.present_cnt == 0)
        return sl_fail(err, SL_E_FORMAT, "no bundle to write: no request for memory failed in '%s'",
                       path);
    return SL_OK;
}

static int run(const sl_opts *opts, sl_error *err) {
    const sl_exporter *exporter = sl_exporter_find(sl_opts_text(opts, "to"));
    sl_recordings list;
    sl_path_span paths;
    SL_TRY(check_options(opts, exporter, err));
    SL_TRY(sl_latest_or_operands(opts, &paths, err));
    if (sl_opts_is_given(opts, "push"))
        return sl_push_out(opts, exporter, paths, err);
    if (exporter->wants & SL_EXPORT_TABLE)
        return sl_table_out_write(opts, exporter, paths, err);
    if (paths.cnt > 1)
        return sl_fail(
            err, SL_E_USAGE,
            "'%s' takes one PATH, but %zu were given; only 'jsonl' and 'csv' hold several",
            exporter->name, paths.cnt);
    const char *path = paths.at[0];
    SL_TRY(sl_recordings_find(&list, path, SL_FIND_INPUTS, err));
    sl_left_out_say(&list.left_out, path);
    sl_status status = exporter->wants & SL_EXPORT_FOLDER ? write_bundles(opts, path, &list, err)
                       : is_folder(sl_opts_text(opts, "output"))
                           ? write_each(opts, exporter, &list, err)
                           : write_one(opts, path, exporter, &list, err);
    sl_recordings_fini(&list);
    return status;
}

#define KIND_CHOICE(name, extension, help, wants, write) "|" name
#define KIND_HELP(name, extension, help, wants, write)   " " name " (" help ");"

static const sl_opt options[] = {
    {.name = "to",
     .short_name = 't',
     .type = SL_OPT_CHOICE,
     .metavar = "KIND",
     .choices = SL_EXPORTER_MAP(KIND_CHOICE) + 1,
     .initial = "snapshot",
     .help = "output format:" SL_EXPORTER_MAP(KIND_HELP)},
    {.name = "output",
     .short_name = 'o',
     .type = SL_OPT_FILE,
     .metavar = "FILE|DIR",
     .help = "write to FILE, atomically, or into the folder DIR (default: standard output)"},
    SL_SHARED_DEVICE,
    SL_SHARED_SINCE,
    SL_SHARED_UNTIL,
    {.name = "at",
     .type = SL_OPT_TIME,
     .initial = "end",
     .help = "moment shown by 'folded' and 'pprof': end (of the work), exit (the last event), "
             "peak, step:12, 90s (after the start), -10s (before the end)"},
    {.name = "every",
     .type = SL_OPT_DURATION,
     .help = "time between telemetry samples (default: 2,000 samples over the whole recording), or "
             "length of a pushed profile (default: one of the whole recording)"},
    {.name = "push",
     .type = SL_OPT_STRING,
     .metavar = "URL",
     .help = "send the 'pprof' profiles to this Pyroscope server instead of writing them"},
    {.name = "service",
     .type = SL_OPT_STRING,
     .metavar = "NAME",
     .initial = "stormlog",
     .help = "service_name of pushed profiles"},
    {.name = "label",
     .type = SL_OPT_STRING,
     .metavar = "KEY=VALUE",
     .is_repeated = true,
     .help = "one more label of pushed profiles, such as release=1.4 (repeatable)"},
    {.name = "token-file",
     .type = SL_OPT_FILE,
     .metavar = "FILE",
     .help = "send the first line of FILE as bearer token with pushed profiles"},
    SL_NET_CA_FILE,
    SL_NET_TRIES,
};

const sl_cmd sl_cmd_export = {
    .name = "export",
    .operands = "[PATH...]",
    .operand_min = 0,
    .operand_max = SL_OPERANDS_ANY,
    .summary = "convert an input to the format of another program",
    .description =
        "A snapshot opens in PyTorch's own viewer (pytorch.org/memory_viz) and with pickle.load. "
        "That viewer does not support host memory, so a recording that has only host memory is "
        "written as device 0. Folded stacks open in flamegraph.pl, inferno or speedscope; "
        "speedscope's own format has peak, end and growth in one file. A pprof profile opens with "
        "'go tool pprof', a perfetto trace in ui.perfetto.dev. Telemetry fields that the input "
        "does not have are written as unknown, never guessed.\n\n"
        "'jsonl' and 'csv' are one table of all recordings of the PATHs, with a row for each step, "
        "rank, device and line of code: docs/tables.md has its columns and the queries for DuckDB, "
        "ClickHouse and Spark.\n\n"
        "With --push, profiles go to Pyroscope's /ingest: one for each process and device, or with "
        "--every one for each such part of time, with the live bytes at its highest moment and "
        "what "
        "was allocated in it. Their labels are Hostname, job, rank, local_rank, gpu or device, and "
        "those of --label. See docs/engines.md.\n\n"
        "A file of any other kind holds one recording. If -o is a folder (an existing one, or a "
        "name that ends in "
        "/), each recording of a run folder becomes a file in it with the same name; otherwise a "
        "run folder with several recordings is refused. 'oom-bundle' writes <recording>.oom-<n> "
        "into the folder of -o, or next to the recording, for each of the first 8 failed requests; "
        "existing bundles are kept. Without a PATH, the latest run in this folder is converted.",
    .examples = "stormlog export snap.pickle --to folded --at peak -o peak.folded\n"
                "stormlog export run.slog --to snapshot -o snap.pickle\n"
                "stormlog export run.slog --to perfetto -o run.pftrace\n"
                "stormlog export stormlog-runs/latest --to snapshot -o snapshots/\n"
                "  one file for each process\n"
                "stormlog export stormlog-runs/latest --to csv -o steps.csv\n"
                "  one table of all processes, for DuckDB, ClickHouse or Spark\n"
                "stormlog export latest --to pprof --push http://localhost:4040 --every 10s\n"
                "  memory by line in Pyroscope, for each 10 s of each rank\n"
                "stormlog export run.slog --to oom-bundle\n"
                "  the evidence of each failed request, beside the recording\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
