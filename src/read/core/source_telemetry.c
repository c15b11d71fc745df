/* SPDX-License-Identifier: MIT */
/* Telemetry files as a source of traces: the samples, and one device part for each device seen. */
#include "base/text/human.h"
#include "read/core/source.h"
#include "read/core/source_bundle.h"
#include "telemetry/telemetry.h"
#include "telemetry/telemetry_read.h"

sl_status sl__tm_attach(sl_trace *trace, sl_telemetry *set, sl_error *err) {
    trace->telemetry = set;
    trace->has_time = true;
    for (size_t i = 0; i < set->records.cnt; i++) {
        const sl_tm_record *r = &set->records.at[i];
        bool is_new = i == 0 || r->device_id != set->records.at[i - 1].device_id;
        if (!is_new && r->total_bytes == SL_TM_NULL)
            continue;
        sl_device_trace *device = sl_trace_device(trace, r->device_id);
        if (!device)
            return sl_fail_no_memory(err, "a device");
        if (r->total_bytes > 0)
            device->capacity_bytes = sl_known_u64((uint64_t)r->total_bytes);
    }
    if (set->legacy_cnt)
        sl_trace_note(trace, "converted %llu record%s without a schema_version",
                      (unsigned long long)set->legacy_cnt, sl_plural(set->legacy_cnt));
    if (set->skipped_cnt)
        sl_trace_note(trace, "skipped %llu bad record%s", (unsigned long long)set->skipped_cnt,
                      sl_plural(set->skipped_cnt));
    return SL_OK;
}

static int probe(const unsigned char *head, size_t len, const char *path) {
    SL_UNUSED(path);
    return sl_telemetry_probe(head, len);
}

static sl_status load(const sl_source_input *input, sl_trace *trace, sl_error *err) {
    sl_telemetry *set = sl_telemetry_new();
    if (!set)
        return sl_fail_no_memory(err, "telemetry records");
    sl_tm_load_options options = {.skips_bad = input->options->skips_bad};
    sl_status status = sl_telemetry_read(input->in, &options, set, err);
    if (status < 0) {
        sl_telemetry_free(set);
        return status;
    }
    return sl__tm_attach(trace, set, err);
}

const sl_source_ops sl_source_telemetry = {
    .name = "telemetry",
    .kind = SL_SOURCE_TELEMETRY,
    .probe = probe,
    .load = load,
};
