/* SPDX-License-Identifier: MIT
 *
 * Deterministic event sequences for the tests of the log. Event i of a writer thread follows from the thread's number
 * and i alone, so a test can compute what a killed writer must have left.
 */
#ifndef SL_LOG_FIXTURE_H
#define SL_LOG_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "log/write/log_writer.h"

#define FIXTURE_BLOCKS 256 /* addresses per thread; each event allocates or frees one of them */
#define FIXTURE_STACKS 8   /* shared by all threads, so that threads meet at the same sites */

typedef struct fixture_block {
    uint64_t size; /* 0 = not live */
    uint32_t stack_no;
} fixture_block;

/* One writer thread's sequence, as far as it has come. */
typedef struct fixture_thread {
    uint32_t thread_no;
    uint64_t next; /* number of the next event */
    fixture_block blocks[FIXTURE_BLOCKS];
} fixture_thread;

typedef struct fixture_event {
    uint8_t kind;
    uint64_t addr, size;
    uint32_t stack_no; /* of the block's alloc */
    uint16_t tag;      /* low bits of the event's number */
} fixture_event;

static inline uint64_t fixture_hash(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline fixture_event fixture_next(fixture_thread *t) {
    uint64_t h = fixture_hash(t->next ^ (uint64_t)t->thread_no << 48);
    uint32_t i = (uint32_t)(h % FIXTURE_BLOCKS);
    fixture_block *b = &t->blocks[i];
    fixture_event e = {.addr = UINT64_C(0x7f0000000000) + ((uint64_t)t->thread_no << 32) + i * 512u,
                       .tag = (uint16_t)t->next};
    if (b->size == 0) {
        b->size = 16 * (1 + (h >> 16) % 4096);
        b->stack_no = (uint32_t)(h >> 40) % FIXTURE_STACKS;
        e.kind = SL_EV_ALLOC;
        e.size = b->size;
    } else {
        e.kind = SL_EV_FREE;
        e.size = b->size;
        b->size = 0;
    }
    e.stack_no = b->stack_no;
    t->next++;
    return e;
}

/* Stacks 1 .. FIXTURE_STACKS: one frame each, below a common caller. stack_ids is by stack_no. */
static inline void fixture_stacks(sl_log *log, uint32_t stack_ids[FIXTURE_STACKS]) {
    uint32_t file = sl_log_string(log, "train.py", 8);
    uint32_t caller = sl_log_string(log, "main", 4);
    uint32_t bottom = sl_log_stack_child(
        log, 0, sl_log_frame_id(log, &(sl_log_frame){caller, file, 3, SL_FRAME_PYTHON}));
    for (uint32_t i = 0; i < FIXTURE_STACKS; i++) {
        char name[32];
        int len = snprintf(name, sizeof name, "layer_%u", i);
        uint32_t function = sl_log_string(log, name, (size_t)len);
        sl_log_frame frame = {function, file, 10 + i, SL_FRAME_PYTHON};
        stack_ids[i] = sl_log_stack_child(log, bottom, sl_log_frame_id(log, &frame));
    }
}

static inline void fixture_write(sl_log *log, const uint32_t stack_ids[FIXTURE_STACKS],
                                 const fixture_event *e) {
    sl_log_event event = {.kind = e->kind,
                          .device = 0,
                          .tag = e->tag,
                          .stack = e->kind == SL_EV_ALLOC ? stack_ids[e->stack_no] : 0,
                          .addr = e->addr,
                          .size = e->size,
                          .total_allocated = e->size,
                          .total_reserved = 1u << 20};
    sl_log_write(log, &event);
}

#endif
