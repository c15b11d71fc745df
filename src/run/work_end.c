/* SPDX-License-Identifier: MIT */
#include "run/work_end.h"

/* What a process that ends still does: it gives back. */
static bool is_teardown(uint8_t kind) {
    switch (kind) {
    case SL_EV_FREE:
    case SL_EV_FREE_REQUESTED:
    case SL_EV_FREE_COMPLETED:
    case SL_EV_SEGMENT_FREE:
    case SL_EV_SEGMENT_UNMAP:
    case SL_EV_DRIVER_FREE:
    case SL_EV_RESERVED: return true;
    default: return false;
    }
}

static size_t infer(const sl_trace *trace, const sl_events *events) {
    size_t cnt = events->cnt;
    while (cnt > 0 && is_teardown(events->kind[cnt - 1]))
        cnt--;
    /* What a program gives back after a request failed belongs to the failure. */
    if (cnt == 0 || events->kind[cnt - 1] == SL_EV_OOM)
        return events->cnt;
    for (size_t i = trace->marks.cnt; i-- > 0;) {
        const sl_mark *mark = &trace->marks.at[i];
        if (mark->kind == SL_MARK_STEP && mark->time_us >= events->time_us[cnt - 1])
            return sl_events_count_until(events, mark->time_us);
    }
    return cnt;
}

size_t sl_work_count(const sl_trace *trace, const sl_device_trace *device) {
    const sl_events *events = &device->events;
    if (trace->end.is_marked)
        return device->end_cnt < events->cnt ? device->end_cnt : events->cnt;
    return trace->end.is_unmarked_exit ? infer(trace, events) : events->cnt;
}
