/* SPDX-License-Identifier: MIT */
#include "page/page_lane.h"

void sl_page_lane_begin(sl_page_lane *lane, int64_t event_us) {
    lane->first_us = lane->clock.is_common ? lane->clock.first_us : event_us;
    lane->start_us = event_us - lane->first_us;
}

int64_t sl_page_lane_time(const sl_page_lane *lane, uint32_t event) {
    return lane->event_cnt == 0 ? 0 : sl_replay_time(lane->replay, event) - lane->first_us;
}

/* A step's number is chosen by the program and may be anything; JavaScript is exact below 2^53. */
static int64_t exact_number(uint64_t number) {
    const uint64_t most = (UINT64_C(1) << 53) - 1;
    return (int64_t)(number < most ? number : most);
}

/* Marks of this device and marks without a device. */
bool sl_page_add_marks(sl_page_lane *lane) {
    if (lane->event_cnt == 0)
        return true;
    sl_page_names *names = lane->source->names;
    for (size_t i = 0; i < lane->trace->marks.cnt; i++) {
        const sl_mark *mark = &lane->trace->marks.at[i];
        if (mark->device >= 0 && mark->device != lane->device->device)
            continue;
        sl_str name = sl_strtab_get(&lane->trace->strings, mark->name);
        uint32_t id = sl_strtab_intern(&names->strings, name.ptr, name.len);
        if (id == SL_STR_NONE)
            return false;
        sl_page_put(&lane->columns, SL_PAGE_MARKS_TIME, mark->time_us - lane->first_us);
        sl_page_put(&lane->columns, SL_PAGE_MARKS_KIND, mark->kind);
        sl_page_put(&lane->columns, SL_PAGE_MARKS_NAME, id);
        sl_page_put(&lane->columns, SL_PAGE_MARKS_NUMBER, exact_number(mark->number));
    }
    return true;
}

static void copy_totals(sl_page_lane *lane) {
    const sl_replay *replay = lane->replay;
    lane->start = replay->start;
    lane->end = replay->end;
    lane->peak = replay->peak_requested;
    lane->allocs = replay->allocs;
    lane->frees = replay->frees;
    lane->blocks_total = replay->lives.cnt;
    /* A single stale event is not a history: then the page shows only the state. */
    lane->has_history = replay->has_history;
    lane->event_cnt = replay->has_history ? replay->event_cnt : 0;
    lane->reserved_known = replay->reserved_known;
    lane->geometry_known = replay->geometry_known;
    lane->identity_holds = replay->identity_holds;
    lane->identity_residue = replay->identity_residue;
    if (lane->event_cnt > 0) {
        sl_page_lane_begin(lane, lane->device->events.time_us[0]);
        lane->last_us = lane->device->events.time_us[replay->event_cnt - 1];
        lane->peak_us = sl_replay_time(replay, lane->peak.event) - lane->first_us;
    }
    if (replay->reserved_known && replay->has_history)
        lane->peak_reserved_bytes = sl_known_u64(replay->peak_reserved.bytes);
}

/* In order of dependency: sites first, because they choose the stacks. */
static bool (*const parts[])(sl_page_lane *) = {
    sl_page_add_sites,  sl_page_add_curve,  sl_page_add_groups,
    sl_page_add_blocks, sl_page_add_matrix, sl_page_add_segments,
    sl_page_add_marks,  sl_page_add_ledger, sl_page_add_whatif,
};

static bool build_from_events(sl_page_lane *lane) {
    copy_totals(lane);
    bool ok = sl_page_walk_init(&lane->walk, lane->replay);
    for (size_t i = 0; ok && i < SL_COUNT_OF(parts); i++)
        ok = parts[i](lane);
    if (ok && lane->heat.bins > 0)
        sl_page_add_heat(lane);
    sl_page_walk_fini(&lane->walk);
    return ok;
}

sl_status sl_page_lane_build(sl_page_lane *lane, sl_error *err) {
    bool ok;
    if (sl_run_is_sampled(lane->of->input)) {
        ok = sl_page_add_samples(lane);
    } else {
        SL_TRY(sl_run_replay(lane->of, &lane->replay, err));
        ok = build_from_events(lane);
    }
    if (!ok || lane->source->names->has_failed || lane->columns.has_failed)
        return sl_fail_no_memory(err, "the page of '%s'", lane->trace->path);
    return SL_OK;
}

void sl_page_lane_fini(sl_page_lane *lane) {
    sl_page_columns_fini(&lane->columns);
    sl_vec_free(&lane->sites);
    free(lane->page_stack);
    sl_vec_free(&lane->counters);
    sl_whatif_curves_free(lane->curves);
    *lane = (sl_page_lane){0};
}
