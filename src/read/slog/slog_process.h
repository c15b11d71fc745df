/* SPDX-License-Identifier: MIT */
/* Who a recording is of. It takes the head and the names of the file, not its events, so a view that is drawn
 * every second can ask for it. */
#ifndef SL_SLOG_PROCESS_H
#define SL_SLOG_PROCESS_H

#include "log/read/log_reader.h"
#include "model/trace.h"

/* Fills trace->process. The names of the log are loaded. SL_E_NOMEM. */
sl_status sl_slog_load_process(const sl_log_reader *log, sl_trace *trace, sl_error *err);

#endif
