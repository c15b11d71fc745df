/* SPDX-License-Identifier: MIT */
/* The largest sizes and times that an input may have. Traces are checked against them in model/bounds.c,
 * telemetry records in telemetry/telemetry_bounds.c, once; all later stages add, subtract and scale
 * without checks because of them.
 *
 * (B1) A size is at most SL_BYTES_MAX. No card and no process has so much memory.
 * (B2) The sizes of one device add up to at most SL_BYTES_SUM_MAX, so the sum of any subset is a
 *      positive int64_t.
 * (B3) A time is at most SL_TIME_US_MAX before or after 0. Then the difference of two times fits,
 *      nanoseconds fit into an int64_t, and the page's JavaScript numbers hold it exactly. */
#ifndef SL_LIMITS_H
#define SL_LIMITS_H

#include <stdint.h>

#define SL_BYTES_MAX     (UINT64_C(1) << 50) /* 1 PiB */
#define SL_BYTES_SUM_MAX (UINT64_C(1) << 62) /* 4 EiB */
#define SL_TIME_US_MAX   (INT64_C(1) << 53)  /* 285 years; around 1970: until 2255 */

/* Devices that snapshots and traces number: 0 to SL_DEVICE_LIMIT - 1. */
#define SL_DEVICE_LIMIT 4096

#endif
