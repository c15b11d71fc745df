/* SPDX-License-Identifier: MIT */
/* Stacks of a recording -> stacks of a trace. */
#ifndef SL_SLOG_STACK_H
#define SL_SLOG_STACK_H

#include "log/read/log_reader.h"
#include "model/trace.h"

/* The trace's id of a stack of the log, new or old; its names must be loaded. SL_STACK_NONE when memory ran
 * out, SL_STACK_EMPTY for 0. */
uint32_t sl_slog_take_stack(const sl_log_reader *log, sl_trace *trace, uint32_t stack);

#endif
