/* SPDX-License-Identifier: MIT */
#include "run/blocks/trace_cut.h"

#include "run/blocks/replay.h"

typedef SL_VEC(sl_block) block_vec;

static bool take_blocks(const sl_replay *replay, uint32_t last, block_vec *blocks) {
    sl_life_ids ids = {0};
    bool has_room = sl_replay_live_at(replay, last, &ids) && sl_vec_reserve(blocks, ids.cnt);
    for (size_t i = 0; i < ids.cnt && has_room; i++) {
        const sl_life *life = &replay->lives.at[ids.at[i]];
        bool is_dropped = life->drop_event != SL_EVENT_NEVER && last != SL_EVENT_BEFORE &&
                          life->drop_event <= last;
        blocks->at[blocks->cnt++] =
            (sl_block){.addr = life->addr,
                       .size_bytes = life->block_bytes,
                       .requested_bytes = life->requested_bytes,
                       .stack_id = life->stack_id,
                       .segment_idx = SL_IDX_NONE,
                       .state = is_dropped ? SL_BLOCK_PENDING_FREE : SL_BLOCK_ALLOCATED,
                       .tag = (uint8_t)sl_replay_tag(replay, life)};
    }
    sl_vec_free(&ids);
    if (blocks->cnt > 1)
        qsort(blocks->at, blocks->cnt, sizeof *blocks->at, sl_block_compare_addr);
    return has_room;
}

/* Blocks as they were after the first `keep` events, in place of the end state. */
static sl_status set_blocks(const sl_trace *trace, sl_device_trace *device, size_t keep,
                            sl_error *err) {
    sl_replay *replay;
    block_vec blocks = {0};
    SL_TRY(sl_replay_new_to_exit(trace, device, &replay, err));
    bool has_room = take_blocks(replay, keep ? (uint32_t)(keep - 1) : SL_EVENT_BEFORE, &blocks);
    sl_replay_free(replay);
    if (!has_room) {
        sl_vec_free(&blocks);
        return sl_fail_no_memory(err, "the blocks of a moment");
    }
    sl_vec_free(&device->blocks);
    device->blocks.at = blocks.at, device->blocks.cnt = blocks.cnt, device->blocks.cap = blocks.cap;
    device->has_end_state = true;
    return SL_OK;
}

static sl_status cut_device(const sl_trace *trace, sl_device_trace *device, size_t keep,
                            size_t max_events, sl_error *err) {
    if (device->segments.cnt == 0) {
        SL_TRY(set_blocks(trace, device, keep, err));
        device->events.cnt = keep;
    }
    if (device->end_cnt > device->events.cnt)
        device->end_cnt = device->events.cnt;
    if (device->events.cnt > max_events) {
        size_t gone = device->events.cnt - max_events;
        sl_events_drop_first(&device->events, gone);
        device->dropped_events += gone;
        device->end_cnt = device->end_cnt > gone ? device->end_cnt - gone : 0;
    }
    return SL_OK;
}

static void cut_marks(sl_trace *trace, int64_t time_us) {
    while (trace->marks.cnt && trace->marks.at[trace->marks.cnt - 1].time_us > time_us)
        trace->marks.cnt--;
    while (trace->alerts.cnt && trace->alerts.at[trace->alerts.cnt - 1].time_us > time_us)
        trace->alerts.cnt--;
}

static void cut_counters(sl_trace *trace, int64_t time_us) {
    for (size_t i = 0; i < trace->counters.cnt; i++) {
        sl_counter_series *series = &trace->counters.at[i];
        while (series->readings.cnt &&
               series->readings.at[series->readings.cnt - 1].from_us > time_us)
            series->readings.cnt--;
    }
}

sl_status sl_trace_cut(sl_trace *trace, int device, size_t event, size_t max_events,
                       sl_error *err) {
    const sl_device_trace *here = sl_trace_find_device(trace, device);
    if (!here || event >= here->events.cnt)
        return sl_fail(err, SL_E_INTERNAL, "the trace has no such event");
    int64_t time_us = here->events.time_us[event];
    for (size_t i = 0; i < trace->devices.cnt; i++) {
        sl_device_trace *each = trace->devices.at[i];
        size_t keep = each == here ? event + 1 : sl_events_count_until(&each->events, time_us);
        SL_TRY(cut_device(trace, each, keep, max_events, err));
    }
    cut_marks(trace, time_us);
    cut_counters(trace, time_us);
    trace->is_live = false;
    trace->end.is_marked = trace->end.is_marked && trace->end.time_us <= time_us;
    return SL_OK;
}
