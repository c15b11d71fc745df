/* SPDX-License-Identifier: MIT */
/* A series of readings as a trace (telemetry_series.c). */
#include "read/core/source.h"
#include "read/core/source_bundle.h"
#include "telemetry/telemetry_read.h"

static sl_status load(const sl_source_input *input, sl_trace *trace, sl_error *err) {
    sl_telemetry *set = sl_telemetry_new();
    if (!set)
        return sl_fail_no_memory(err, "telemetry records");
    sl_status status = sl_telemetry_read_series(input->in, set, err);
    if (status < 0) {
        sl_telemetry_free(set);
        return status;
    }
    sl_trace_note(trace,
                  "the file does not name a device, so its readings are shown as host memory");
    return sl__tm_attach(trace, set, err);
}

static int probe(const unsigned char *head, size_t len, const char *path) {
    SL_UNUSED(path);
    return sl_telemetry_probe_series(head, len);
}

const sl_source_ops sl_source_series = {
    .name = "series",
    .kind = SL_SOURCE_TELEMETRY,
    .probe = probe,
    .load = load,
};
