/* SPDX-License-Identifier: MIT */
/* The largest sizes and times an input may hold. Every reader passes through these two functions
 * once, when a trace is complete or a telemetry record is; all later stages add, subtract and scale
 * without checks because of them.
 *
 * (B1) A size is at most SL_BYTES_MAX. No card and no process has so much memory.
 * (B2) The sizes of one device add up to at most SL_BYTES_SUM_MAX, so the sum of any subset is a
 *      positive int64_t.
 * (B3) A time is at most SL_TIME_US_MAX before or after 0. Then the difference of two times fits,
 *      nanoseconds fit into an int64_t, and the page's JavaScript numbers hold it exactly. */
#ifndef SL_BOUNDS_H
#define SL_BOUNDS_H

#include "base/status.h"

struct sl_trace;
struct sl_tm_record;

#define SL_BYTES_MAX     (UINT64_C(1) << 50) /* 1 PiB */
#define SL_BYTES_SUM_MAX (UINT64_C(1) << 62) /* 4 EiB */
#define SL_TIME_US_MAX   (INT64_C(1) << 53)  /* 285 years; around 1970: until 2255 */

/* Devices that snapshots and traces number: 0 to SL_DEVICE_LIMIT - 1. */
#define SL_DEVICE_LIMIT 4096

/* SL_E_LIMIT names the place in the input, what was expected and what was found. */
sl_status sl_trace_check_bounds(const struct sl_trace *trace, sl_error *err);

/* The same for one telemetry record; names the field. */
sl_status sl_tm_check_bounds(const struct sl_tm_record *record, sl_error *err);

#endif
