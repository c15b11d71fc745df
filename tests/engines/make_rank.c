/* SPDX-License-Identifier: MIT
 *
 * Writes the recording of one made-up rank: a model, activations that every step frees, and a cache that one rank
 * fills from a step on. All sizes follow from the arguments, so a test knows every answer.
 *
 * usage: make_rank FILE RANK WORLD STEPS LEAK_FROM [PREFIX [NOISE]]
 *   LEAK_FROM  first step that leaks, STEPS or more for none
 *   PREFIX     before the name of the file of the lines
 *   NOISE      that many more blocks on the host, of random sizes and addresses: a file that cannot be made small
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/write/log_writer.h"

#define MIB (UINT64_C(1) << 20)

enum { MODEL, FORWARD, CACHE, LINE_CNT };

static const struct {
    const char *function;
    uint32_t line;
    uint64_t bytes;
} lines[LINE_CNT] = {
    [MODEL] = {"__init__", 11, 8 * MIB},
    [FORWARD] = {"forward", 22, 4 * MIB},
    [CACHE] = {"remember", 33, 1 * MIB},
};

typedef struct rank_log {
    sl_log *log;
    uint32_t stacks[LINE_CNT];
    uint64_t allocated;
} rank_log;

static void write_event(rank_log *rank, sl_event_kind kind, int line, uint64_t number) {
    uint64_t bytes = lines[line].bytes;
    rank->allocated += kind == SL_EV_ALLOC ? bytes : 0 - bytes;
    sl_log_write(rank->log, &(sl_log_event){.kind = (uint8_t)kind,
                                            .stack = rank->stacks[line],
                                            .addr = UINT64_C(0x7f0000000000) +
                                                    (uint64_t)line * 1024 * MIB + number * 16 * MIB,
                                            .size = bytes,
                                            .total_allocated = rank->allocated,
                                            .total_reserved = 64 * MIB});
}

/* Traces have microseconds: what is to be after a mark must be later. */
static void let_time_pass(const rank_log *rank) {
    for (uint64_t from = sl_log_now_ns(rank->log); sl_log_now_ns(rank->log) < from + 2000;) {
    }
}

static void write_steps(rank_log *rank, uint64_t step_cnt, uint64_t leak_from) {
    for (uint64_t step = 0; step < step_cnt; step++) {
        write_event(rank, SL_EV_ALLOC, FORWARD, 0);
        write_event(rank, SL_EV_ALLOC, FORWARD, 1);
        if (step >= leak_from)
            write_event(rank, SL_EV_ALLOC, CACHE, step);
        write_event(rank, SL_EV_FREE, FORWARD, 1);
        write_event(rank, SL_EV_FREE, FORWARD, 0);
        let_time_pass(rank);
        sl_log_step(rank->log, step + 1, 0);
        if (step % 256 == 0)
            sl_log_maintain(rank->log);
        let_time_pass(rank);
    }
}

/* Each block is freed at once. */
static void write_noise(rank_log *rank, uint64_t cnt) {
    uint64_t x = 88172645463325252u;
    for (uint64_t i = 0; i < cnt; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        sl_log_event event = {.kind = SL_EV_ALLOC,
                              .device = -1,
                              .stack = rank->stacks[MODEL],
                              .addr = x >> 17 << 4,
                              .size = 1 + (x & 0xffffff),
                              .total_allocated = SL_LOG_UNKNOWN,
                              .total_reserved = SL_LOG_UNKNOWN};
        sl_log_write(rank->log, &event);
        event.kind = SL_EV_FREE;
        sl_log_write(rank->log, &event);
    }
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: make_rank FILE RANK WORLD STEPS LEAK_FROM [PREFIX [NOISE]]\n");
        return 2;
    }
    int number = atoi(argv[2]), world = atoi(argv[3]);
    char host[32], file[256];
    snprintf(host, sizeof host, "node-%d", number / 8);
    snprintf(file, sizeof file, "%s/home/user/train.py", argc > 6 ? argv[6] : "");
    sl_log_identity identity = {.job = "job-7",
                                .host = host,
                                .cmdline = "python3 train.py",
                                .rank = number,
                                .local_rank = number % 8,
                                .world_size = world};
    rank_log rank = {0};
    sl_error err = SL_ERROR_INIT;
    sl_log_options options = {.struct_size = sizeof options,
                              .path = argv[1],
                              .identity = &identity,
                              .ring_bytes = argc > 7 ? 512 * MIB : 4 * MIB,
                              .reserve_all = argc > 7,
                              .overwrite = true};
    if (sl_log_create(&options, &rank.log, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < LINE_CNT; i++) {
        uint32_t frame =
            sl_log_frame_of(rank.log, (sl_str){lines[i].function, strlen(lines[i].function)},
                            (sl_str){file, strlen(file)}, lines[i].line, SL_FRAME_PYTHON);
        rank.stacks[i] = sl_log_stack_child(rank.log, 0, frame);
    }
    write_event(&rank, SL_EV_ALLOC, MODEL, 0);
    if (argc > 7)
        write_noise(&rank, strtoull(argv[7], NULL, 10));
    write_steps(&rank, strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
    sl_log_close(rank.log);
    return 0;
}
