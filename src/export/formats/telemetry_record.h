/* SPDX-License-Identifier: MIT */
/* The 22 fields of a telemetry v2 record, in the order in which they are written, and the walk
 * that makes such records from a trace. */
#ifndef SL_TELEMETRY_RECORD_H
#define SL_TELEMETRY_RECORD_H

#include "export/formats/exporter.h"
#include "telemetry/telemetry.h"

/* One record; what a trace does not know of its process is written as the schema's unknown. */
typedef struct sl_telemetry_record {
    const sl_process *process; /* of the trace */
    int64_t time_us;
    const char *event_type;
    uint64_t interval_ms;
    int device;
    uint64_t allocated_bytes, reserved_bytes;
    sl_maybe_u64 active_bytes, inactive_bytes;
    int64_t change_bytes;
    uint64_t used_bytes;
    sl_maybe_u64 free_bytes, total_bytes;
    const char *context;          /* NULL = null */
    uint64_t requested_bytes;     /* metadata */
    uint64_t max_allocated_bytes; /* since the record before; metadata */
    bool reserved_is_known;       /* metadata; else reserved repeats allocated */
} sl_telemetry_record;

/* What takes the records: a JSON array or CSV lines. */
typedef struct sl_telemetry_sink {
    void (*put)(void *self, const sl_telemetry_record *record);
    void *self;
} sl_telemetry_sink;

/* Makes the records of every wanted device, in order of time within a device. SL_E_USAGE when the
 * input has no clock, because the schema's time is a wall clock. */
sl_status sl_telemetry_walk(const sl_run_input *input, const sl_export_options *options,
                            const sl_telemetry_sink *sink, sl_error *err);

/* The record in the schema's form; its texts go into the set. */
sl_status sl_telemetry_convert(sl_telemetry *set, const sl_telemetry_record *record,
                               sl_tm_record *out, sl_error *err);

#endif
