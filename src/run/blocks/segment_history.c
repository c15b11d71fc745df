/* SPDX-License-Identifier: MIT */
#include "run/blocks/segment_history.h"

#include <string.h>

#include "run/blocks/rounding.h"

static uint64_t end_of(const sl_segment_life *segment) {
    return segment->addr + segment->bytes;
}

bool sl_segment_is_range(uint64_t addr, uint64_t bytes) {
    return bytes > 0 && bytes <= UINT64_MAX - addr;
}

size_t sl_segment_set_find(const sl_segment_set *set, const sl_segment_life *all, uint64_t addr) {
    size_t lo = 0, hi = set->by_addr.cnt;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (end_of(&all[set->by_addr.at[mid]]) <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

uint32_t sl_segment_set_at(const sl_segment_set *set, const sl_segment_life *all, uint64_t addr) {
    size_t pos = sl_segment_set_find(set, all, addr);
    if (pos == set->by_addr.cnt || all[set->by_addr.at[pos]].addr > addr)
        return SL_IDX_NONE;
    return set->by_addr.at[pos];
}

bool sl_segment_set_add(sl_segment_set *set, const sl_segment_life *all, uint32_t idx) {
    size_t pos = sl_segment_set_find(set, all, all[idx].addr);
    if (!sl_vec_reserve(&set->by_addr, 1))
        return false;
    uint32_t *at = set->by_addr.at + pos;
    memmove(at + 1, at, (set->by_addr.cnt - pos) * sizeof *at);
    *at = idx;
    set->by_addr.cnt++;
    return true;
}

static void remove_at(sl_segment_set *set, size_t pos) {
    uint32_t *at = set->by_addr.at + pos;
    memmove(at, at + 1, (set->by_addr.cnt - pos - 1) * sizeof *at);
    set->by_addr.cnt--;
}

/* A new range with the attributes of an old one. */
static bool add_rest(sl_segment_set *set, sl_segment_lives *all, sl_segment_life rest) {
    if (rest.bytes == 0)
        return true;
    return sl_vec_push(all, rest) && sl_segment_set_add(set, all->at, (uint32_t)all->cnt - 1);
}

bool sl_segment_set_cut(sl_segment_set *set, sl_segment_lives *all, uint64_t addr, uint64_t bytes,
                        uint32_t event) {
    uint64_t cut_end = addr + bytes;
    for (size_t pos; pos = sl_segment_set_find(set, all->at, addr), pos < set->by_addr.cnt;) {
        sl_segment_life *old = &all->at[set->by_addr.at[pos]];
        if (old->addr >= cut_end)
            break;
        sl_segment_life left = *old, right = *old;
        left.begin_event = right.begin_event = event;
        left.bytes = addr > old->addr ? addr - old->addr : 0;
        right.addr = cut_end;
        right.bytes = end_of(old) > cut_end ? end_of(old) - cut_end : 0;
        old->end_event = event;
        remove_at(set, pos);
        if (!add_rest(set, all, left) || !add_rest(set, all, right))
            return false;
    }
    return true;
}

void sl_segment_set_fini(sl_segment_set *set) {
    sl_vec_free(&set->by_addr);
}

static bool push_end_state(const sl_device_trace *device, sl_segment_lives *all,
                           sl_segment_set *set) {
    for (size_t i = 0; i < device->segments.cnt; i++) {
        const sl_segment *s = &device->segments.at[i];
        sl_segment_life life = {.addr = s->addr,
                                .bytes = s->total_bytes,
                                .begin_event = SL_EVENT_BEFORE,
                                .end_event = SL_EVENT_NEVER,
                                .stream_idx = s->stream_idx,
                                .pool_idx = s->pool_idx,
                                .is_large = s->is_large,
                                .is_expandable = s->is_expandable};
        if (!sl_segment_is_range(life.addr, life.bytes))
            continue;
        if (!sl_segment_set_cut(set, all, life.addr, life.bytes, SL_EVENT_NEVER) ||
            !add_rest(set, all, life))
            return false;
    }
    return true;
}

static bool undo(const sl_device_trace *device, uint32_t i, sl_segment_lives *all,
                 sl_segment_set *set) {
    sl_event ev = sl_events_get(&device->events, i);
    bool is_expandable = ev.kind == SL_EV_SEGMENT_UNMAP;
    if (!sl_segment_is_range(ev.addr, ev.size_bytes))
        return true;
    switch (ev.kind) {
    case SL_EV_SEGMENT_ALLOC:
    case SL_EV_SEGMENT_MAP: return sl_segment_set_cut(set, all, ev.addr, ev.size_bytes, i);
    case SL_EV_SEGMENT_FREE:
    case SL_EV_SEGMENT_UNMAP:
        /* Whatever the reconstruction believes to be there gives way to the event. */
        return sl_segment_set_cut(set, all, ev.addr, ev.size_bytes, i) &&
               add_rest(set, all,
                        (sl_segment_life){.addr = ev.addr,
                                          .bytes = ev.size_bytes,
                                          .begin_event = SL_EVENT_BEFORE,
                                          .end_event = SL_EVENT_NEVER,
                                          .stream_idx = ev.stream_idx,
                                          .pool_idx = ev.pool_idx,
                                          .is_large = ev.size_bytes != SL_ALLOC_SMALL_SEGMENT,
                                          .is_expandable = is_expandable});
    default: return true;
    }
}

bool sl_segments_at_start(const sl_device_trace *device, uint32_t event_cnt,
                          sl_segment_lives *out) {
    sl_segment_lives all = {0};
    sl_segment_set set = {0};
    bool ok = push_end_state(device, &all, &set);
    for (uint32_t i = event_cnt; ok && i-- > 0;) {
        if (sl_event_is_segment(device->events.kind[i]))
            ok = undo(device, i, &all, &set);
    }
    for (size_t i = 0; ok && i < set.by_addr.cnt; i++) {
        sl_segment_life life = all.at[set.by_addr.at[i]];
        life.begin_event = SL_EVENT_BEFORE;
        life.end_event = SL_EVENT_NEVER;
        ok = sl_vec_push(out, life);
    }
    sl_vec_free(&all);
    sl_segment_set_fini(&set);
    return ok;
}
