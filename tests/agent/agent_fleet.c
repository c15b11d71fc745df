/* SPDX-License-Identifier: MIT */
/* Recordings of many ranks with figures that follow a formula, so that whoever reads them back knows what is right:
 * written by the recorder's own log writer, past seconds at once, later ones in real time.
 *
 *   agent_fleet DIR ranks=4 past=60 live=0 leak=-1 job=made end=closed curves=512
 *
 * ranks: recordings; past: seconds of history that are made first; live: seconds in real time after them; leak: a rank
 * that grows by LEAK bytes per second; worker: a recording that is a worker of rank 0, on the host
 * only; end: closed, killed (by SIGKILL at the end) or stay (until standard input ends).
 * Prints "ready" and the start of the recordings in milliseconds since 1970 when the history is there.
 *
 * At second s (0, 1, …) of rank r, on card 0: tensors V(r, s) = BASE + r MiB + (s % 7) MiB + leak, held from s + 0.0 on,
 * but for 20 ms at s + 0.45, when they are SPIKE more; reserved is V + 2 GiB; the card has 80 GiB, of which V + 4 GiB
 * are in use. Step 10 s + k begins at s + k / 10. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "log/write/log_writer_impl.h"

#define MIB    (UINT64_C(1) << 20)
#define GIB    (UINT64_C(1) << 30)
#define BASE   (8 * GIB)
#define SPIKE  (512 * MIB)
#define LEAK   (64 * MIB)
#define MS     UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

enum { ALLOCATED, RESERVED, USED, TOTAL, PROCESS, OTHERS, DRIVER, LIBRARY, RESIDENT, COUNTERS };

typedef struct made_rank {
    sl_log *log;
    int counters[COUNTERS];
} made_rank;

static long ranks = 4, past = 60, live, leak = -1, worker = -1, curves = 512;
static const char *job = "made", *end = "closed";
static made_rank *all;
static uint64_t start_mono_ns; /* of the recordings */

static uint64_t tensors(long rank, uint64_t second) {
    return BASE + (uint64_t)rank * MIB + second % 7 * MIB + (rank == leak ? second * LEAK : 0);
}

/* The header as if the recording had begun `past` seconds ago. */
static void age(const char *path, uint64_t wall_ns, uint32_t parent_pid) {
    static sl_fmt_header header;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || pread(fd, &header, sizeof header, 0) != sizeof header)
        exit(2);
    header.start_wall_ns = wall_ns;
    header.start_mono_ns = start_mono_ns;
    header.parent_pid = parent_pid;
    header.header_crc = sl_header_crc(&header);
    if (pwrite(fd, &header, sizeof header, 0) != sizeof header)
        exit(2);
    close(fd);
}

static void make_counters(made_rank *r, bool is_worker) {
    uint32_t others = sl_log_string(r->log, "other_processes", 15);
    uint32_t driver = sl_log_string(r->log, "driver_reserved", 15);
    uint32_t library = sl_log_string(r->log, "libnccl.so.2", 12);
    memset(r->counters, -1, sizeof r->counters);
    r->counters[ALLOCATED] = sl_log_counter(r->log, SL_COUNTER_ALLOCATED, is_worker ? -1 : 0, 0);
    if (is_worker)
        return;
    r->counters[RESERVED] = sl_log_counter(r->log, SL_COUNTER_RESERVED, 0, 0);
    r->counters[USED] = sl_log_counter(r->log, SL_COUNTER_DEVICE_USED, 0, 0);
    r->counters[TOTAL] = sl_log_counter(r->log, SL_COUNTER_DEVICE_TOTAL, 0, 0);
    r->counters[PROCESS] = sl_log_counter(r->log, SL_COUNTER_PROCESS_USED, 0, 0);
    r->counters[OTHERS] = sl_log_counter(r->log, SL_COUNTER_CUSTOM, 0, others);
    r->counters[DRIVER] = sl_log_counter(r->log, SL_COUNTER_CUSTOM, 0, driver);
    r->counters[LIBRARY] = sl_log_counter(r->log, SL_COUNTER_DRIVER_USED, 0, library);
    r->counters[RESIDENT] = sl_log_counter(r->log, SL_COUNTER_HOST_RSS, -1, 0);
}

static void make_rank(const char *folder, long i, uint64_t wall_ns) {
    char path[1024];
    made_rank *r = &all[i];
    sl_log_identity identity = {.job = job,
                                .rank = i == worker ? 0 : (int32_t)i,
                                .local_rank = (int32_t)(i % 8),
                                .world_size = (int32_t)ranks};
    sl_log_options options = {.struct_size = sizeof options,
                              .path = path,
                              .identity = &identity,
                              .ring_bytes = 1u << 16,
                              .chunk_bytes = 1u << 12,
                              .string_bytes = 4096,
                              .frame_cap = 16,
                              .stack_cap = 16,
                              .site_cap = 16,
                              .live_cap = 64,
                              .live_levels = 1,
                              .thread_cap = 16,
                              .counter_cap = 16,
                              .curve_bins = (uint32_t)curves,
                              .mark_cap = 1u << 15,
                              .alert_cap = 16,
                              .oom_cap = 4,
                              .overwrite = true};
    sl_error err = SL_ERROR_INIT;
    snprintf(path, sizeof path, "%s/rank-%ld.slog", folder, i);
    if (sl_log_create(&options, &r->log, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        exit(2);
    }
    age(path, wall_ns + (uint64_t)i,
        i == worker ? (uint32_t)getpid() : 0); /* recordings are told apart by process and start */
    r->log->start_mono_ns = start_mono_ns;
    make_counters(r, i == worker);
}

static void set(const made_rank *r, int counter, uint64_t value, uint64_t ns) {
    if (r->counters[counter] >= 0)
        sl__curve_set(r->log, (uint32_t)r->counters[counter], value, ns);
}

/* A tenth of a second of one rank. */
static void play(long i, uint64_t tenth) {
    const made_rank *r = &all[i];
    uint64_t second = tenth / 10, ns = tenth * 100 * MS, value = tensors(i, second);
    if (tenth % 10 == 0) {
        set(r, RESERVED, value + 2 * GIB, ns);
        set(r, USED, value + 4 * GIB, ns);
        set(r, TOTAL, 80 * GIB, ns);
        set(r, PROCESS, value + 3 * GIB, ns);
        set(r, OTHERS, 300 * MIB, ns);
        set(r, DRIVER, 200 * MIB, ns);
        set(r, LIBRARY, 100 * MIB, ns);
        set(r, RESIDENT, GIB + (uint64_t)i * MIB, ns);
    }
    set(r, ALLOCATED, value, ns);
    if (tenth % 10 == 4) {
        set(r, ALLOCATED, value + SPIKE, ns + 50 * MS);
        set(r, ALLOCATED, value, ns + 70 * MS);
    }
    /* The lists have no function that takes a time: the log's clock is turned for a moment. */
    r->log->start_mono_ns = sl_clock_mono_ns() - ns;
    sl_log_step(r->log, tenth, sl_log_string(r->log, "step", 4));
    sl_log_maintain(r->log);
    r->log->start_mono_ns = start_mono_ns;
}

static void play_live(uint64_t first, uint64_t cnt) {
    for (uint64_t tenth = first; tenth < first + cnt; tenth++) {
        uint64_t due = start_mono_ns + tenth * 100 * MS, now;
        while ((now = sl_clock_mono_ns()) < due)
            sl_clock_pause_us((unsigned)((due - now) / 1000 + 1));
        for (long i = 0; i < ranks; i++)
            play(i, tenth);
    }
}

static void stay(void) {
    char c;
    uint64_t tenth = (uint64_t)(past + live) * 10;
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    while (read(STDIN_FILENO, &c, 1) != 0)
        play_live(tenth++, 1);
}

static void finish(void) {
    uint64_t end_ns = (uint64_t)(past + live) * SECOND;
    for (long i = 0; i < ranks; i++) {
        if (strcmp(end, "stay") != 0)
            all[i].log->start_mono_ns = sl_clock_mono_ns() - end_ns;
        if (strcmp(end, "killed") == 0)
            sl_log_maintain(all[i].log);
        else
            sl_log_close(all[i].log);
    }
    if (strcmp(end, "killed") == 0)
        kill(getpid(), SIGKILL);
}

static void read_argument(const char *text) {
    const char *value = strchr(text, '=');
    const struct {
        const char *name;
        long *number;
        const char **word;
    } rows[] = {{"ranks", &ranks, NULL}, {"past", &past, NULL},     {"live", &live, NULL},
                {"leak", &leak, NULL},   {"worker", &worker, NULL}, {"curves", &curves, NULL},
                {"job", NULL, &job},     {"end", NULL, &end}};
    for (size_t i = 0; value && i < SL_COUNT_OF(rows); i++) {
        if (strncmp(text, rows[i].name, (size_t)(value - text)) != 0)
            continue;
        if (rows[i].number)
            *rows[i].number = strtol(value + 1, NULL, 10);
        else
            *rows[i].word = value + 1;
    }
}

int main(int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        read_argument(argv[i]);
    all = calloc((size_t)ranks, sizeof *all);
    if (argc < 2 || !all)
        return 2;
    uint64_t wall_ns = sl_clock_ns(CLOCK_REALTIME) / SECOND * SECOND; /* on the grid of points */
    start_mono_ns = sl_clock_mono_ns() - (uint64_t)past * SECOND;
    wall_ns -= (uint64_t)past * SECOND;
    for (long i = 0; i < ranks; i++)
        make_rank(argv[1], i, wall_ns);
    for (uint64_t tenth = 0; tenth < (uint64_t)past * 10; tenth++)
        for (long i = 0; i < ranks; i++)
            play(i, tenth);
    printf("ready %llu\n", (unsigned long long)(wall_ns / MS));
    fflush(stdout);
    play_live((uint64_t)past * 10, (uint64_t)live * 10);
    if (strcmp(end, "stay") == 0)
        stay();
    finish();
    return 0;
}
