/* SPDX-License-Identifier: MIT */
/* Made-up training runs with a known truth: a loop of forward, backward and optimizer with seeded
 * noise, plus one behaviour (a habit), healthy or not. Header only; used by tests and bench. */
#ifndef SL_SYNTH_H
#define SL_SYNTH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/trace.h"

/* name, is a leak, line of the leak in train.py (0 = none), what happens. */
#define SYNTH_HABIT_MAP(X)                                                                \
    X(PLAIN, "plain", false, 0, "nothing is kept")                                        \
    X(VARYING, "varying-batch", false, 0, "batches of 0.1 to 2 times the size")           \
    X(WARM_UP, "long-warm-up", false, 0, "caches fill in the first third")                \
    X(DEQUE, "bounded-deque", false, 0, "the last n tensors are kept")                    \
    X(LRU, "random-eviction", false, 0, "a cache that evicts at random")                  \
    X(EPOCH, "cleared-per-epoch", false, 0, "a list that is cleared")                     \
    X(ONE_COPY, "one-copy", false, 0, "an EMA copy, made once")                           \
    X(THAW, "late-warm-ups", false, 0, "three late jumps, then a plateau")                \
    X(SPIKE, "one-spike", false, 0, "one step is much larger")                            \
    X(MOVE, "moved", false, 0, "blocks move from one line to another")                    \
    X(EVAL, "evaluation", false, 0, "larger batches after every tenth step")              \
    X(PRELOAD, "preloaded", false, 0, "data is loaded first, then training")              \
    X(COLLECT, "final-collection", false, 0, "the last third collects outputs")           \
    X(EVERY_STEP, "every-step", true, 90, "one tensor a step is kept")                    \
    X(TINY, "tiny", true, 91, "512 bytes a step under megabytes of noise")                \
    X(EVERY_TENTH, "every-tenth", true, 92, "one tensor each tenth step")                 \
    X(RANDOM, "random-steps", true, 93, "in a third of the steps, at random")             \
    X(VARYING_LEAK, "varying-leak", true, 94, "kept tensors of varying size")             \
    X(BUFFER, "growing-buffer", true, 95, "one tensor that grows")                        \
    X(QUEUE, "queue", true, 96, "two in, one out")                                        \
    X(GRAPH, "graph", true, 40, "the activations of each step are kept")                  \
    X(LATE, "late-start", true, 97, "a leak that begins after 40 %")                      \
    X(PER_EPOCH, "per-epoch", true, 98, "a copy of the weights after each of six epochs") \
    X(LIST, "list", false, 0, "a comprehension of equal tensors, and nothing else")       \
    X(PAIRS, "pairs", false, 0, "data and labels are loaded, then a few passes")          \
    X(HOARD, "hoard", true, 87, "one tensor a step is kept, and nothing else")            \
    X(PREPARE, "prepared", false, 0, "data is loaded with temporaries, then training")    \
    X(OUTPUTS, "outputs", true, 40, "every output of a layer is kept, and nothing else")  \
    X(SERVING, "serving", true, 88, "one tensor per request is kept, no optimizer")       \
    X(LOAD_LEAK, "load-then-leak", true, 89, "much data is loaded, then training leaks")

typedef enum synth_habit {
#define SYNTH_ENUM(name, text, is_leak, line, what) SYNTH_##name,
    SYNTH_HABIT_MAP(SYNTH_ENUM)
#undef SYNTH_ENUM
        SYNTH_HABIT_CNT
} synth_habit;

typedef struct synth_row {
    const char *name;
    bool is_leak;
    uint32_t line;
} synth_row;

static const synth_row synth_rows[SYNTH_HABIT_CNT] = {
#define SYNTH_ROW(name, text, is_leak, line, what) [SYNTH_##name] = {text, is_leak, line},
    SYNTH_HABIT_MAP(SYNTH_ROW)
#undef SYNTH_ROW
};

#define SYNTH_KEEP_MAX 65536

typedef struct synth {
    sl_trace *trace;
    sl_device_trace *device;
    uint64_t seed;
    int64_t now_us;
    uint64_t next_addr;
    uint64_t kept[SYNTH_KEEP_MAX], kept_size[SYNTH_KEEP_MAX]; /* what the habit holds */
    size_t kept_cnt;
} synth;

static inline uint64_t synth_random(synth *s, uint64_t below) {
    s->seed ^= s->seed >> 12;
    s->seed ^= s->seed << 25;
    s->seed ^= s->seed >> 27;
    return (s->seed * 0x2545f4914f6cdd1du >> 16) % below;
}

static inline uint32_t synth_frame(synth *s, const char *file, uint32_t line, const char *name) {
    sl_strtab *strings = &s->trace->strings;
    sl_frame frame = {sl_strtab_intern(strings, name, strlen(name)),
                      sl_strtab_intern(strings, file, strlen(file)), line};
    return sl_stacks_intern_frame(&s->trace->stacks, frame);
}

/* A call at a line of train.py, inside a layer of torch when `layer_line` is not 0. */
#define SYNTH_LIST_LINE 24

static inline uint32_t synth_stack(synth *s, uint32_t line, uint32_t layer_line) {
    uint32_t ids[3];
    size_t n = 0;
    if (layer_line)
        ids[n++] = synth_frame(s, "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py",
                               layer_line, "forward");
    ids[n++] = synth_frame(s, "/home/user/train.py", line,
                           line == SYNTH_LIST_LINE ? "<listcomp>" : "train_step");
    ids[n++] = synth_frame(s, "/home/user/train.py", 10, "<module>");
    return sl_stacks_intern(&s->trace->stacks, ids, n);
}

static inline void synth_event(synth *s, sl_event_kind kind, uint64_t addr, uint64_t size,
                               uint32_t stack_id) {
    s->now_us += 1 + (int64_t)synth_random(s, 9);
    sl_event ev = {s->now_us, addr, size, stack_id, 0, SL_POOL_UNKNOWN, kind, SL_TAG_UNKNOWN};
    (void)sl_events_push(&s->device->events, &ev);
}

typedef struct synth_block {
    uint64_t addr, size;
} synth_block;

/* Addresses are never used twice: the analyses must not depend on reuse. */
static inline synth_block synth_alloc(synth *s, uint64_t size, uint32_t stack_id) {
    synth_block block = {s->next_addr, size ? size : 1};
    s->next_addr += (block.size + 511) / 512 * 512;
    synth_event(s, SL_EV_ALLOC, block.addr, block.size, stack_id);
    return block;
}

static inline void synth_free(synth *s, synth_block block) {
    synth_event(s, SL_EV_FREE_REQUESTED, block.addr, block.size, 0);
    synth_event(s, SL_EV_FREE_COMPLETED, block.addr, block.size, 0);
}

static inline void synth_keep(synth *s, synth_block block) {
    if (s->kept_cnt == SYNTH_KEEP_MAX)
        return;
    s->kept[s->kept_cnt] = block.addr;
    s->kept_size[s->kept_cnt++] = block.size;
}

static inline void synth_let_go(synth *s, size_t i) {
    synth_free(s, (synth_block){s->kept[i], s->kept_size[i]});
    s->kept[i] = s->kept[--s->kept_cnt];
    s->kept_size[i] = s->kept_size[s->kept_cnt];
}

static inline void synth_let_go_oldest(synth *s) {
    synth_free(s, (synth_block){s->kept[0], s->kept_size[0]});
    s->kept_cnt--;
    memmove(s->kept, s->kept + 1, s->kept_cnt * sizeof *s->kept);
    memmove(s->kept_size, s->kept_size + 1, s->kept_cnt * sizeof *s->kept_size);
}

/* What the habit does at the end of a step. */
static inline void synth_do_habit(synth *s, synth_habit habit, size_t step, size_t steps) {
    const uint64_t mib = 1 << 20;
    uint32_t stack = synth_stack(s, synth_rows[habit].line ? synth_rows[habit].line : 80, 0);
    size_t bound = steps / 5 + 2;
    switch (habit) {
    case SYNTH_WARM_UP:
        if (step < steps / 3)
            synth_keep(s, synth_alloc(s, mib, stack));
        break;
    case SYNTH_DEQUE:
        synth_keep(s, synth_alloc(s, mib, stack));
        if (s->kept_cnt > bound)
            synth_let_go_oldest(s);
        break;
    case SYNTH_LRU:
        synth_keep(s, synth_alloc(s, mib, stack));
        if (s->kept_cnt > bound)
            synth_let_go(s, (size_t)synth_random(s, s->kept_cnt));
        break;
    case SYNTH_EPOCH:
        if (step % bound == 0)
            while (s->kept_cnt)
                synth_let_go(s, 0);
        synth_keep(s, synth_alloc(s, mib, stack));
        break;
    case SYNTH_ONE_COPY:
        if (step == steps / 4)
            for (int i = 0; i < 20; i++)
                synth_keep(s, synth_alloc(s, mib, stack));
        break;
    case SYNTH_THAW:
        if (step == steps / 8 || step == steps / 4 || step == steps * 3 / 8)
            synth_keep(s, synth_alloc(s, 4 * mib, stack));
        break;
    case SYNTH_MOVE:
        if (s->kept_cnt < steps && step == 0)
            for (size_t i = 0; i < steps; i++)
                synth_keep(s, synth_alloc(s, mib, synth_stack(s, 81, 0)));
        if (step > 2) {
            synth_let_go_oldest(s);
            (void)synth_alloc(s, mib, stack);
        }
        break;
    case SYNTH_LOAD_LEAK:
    case SYNTH_EVERY_STEP: synth_keep(s, synth_alloc(s, mib / 4, stack)); break;
    case SYNTH_TINY: synth_keep(s, synth_alloc(s, 512, stack)); break;
    case SYNTH_EVERY_TENTH:
        if (step % 10 == 9)
            synth_keep(s, synth_alloc(s, mib, stack));
        break;
    case SYNTH_RANDOM:
        if (synth_random(s, 3) == 0)
            synth_keep(s, synth_alloc(s, mib, stack));
        break;
    case SYNTH_VARYING_LEAK: synth_keep(s, synth_alloc(s, 1 + synth_random(s, mib), stack)); break;
    case SYNTH_BUFFER: {
        synth_block next = synth_alloc(s, 4096 * (step + 1), stack);
        if (s->kept_cnt)
            synth_let_go(s, 0);
        synth_keep(s, next);
        break;
    }
    case SYNTH_QUEUE:
        synth_keep(s, synth_alloc(s, mib / 8, stack));
        synth_keep(s, synth_alloc(s, mib / 8, stack));
        synth_let_go_oldest(s);
        break;
    case SYNTH_COLLECT:
        if (step > steps * 2 / 3)
            synth_keep(s, synth_alloc(s, mib / 4, stack));
        break;
    case SYNTH_PER_EPOCH:
        for (int i = 0; (step + 1) % (steps / 6) == 0 && i < 8; i++)
            synth_keep(s, synth_alloc(s, mib + (uint64_t)i * 512, stack));
        break;
    case SYNTH_LATE:
        if (step > steps * 2 / 5)
            synth_keep(s, synth_alloc(s, mib / 4, stack));
        break;
    default: break;
    }
}

#define SYNTH_LAYERS 6

/* One step; sizes vary by the habit. `held` is the previous batch, which lives until replaced. */
static inline void synth_step(synth *s, synth_habit habit, size_t step, size_t steps,
                              synth_block *held) {
    uint64_t batch = 64 * 1024;
    synth_block acts[SYNTH_LAYERS * 2], grads[SYNTH_LAYERS];
    bool varies = habit == SYNTH_VARYING || habit == SYNTH_TINY || habit == SYNTH_VARYING_LEAK ||
                  habit == SYNTH_RANDOM;
    if (varies)
        batch = batch / 10 + synth_random(s, batch * 2);
    if (habit == SYNTH_SPIKE && step == steps / 2)
        batch *= 40;
    synth_block x = synth_alloc(s, batch * 4, synth_stack(s, 30, 0));
    if (held->addr)
        synth_free(s, *held);
    *held = x;
    for (uint32_t i = 0; i < SYNTH_LAYERS; i++) {
        acts[2 * i] = synth_alloc(s, batch * (2 + i), synth_stack(s, 40, 100 + i));
        acts[2 * i + 1] = synth_alloc(s, 1024 + i, synth_stack(s, 40, 100 + i));
    }
    synth_block loss = synth_alloc(s, 4, synth_stack(s, 50, 0));
    for (uint32_t i = SYNTH_LAYERS; i-- > 0;) {
        synth_block scratch = synth_alloc(s, batch * 2, SL_STACK_EMPTY);
        grads[i] = synth_alloc(s, 256 * 1024 + i * 512, SL_STACK_EMPTY);
        synth_free(s, scratch);
        if (habit != SYNTH_GRAPH) {
            synth_free(s, acts[2 * i]);
            synth_free(s, acts[2 * i + 1]);
        }
    }
    if (step == 0) /* the optimizer's state */
        for (uint32_t i = 0; i < 2 * SYNTH_LAYERS; i++)
            (void)synth_alloc(s, 256 * 1024, synth_stack(s, 60, 0));
    for (uint32_t i = 0; i < SYNTH_LAYERS; i++)
        synth_free(s, grads[i]);
    if (habit != SYNTH_GRAPH)
        synth_free(s, loss);
    synth_do_habit(s, habit, step, steps);
    for (int i = 0; habit == SYNTH_EVAL && step % 10 == 9 && i < 3; i++) {
        synth_block big = synth_alloc(s, batch * 16, synth_stack(s, 70, 0));
        synth_free(s, synth_alloc(s, batch * 8, synth_stack(s, 71, 0)));
        synth_free(s, big);
    }
}

/* Data that is loaded before training; `temporaries` are freed at once. */
static inline void synth_load(synth *s, size_t cnt, uint64_t size, int temporaries) {
    for (size_t i = 0; i < cnt; i++) {
        for (int k = 0; k < temporaries; k++)
            synth_free(s, synth_alloc(s, size * 2, synth_stack(s, 26 + (uint32_t)k, 0)));
        (void)synth_alloc(s, size, synth_stack(s, 25, 0));
    }
}

/* A request without training: a forward pass; activations are freed, the answer may be kept. */
static inline void synth_serve(synth *s) {
    synth_block x = synth_alloc(s, 4096 + synth_random(s, 65536), synth_stack(s, 30, 0));
    for (uint32_t i = 0; i < SYNTH_LAYERS; i++)
        synth_free(s, synth_alloc(s, 8192 + i * 512, synth_stack(s, 40, 100 + i)));
    (void)synth_alloc(s, 2048, synth_stack(s, synth_rows[SYNTH_SERVING].line, 0));
    synth_free(s, x);
}

/* Programs without a training loop; false for the others. */
static inline bool synth_no_training(synth *s, synth_habit habit, size_t steps) {
    uint32_t hoard_line = synth_rows[SYNTH_HOARD].line;
    for (size_t i = 0; i < steps; i++) {
        if (habit == SYNTH_LIST || habit == SYNTH_HOARD)
            (void)synth_alloc(
                s, 400000, synth_stack(s, habit == SYNTH_LIST ? SYNTH_LIST_LINE : hoard_line, 0));
        if (habit == SYNTH_PAIRS) {
            synth_load(s, 1, 400000, 0);
            (void)synth_alloc(s, 512, synth_stack(s, 28, 0));
        }
        if (habit == SYNTH_OUTPUTS)
            (void)synth_alloc(s, 8192, synth_stack(s, 40, 100));
        if (habit == SYNTH_SERVING)
            synth_serve(s);
    }
    for (size_t i = 0; habit == SYNTH_PAIRS && i < steps / 10; i++)
        synth_free(s, synth_alloc(s, 8192, synth_stack(s, 40, 100)));
    return habit == SYNTH_LIST || habit == SYNTH_PAIRS || habit == SYNTH_HOARD ||
           habit == SYNTH_OUTPUTS || habit == SYNTH_SERVING;
}

/* A whole run; the caller frees the trace. NULL when memory ran out. */
static inline sl_trace *synth_run(synth_habit habit, size_t steps, uint64_t seed, bool has_stacks) {
    synth *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->seed = (seed + 1) * 0x9e3779b97f4a7c15u;
    s->next_addr = (uint64_t)0x7f0000000000;
    s->now_us = 1700000000000000; /* a clock since 1970, as torch has */
    s->trace = sl_trace_new("synthetic", SL_SOURCE_TORCH_SNAPSHOT);
    s->trace->has_requested_sizes = s->trace->has_time = true;
    s->trace->has_event_stacks = has_stacks;
    s->device = sl_trace_device(s->trace, 0);
    (void)sl_trace_stream(s->trace, 0);
    synth_block held = {0, 0};
    for (uint32_t i = 0; i < SYNTH_LAYERS; i++) /* parameters */
        (void)synth_alloc(s, 256 * 1024, synth_stack(s, 20, 0));
    if (habit == SYNTH_PRELOAD)
        synth_load(s, steps * 50, 1 << 20, 0);
    if (habit == SYNTH_PREPARE)
        synth_load(s, steps * 50, 1 << 16, 2);
    if (habit == SYNTH_LOAD_LEAK)
        synth_load(s, steps * 200, 4096, 0);
    bool is_done = synth_no_training(s, habit, steps);
    for (size_t step = 0; !is_done && step < steps; step++)
        synth_step(s, habit, step, steps, &held);
    sl_trace *trace = s->trace;
    for (size_t i = 0; !has_stacks && i < s->device->events.cnt; i++)
        s->device->events.stack_id[i] = SL_STACK_EMPTY;
    free(s);
    return trace;
}

#endif
