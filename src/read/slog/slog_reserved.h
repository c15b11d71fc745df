/* SPDX-License-Identifier: MIT */
/* The allocator's reserved total as events of the trace, from its curve: a bin knows least, largest
 * and last, but not their moments. The moments come from what PyTorch's libraries took from the
 * driver and returned, as long as those events are in the ring. */
#ifndef SL_SLOG_RESERVED_H
#define SL_SLOG_RESERVED_H

#include "log/read/log_reader.h"
#include "model/trace.h"

/* Adds them for every device whose events have no segments; sorts the events. After the libraries' curves. */
sl_status sl_slog_add_reserved(sl_log_reader *log, sl_trace *trace, sl_error *err);

#endif
