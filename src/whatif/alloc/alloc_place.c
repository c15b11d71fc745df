/* SPDX-License-Identifier: MIT */
/* Where the driver puts new segments (M7). */
#include "base/core/order.h"
#include "whatif/alloc/alloc_model_impl.h"

/* More holes than this are not remembered: every driver call scans all of them. */
#define HOLES_MAX 1024

/* xorshift64; any seed but 0. */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- holes ---- */

static uint64_t end_of(const sl_alloc_place *place) {
    return place->addr + place->bytes;
}

/* Holes are sorted by ascending address and never touch. */
static size_t hole_position(const sl_alloc_model *model, uint64_t addr) {
    size_t lo = 0, hi = model->holes.cnt;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (model->holes.at[mid].addr < addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void remove_hole(sl_alloc_model *model, size_t pos) {
    for (size_t i = pos + 1; i < model->holes.cnt; i++)
        model->holes.at[i - 1] = model->holes.at[i];
    model->holes.cnt--;
}

static void add_hole(sl_alloc_model *model, uint64_t addr, uint64_t bytes) {
    size_t pos = hole_position(model, addr);
    sl_alloc_place *holes = model->holes.at;
    bool joins_before = pos > 0 && end_of(&holes[pos - 1]) >= addr;
    bool joins_after = pos < model->holes.cnt && addr + bytes >= holes[pos].addr;
    if (bytes == 0 || bytes > SL_ALLOC_BYTES_MAX || addr > UINT64_MAX - bytes)
        return;
    if (joins_before) {
        uint64_t end = sl_max_u64(end_of(&holes[pos - 1]), addr + bytes);
        if (joins_after) {
            end = sl_max_u64(end, end_of(&holes[pos]));
            remove_hole(model, pos);
        }
        holes[pos - 1].bytes = end - holes[pos - 1].addr;
    } else if (joins_after) {
        holes[pos].bytes = sl_max_u64(end_of(&holes[pos]), addr + bytes) - addr;
        holes[pos].addr = addr;
    } else if (model->holes.cnt < HOLES_MAX && sl_vec_reserve(&model->holes, 1)) {
        for (size_t i = model->holes.cnt++; i > pos; i--)
            model->holes.at[i] = model->holes.at[i - 1];
        model->holes.at[pos] = (sl_alloc_place){addr, bytes};
    }
}

/* Takes the smallest hole with enough room, the lowest of equal ones; 0 when there is none. */
static uint64_t take_hole(sl_alloc_model *model, uint64_t bytes) {
    size_t best = model->holes.cnt;
    for (size_t i = 0; i < model->holes.cnt; i++)
        if (model->holes.at[i].bytes >= bytes &&
            (best == model->holes.cnt || model->holes.at[i].bytes < model->holes.at[best].bytes))
            best = i;
    if (best == model->holes.cnt)
        return 0;
    uint64_t addr = model->holes.at[best].addr;
    model->holes.at[best].addr += bytes;
    model->holes.at[best].bytes -= bytes;
    if (model->holes.at[best].bytes == 0)
        remove_hole(model, best);
    return addr;
}

/* ---- a place ---- */

static bool is_taken(const sl_alloc_model *model, const sl_alloc_place *place, size_t before) {
    for (size_t i = 0; i < before; i++) {
        const sl_alloc_place *other = &model->places.recorded[i];
        if (place->addr < end_of(other) && other->addr < end_of(place))
            return true;
    }
    return false;
}

/* Makes holes of the places of the trace's later segments: there was room, whatever the sizes
 * are. */
static void leave_trace(sl_alloc_model *model, size_t from) {
    size_t cnt = sl_min_size(model->places.recorded_cnt, HOLES_MAX);
    for (size_t i = from; i < cnt; i++)
        if (!is_taken(model, &model->places.recorded[i], from))
            add_hole(model, model->places.recorded[i].addr, model->places.recorded[i].bytes);
    model->next_recorded = model->places.recorded_cnt;
}

/* Takes whole chunks below everything else; the rest of them becomes a hole. */
static uint64_t new_chunks(sl_alloc_model *model, uint64_t bytes) {
    uint64_t chunks =
        (sl_min_u64(bytes, SL_ALLOC_BYTES_MAX) + SL_DRIVER_CHUNK - 1) & ~(SL_DRIVER_CHUNK - 1);
    model->next_addr -= chunks;
    uint64_t addr = model->next_addr;
    add_hole(model, addr + bytes, chunks - sl_min_u64(bytes, chunks));
    return addr;
}

uint64_t sl__alloc_place(sl_alloc_model *model, uint64_t bytes) {
    if (model->hint) {
        uint64_t hint = model->hint;
        model->hint = 0;
        model->hint_was_used = true;
        return hint;
    }
    if (model->next_recorded < model->places.recorded_cnt) {
        const sl_alloc_place *place = &model->places.recorded[model->next_recorded];
        if (place->bytes == bytes) {
            model->next_recorded++;
            return place->addr;
        }
        leave_trace(model, model->next_recorded);
    }
    if (model->places.seed)
        return next_random(&model->random) >> 2 & ~(SL_ALLOC_SMALL_SEGMENT - 1);
    /* Address spaces are never in holes, and without caching addresses decide nothing. */
    if (model->settings.is_expandable || model->settings.is_uncached)
        return model->next_addr -= sl_min_u64(bytes, SL_ALLOC_BYTES_MAX);
    uint64_t addr = take_hole(model, bytes);
    return addr ? addr : new_chunks(model, bytes);
}
