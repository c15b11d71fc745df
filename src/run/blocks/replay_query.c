/* SPDX-License-Identifier: MIT */
/* Questions to a finished replay: an instant's live set, totals, geometry; curves. */

#include "base/core/order.h"
#include "run/blocks/live_index.h"
#include "run/blocks/replay.h"
#include "run/blocks/segment_history.h"

uint32_t sl_replay_event_at(const sl_replay *replay, int64_t time_us) {
    const int64_t *times = replay->device->events.time_us;
    uint32_t lo = 0, hi = replay->event_cnt;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (times[mid] <= time_us)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? lo - 1 : SL_EVENT_BEFORE;
}

int64_t sl_replay_time(const sl_replay *replay, uint32_t event) {
    if (!replay->event_cnt)
        return 0;
    if (event == SL_EVENT_BEFORE)
        event = 0;
    return replay->device->events
        .time_us[event < replay->event_cnt ? event : replay->event_cnt - 1];
}

int64_t sl_replay_absolute_time(const sl_replay *replay, int64_t time_us) {
    int64_t first = sl_replay_time(replay, 0), last = sl_replay_time(replay, replay->event_cnt);
    int64_t sum;
    if (time_us >= first && time_us >= 0)
        return time_us;
    if (__builtin_add_overflow(time_us < 0 ? last : first, time_us, &sum))
        return time_us < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

double sl_replay_span_us(const sl_replay *replay, uint32_t from, uint32_t to) {
    return (double)sl_replay_time(replay, to) - (double)sl_replay_time(replay, from);
}

size_t sl_replay_first_life(const sl_replay *replay, uint32_t event) {
    size_t lo = replay->base_cnt, hi = replay->lives.cnt;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (replay->lives.at[mid].begin_event < event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Blocks of a recording have no segments and are by ascending address. */
static sl_tag tag_at_end(const sl_device_trace *device, uint64_t addr) {
    size_t lo = 0, hi = device->blocks.cnt;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (device->blocks.at[mid].addr < addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < device->blocks.cnt && device->blocks.at[lo].addr == addr
               ? (sl_tag)device->blocks.at[lo].tag
               : SL_TAG_UNKNOWN;
}

sl_tag sl_replay_tag(const sl_replay *replay, const sl_life *life) {
    if (life->begin_event != SL_EVENT_BEFORE)
        return (sl_tag)replay->device->events.tag[life->begin_event];
    return life->end_event == SL_EVENT_NEVER ? tag_at_end(replay->device, life->addr)
                                             : SL_TAG_UNKNOWN;
}

/* How many lives had begun; they are sorted by beginning (P4). */
static size_t begun_by(const sl_replay *replay, uint32_t event) {
    size_t lo = replay->base_cnt, hi = event == SL_EVENT_BEFORE ? lo : replay->lives.cnt;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (replay->lives.at[mid].begin_event <= event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool sl_replay_live_at(const sl_replay *replay, uint32_t event, sl_life_ids *out) {
    if (event != SL_EVENT_BEFORE)
        return sl_live_index_query(replay, begun_by(replay, event), event, out);
    for (size_t i = 0; i < replay->base_cnt; i++)
        if (!sl_vec_push(out, (uint32_t)i))
            return false;
    return true;
}

/* Needs no index: segments are few, and an input without them tells the total itself. */
static uint64_t reserved_at(const sl_replay *replay, uint32_t event) {
    if (event == SL_EVENT_BEFORE)
        return replay->start.reserved_bytes;
    const sl_events *events = &replay->device->events;
    for (uint32_t i = replay->segments.cnt ? 0 : event + 1; i-- > 0;)
        if (events->kind[i] == SL_EV_RESERVED)
            return events->size_bytes[i];
    uint64_t sum = 0;
    for (size_t i = 0; i < replay->segments.cnt; i++) {
        const sl_segment_life *s = &replay->segments.at[i];
        bool has_begun = s->begin_event == SL_EVENT_BEFORE || s->begin_event <= event;
        sum += has_begun && s->end_event > event ? s->bytes : 0;
    }
    return sum;
}

bool sl_replay_totals_at(const sl_replay *replay, uint32_t event, sl_replay_totals *totals) {
    sl_life_ids ids = {0};
    if (!sl_replay_live_at(replay, event, &ids)) {
        sl_vec_free(&ids);
        return false;
    }
    *totals = (sl_replay_totals){.reserved_bytes = reserved_at(replay, event)};
    for (size_t i = 0; i < ids.cnt; i++) {
        const sl_life *life = &replay->lives.at[ids.at[i]];
        bool is_dropped = event != SL_EVENT_BEFORE && life->drop_event <= event;
        totals->requested_bytes += life->requested_bytes;
        totals->active_bytes += life->block_bytes;
        totals->allocated_bytes += is_dropped ? 0 : life->block_bytes;
    }
    sl_vec_free(&ids);
    return true;
}

/* ---- geometry ---- */

static int compare_extents(const void *a, const void *b) {
    const sl_extent *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return x->life_idx < y->life_idx ? -1 : x->life_idx > y->life_idx;
}

static bool collect_segments(const sl_replay *replay, uint32_t event, sl_extents *out) {
    for (size_t i = 0; i < replay->segments.cnt; i++) {
        const sl_segment_life *s = &replay->segments.at[i];
        bool has_begun = s->begin_event == SL_EVENT_BEFORE ||
                         (event != SL_EVENT_BEFORE && s->begin_event <= event);
        bool has_ended = event != SL_EVENT_BEFORE && s->end_event <= event;
        sl_extent extent = {s->addr, s->bytes, SL_IDX_NONE, (uint32_t)i};
        if (has_begun && !has_ended && !sl_vec_push(out, extent))
            return false;
    }
    if (out->cnt)
        qsort(out->at, out->cnt, sizeof *out->at, compare_extents);
    return true;
}

static bool collect_blocks(const sl_replay *replay, uint32_t event, sl_extents *out) {
    sl_life_ids ids = {0};
    bool ok = sl_replay_live_at(replay, event, &ids);
    for (size_t i = 0; ok && i < ids.cnt; i++) {
        const sl_life *life = &replay->lives.at[ids.at[i]];
        ok = sl_vec_push(out, ((sl_extent){life->addr, life->block_bytes, ids.at[i], SL_IDX_NONE}));
    }
    sl_vec_free(&ids);
    if (ok && out->cnt)
        qsort(out->at, out->cnt, sizeof *out->at, compare_extents);
    return ok;
}

static bool is_one_reservation(const sl_replay *replay, const sl_extent *a, const sl_extent *b) {
    const sl_segment_life *x = &replay->segments.at[a->segment_idx];
    const sl_segment_life *y = &replay->segments.at[b->segment_idx];
    return x->is_expandable && y->is_expandable && x->stream_idx == y->stream_idx &&
           a->addr + a->bytes == b->addr;
}

/* The blocks from *next on that begin in [from, end), with the gaps between them. */
static bool sweep(const sl_extents *blocks, size_t *next, sl_extent run, sl_extents *out) {
    uint64_t cursor = run.addr, end = run.addr + run.bytes;
    while (*next < blocks->cnt && blocks->at[*next].addr < run.addr)
        (*next)++;
    for (; *next < blocks->cnt && blocks->at[*next].addr < end; (*next)++) {
        sl_extent block = blocks->at[*next];
        block.segment_idx = run.segment_idx;
        if (block.addr > cursor && !sl_vec_push(out, ((sl_extent){cursor, block.addr - cursor,
                                                                  SL_IDX_NONE, run.segment_idx})))
            return false;
        if (!sl_vec_push(out, block))
            return false;
        cursor = block.addr + block.bytes > cursor ? block.addr + block.bytes : cursor;
    }
    return cursor >= end ||
           sl_vec_push(out, ((sl_extent){cursor, end - cursor, SL_IDX_NONE, run.segment_idx}));
}

bool sl_replay_geometry_at(const sl_replay *replay, uint32_t event, sl_extents *out) {
    sl_extents ranges = {0}, blocks = {0};
    bool ok = collect_segments(replay, event, &ranges) && collect_blocks(replay, event, &blocks);
    size_t next = 0;
    for (size_t i = 0; ok && i < ranges.cnt;) {
        sl_extent run = ranges.at[i++];
        while (i < ranges.cnt && is_one_reservation(replay, &run, &ranges.at[i]))
            run.bytes += ranges.at[i++].bytes;
        ok = sweep(&blocks, &next, run, out);
    }
    sl_vec_free(&ranges);
    sl_vec_free(&blocks);
    return ok;
}

/* ---- walking and curves ---- */

void sl_replay_walk_init(sl_replay_walk *walk, const sl_replay *replay) {
    *walk = (sl_replay_walk){replay, 0, 0, replay->start};
}

static void walk_lost(sl_replay_walk *walk) {
    const sl_replay *replay = walk->replay;
    for (; walk->next_lost < replay->lost.cnt; walk->next_lost++) {
        const sl_life *life = &replay->lives.at[replay->lost.at[walk->next_lost]];
        if (life->end_event != walk->next)
            return;
        walk->totals.requested_bytes -= life->requested_bytes;
        walk->totals.active_bytes -= life->block_bytes;
        walk->totals.allocated_bytes -= life->drop_event == walk->next ? life->block_bytes : 0;
    }
}

static void walk_life(sl_replay_walk *walk, const sl_life *life) {
    sl_replay_totals *now = &walk->totals;
    if (life->begin_event == walk->next) {
        now->requested_bytes += life->requested_bytes;
        now->active_bytes += life->block_bytes;
        now->allocated_bytes += life->block_bytes;
        return;
    }
    if (life->drop_event == walk->next)
        now->allocated_bytes -= life->block_bytes;
    if (life->end_event == walk->next) {
        now->requested_bytes -= life->requested_bytes;
        now->active_bytes -= life->block_bytes;
    }
}

static void walk_reserved(uint64_t *reserved, const sl_events *events, uint32_t i) {
    uint64_t size = events->size_bytes[i];
    uint8_t kind = events->kind[i];
    if (kind == SL_EV_RESERVED)
        *reserved = size;
    if (!sl_event_is_segment(kind) || !sl_segment_is_range(events->addr[i], size))
        return;
    if (kind == SL_EV_SEGMENT_ALLOC || kind == SL_EV_SEGMENT_MAP)
        *reserved += size;
    else
        *reserved -= size < *reserved ? size : *reserved;
}

bool sl_replay_walk_next(sl_replay_walk *walk) {
    const sl_replay *replay = walk->replay;
    if (walk->next >= replay->event_cnt)
        return false;
    uint32_t i = walk->next, life_idx = replay->life_of_event[i];
    walk_lost(walk);
    if (life_idx != SL_IDX_NONE)
        walk_life(walk, &replay->lives.at[life_idx]);
    else
        walk_reserved(&walk->totals.reserved_bytes, &replay->device->events, i);
    walk->next++;
    return true;
}

static void begin_bin(sl_curve_bin *bin, int64_t time_us, const sl_replay_totals *now) {
    *bin = (sl_curve_bin){time_us,
                          now->requested_bytes,
                          now->requested_bytes,
                          now->requested_bytes,
                          now->allocated_bytes,
                          now->reserved_bytes};
}

static void widen_bin(sl_curve_bin *bin, const sl_replay_totals *now) {
    uint64_t requested = now->requested_bytes;
    bin->min_requested = sl_min_u64(requested, bin->min_requested);
    bin->max_requested = sl_max_u64(requested, bin->max_requested);
    bin->last_requested = requested;
    bin->max_allocated = sl_max_u64(now->allocated_bytes, bin->max_allocated);
    bin->max_reserved = sl_max_u64(now->reserved_bytes, bin->max_reserved);
}

/* Where bin b of cnt begins between two times; whatever they are, it lies between them. */
static int64_t bin_start(int64_t from_us, int64_t to_us, size_t b, size_t cnt) {
    uint64_t span = to_us > from_us ? (uint64_t)to_us - (uint64_t)from_us : 0;
    return (int64_t)((uint64_t)from_us + (uint64_t)((__uint128_t)span * b / cnt));
}

void sl_replay_curve(const sl_replay *replay, int64_t from_us, int64_t to_us, sl_curve_bin *bins,
                     size_t bin_cnt) {
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, replay);
    const int64_t *times = replay->device->events.time_us;
    while (walk.next < replay->event_cnt && times[walk.next] < from_us)
        (void)sl_replay_walk_next(&walk);
    for (size_t b = 0; b < bin_cnt; b++) {
        int64_t end = bin_start(from_us, to_us, b + 1, bin_cnt);
        bool is_last = b + 1 == bin_cnt;
        begin_bin(&bins[b], bin_start(from_us, to_us, b, bin_cnt), &walk.totals);
        while (walk.next < replay->event_cnt &&
               (times[walk.next] < end || (is_last && times[walk.next] == end))) {
            (void)sl_replay_walk_next(&walk);
            widen_bin(&bins[b], &walk.totals);
        }
    }
}
