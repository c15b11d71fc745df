/* SPDX-License-Identifier: MIT */
#include "whatif/whatif_calls.h"

#include <string.h>

#include "base/core/order.h"
#include "base/core/str.h"
#include "model/addr_map.h"
#include "run/blocks/segment_history.h"

typedef struct builder {
    sl_calls *calls;
    const sl_events *events;
    uint32_t *slot_of_life;  /* owned */
    SL_VEC(uint32_t) unused; /* slots */
    sl_addr_map group_of;    /* pool and stream -> group */
    sl_addr_map first_of;    /* pool -> its first group */
    sl_addr_map released;    /* pools that gave a segment back */
    uint64_t reserved;       /* of the trace, before the current event */
    uint64_t reserved_max;
    uint64_t flush_limit; /* fewer bytes than this could be reserved; SL_ALLOC_NO_LIMIT */
    bool is_emptying;     /* the program requested the following releases (the trace says so) */
} builder;

/* ---- groups and slots ---- */

static bool group_for(builder *b, uint16_t pool_idx, uint16_t stream_idx, uint32_t *group) {
    uint16_t pool = pool_idx == SL_POOL_UNKNOWN ? 0 : pool_idx;
    uint64_t key = (uint64_t)pool << 16 | stream_idx;
    *group = sl_addr_map_find(&b->group_of, key);
    if (SL_LIKELY(*group != SL_ADDR_NONE))
        return true;
    *group = (uint32_t)b->calls->groups.cnt;
    uint32_t first = sl_addr_map_find(&b->first_of, pool);
    if (first == SL_ADDR_NONE) {
        first = *group;
        if (!sl_addr_map_put(&b->first_of, pool, first))
            return false;
    }
    return sl_addr_map_put(&b->group_of, key, *group) &&
           sl_vec_push(&b->calls->groups, ((sl_call_group){pool, stream_idx, first}));
}

/* The pool of a block: that of its event, or of its segment. */
static uint16_t pool_of(const builder *b, uint32_t event, const sl_life *life) {
    if (event != SL_EVENT_BEFORE && b->events->pool_idx[event] != SL_POOL_UNKNOWN)
        return b->events->pool_idx[event];
    if (life->segment_idx == SL_IDX_NONE)
        return 0;
    return b->calls->replay->segments.at[life->segment_idx].pool_idx;
}

static uint32_t take_slot(builder *b) {
    if (b->unused.cnt)
        return b->unused.at[--b->unused.cnt];
    return b->calls->slot_cnt++;
}

static bool add_call(builder *b, sl_call call) {
    return sl_vec_push(&b->calls->list, call);
}

/* ---- the start ---- */

static bool add_piece(builder *b, const sl_extent *extent) {
    sl_alloc_piece piece = {extent->addr, extent->bytes, SL_ALLOC_NONE};
    if (extent->life_idx != SL_IDX_NONE) {
        piece.slot = b->slot_of_life[extent->life_idx];
        b->calls->start_bytes += extent->bytes;
    }
    b->calls->start.at[b->calls->start.cnt - 1].piece_cnt++;
    return sl_vec_push(&b->calls->pieces, piece);
}

static bool add_segment(builder *b, const sl_segment_life *segment) {
    sl_call_segment start = {.first_piece = (uint32_t)b->calls->pieces.cnt,
                             .is_large = segment->is_large,
                             .is_expandable = segment->is_expandable};
    return group_for(b, segment->pool_idx, segment->stream_idx, &start.group) &&
           sl_vec_push(&b->calls->start, start);
}

/* Gives slots to the blocks from before the trace, in the segments of that time. */
static bool add_start(builder *b) {
    const sl_replay *replay = b->calls->replay;
    sl_extents extents = {0};
    bool ok = true;
    uint32_t last = SL_IDX_NONE;
    for (size_t i = 0; i < replay->base_cnt; i++)
        b->slot_of_life[i] = take_slot(b);
    ok = replay->geometry_known ? sl_replay_geometry_at(replay, SL_EVENT_BEFORE, &extents) : true;
    for (size_t i = 0; ok && i < extents.cnt; i++) {
        const sl_extent *extent = &extents.at[i];
        if (extent->segment_idx == SL_IDX_NONE || extent->bytes == 0)
            continue;
        if (extent->segment_idx != last)
            ok = add_segment(b, &replay->segments.at[extent->segment_idx]);
        last = extent->segment_idx;
        ok = ok && add_piece(b, extent);
    }
    sl_vec_free(&extents);
    return ok;
}

/* ---- blocks ---- */

static bool on_alloc(builder *b, uint32_t i) {
    uint32_t life_idx = b->calls->replay->life_of_event[i];
    if (life_idx == SL_IDX_NONE)
        return true;
    const sl_life *life = &b->calls->replay->lives.at[life_idx];
    const uint64_t *asked = b->events->requested_bytes;
    sl_call call = {
        .kind = SL_CALL_REQUEST, .bytes = asked ? asked[i] : life->requested_bytes, .event = i};
    if (!group_for(b, pool_of(b, i, life), life->stream_idx, &call.group))
        return false;
    call.slot = b->slot_of_life[life_idx] = take_slot(b);
    b->calls->request_cnt++;
    b->calls->last_request = (uint32_t)b->calls->list.cnt;
    return add_call(b, call);
}

/* Whether the free of this block took effect only after another call. */
static bool is_delayed(const builder *b, const sl_life *life) {
    return life->end_event == SL_EVENT_NEVER || life->end_event > life->drop_event + 1 ||
           b->events->kind[life->end_event] != SL_EV_FREE_COMPLETED;
}

static bool on_drop(builder *b, uint32_t i) {
    uint32_t life_idx = b->calls->replay->life_of_event[i];
    if (life_idx == SL_IDX_NONE)
        return true;
    const sl_life *life = &b->calls->replay->lives.at[life_idx];
    if (life->drop_event != i || life->end_event == i || !is_delayed(b, life))
        return true;
    b->calls->drop_cnt++;
    return add_call(b,
                    (sl_call){.kind = SL_CALL_DROP, .event = i, .slot = b->slot_of_life[life_idx]});
}

static bool end_life(builder *b, uint32_t life_idx, uint32_t i) {
    uint32_t slot = b->slot_of_life[life_idx];
    return add_call(b, (sl_call){.kind = SL_CALL_FREE, .event = i, .slot = slot}) &&
           sl_vec_push(&b->unused, slot);
}

static bool on_free(builder *b, uint32_t i) {
    uint32_t life_idx = b->calls->replay->life_of_event[i];
    if (life_idx == SL_IDX_NONE || b->calls->replay->lives.at[life_idx].end_event != i)
        return true;
    return end_life(b, life_idx, i);
}

/* ---- segments ---- */

static bool is_return(unsigned kind) {
    return kind == SL_EV_SEGMENT_FREE || kind == SL_EV_SEGMENT_UNMAP;
}

static bool is_growth(unsigned kind) {
    return kind == SL_EV_SEGMENT_ALLOC || kind == SL_EV_SEGMENT_MAP;
}

/* (C3): whether the segments released before event `next` were released inside its request.
 * Without stacks: whether the request would have exceeded the highest reserved bytes of the run. */
static bool is_inside_request(const builder *b, uint32_t last, uint32_t next, uint64_t before) {
    const sl_events *events = b->events;
    if (next >= b->calls->replay->event_cnt)
        return false;
    unsigned kind = events->kind[next];
    if (kind == SL_EV_OOM)
        return true;
    if (!is_growth(kind))
        return false;
    if (events->stack_id[last] && events->stack_id[next])
        return events->stack_id[last] == events->stack_id[next];
    return before + events->size_bytes[next] > b->calls->replay->peak_reserved.bytes;
}

/* A pool that releases segments is no longer used; from then on flushes include it. */
static bool note_unused(builder *b, uint32_t i) {
    uint16_t pool = b->events->pool_idx[i];
    if (pool == SL_POOL_UNKNOWN || pool == 0 ||
        sl_addr_map_find(&b->released, pool) != SL_ADDR_NONE)
        return true;
    return sl_addr_map_put(&b->released, pool, 0) &&
           add_call(b, (sl_call){.kind = SL_CALL_UNUSED, .event = i, .group = pool});
}

/* A recording also has calls of the driver, between the allocator's own events. */
static bool is_of_driver(unsigned kind) {
    return kind == SL_EV_DRIVER_ALLOC || kind == SL_EV_DRIVER_FREE;
}

static bool add_return(builder *b, uint32_t i) {
    uint64_t bytes = b->events->size_bytes[i];
    b->reserved -= sl_min_u64(bytes, b->reserved);
    return note_unused(b, i) &&
           add_call(b, (sl_call){.kind = SL_CALL_RELEASE, .event = i, .bytes = bytes});
}

/* Handles a sequence of releases; *at is then the last of them. */
static bool on_returns(builder *b, uint32_t *at) {
    uint64_t before = b->reserved;
    uint32_t i = *at, last = i, end = b->calls->replay->event_cnt;
    for (; i < end && (is_return(b->events->kind[i]) || is_of_driver(b->events->kind[i])); i++) {
        if (is_of_driver(b->events->kind[i]))
            continue;
        last = i;
        if (!add_return(b, i))
            return false;
    }
    *at = last;
    bool is_asked = b->is_emptying;
    b->is_emptying = false;
    if (!is_asked && is_inside_request(b, last, i, before)) {
        if (is_growth(b->events->kind[i]) && before < SL_ALLOC_BYTES_MAX)
            b->flush_limit = sl_min_u64(
                b->flush_limit, before + sl_min_u64(b->events->size_bytes[i], SL_ALLOC_BYTES_MAX));
        return true;
    }
    b->calls->empty_cnt++;
    return add_call(b, (sl_call){.kind = SL_CALL_EMPTY, .event = last});
}

static bool on_growth(builder *b, uint32_t i) {
    b->calls->has_segments = true;
    b->reserved += sl_min_u64(b->events->size_bytes[i], SL_ALLOC_BYTES_MAX);
    b->reserved_max = sl_max_u64(b->reserved_max, b->reserved);
    return b->events->kind[i] != SL_EV_SEGMENT_ALLOC ||
           sl_vec_push(&b->calls->places,
                       ((sl_alloc_place){b->events->addr[i], b->events->size_bytes[i]}));
}

static bool on_oom(builder *b, uint32_t i) {
    sl_call call = {.kind = SL_CALL_FAILED, .event = i, .bytes = b->events->size_bytes[i]};
    uint64_t card_free = b->events->addr[i];
    if (!group_for(b, b->events->pool_idx[i], b->events->stream_idx[i], &call.group))
        return false;
    b->calls->failed_cnt++;
    uint64_t segment = sl_round_segment(sl_min_u64(call.bytes, SL_ALLOC_BYTES_MAX));
    if (card_free && card_free < segment)
        b->calls->limit_bytes = sl_known_u64(b->reserved + card_free);
    else if (b->reserved)
        b->flush_limit = sl_min_u64(b->flush_limit, b->reserved + segment);
    return add_call(b, call);
}

/* ---- all of it ---- */

static bool add_event(builder *b, uint32_t *i) {
    switch (b->events->kind[*i]) {
    case SL_EV_ALLOC: return on_alloc(b, *i);
    case SL_EV_FREE_REQUESTED: return on_drop(b, *i) && on_free(b, *i);
    case SL_EV_FREE:
    case SL_EV_FREE_COMPLETED: return on_free(b, *i);
    case SL_EV_SEGMENT_ALLOC:
    case SL_EV_SEGMENT_MAP: return on_growth(b, *i);
    case SL_EV_SEGMENT_FREE:
    case SL_EV_SEGMENT_UNMAP: return on_returns(b, i);
    case SL_EV_OOM: return on_oom(b, *i);
    case SL_EV_EMPTY_CACHE: b->is_emptying = true; return true;
    case SL_EV_RESERVED:
        b->reserved = b->events->size_bytes[*i];
        b->reserved_max = sl_max_u64(b->reserved_max, b->reserved);
        return true;
    default: return true;
    }
}

/* Ends blocks whose free is missing where the replay ended them, before the event that shows it. */
static bool add_lost(builder *b, size_t *next_lost, uint32_t i) {
    const sl_replay *replay = b->calls->replay;
    for (; *next_lost < replay->lost.cnt; (*next_lost)++) {
        uint32_t life_idx = replay->lost.at[*next_lost];
        const sl_life *life = &replay->lives.at[life_idx];
        if (life->end_event > i)
            break;
        if (life->begin_event == SL_EVENT_BEFORE || life->begin_event < i)
            if (!end_life(b, life_idx, i))
                return false;
    }
    return true;
}

static bool add_events(builder *b) {
    size_t next_lost = 0;
    b->reserved = b->reserved_max = b->calls->replay->start.reserved_bytes;
    for (uint32_t i = 0; i < b->calls->replay->event_cnt; i++)
        if (!add_lost(b, &next_lost, i) || !add_event(b, &i))
            return false;
    return true;
}

/* (C5). */
static void find_limit(builder *b) {
    sl_calls *calls = b->calls;
    if (!calls->limit_bytes.known && b->flush_limit != SL_ALLOC_NO_LIMIT) {
        calls->limit_bytes = sl_known_u64(b->reserved_max);
        calls->limit_below_bytes = sl_max_u64(b->flush_limit, b->reserved_max + 1);
    } else if (calls->limit_bytes.known) {
        calls->limit_bytes.value = sl_max_u64(calls->limit_bytes.value, b->reserved_max);
        calls->limit_below_bytes = calls->limit_bytes.value + 1;
    }
}

/* ---- settings ---- */

static bool has_mapped_ranges(const builder *b) {
    const sl_device_trace *device = b->calls->replay->device;
    for (size_t i = 0; i < device->segments.cnt; i++)
        if (device->segments.at[i].is_expandable)
            return true;
    for (size_t i = 0; i < b->events->cnt; i++)
        if (b->events->kind[i] == SL_EV_SEGMENT_MAP)
            return true;
    return false;
}

static sl_status take_settings(builder *b, sl_error *err) {
    const sl_trace *trace = b->calls->replay->trace;
    const sl_allocator_settings *from = &trace->settings;
    sl_alloc_settings *to = &b->calls->settings;
    sl_alloc_settings_init(to);
    sl_str conf = from->conf ? sl_strtab_get(&trace->strings, from->conf) : (sl_str){"", 0};
    if (sl_alloc_settings_parse(to, conf, err) < 0)
        return sl_error_prefix(err, "the recorded settings");
    b->calls->settings_known = from->conf || from->expandable_known || from->max_split_bytes.known;
    if (from->max_split_bytes.known)
        to->rounding.max_split_bytes = from->max_split_bytes.value;
    if (from->gc_threshold.known && from->gc_threshold.value > 0 && from->gc_threshold.value < 1)
        to->gc_threshold = from->gc_threshold.value;
    to->is_expandable =
        from->expandable_known ? from->is_expandable : to->is_expandable || has_mapped_ranges(b);
    if (to->is_async)
        return sl_fail(err, SL_E_USAGE,
                       "'%s' was recorded with backend:cudaMallocAsync, whose placement is the "
                       "driver's and cannot be replayed",
                       trace->path);
    return SL_OK;
}

static sl_status build(builder *b, sl_error *err) {
    const sl_replay *replay = b->calls->replay;
    SL_TRY(take_settings(b, err));
    b->slot_of_life = malloc((replay->lives.cnt + 1) * sizeof *b->slot_of_life);
    if (!b->slot_of_life || !add_start(b) || !add_events(b))
        return sl_fail_no_memory(err, "the calls of %u events", replay->event_cnt);
    find_limit(b);
    return SL_OK;
}

sl_status sl_calls_new(const sl_run_device *device, sl_calls **out, sl_error *err) {
    const sl_replay *replay;
    SL_TRY(sl_run_replay(device, &replay, err));
    sl_calls *calls = calloc(1, sizeof *calls);
    if (!calls)
        return sl_fail_no_memory(err, "the calls of a trace");
    calls->device = device;
    calls->replay = replay;
    builder b = {
        .calls = calls, .events = &replay->device->events, .flush_limit = SL_ALLOC_NO_LIMIT};
    sl_status status = build(&b, err);
    free(b.slot_of_life);
    sl_vec_free(&b.unused);
    sl_addr_map_fini(&b.group_of);
    sl_addr_map_fini(&b.first_of);
    sl_addr_map_fini(&b.released);
    if (status < 0) {
        sl_calls_free(calls);
        return status;
    }
    *out = calls;
    return SL_OK;
}

void sl_calls_free(sl_calls *calls) {
    if (!calls)
        return;
    sl_vec_free(&calls->list);
    sl_vec_free(&calls->groups);
    sl_vec_free(&calls->start);
    sl_vec_free(&calls->pieces);
    sl_vec_free(&calls->places);
    free(calls);
}
