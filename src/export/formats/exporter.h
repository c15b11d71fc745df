/* SPDX-License-Identifier: MIT */
/* Inputs of a run written in the formats of other programs. To add one, write export_<name>.c with one
 * function and add a row below: the table, the option's choices and the help come from it. */
#ifndef SL_EXPORTER_H
#define SL_EXPORTER_H

#include <stdio.h>

#include "run/intervals.h"
#include "run/moment.h"

/* name, extension, help, what it takes (sl_export_wants), function. */
#define SL_EXPORTER_MAP(X)                                                                       \
    X("snapshot", "pickle", "a PyTorch memory snapshot", SL_EXPORT_BINARY, sl_export_snapshot)   \
    X("events-json", "json", "every event with its stack", SL_EXPORT_WINDOW,                     \
      sl_export_events_json)                                                                     \
    X("folded", "folded", "live bytes by stack, for flame graphs", SL_EXPORT_INSTANT,            \
      sl_export_folded)                                                                          \
    X("speedscope", "speedscope.json", "live bytes by stack: peak, end, growth", SL_EXPORT_TEXT, \
      sl_export_speedscope)                                                                      \
    X("pprof", "pb.gz", "live and allocated bytes by stack, for pprof",                          \
      SL_EXPORT_INSTANT | SL_EXPORT_BINARY, sl_export_pprof)                                     \
    X("perfetto", "pftrace", "counters, steps and marks over time, for ui.perfetto.dev",         \
      SL_EXPORT_WINDOW | SL_EXPORT_BINARY, sl_export_perfetto)                                   \
    X("prometheus", "prom", "totals and the largest lines of code as metrics", SL_EXPORT_TEXT,   \
      sl_export_prometheus)                                                                      \
    X("steps-csv", "csv", "live and peak bytes of every step, as a table", SL_EXPORT_TEXT,       \
      sl_export_steps_csv)                                                                       \
    X("telemetry-json", "json", "telemetry v2 records of 22 fields", SL_EXPORT_WINDOW,           \
      sl_export_telemetry_json)                                                                  \
    X("telemetry-csv", "csv", "the same records as CSV", SL_EXPORT_WINDOW,                       \
      sl_export_telemetry_csv)                                                                   \
    X("telemetry-jsonl", "jsonl", "the same records, one per line", SL_EXPORT_WINDOW,            \
      sl_export_telemetry_lines)                                                                 \
    X("jsonl", "jsonl", "a table of steps, ranks and lines of code, one object per line",        \
      SL_EXPORT_WINDOW | SL_EXPORT_TABLE, sl_export_table_lines)                                 \
    X("csv", "csv", "the same table as CSV", SL_EXPORT_WINDOW | SL_EXPORT_TABLE,                 \
      sl_export_table_csv)                                                                       \
    X("oom-bundle", "", "a folder with the evidence of each failed request", SL_EXPORT_FOLDER, NULL)

/* Which options mean something to a format, and what it is; bits. */
typedef enum sl_export_wants {
    SL_EXPORT_TEXT = 0,
    SL_EXPORT_WINDOW = 1,  /* since and until */
    SL_EXPORT_INSTANT = 2, /* at */
    SL_EXPORT_BINARY = 4,  /* not for a terminal */
    SL_EXPORT_FOLDER = 8,  /* not one file: api/oom_bundles.h writes it, write is NULL */
    SL_EXPORT_TABLE = 16,  /* one output holds the rows of many inputs */
} sl_export_wants;

/* Zero-initialised is the default of everything. Times are those of the trace's own clock. */
typedef struct sl_export_options {
    bool has_device;
    int device; /* only this one */
    bool has_since, has_until;
    int64_t since_us, until_us; /* events outside are skipped */
    sl_moment at;               /* for formats that show one moment */
    /* pprof: instead of `at`, the highest moment of this part, and what was allocated in it; may be NULL. Its
     * events are those of has_device. */
    const sl_interval *interval;
    int64_t every_us; /* spacing of samples, 0 = as many as make a useful curve */
    /* Of a table: */
    const char *run;   /* the name of the run; NULL = not known */
    const char *role;  /* of the process among those of its run; NULL = as the input alone shows */
    bool is_continued; /* there are rows of another input before */
} sl_export_options;

typedef struct sl_exporter {
    const char *name;
    const char *extension;
    const char *help;
    unsigned wants; /* sl_export_wants */
    sl_status (*write)(const sl_run_input *input, const sl_export_options *options, FILE *to,
                       sl_error *err);
} sl_exporter;

extern const sl_exporter sl_exporters[];
extern const size_t sl_exporter_cnt;

/* NULL when there is no such format. */
const sl_exporter *sl_exporter_find(const char *name);

sl_status sl_export_events_json(const sl_run_input *input, const sl_export_options *options,
                                FILE *to, sl_error *err);
sl_status sl_export_folded(const sl_run_input *input, const sl_export_options *options, FILE *to,
                           sl_error *err);
sl_status sl_export_perfetto(const sl_run_input *input, const sl_export_options *options, FILE *to,
                             sl_error *err);
sl_status sl_export_pprof(const sl_run_input *input, const sl_export_options *options, FILE *to,
                          sl_error *err);
sl_status sl_export_prometheus(const sl_run_input *input, const sl_export_options *options,
                               FILE *to, sl_error *err);
sl_status sl_export_snapshot(const sl_run_input *input, const sl_export_options *options, FILE *to,
                             sl_error *err);
sl_status sl_export_speedscope(const sl_run_input *input, const sl_export_options *options,
                               FILE *to, sl_error *err);
sl_status sl_export_steps_csv(const sl_run_input *input, const sl_export_options *options, FILE *to,
                              sl_error *err);
sl_status sl_export_table_csv(const sl_run_input *input, const sl_export_options *options, FILE *to,
                              sl_error *err);
sl_status sl_export_table_lines(const sl_run_input *input, const sl_export_options *options,
                                FILE *to, sl_error *err);
sl_status sl_export_telemetry_json(const sl_run_input *input, const sl_export_options *options,
                                   FILE *to, sl_error *err);
sl_status sl_export_telemetry_csv(const sl_run_input *input, const sl_export_options *options,
                                  FILE *to, sl_error *err);

sl_status sl_export_telemetry_lines(const sl_run_input *input, const sl_export_options *options,
                                    FILE *to, sl_error *err);

/* ---- shared by the formats ---- */

/* True when the options select this device. */
bool sl_export_wants_device(const sl_export_options *options, int device);

/* True when the options select this moment. */
bool sl_export_wants_time(const sl_export_options *options, int64_t time_us);

/* SL_E_FORMAT for an input of samples: it has no allocations recorded, which must not look as if
 * there were none. */
sl_status sl_export_check_events(const sl_run_input *input, const char *format, sl_error *err);

/* SL_OK, or SL_E_WRITE when the stream failed at any time. */
sl_status sl_export_finish(FILE *to, sl_error *err);

#endif
