/* SPDX-License-Identifier: MIT */
/* Checks a trace against the largest sizes and times that an input may have (base/core/limits.h).
 * Every reader passes through here once, when its trace is complete. */
#ifndef SL_BOUNDS_H
#define SL_BOUNDS_H

#include "base/core/limits.h"
#include "base/core/status.h"

struct sl_trace;

/* SL_E_LIMIT names the place in the input, what was expected and what was found. */
sl_status sl_trace_check_bounds(const struct sl_trace *trace, sl_error *err);

#endif
