/* SPDX-License-Identifier: MIT */
/* Traces written in the formats of other programs. To add one, write export_<name>.c with one
 * function and add a row below: the table, the option's choices and the help come from it. */
#ifndef SL_EXPORTER_H
#define SL_EXPORTER_H

#include <stdio.h>

#include "model/trace.h"

/* name, extension, help, takes_window, takes_instant, is_binary, function. */
#define SL_EXPORTER_MAP(X)                                                                       \
    X("snapshot", "pickle", "a PyTorch memory snapshot", false, false, true, sl_export_snapshot) \
    X("events-json", "json", "every event with its stack", true, false, false,                   \
      sl_export_events_json)                                                                     \
    X("folded", "folded", "live bytes by stack, for flame graphs", false, true, false,           \
      sl_export_folded)                                                                          \
    X("telemetry-json", "json", "telemetry v2 records of 22 fields", true, false, false,         \
      sl_export_telemetry_json)                                                                  \
    X("telemetry-csv", "csv", "the same records as CSV", true, false, false,                     \
      sl_export_telemetry_csv)                                                                   \
    X("telemetry-jsonl", "jsonl", "the same records, one a line", true, false, false,            \
      sl_export_telemetry_lines)

typedef enum sl_export_at {
    SL_EXPORT_AT_END = 0,
    SL_EXPORT_AT_PEAK,
    SL_EXPORT_AT_TIME
} sl_export_at;

/* Zero-initialised is the default of everything. Times are those of the trace's own clock. */
typedef struct sl_export_options {
    bool has_device;
    int device; /* only this one */
    bool has_since, has_until;
    int64_t since_us, until_us; /* events outside are left out */
    sl_export_at at;            /* the instant, for formats that show one */
    int64_t at_time_us;
    int64_t every_us; /* spacing of samples, 0 = as many as make a useful curve */
} sl_export_options;

typedef struct sl_exporter {
    const char *name;
    const char *extension;
    const char *help;
    bool takes_window; /* since and until mean something */
    bool takes_instant;
    bool is_binary; /* not for a terminal */
    sl_status (*write)(const sl_trace *trace, const sl_export_options *options, FILE *to,
                       sl_error *err);
} sl_exporter;

extern const sl_exporter sl_exporters[];
extern const size_t sl_exporter_cnt;

/* NULL when there is no such format. */
const sl_exporter *sl_exporter_find(const char *name);

sl_status sl_export_events_json(const sl_trace *trace, const sl_export_options *options, FILE *to,
                                sl_error *err);
sl_status sl_export_folded(const sl_trace *trace, const sl_export_options *options, FILE *to,
                           sl_error *err);
sl_status sl_export_snapshot(const sl_trace *trace, const sl_export_options *options, FILE *to,
                             sl_error *err);
sl_status sl_export_telemetry_json(const sl_trace *trace, const sl_export_options *options,
                                   FILE *to, sl_error *err);
sl_status sl_export_telemetry_csv(const sl_trace *trace, const sl_export_options *options, FILE *to,
                                  sl_error *err);

sl_status sl_export_telemetry_lines(const sl_trace *trace, const sl_export_options *options,
                                    FILE *to, sl_error *err);

/* ---- shared by the formats ---- */

/* True when the options let this device through. */
bool sl_export_wants_device(const sl_export_options *options, int device);

/* True when the options let this moment through. */
bool sl_export_wants_time(const sl_export_options *options, int64_t time_us);

/* SL_OK, or SL_E_WRITE when the stream failed at any time. */
sl_status sl_export_finish(FILE *to, sl_error *err);

#endif
