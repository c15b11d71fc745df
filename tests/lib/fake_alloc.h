/* SPDX-License-Identifier: MIT */
/* A caching allocator as plain as possible: one array of blocks in address order, searched
 * linearly. It writes the events a PyTorch trace would have and knows every block's true size, so
 * that replays can be compared with it. Header only; used by tests. */
#ifndef SL_FAKE_ALLOC_H
#define SL_FAKE_ALLOC_H

#include <stdlib.h>
#include <string.h>

#include "model/trace.h"

#define FAKE_MAX_BLOCKS 4096
#define FAKE_MIB        ((uint64_t)1 << 20)

typedef struct fake_block {
    uint64_t addr, size, requested;
    uint64_t segment_addr, segment_size;
    uint32_t stack_id;
    bool is_used, is_pending, is_large;
} fake_block;

typedef struct fake_alloc {
    sl_trace *trace;
    sl_device_trace *device;
    fake_block blocks[FAKE_MAX_BLOCKS];
    size_t cnt;
    uint64_t next_addr;
    int64_t now_us;
    uint64_t seed;
    bool is_recording;
    uint64_t requested, active, allocated, reserved;
    uint64_t peak_requested, peak_active, peak_allocated, peak_reserved;
} fake_alloc;

/* xorshift64*: the same numbers everywhere. */
static inline uint64_t fake_random(uint64_t *seed, uint64_t below) {
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (*seed * 0x2545f4914f6cdd1du >> 16) % below;
}

static inline fake_alloc *fake_new(uint64_t seed) {
    fake_alloc *fake = calloc(1, sizeof *fake);
    fake->trace = sl_trace_new("fake", SL_SOURCE_TORCH_SNAPSHOT);
    fake->trace->has_requested_sizes = true;
    fake->trace->has_time = true;
    fake->device = sl_trace_device(fake->trace, 0);
    fake->next_addr = (uint64_t)0x7f0000000000;
    fake->seed = seed * 2654435761u + 1;
    fake->is_recording = true;
    (void)sl_trace_stream(fake->trace, 0);
    return fake;
}

static inline void fake_free_all(fake_alloc *fake) {
    sl_trace_free(fake->trace);
    free(fake);
}

static inline void fake_event(fake_alloc *fake, sl_event_kind kind, uint64_t addr, uint64_t size,
                              uint32_t stack_id) {
    fake->now_us += 1 + (int64_t)fake_random(&fake->seed, 20);
    sl_event ev = {fake->now_us, addr, size, stack_id, 0, SL_POOL_UNKNOWN, kind, SL_TAG_UNKNOWN};
    if (fake->is_recording)
        (void)sl_events_push(&fake->device->events, &ev);
}

static inline void fake_peaks(fake_alloc *fake) {
#define FAKE_RAISE(peak, now) (peak) = (now) > (peak) ? (now) : (peak)
    if (!fake->is_recording)
        return;
    FAKE_RAISE(fake->peak_requested, fake->requested);
    FAKE_RAISE(fake->peak_active, fake->active);
    FAKE_RAISE(fake->peak_allocated, fake->allocated);
    FAKE_RAISE(fake->peak_reserved, fake->reserved);
#undef FAKE_RAISE
}

static inline void fake_insert(fake_alloc *fake, size_t at, fake_block block) {
    memmove(fake->blocks + at + 1, fake->blocks + at, (fake->cnt - at) * sizeof block);
    fake->blocks[at] = block;
    fake->cnt++;
}

static inline void fake_remove(fake_alloc *fake, size_t at) {
    fake->cnt--;
    memmove(fake->blocks + at, fake->blocks + at + 1, (fake->cnt - at) * sizeof *fake->blocks);
}

static inline uint64_t fake_round(uint64_t n) {
    return n < 512 ? 512 : (n + 511) / 512 * 512;
}

static inline size_t fake_best_fit(const fake_alloc *fake, uint64_t size, bool is_large) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < fake->cnt; i++) {
        const fake_block *b = &fake->blocks[i];
        if (!b->is_used && b->is_large == is_large && b->size >= size &&
            (best == SIZE_MAX || b->size < fake->blocks[best].size))
            best = i;
    }
    return best;
}

static inline size_t fake_grow(fake_alloc *fake, uint64_t size, bool is_large) {
    uint64_t bytes = !is_large ? 2 * FAKE_MIB
                     : size < 10 * FAKE_MIB
                         ? 20 * FAKE_MIB
                         : (size + 2 * FAKE_MIB - 1) / (2 * FAKE_MIB) * 2 * FAKE_MIB;
    fake_block block = {.addr = fake->next_addr,
                        .size = bytes,
                        .segment_addr = fake->next_addr,
                        .segment_size = bytes,
                        .is_large = is_large};
    fake->next_addr += bytes + fake_random(&fake->seed, 2) * 2 * FAKE_MIB;
    fake->reserved += bytes;
    fake_event(fake, SL_EV_SEGMENT_ALLOC, block.addr, bytes, 0);
    fake_peaks(fake);
    fake_insert(fake, fake->cnt, block);
    return fake->cnt - 1;
}

/* The address. */
static inline uint64_t fake_malloc(fake_alloc *fake, uint64_t requested, uint32_t stack_id) {
    uint64_t size = fake_round(requested);
    bool is_large = size > FAKE_MIB;
    size_t at = fake_best_fit(fake, size, is_large);
    if (at == SIZE_MAX)
        at = fake_grow(fake, size, is_large);
    uint64_t rest = fake->blocks[at].size - size;
    if (is_large ? rest > FAKE_MIB : rest >= 512) {
        fake_block tail = fake->blocks[at];
        tail.addr += size;
        tail.size = rest;
        fake->blocks[at].size = size;
        fake_insert(fake, at + 1, tail);
    }
    fake_block *b = &fake->blocks[at];
    b->is_used = true;
    b->is_pending = false;
    b->requested = requested;
    b->stack_id = stack_id;
    fake->requested += requested;
    fake->active += b->size;
    fake->allocated += b->size;
    fake_event(fake, SL_EV_ALLOC, b->addr, requested, stack_id);
    fake_peaks(fake);
    return b->addr;
}

static inline size_t fake_find(const fake_alloc *fake, uint64_t addr) {
    size_t at = 0;
    while (at < fake->cnt && fake->blocks[at].addr != addr)
        at++;
    return at;
}

static inline void fake_drop(fake_alloc *fake, uint64_t addr) {
    fake_block *b = &fake->blocks[fake_find(fake, addr)];
    fake_event(fake, SL_EV_FREE_REQUESTED, addr, b->requested, 0);
    fake->allocated -= b->size;
    b->is_pending = true;
}

static inline void fake_complete(fake_alloc *fake, uint64_t addr) {
    size_t at = fake_find(fake, addr);
    fake_block *b = &fake->blocks[at];
    fake_event(fake, SL_EV_FREE_COMPLETED, addr, b->requested, 0);
    fake->requested -= b->requested;
    fake->active -= b->size;
    b->is_used = b->is_pending = false;
    if (at + 1 < fake->cnt && !fake->blocks[at + 1].is_used &&
        fake->blocks[at + 1].segment_addr == b->segment_addr) {
        b->size += fake->blocks[at + 1].size;
        fake_remove(fake, at + 1);
    }
    if (at > 0 && !fake->blocks[at - 1].is_used &&
        fake->blocks[at - 1].segment_addr == b->segment_addr) {
        fake->blocks[at - 1].size += b->size;
        fake_remove(fake, at);
    }
}

static inline void fake_free(fake_alloc *fake, uint64_t addr) {
    fake_drop(fake, addr);
    fake_complete(fake, addr);
}

/* Frees every segment that is one free block. */
static inline void fake_empty_cache(fake_alloc *fake) {
    for (size_t i = fake->cnt; i-- > 0;) {
        const fake_block b = fake->blocks[i];
        if (b.is_used || b.size != b.segment_size)
            continue;
        fake->reserved -= b.size;
        fake_event(fake, SL_EV_SEGMENT_FREE, b.addr, b.size, 0);
        fake_remove(fake, i);
    }
}

/* Writes the end state into the trace. */
static inline void fake_finish(fake_alloc *fake) {
    sl_device_trace *device = fake->device;
    device->has_end_state = true;
    for (size_t i = 0; i < fake->cnt; i++) {
        const fake_block *b = &fake->blocks[i];
        if (!device->segments.cnt ||
            device->segments.at[device->segments.cnt - 1].addr != b->segment_addr) {
            sl_segment segment = {.addr = b->segment_addr,
                                  .total_bytes = b->segment_size,
                                  .first_block = (uint32_t)i,
                                  .is_large = b->is_large};
            (void)sl_vec_push(&device->segments, segment);
        }
        device->segments.at[device->segments.cnt - 1].block_cnt++;
        sl_block block = {b->addr,
                          b->size,
                          b->requested,
                          b->stack_id,
                          (uint32_t)device->segments.cnt - 1,
                          (uint8_t)(b->is_pending ? SL_BLOCK_PENDING_FREE
                                    : b->is_used  ? SL_BLOCK_ALLOCATED
                                                  : SL_BLOCK_INACTIVE),
                          SL_TAG_UNKNOWN};
        (void)sl_vec_push(&device->blocks, block);
    }
}

#endif
