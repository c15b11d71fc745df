/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "export/formats/exporter.h"

const sl_exporter sl_exporters[] = {
#define EXPORTER_ROW(name, extension, help, wants, write) {name, extension, help, wants, write},
    SL_EXPORTER_MAP(EXPORTER_ROW)
#undef EXPORTER_ROW
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

sl_status sl_export_check_events(const sl_run_input *input, const char *format, sl_error *err) {
    if (!sl_run_is_sampled(input))
        return SL_OK;
    return sl_fail(err, SL_E_FORMAT,
                   "cannot write %s from '%s': it has samples but no allocations; write "
                   "telemetry-json, telemetry-jsonl or telemetry-csv",
                   format, input->trace->path);
}
