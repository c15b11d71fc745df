/* SPDX-License-Identifier: MIT */
#include "cli/top/top_host.h"

void sl_top_host_fill(sl_top_host_row rows[SL_TOP_HOST_LIMIT], const sl_log_counters *counters,
                      const sl_top_end *end) {
    static const struct {
        uint32_t counter;
        const char *name;
    } kinds[SL_TOP_HOST_LIMIT] = {
        [SL_TOP_HOST_TENSORS] = {SL_COUNTER_ALLOCATED, "tensors"},
        [SL_TOP_HOST_RESIDENT] = {SL_COUNTER_HOST_RSS, "resident in this process"},
        [SL_TOP_HOST_AVAILABLE] = {SL_COUNTER_HOST_AVAILABLE, "available on the machine"},
    };
    const sl_run_device *finished = sl_top_end_device(end, SL_DEVICE_HOST);
    const sl_replay *replay;
    for (size_t r = 0; r < SL_TOP_HOST_LIMIT; r++) {
        rows[r] = (sl_top_host_row){.name = kinds[r].name};
        for (size_t i = 0; i < counters->cnt; i++) {
            const sl_log_counter_info *info = &counters->at[i];
            if (info->kind != kinds[r].counter || info->device != SL_DEVICE_HOST)
                continue;
            rows[r].is_counted = true;
            rows[r].bytes = (sl_maybe_u64){info->last, info->is_available};
        }
    }
    if (finished && sl_run_replay(finished, &replay, NULL) == SL_OK)
        rows[SL_TOP_HOST_TENSORS].bytes = sl_known_u64(replay->end.allocated_bytes);
}
