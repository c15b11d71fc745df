/* SPDX-License-Identifier: MIT
 *
 * Writes the small recordings that tests/format/v1 keeps frozen, and the fresh ones that the decoder is held against.
 * Times of most events are given, not measured; what is measured comes before one second.
 *
 * usage: make_fixture KIND FILE      KIND: closed, killed, wrapped, live_levels; or growing, of 80 MiB where there is room
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log_fixture.h"

static sl_log *create(const char *path, uint64_t ring_bytes) {
    static const sl_log_identity identity = {.job = "fixture",
                                             .host = "node-1",
                                             .exe = "/usr/bin/python3",
                                             .cwd = "/home/user/r\xc3\xa9seau",
                                             .cmdline = "python3 train.py --epochs 3",
                                             .rank = 2,
                                             .local_rank = 0,
                                             .world_size = 8};
    sl_log_options options = {.struct_size = sizeof options,
                              .path = path,
                              .identity = &identity,
                              .chunk_bytes = 1024,
                              .ring_bytes = ring_bytes,
                              .string_bytes = 1024,
                              .frame_cap = 32,
                              .stack_cap = 32,
                              .site_cap = 32,
                              .live_cap = 8,
                              .live_levels = 3,
                              .thread_cap = 2,
                              .counter_cap = 5,
                              .curve_bins = 16,
                              .mark_cap = 8,
                              .alert_cap = 2,
                              .oom_cap = 2,
                              .overwrite = true,
                              .reserve_all = true};
    sl_log *log;
    sl_error err = SL_ERROR_INIT;
    if (sl_log_create(&options, &log, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return log;
}

static uint16_t label(sl_log *log, const char *text) {
    return sl_log_label(log, text, strlen(text));
}

static uint32_t string(sl_log *log, const char *text) {
    return sl_log_string(log, text, strlen(text));
}

/* One event of every kind, 40 ms apart from one second on, on two devices and the host. */
static void write_all_kinds(sl_log *log) {
    uint32_t stacks[FIXTURE_STACKS];
    fixture_stacks(log, stacks);
    uint16_t nccl = label(log, "libnccl.so.2"), forward = label(log, "forward");
    uint64_t t = 1000000000;
    for (uint8_t kind = SL_EV_ALLOC; kind < SL_EV_LIMIT; kind++) {
        sl_log_event e = {.kind = kind,
                          .device = (int8_t)(kind % 3 - 1),
                          .label =
                              kind == SL_EV_DRIVER_ALLOC || kind == SL_EV_DRIVER_FREE ? nccl : 0,
                          .tag = kind % 2 ? forward : 0,
                          .stack = stacks[kind % FIXTURE_STACKS],
                          .addr = UINT64_C(0x7f4400000000) + kind * 4096u,
                          .size = 1024u * kind,
                          .time_ns = t,
                          .total_allocated = 1000u * kind,
                          .total_reserved = SL_LOG_UNKNOWN};
        sl_log_write(log, &e);
        t += 40000000;
    }
}

static void write_blocks(sl_log *log, int cnt) {
    uint32_t stacks[FIXTURE_STACKS];
    static fixture_thread sequence = {.thread_no = 1};
    fixture_stacks(log, stacks);
    for (int i = 0; i < cnt; i++) {
        fixture_event e = fixture_next(&sequence);
        sl_log_event event = {.kind = e.kind,
                              .device = 0,
                              .stack = e.kind == SL_EV_ALLOC ? stacks[e.stack_no] : 0,
                              .addr = e.addr,
                              .size = e.size,
                              .time_ns = 5000000 + (uint64_t)i * 100,
                              .total_allocated = SL_LOG_UNKNOWN,
                              .total_reserved = SL_LOG_UNKNOWN};
        sl_log_write(log, &event);
    }
}

/* Writes more than the first pieces of the regions hold, and lets them grow as far as the disk allows. */
static int grow(const char *path) {
    static fixture_thread sequence;
    uint32_t stacks[FIXTURE_STACKS];
    sl_log *log;
    sl_error err = SL_ERROR_INIT;
    sl_log_options options = {.struct_size = sizeof options, .path = path, .ring_bytes = 64u << 20};
    if (sl_log_create(&options, &log, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    fixture_stacks(log, stacks);
    for (int i = 0; i < 1500000; i++) {
        fixture_event e = fixture_next(&sequence);
        fixture_write(log, stacks, &e);
        if (i % 10000 == 0)
            sl_log_maintain(log);
    }
    sl_log_close(log);
    return 0;
}

static void write_lists(sl_log *log) {
    uint32_t name = string(log, "epoch");
    sl_log_event first = {.kind = SL_EV_ALLOC,
                          .addr = 0x10000,
                          .size = 5000,
                          .total_allocated = 5000,
                          .total_reserved = 1u << 20};
    sl_log_write(log, &first);
    sl_log_mark(log, SL_EV_MARK_BEGIN, name);
    for (uint64_t i = 1; i <= 3; i++)
        sl_log_step(log, i, 0);
    sl_log_mark(log, SL_EV_MARK_END, name);
    sl_log_alert_add(log, &(sl_log_alert){string(log, "growth"),
                                          string(log, "grows by 1 MiB a step"), 0, 1, 9, 5});
    sl_log_oom_add(log, &(sl_log_oom){.device = 0,
                                      .message = string(log, "CUDA out of memory"),
                                      .requested = 1u << 30,
                                      .allocated = 5000,
                                      .reserved = SL_LOG_UNKNOWN,
                                      .device_free = 77,
                                      .device_total = 4096});
    int rss = sl_log_counter(log, SL_COUNTER_HOST_RSS, -1, 0);
    sl_log_counter_unavailable(log, rss, string(log, "no /proc here"));
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "growing") == 0)
        return grow(argv[2]);
    bool wraps = strcmp(argv[1], "wrapped") == 0;
    sl_log *log = create(argv[2], wraps ? 2048 : 8192);
    sl_log_thread_name(log, "main");
    if (strcmp(argv[1], "live_levels") == 0) {
        write_blocks(log, 40);
    } else if (wraps) {
        write_blocks(log, 200);
    } else {
        write_lists(log);
        write_all_kinds(log);
    }
    sl_log_maintain(log);
    if (strcmp(argv[1], "killed") == 0)
        kill(getpid(), SIGKILL);
    sl_log_close(log);
    return 0;
}
