/* SPDX-License-Identifier: MIT
 *
 * A recording that a test wrote by hand, read back as a trace.
 */
#ifndef SL_SLOG_LOAD_H
#define SL_SLOG_LOAD_H

#include "log/write/log_writer.h"
#include "read/core/source.h"
#include "sltest.h"

/* Closes the log; the caller frees the trace. */
static inline sl_trace *close_and_load(sl_log *log, const char *path) {
    sl_trace *trace = NULL;
    sl_error err = SL_ERROR_INIT;
    sl_log_close(log);
    if (sl_trace_load(path, NULL, &trace, &err) < 0)
        fail_msg("%s", err.text);
    return trace;
}

#endif
