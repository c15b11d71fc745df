/* SPDX-License-Identifier: MIT */
/* Looking things up in the counters of a trace. Between two readings the earlier one holds; before
 * the first one nothing is known. */
#ifndef SL_COUNTER_SERIES_H
#define SL_COUNTER_SERIES_H

#include "model/trace.h"

/* Names of counters as the readers give them. Those of libraries have the library after it. */
#define SL_SERIES_ALLOCATED       "allocated"
#define SL_SERIES_RESERVED        "reserved"
#define SL_SERIES_DEVICE_USED     "device_used"
#define SL_SERIES_DEVICE_TOTAL    "device_total"
#define SL_SERIES_PROCESS_USED    "process_used"
#define SL_SERIES_OTHER_PROCESSES "other_processes"
#define SL_SERIES_DRIVER_RESERVED "driver_reserved"
#define SL_SERIES_LIBRARY         "library:"

/* NULL when there is none. */
const sl_counter_series *sl_series_find(const sl_trace *trace, int device, const char *name);

/* The library of a SL_SERIES_LIBRARY counter; empty for every other. */
sl_str sl_series_library(const sl_trace *trace, const sl_counter_series *series);

/* Whether PyTorch's allocator may have taken its segments through this library. */
bool sl_library_serves_allocator(sl_str library);

/* The value that held at this time; NULL as a series is fine and unknown. */
sl_maybe_u64 sl_series_at(const sl_counter_series *series, int64_t time_us);

/* The newest value; unknown where the counter could not be read any more at the end. */
sl_maybe_u64 sl_series_last(const sl_counter_series *series);

/* The lowest and the highest value that held anywhere between the two times. False when none is
 * known. */
bool sl_series_range(const sl_counter_series *series, int64_t from_us, int64_t to_us, uint64_t *low,
                     uint64_t *high);

/* Index of the last reading that began at or before this time; SIZE_MAX = none. */
size_t sl_series_find_reading(const sl_counter_series *series, int64_t time_us);

#endif
