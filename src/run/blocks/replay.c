/* SPDX-License-Identifier: MIT */
/* Two passes. The first finds what was there before the trace: blocks freed but never allocated in
 * it, and blocks of the end state that it never allocated. The second runs the events forward over
 * the allocator's mirror, which starts from that state. */
#include "run/blocks/replay.h"

#include <string.h>

#include "base/core/order.h"
#include "run/blocks/alloc_mirror.h"
#include "run/blocks/live_index.h"
#include "run/work_end.h"

/* An allocation whose block is still there at the end: its size is known exactly. */
typedef struct pinned_block {
    uint32_t event;
    uint32_t block_idx;
} pinned_block;

typedef struct replay_run {
    sl_replay *replay;
    sl_mirror mirror;
    SL_VEC(pinned_block) pinned; /* ascending events */
    size_t next_pinned;
    sl_life_ids base_twins; /* lives from before the trace at an address that another one holds */
    size_t next_twin;
    sl_addr_map first_seen; /* addr -> alloc event, of the first pass */
    sl_replay_totals now;
    uint64_t alloc_less_free; /* requested bytes, as the events themselves say; wraps */
    bool requests_end_lives;  /* free_completed was not recorded at all */
    uint32_t work_cnt;        /* events that are not teardown (P5) */
} replay_run;

static bool ends_life(const replay_run *run, uint8_t kind) {
    return kind == SL_EV_FREE || kind == SL_EV_FREE_COMPLETED ||
           (kind == SL_EV_FREE_REQUESTED && run->requests_end_lives);
}

/* ---- first pass: the state before the trace ---- */

static bool push_base(replay_run *run, sl_life life) {
    life.begin_event = SL_EVENT_BEFORE;
    life.drop_event = life.end_event = SL_EVENT_NEVER;
    life.segment_idx = SL_IDX_NONE;
    life.flags |= SL_LIFE_BASE;
    return sl_vec_push(&run->replay->lives, life);
}

static bool base_from_free(replay_run *run, uint32_t i) {
    const sl_events *events = &run->replay->device->events;
    uint64_t size = events->size_bytes[i];
    bool is_requested = run->replay->trace->has_requested_sizes;
    run->replay->unmatched_frees++;
    run->replay->unmatched_bytes += size;
    /* The free's stack says who dropped the block, not who made it. */
    return push_base(
        run, (sl_life){.addr = events->addr[i],
                       .requested_bytes = size,
                       .block_bytes =
                           is_requested ? sl_round_request(&run->mirror.rounding, size) : size,
                       .stack_id = SL_STACK_EMPTY,
                       .stream_idx = events->stream_idx[i],
                       .flags = is_requested ? SL_LIFE_BY_RULE : 0});
}

static int compare_pinned(const void *a, const void *b) {
    const pinned_block *x = a, *y = b;
    return x->event < y->event ? -1 : x->event > y->event;
}

/* Blocks of the end state: pinned to the event that made them, or from before the trace. */
static bool scan_end_state(replay_run *run) {
    const sl_device_trace *device = run->replay->device;
    for (size_t i = 0; i < device->blocks.cnt; i++) {
        const sl_block *block = &device->blocks.at[i];
        if (block->state == SL_BLOCK_INACTIVE)
            continue;
        run->replay->end_state_requested += block->requested_bytes;
        uint32_t event = sl_addr_map_find(&run->first_seen, block->addr);
        if (event != SL_ADDR_NONE) {
            if (!sl_vec_push(&run->pinned, ((pinned_block){event, (uint32_t)i})))
                return false;
            continue;
        }
        uint16_t stream = block->segment_idx < device->segments.cnt
                              ? device->segments.at[block->segment_idx].stream_idx
                              : 0;
        if (!push_base(run, (sl_life){.addr = block->addr,
                                      .requested_bytes = block->requested_bytes,
                                      .block_bytes = block->size_bytes,
                                      .stack_id = block->stack_id,
                                      .stream_idx = stream}))
            return false;
    }
    if (run->pinned.cnt)
        qsort(run->pinned.at, run->pinned.cnt, sizeof *run->pinned.at, compare_pinned);
    return true;
}

static bool find_base(replay_run *run) {
    const sl_events *events = &run->replay->device->events;
    for (uint32_t i = 0; i < run->replay->event_cnt; i++) {
        uint8_t kind = events->kind[i];
        if (kind == SL_EV_ALLOC) {
            if (!sl_addr_map_put(&run->first_seen, events->addr[i], i))
                return false;
        } else if (ends_life(run, kind)) {
            if (sl_addr_map_remove(&run->first_seen, events->addr[i]) == SL_ADDR_NONE &&
                !base_from_free(run, i))
                return false;
        }
    }
    bool ok = !run->replay->device->has_end_state || scan_end_state(run);
    sl_addr_map_fini(&run->first_seen);
    run->replay->base_cnt = run->replay->lives.cnt;
    return ok;
}

typedef struct placed_life {
    uint64_t addr;
    uint32_t life_idx;
} placed_life;

static int compare_placed(const void *a, const void *b) {
    const placed_life *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return x->life_idx < y->life_idx ? -1 : x->life_idx > y->life_idx;
}

/* The base by ascending address. Of several lives at one address the first one to be freed was
 * there first; the others wait in base_twins for their free. */
static bool sort_base(replay_run *run, placed_life *placed, uint32_t *ids, size_t *cnt) {
    size_t base_cnt = run->replay->base_cnt;
    for (uint32_t i = 0; i < base_cnt; i++)
        placed[i] = (placed_life){run->replay->lives.at[i].addr, i};
    qsort(placed, base_cnt, sizeof *placed, compare_placed);
    *cnt = 0;
    for (size_t i = 0; i < base_cnt; i++) {
        bool is_twin = i && placed[i].addr == placed[i - 1].addr;
        if (!is_twin)
            ids[(*cnt)++] = placed[i].life_idx;
        else if (!sl_vec_push(&run->base_twins, placed[i].life_idx))
            return false;
    }
    return true;
}

static bool place_base(replay_run *run) {
    size_t base_cnt = run->replay->base_cnt, cnt;
    placed_life *placed = malloc((base_cnt + 1) * sizeof *placed);
    uint32_t *ids = malloc((base_cnt + 1) * sizeof *ids);
    bool ok = placed && ids && sort_base(run, placed, ids, &cnt) &&
              sl_mirror_place(&run->mirror, run->replay->lives.at, ids, cnt);
    free(placed);
    free(ids);
    return ok;
}

static void start_totals(replay_run *run) {
    sl_replay *replay = run->replay;
    for (size_t i = 0; i < replay->base_cnt; i++) {
        run->now.requested_bytes += replay->lives.at[i].requested_bytes;
        run->now.active_bytes += replay->lives.at[i].block_bytes;
    }
    run->now.allocated_bytes = run->now.active_bytes;
    for (size_t i = 0; i < run->replay->segments.cnt; i++)
        run->now.reserved_bytes += run->replay->segments.at[i].bytes;
    replay->start = run->now;
    replay->peak_requested = (sl_replay_peak){run->now.requested_bytes, SL_EVENT_BEFORE};
    replay->peak_active = (sl_replay_peak){run->now.active_bytes, SL_EVENT_BEFORE};
    replay->peak_allocated = (sl_replay_peak){run->now.allocated_bytes, SL_EVENT_BEFORE};
    replay->peak_reserved = (sl_replay_peak){run->now.reserved_bytes, SL_EVENT_BEFORE};
    if (run->base_twins.cnt)
        qsort(run->base_twins.at, run->base_twins.cnt, sizeof(uint32_t), sl_order_u32);
}

/* ---- second pass: forward ---- */

static void raise_peak(sl_replay_peak *peak, uint64_t bytes, uint32_t event) {
    if (bytes > peak->bytes)
        *peak = (sl_replay_peak){bytes, event};
}

static void drop_life(replay_run *run, sl_life *life, uint32_t event) {
    if (life->drop_event != SL_EVENT_NEVER)
        return;
    life->drop_event = event;
    run->now.allocated_bytes -= life->block_bytes;
}

static void end_life(replay_run *run, sl_life *life, uint32_t event) {
    drop_life(run, life, event);
    life->end_event = event;
    run->now.requested_bytes -= life->requested_bytes;
    run->now.active_bytes -= life->block_bytes;
}

/* The free of this life was not recorded: it ends here at the latest. */
static bool lose_life(replay_run *run, uint32_t life_idx, uint32_t event) {
    sl_life *life = &run->replay->lives.at[life_idx];
    end_life(run, life, event);
    life->flags |= SL_LIFE_LOST_FREE;
    run->replay->lost_frees++;
    run->replay->lost_bytes += life->requested_bytes;
    return sl_vec_push(&run->replay->lost, life_idx);
}

static const sl_block *take_pinned(replay_run *run, uint32_t event) {
    if (run->next_pinned >= run->pinned.cnt || run->pinned.at[run->next_pinned].event != event)
        return NULL;
    return &run->replay->device->blocks.at[run->pinned.at[run->next_pinned++].block_idx];
}

static bool on_alloc(replay_run *run, uint32_t i) {
    sl_replay *replay = run->replay;
    const sl_events *events = &replay->device->events;
    uint32_t old = sl_mirror_find_used(&run->mirror, events->addr[i]);
    if (SL_UNLIKELY(old != SL_IDX_NONE)) {
        if (!lose_life(run, run->mirror.blocks.at[old].life_idx, i))
            return false;
        sl_mirror_release(&run->mirror, old);
    }
    uint64_t size = events->size_bytes[i];
    const sl_block *pinned = take_pinned(run, i);
    uint64_t exact = pinned ? pinned->size_bytes : 0;
    if (!exact && !replay->trace->has_requested_sizes)
        exact = size;
    sl_life life = {.addr = events->addr[i],
                    .requested_bytes = size,
                    .begin_event = i,
                    .drop_event = SL_EVENT_NEVER,
                    .end_event = SL_EVENT_NEVER,
                    .stack_id = events->stack_id[i],
                    .stream_idx = events->stream_idx[i]};
    uint32_t life_idx = (uint32_t)replay->lives.cnt;
    if (!sl_mirror_alloc(&run->mirror, &life, life_idx, exact) ||
        !sl_vec_push(&replay->lives, life))
        return false;
    replay->life_of_event[i] = life_idx;
    replay->allocs++;
    replay->rounded_by_rule += (life.flags & SL_LIFE_BY_RULE) != 0;
    run->alloc_less_free += size;
    run->now.requested_bytes += size;
    run->now.active_bytes += life.block_bytes;
    run->now.allocated_bytes += life.block_bytes;
    raise_peak(&replay->peak_requested, run->now.requested_bytes, i);
    raise_peak(&replay->peak_active, run->now.active_bytes, i);
    raise_peak(&replay->peak_allocated, run->now.allocated_bytes, i);
    return true;
}

static void on_drop(replay_run *run, uint32_t i) {
    uint32_t block = sl_mirror_find_used(&run->mirror, run->replay->device->events.addr[i]);
    if (block == SL_IDX_NONE)
        return;
    uint32_t life_idx = run->mirror.blocks.at[block].life_idx;
    run->replay->life_of_event[i] = life_idx;
    drop_life(run, &run->replay->lives.at[life_idx], i);
}

static void on_free(replay_run *run, uint32_t i) {
    sl_replay *replay = run->replay;
    uint32_t block = sl_mirror_find_used(&run->mirror, replay->device->events.addr[i]);
    uint32_t life_idx = SL_IDX_NONE;
    replay->frees++;
    run->alloc_less_free -= replay->device->events.size_bytes[i];
    if (block != SL_IDX_NONE) {
        life_idx = run->mirror.blocks.at[block].life_idx;
        sl_mirror_release(&run->mirror, block);
    } else if (run->next_twin < run->base_twins.cnt) {
        life_idx = run->base_twins.at[run->next_twin++];
    }
    if (life_idx == SL_IDX_NONE)
        return;
    replay->life_of_event[i] = life_idx;
    end_life(run, &replay->lives.at[life_idx], i);
}

static bool on_segment(replay_run *run, uint32_t i) {
    sl_event ev = sl_events_get(&run->replay->device->events, i);
    bool is_map = ev.kind == SL_EV_SEGMENT_MAP;
    if (!sl_segment_is_range(ev.addr, ev.size_bytes))
        return true;
    run->replay->reserved_known = true;
    if (ev.kind == SL_EV_SEGMENT_FREE || ev.kind == SL_EV_SEGMENT_UNMAP) {
        run->now.reserved_bytes -= sl_min_u64(ev.size_bytes, run->now.reserved_bytes);
        return sl_mirror_drop_range(&run->mirror, ev.addr, ev.size_bytes, i);
    }
    run->now.reserved_bytes += ev.size_bytes;
    raise_peak(&run->replay->peak_reserved, run->now.reserved_bytes, i);
    return sl_mirror_add_range(
        &run->mirror, (sl_segment_life){.addr = ev.addr,
                                        .bytes = ev.size_bytes,
                                        .begin_event = i,
                                        .end_event = SL_EVENT_NEVER,
                                        .stream_idx = ev.stream_idx,
                                        .pool_idx = ev.pool_idx,
                                        .is_large = ev.size_bytes != SL_ALLOC_SMALL_SEGMENT,
                                        .is_expandable = is_map});
}

static bool apply(replay_run *run, uint32_t i) {
    const sl_events *events = &run->replay->device->events;
    switch (events->kind[i]) {
    case SL_EV_ALLOC: return on_alloc(run, i);
    case SL_EV_FREE_REQUESTED:
        if (run->requests_end_lives)
            on_free(run, i);
        else
            on_drop(run, i);
        return true;
    case SL_EV_FREE:
    case SL_EV_FREE_COMPLETED: on_free(run, i); return true;
    case SL_EV_SEGMENT_ALLOC:
    case SL_EV_SEGMENT_FREE:
    case SL_EV_SEGMENT_MAP:
    case SL_EV_SEGMENT_UNMAP: return on_segment(run, i);
    case SL_EV_RESERVED:
        run->replay->reserved_known = true;
        run->now.reserved_bytes = events->size_bytes[i];
        raise_peak(&run->replay->peak_reserved, run->now.reserved_bytes, i);
        return true;
    default: return true;
    }
}

/* Segments that outlived the trace are described by the end state; take over what events before
 * torch 2.12 do not say. */
static void describe_segments(replay_run *run) {
    const sl_device_trace *device = run->replay->device;
    const sl_segment_set *set = &run->mirror.segments;
    for (size_t i = 0; i < device->segments.cnt; i++) {
        const sl_segment *s = &device->segments.at[i];
        uint64_t end = s->addr + s->total_bytes;
        size_t pos = sl_segment_set_find(set, run->replay->segments.at, s->addr);
        for (; pos < set->by_addr.cnt; pos++) {
            sl_segment_life *life = &run->replay->segments.at[set->by_addr.at[pos]];
            if (life->addr >= end)
                break;
            life->pool_idx = s->pool_idx;
            life->is_large = s->is_large;
            life->is_expandable = s->is_expandable;
        }
    }
}

/* Lives that the end state does not know have lost their free between two events. */
static bool lose_unknown(replay_run *run) {
    sl_replay *replay = run->replay;
    if (!replay->device->has_end_state || !replay->event_cnt)
        return true;
    sl_addr_map known = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < replay->device->blocks.cnt; i++)
        if (replay->device->blocks.at[i].state != SL_BLOCK_INACTIVE)
            ok = sl_addr_map_put(&known, replay->device->blocks.at[i].addr, (uint32_t)i);
    for (size_t i = 0; ok && i < replay->lives.cnt; i++)
        if (replay->lives.at[i].end_event == SL_EVENT_NEVER &&
            sl_addr_map_find(&known, replay->lives.at[i].addr) == SL_ADDR_NONE)
            ok = lose_life(run, (uint32_t)i, replay->event_cnt - 1);
    sl_addr_map_fini(&known);
    return ok;
}

static void check_identity(replay_run *run) {
    sl_replay *replay = run->replay;
    replay->identity_holds = replay->lost_frees == 0;
    if (!replay->device->has_end_state)
        return;
    uint64_t replayed = replay->start.requested_bytes + run->alloc_less_free;
    replay->identity_residue = (int64_t)(replayed - replay->end_state_requested);
    replay->identity_holds = replay->identity_residue == 0;
}

static void forget_end(uint32_t *end_event, uint32_t work_cnt) {
    if (*end_event != SL_EVENT_NEVER && *end_event >= work_cnt)
        *end_event = SL_EVENT_NEVER;
}

static void find_peaks_again(sl_replay *replay) {
    sl_replay_peak *const peaks[] = {&replay->peak_requested, &replay->peak_active,
                                     &replay->peak_allocated, &replay->peak_reserved};
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, replay);
    for (size_t p = 0; p < SL_COUNT_OF(peaks); p++)
        *peaks[p] = (sl_replay_peak){0, SL_EVENT_BEFORE};
    do {
        const uint64_t now[] = {walk.totals.requested_bytes, walk.totals.active_bytes,
                                walk.totals.allocated_bytes, walk.totals.reserved_bytes};
        for (size_t p = 0; p < SL_COUNT_OF(peaks); p++)
            if (now[p] > peaks[p]->bytes)
                *peaks[p] = (sl_replay_peak){now[p], walk.next ? walk.next - 1 : SL_EVENT_BEFORE};
    } while (sl_replay_walk_next(&walk));
}

/* Takes the teardown back (P5). It had to be replayed: which blocks were there before the trace is known
 * from the state after its last event. */
static void end_with_work(replay_run *run) {
    sl_replay *replay = run->replay;
    uint32_t work_cnt = run->work_cnt;
    while (replay->lives.cnt > replay->base_cnt &&
           replay->lives.at[replay->lives.cnt - 1].begin_event >= work_cnt)
        replay->lives.cnt--;
    while (replay->segments.cnt > 0 &&
           replay->segments.at[replay->segments.cnt - 1].begin_event != SL_EVENT_BEFORE &&
           replay->segments.at[replay->segments.cnt - 1].begin_event >= work_cnt)
        replay->segments.cnt--;
    for (size_t i = 0; i < replay->lives.cnt; i++) {
        forget_end(&replay->lives.at[i].drop_event, work_cnt);
        forget_end(&replay->lives.at[i].end_event, work_cnt);
    }
    for (size_t i = 0; i < replay->segments.cnt; i++)
        forget_end(&replay->segments.at[i].end_event, work_cnt);
    size_t kept = 0;
    for (size_t i = 0; i < replay->lost.cnt; i++)
        if (replay->lost.at[i] < replay->lives.cnt &&
            replay->lives.at[replay->lost.at[i]].end_event != SL_EVENT_NEVER)
            replay->lost.at[kept++] = replay->lost.at[i];
    replay->lost.cnt = kept;
    replay->event_cnt = work_cnt;
    const uint32_t peaks[] = {replay->peak_requested.event, replay->peak_active.event,
                              replay->peak_allocated.event, replay->peak_reserved.event};
    for (size_t i = 0; i < SL_COUNT_OF(peaks); i++)
        if (peaks[i] != SL_EVENT_BEFORE && peaks[i] >= work_cnt) {
            find_peaks_again(replay);
            break;
        }
}

static bool run_forward(replay_run *run) {
    sl_replay *replay = run->replay;
    bool ok = true;
    for (uint32_t i = 0; ok && i < run->work_cnt; i++)
        ok = apply(run, i);
    replay->end = run->now;
    uint64_t allocs = replay->allocs, frees = replay->frees;
    for (uint32_t i = run->work_cnt; ok && i < replay->event_cnt; i++)
        ok = apply(run, i);
    if (!ok)
        return false;
    describe_segments(run);
    if (!lose_unknown(run))
        return false;
    check_identity(run);
    if (run->work_cnt < replay->event_cnt) {
        replay->allocs = allocs;
        replay->frees = frees;
        end_with_work(run);
    } else {
        replay->end = run->now; /* without blocks that the end state does not know */
    }
    replay->max_end = sl_live_index_new(replay->lives.at, replay->lives.cnt);
    return replay->max_end != NULL;
}

static bool run_passes(replay_run *run) {
    sl_replay *replay = run->replay;
    size_t counts[256] = {0};
    for (uint32_t i = 0; i < replay->event_cnt; i++)
        counts[replay->device->events.kind[i]]++;
    run->requests_end_lives = !counts[SL_EV_FREE_COMPLETED] && counts[SL_EV_FREE_REQUESTED];
    sl_rounding rounding;
    sl_rounding_init(&rounding,
                     sl_strtab_get(&replay->trace->strings, replay->trace->settings.conf),
                     replay->trace->settings.max_split_bytes);
    sl_mirror_init(&run->mirror, &run->replay->segments, &rounding);
    replay->life_of_event = malloc((replay->event_cnt + 1) * sizeof(uint32_t));
    if (!replay->life_of_event)
        return false;
    memset(replay->life_of_event, 0xff, (replay->event_cnt + 1) * sizeof(uint32_t));
    if (!sl_segments_at_start(replay->device, replay->event_cnt, &run->replay->segments) ||
        !find_base(run) || !sl_vec_reserve(&replay->lives, counts[SL_EV_ALLOC]) || !place_base(run))
        return false;
    replay->geometry_known = replay->device->has_end_state && replay->device->segments.cnt > 0;
    replay->reserved_known = replay->geometry_known;
    start_totals(run);
    return run_forward(run);
}

static void fini_run(replay_run *run) {
    sl_mirror_fini(&run->mirror);
    sl_vec_free(&run->pinned);
    sl_vec_free(&run->base_twins);
    sl_addr_map_fini(&run->first_seen);
}

static sl_status replay_new(const sl_trace *trace, const sl_device_trace *device, size_t work_cnt,
                            sl_replay **out, sl_error *err) {
    if (device->events.cnt >= SL_EVENT_NEVER - 1)
        return sl_fail(err, SL_E_LIMIT, "device %d has %zu events, at most %u can be replayed",
                       device->device, device->events.cnt, SL_EVENT_NEVER - 2);
    sl_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return sl_fail_no_memory(err, "the replay");
    replay->trace = trace;
    replay->device = device;
    /* Of a snapshot one event is a leftover; of a recording it is all that happened. */
    size_t leftover_cnt = trace->source == SL_SOURCE_SLOG ? 0 : 1;
    replay->has_history = device->events.cnt > leftover_cnt || !device->has_end_state;
    replay->event_cnt = (uint32_t)device->events.cnt;
    replay_run run = {.replay = replay, .work_cnt = (uint32_t)work_cnt};
    bool ok = run_passes(&run);
    fini_run(&run);
    if (!ok) {
        sl_replay_free(replay);
        return sl_fail_no_memory(err, "the replay of %zu events", device->events.cnt);
    }
    *out = replay;
    return SL_OK;
}

sl_status sl_replay_new(const sl_trace *trace, const sl_device_trace *device, sl_replay **out,
                        sl_error *err) {
    return replay_new(trace, device, sl_work_count(trace, device), out, err);
}

sl_status sl_replay_new_to_exit(const sl_trace *trace, const sl_device_trace *device,
                                sl_replay **out, sl_error *err) {
    return replay_new(trace, device, device->events.cnt, out, err);
}

void sl_replay_free(sl_replay *replay) {
    if (!replay)
        return;
    sl_vec_free(&replay->lives);
    sl_vec_free(&replay->segments);
    sl_vec_free(&replay->lost);
    free(replay->life_of_event);
    free(replay->max_end);
    free(replay);
}
