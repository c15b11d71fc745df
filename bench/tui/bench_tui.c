/* SPDX-License-Identifier: MIT */
/* Recordings for bench/tui.
 *
 *   bench_tui write EVENTS OUT.slog      a finished recording of a training with so many events
 *   bench_tui live SECONDS OUT.slog      a recording that is written now: 2,000 events and 10 steps per second */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/str.h"
#include "log/write/log_writer.h"

#define LAYERS      48
#define STACK_DEPTH 12
#define GIB         ((uint64_t)1 << 30)

typedef struct run {
    sl_log *log;
    uint32_t stacks[LAYERS];
    uint64_t next_addr, total, events;
    int used;
} run;

static void make_stacks(run *r) {
    for (uint32_t i = 0; i < LAYERS; i++) {
        uint32_t at = 0;
        for (uint32_t f = 0; f < STACK_DEPTH; f++) {
            char function[32];
            snprintf(function, sizeof function, "layer_%u", i);
            bool is_own = f == 4;
            uint32_t frame = sl_log_frame_of(
                r->log, sl_str_of(is_own ? function : "_call_impl"),
                sl_str_of(is_own ? "/home/user/model.py" : "/usr/lib/python3/torch/module.py"),
                100 + i * 7 + f, SL_FRAME_PYTHON);
            at = sl_log_stack_child(r->log, at, frame);
        }
        r->stacks[i] = at;
    }
}

static void put(run *r, sl_event_kind kind, uint64_t addr, uint64_t size, uint32_t layer) {
    r->total += kind == SL_EV_ALLOC ? size : (uint64_t)0 - size;
    sl_log_write(r->log, &(sl_log_event){.kind = (uint8_t)kind,
                                         .device = 0,
                                         .addr = addr,
                                         .size = size,
                                         .stack = kind == SL_EV_ALLOC ? r->stacks[layer] : 0,
                                         .total_allocated = r->total,
                                         .total_reserved = 40 * GIB});
    r->events++;
}

/* Activations down and up; one line keeps a little of every eighth step. */
static void one_step(run *r, uint64_t step) {
    uint64_t addr[LAYERS];
    for (uint32_t i = 0; i < LAYERS; i++) {
        addr[i] = r->next_addr += (uint64_t)1 << 24;
        put(r, SL_EV_ALLOC, addr[i], (uint64_t)(i % 7 + 1) << 20, i);
        put(r, SL_EV_ALLOC, addr[i] + (1 << 23), (uint64_t)1 << 19, i);
        put(r, SL_EV_FREE, addr[i] + (1 << 23), (uint64_t)1 << 19, i);
    }
    for (uint32_t i = LAYERS; i-- > 0;)
        put(r, SL_EV_FREE, addr[i], (uint64_t)(i % 7 + 1) << 20, i);
    if (step % 8 == 0)
        put(r, SL_EV_ALLOC, r->next_addr += (uint64_t)1 << 24, 1 << 16, 3);
    sl_log_step(r->log, step, 0);
    sl_log_counter_set(r->log, r->used, r->total + 41 * GIB);
}

/* Reserved at once only where events are written faster than the recorder's own thread would reserve. */
static bool create(run *r, const char *path, uint64_t ring_bytes, bool is_reserved) {
    sl_error err = SL_ERROR_INIT;
    sl_log_options options = {.struct_size = sizeof options,
                              .path = path,
                              .ring_bytes = ring_bytes,
                              .overwrite = true,
                              .reserve_all = is_reserved};
    if (sl_log_create(&options, &r->log, &err) < 0) {
        fprintf(stderr, "bench_tui: %s\n", err.text);
        return false;
    }
    r->next_addr = UINT64_C(0x7f0000000000);
    make_stacks(r);
    r->used = sl_log_counter(r->log, SL_COUNTER_DEVICE_USED, 0, 0);
    sl_log_counter_set(r->log, sl_log_counter(r->log, SL_COUNTER_DEVICE_TOTAL, 0, 0), 140 * GIB);
    return true;
}

static int write_events(uint64_t cnt, const char *path) {
    run r = {0};
    if (!create(&r, path, cnt * 40 + ((uint64_t)64 << 20), true))
        return 1;
    for (uint64_t step = 1; r.events < cnt; step++)
        one_step(&r, step);
    sl_log_close(r.log);
    printf("%llu\n", (unsigned long long)r.events);
    return 0;
}

static int write_live(double seconds, const char *path) {
    run r = {0};
    if (!create(&r, path, (uint64_t)64 << 20, false))
        return 1;
    for (uint64_t step = 1; (double)step < seconds * 10; step++) {
        one_step(&r, step);
        sl_log_maintain(r.log);
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    }
    sl_log_close(r.log);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "write") == 0)
        return write_events(strtoull(argv[2], NULL, 10), argv[3]);
    if (argc == 4 && strcmp(argv[1], "live") == 0)
        return write_live(strtod(argv[2], NULL), argv[3]);
    fprintf(stderr, "usage: bench_tui write EVENTS OUT.slog | live SECONDS OUT.slog\n");
    return 2;
}
