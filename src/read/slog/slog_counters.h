/* SPDX-License-Identifier: MIT */
/* What a recording holds beside its events: the curves of its counters, its alerts, and the bytes
 * that each library had from the driver, which is made of the events. Internal to source_slog.c. */
#ifndef SL_SLOG_COUNTERS_H
#define SL_SLOG_COUNTERS_H

#include "log/read/log_reader.h"
#include "model/addr_map.h"
#include "model/trace.h"

/* A time of the log on the clock of the trace. */
static inline int64_t sl_slog_time_us(const sl_log_reader *log, uint64_t time_ns) {
    return (int64_t)(sl_log_header(log)->start_wall_ns / 1000 + time_ns / 1000);
}

/* Every curve of the log as a series of the trace. */
sl_status sl_slog_load_curves(sl_log_reader *log, sl_trace *trace, sl_error *err);

sl_status sl_slog_load_alerts(sl_log_reader *log, sl_trace *trace, sl_error *err);

/* The libraries' bytes while the events are read. Zero-initialised is empty. */
typedef struct sl_slog_libraries {
    SL_VEC(sl_counter_series) series; /* values count from the first event on until finished */
    SL_VEC(uint64_t) end_bytes;       /* by series, from the totals; made at the end */
    sl_addr_map owners;               /* block of the driver -> index into series */
    int64_t first_us;                 /* of the first event of all */
    bool has_first;
} sl_slog_libraries;

/* Takes every event in order; false when memory ran out. */
bool sl_slog_libraries_add(sl_slog_libraries *libraries, sl_log_reader *log, sl_trace *trace,
                           const sl_log_record *record);

/* Moves the series into the trace. Where events were lost, the totals at the end tell what the
 * libraries had before the first event that is left. */
sl_status sl_slog_libraries_finish(sl_slog_libraries *libraries, sl_log_reader *log,
                                   sl_trace *trace, const sl_log_tables *tables, uint64_t lost,
                                   sl_error *err);

void sl_slog_libraries_fini(sl_slog_libraries *libraries);

#endif
