/* SPDX-License-Identifier: MIT */
/* The options that the watching commands share, and where their records go. */
#ifndef SL_WATCH_OPTIONS_H
#define SL_WATCH_OPTIONS_H

#include <stdio.h>

#include "base/core/options.h"
#include "memprof/watch/watch.h"
#include "telemetry/telemetry_out.h"

#define SL_WATCH_PID_OPTION                                                          \
    {                                                                                \
        .name = "pid", .type = SL_OPT_INT, .min = 1, .max = INT32_MAX,               \
        .help = "watch this process and its children, instead of a command after --" \
    }

#define SL_WATCH_INTERVAL_OPTION(seconds)                            \
    {                                                                \
        .name = "interval", .type = SL_OPT_REAL, .initial = seconds, \
        .help = "seconds between samples"                            \
    }

/* Where the records of the gpumemprof commands go. */
#define SL_WATCH_OUTPUT_OPTIONS                                                           \
    {.name = "output", .type = SL_OPT_FILE, .help = "write the records to this file"}, {  \
        .name = "format", .type = SL_OPT_CHOICE, .choices = "csv|json", .initial = "csv", \
        .help = "format of that file"                                                     \
    }

#define SL_WATCH_IDENTITY_OPTIONS                                                            \
    {.name = "job-id",                                                                       \
     .type = SL_OPT_STRING,                                                                  \
     .help = "name of the job, if there are several ranks"},                                 \
        {.name = "rank", .type = SL_OPT_INT, .help = "rank of the watched process"},         \
        {.name = "local-rank", .type = SL_OPT_INT, .help = "local rank, on this machine"}, { \
        .name = "world-size", .type = SL_OPT_INT, .help = "number of ranks"                  \
    }

/* --interval, --duration, --pid and the command; SL_E_USAGE when the interval is not positive or
 * both a process and a command are given. The caller frees *command. */
sl_status sl_watch_read_options(const sl_opts *opts, sl_watch_options *out, char ***command,
                                sl_error *err);

/* The four identity options, and the launcher's environment variables. */
sl_status sl_watch_read_identity(const sl_opts *opts, sl_identity *out, sl_error *err);

/* The file of the records. While the watch runs, they are written as JSON lines to a file beside
 * it, so that they survive if the watcher is killed; at the end they become the file in the
 * requested form. */
typedef struct sl_watch_log {
    const char *path; /* borrowed; NULL = nothing is written */
    char part_path[1100];
    FILE *part;
    sl_tm_out out;
} sl_watch_log;

sl_status sl_watch_log_open(sl_watch_log *log, const char *path, sl_error *err);
void sl_watch_log_put(sl_watch_log *log, const sl_telemetry *set, const sl_tm_record *record);
/* Writes the file and creates its parent folders. */
sl_status sl_watch_log_finish(sl_watch_log *log, sl_tm_form form, sl_error *err);
/* Reads the records back. */
sl_status sl_watch_log_load(sl_watch_log *log, sl_telemetry *set, sl_error *err);
/* Removes the file of JSON lines. */
void sl_watch_log_close(sl_watch_log *log);

#endif
