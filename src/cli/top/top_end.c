/* SPDX-License-Identifier: MIT */
#include "cli/top/top_end.h"

#include "read/core/source.h"

sl_status sl_top_end_open(sl_top_end *end, const char *path, const sl_log_reader *reader,
                          sl_error *err) {
    if (sl_log_get_ending(reader) == SL_LOG_LIVE)
        return SL_OK;
    SL_TRY(sl_trace_load(path, NULL, &end->trace, err));
    const sl_trace *traces[] = {end->trace};
    return sl_run_new(traces, 1, &end->run, err);
}

void sl_top_end_close(sl_top_end *end) {
    sl_run_free(end->run);
    sl_trace_free(end->trace);
    *end = (sl_top_end){0};
}

const sl_run_device *sl_top_end_device(const sl_top_end *end, int device) {
    return end->run ? sl_run_find_device(&end->run->inputs[0], device) : NULL;
}

bool sl_top_end_ledger(const sl_run_device *device, sl_live_ledger *ledger) {
    const sl_ledger *recorded;
    *ledger = (sl_live_ledger){0};
    if (sl_run_ledger(device, &recorded, NULL) < 0 || recorded->moment_cnt == 0)
        return false;
    size_t moment = recorded->moment_cnt - 1;
    ledger->figures.card_used = recorded->moments[moment].card_used;
    ledger->figures.card_total = recorded->moments[moment].card_total;
    for (size_t i = 0; i < recorded->rows.cnt; i++) {
        sl_ledger_row row = recorded->rows.at[i];
        row.bytes = sl_ledger_bytes(recorded, moment)[i];
        if (!sl_vec_push(&ledger->rows, row))
            return false;
    }
    return true;
}
