/* SPDX-License-Identifier: MIT */
/* Time to out of memory of a device, from a recording that is still written: analyze/forecast/forecast.h asked with
 * its curves, steps, counters and live blocks. Reads the file only, so the recorded process is never disturbed.
 * One thread per reader. Costs about what reading three curves costs; the live blocks are read only when
 * something is forecast, for the line of code. */
#ifndef SL_LIVE_FORECAST_H
#define SL_LIVE_FORECAST_H

#include "analyze/forecast/forecast.h"
#include "log/read/log_reader.h"

#define SL_LIVE_PLACE_CAP 200

typedef struct sl_live_forecast {
    int device;
    sl_forecast forecast;
    char line
        [SL_LIVE_PLACE_CAP]; /* "train.py:41", the line of the tensors that grew the most in the window; empty = not known */
    sl_maybe_u64 line_bytes;    /* by how much */
    sl_maybe_u64 process_limit; /* of what the allocator may reserve, where one is known */
} sl_live_forecast;

/* The reader was opened or refreshed just now, and its names are loaded. `tables` may be NULL: they are then loaded when they are needed.
 * Devices without a forecast are SL_OK, too: forecast.is_expected is false. */
sl_status sl_live_forecast_read(sl_log_reader *reader, const sl_log_counters *counters,
                                const sl_log_tables *tables, int device, sl_live_forecast *out,
                                sl_error *err);

/* What the allocator may reserve on a device: its setting per_process_memory_fraction, or what a request that failed
 * although the card had room has shown. Unknown where there is neither. */
sl_maybe_u64 sl_live_process_limit(sl_log_reader *reader, const sl_log_counters *counters,
                                   int device);

/* The newest value of a counter; `name` of model/counter_series.h. */
sl_maybe_u64 sl_live_counter(const sl_log_reader *reader, const sl_log_counters *counters,
                             int device, const char *name);

/* Bytes of a device that nobody has. */
sl_maybe_u64 sl_live_device_free(const sl_log_reader *reader, const sl_log_counters *counters,
                                 int device);

#endif
