/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "export/exporter.h"

const sl_exporter sl_exporters[] = {
    {"snapshot", "pickle", "a PyTorch memory snapshot, for its viewer and for pickle.load", false,
     false, true, sl_export_snapshot},
    {"events-json", "json", "every event with its stack, as JSON", true, false, false,
     sl_export_events_json},
    {"folded", "folded", "live bytes by stack at one instant, for flame graphs", false, true, false,
     sl_export_folded},
    {"telemetry-json", "json", "telemetry v2 records (22 fields) as a JSON array", true, false,
     false, sl_export_telemetry_json},
    {"telemetry-csv", "csv", "the same records as CSV", true, false, false,
     sl_export_telemetry_csv},
};
const size_t sl_exporter_cnt = SL_COUNT_OF(sl_exporters);

const sl_exporter *sl_exporter_find(const char *name) {
    for (size_t i = 0; i < sl_exporter_cnt; i++)
        if (strcmp(sl_exporters[i].name, name) == 0)
            return &sl_exporters[i];
    return NULL;
}

bool sl_export_wants_device(const sl_export_options *options, int device) {
    return !options->has_device || options->device == device;
}

bool sl_export_wants_time(const sl_export_options *options, int64_t time_us) {
    return (!options->has_since || time_us >= options->since_us) &&
           (!options->has_until || time_us <= options->until_us);
}

sl_status sl_export_finish(FILE *to, sl_error *err) {
    if (fflush(to) != 0 || ferror(to))
        return sl_fail_errno(err, SL_E_WRITE, "cannot write the export");
    return SL_OK;
}
