/* SPDX-License-Identifier: MIT */
/* A trace written by the allocator's model while it is called, so a replay gives the same
 * addresses. Header only. */
#ifndef SL_MADE_TRACE_H
#define SL_MADE_TRACE_H

#include "sltest.h"

#include "model/trace.h"
#include "whatif/alloc/alloc_model.h"

#define MADE_MIB    ((uint64_t)1 << 20)
#define MADE_PIECES 4

typedef struct made_trace {
    sl_trace *trace;
    sl_device_trace *device;
    sl_alloc_model *model;
    int64_t now;
    bool is_wrong; /* every third address is not the allocator's */
} made_trace;

static inline void made_push(made_trace *m, sl_event_kind kind, uint64_t addr, uint64_t bytes) {
    sl_event event = {.time_us = m->now++, .addr = addr, .size_bytes = bytes, .kind = kind};
    assert_true(sl_events_push(&m->device->events, &event));
}

static inline uint64_t made_shown(const made_trace *m, uint32_t slot) {
    return sl_alloc_addr(m->model, slot) + (m->is_wrong && slot % 3 == 0 ? 4096 : 0);
}

/* The block is recorded at the address `shown`; 0 = where the model put it. */
static inline void made_take_at(made_trace *m, uint32_t slot, uint64_t bytes, uint64_t shown) {
    uint64_t before = sl_alloc_model_stats(m->model)->reserved_bytes;
    assert_int_equal(sl_alloc_request(m->model, 0, slot, bytes), SL_ALLOC_DONE);
    uint64_t after = sl_alloc_model_stats(m->model)->reserved_bytes;
    if (after > before)
        made_push(m, SL_EV_SEGMENT_ALLOC, sl_alloc_addr(m->model, slot), after - before);
    made_push(m, SL_EV_ALLOC, shown ? shown : made_shown(m, slot), bytes);
}

static inline void made_take(made_trace *m, uint32_t slot, uint64_t bytes) {
    made_take_at(m, slot, bytes, 0);
}

static inline void made_give_at(made_trace *m, uint32_t slot, uint64_t bytes, uint64_t shown) {
    uint64_t addr = shown ? shown : made_shown(m, slot);
    made_push(m, SL_EV_FREE_REQUESTED, addr, bytes);
    made_push(m, SL_EV_FREE_COMPLETED, addr, bytes);
    assert_true(sl_alloc_give_back(m->model, slot));
}

static inline void made_give(made_trace *m, uint32_t slot, uint64_t bytes) {
    made_give_at(m, slot, bytes, 0);
}

/* An empty trace, and a model without limits. */
static inline void made_begin(made_trace *m, bool is_wrong) {
    sl_alloc_settings settings;
    sl_error err = SL_ERROR_INIT;
    *m =
        (made_trace){.trace = sl_trace_new("made", SL_SOURCE_TORCH_SNAPSHOT), .is_wrong = is_wrong};
    m->device = sl_trace_device(m->trace, 0);
    m->trace->has_requested_sizes = m->trace->has_time = true;
    sl_trace_stream(m->trace, 0);
    sl_trace_pool(m->trace, 0, 0);
    sl_alloc_settings_init(&settings);
    assert_int_equal(sl_alloc_model_new(&settings,
                                        &(sl_alloc_limits){SL_ALLOC_NO_LIMIT, SL_ALLOC_NO_LIMIT, 0},
                                        &(sl_alloc_places){0}, &m->model, &err),
                     SL_OK);
    assert_true(sl_alloc_model_add_group(m->model, 0));
}

/* Segments of 300 MiB of which 200 MiB stay in use: the free memory is in pieces of 100 MiB. */
static inline void made_pieces(made_trace *m, bool is_wrong) {
    made_begin(m, is_wrong);
    for (uint32_t i = 0; i < MADE_PIECES; i++)
        made_take(m, i, 300 * MADE_MIB);
    for (uint32_t i = 0; i < MADE_PIECES; i++) {
        made_give(m, i, 300 * MADE_MIB);
        made_take(m, i, 200 * MADE_MIB);
    }
}

static inline void made_free(made_trace *m) {
    sl_alloc_model_free(m->model);
    sl_trace_free(m->trace);
}

#endif
