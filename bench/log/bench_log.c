/* SPDX-License-Identifier: MIT
 *
 * The cost of one event. The threads of a case free and allocate blocks of a live set, as an
 * allocator with a cache does: each event updates site totals, live table, ring and the curve of
 * allocated bytes. Time is processor time of the writing threads, so that other work on the machine
 * shows less. Cases are interleaved and repeated; median, smallest and largest are printed, and the
 * ratio to copying 32 bytes into a ring of the same size.
 *
 * usage: bench_log FOLDER                  the table
 *        bench_log FOLDER EVENTS RING      writes the events of a file (see events.py) and the used bytes of the ring to RING;
 *        bench_log FOLDER EVENTS RING LOG  the same, and the recording is kept as LOG
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "log/read/log_reader.h"
#include "log/write/log_writer.h"

#define EVENTS  400000 /* per thread and repeat */
#define REPEATS 15
#define BLOCKS  2000
#define STACKS  64

static char path[4096];

typedef struct bench_thread {
    sl_log *log;
    const uint32_t *stacks;
    uint32_t no;
    double ns_per_event;
} bench_thread;

static double cpu_ns(void) {
    return (double)sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- cases ---- */

static void *write_events(void *arg) {
    bench_thread *t = arg;
    uint64_t base = UINT64_C(0x7f0000000000) + ((uint64_t)t->no << 36), total = 0;
    for (int warm = 1; warm >= 0; warm--) { /* the first round fills the live set and the caches */
        double start = cpu_ns();
        for (uint32_t i = 0; i < EVENTS / 2; i++) {
            uint64_t block = (uint64_t)i * 7919 % BLOCKS;
            sl_log_event e = {.kind = SL_EV_FREE,
                              .device = 0,
                              .addr = base + block * 512,
                              .size = 512 + block % 7 * 512,
                              .total_allocated = total -= 512,
                              .total_reserved = 1u << 30};
            sl_log_write(t->log, &e);
            e.kind = SL_EV_ALLOC;
            e.stack = t->stacks[i % STACKS];
            e.total_allocated = total += 512;
            sl_log_write(t->log, &e);
        }
        t->ns_per_event = (cpu_ns() - start) / EVENTS;
    }
    return NULL;
}

static double copy_only(void) {
    static uint64_t ring[1 << 18];
    uint64_t record[4] = {1, 2, 3, 4};
    double start = 0;
    for (int warm = 1; warm >= 0; warm--) {
        start = cpu_ns();
        for (uint32_t i = 0; i < EVENTS; i++) {
            record[0] = i;
            memcpy(&ring[i * 4 & ((1 << 18) - 1)], record, sizeof record);
            atomic_signal_fence(memory_order_seq_cst);
        }
    }
    return (cpu_ns() - start) / EVENTS;
}

static double clock_only(void) {
    uint64_t sum = 0;
    double start = cpu_ns();
    for (uint32_t i = 0; i < EVENTS; i++)
        sum += sl_clock_mono_ns();
    double ns = (cpu_ns() - start) / EVENTS;
    return sum ? ns : 0;
}

static void make_stacks(sl_log *log, uint32_t stacks[STACKS]) {
    for (uint32_t i = 0; i < STACKS; i++) {
        char name[32];
        uint32_t s =
            sl_log_string(log, name, (size_t)snprintf(name, sizeof name, "function_%u", i));
        stacks[i] =
            sl_log_stack_child(log, i % 8 ? stacks[i - 1] : 0,
                               sl_log_frame_id(log, &(sl_log_frame){s, s, i, SL_FRAME_PYTHON}));
    }
}

static sl_log *create(uint64_t ring_bytes) {
    sl_log *log;
    sl_error err = SL_ERROR_INIT;
    sl_log_options o = {.struct_size = sizeof o,
                        .path = path,
                        .ring_bytes = ring_bytes,
                        .string_bytes = 1u << 20,
                        .stack_cap = 4096,
                        .frame_cap = 4096,
                        .site_cap = 4096,
                        .mark_cap = 64,
                        .live_levels = 2,
                        .overwrite = true,
                        .reserve_all = true};
    if (sl_log_create(&o, &log, &err) < 0) {
        fprintf(stderr, "bench_log: %s\n", err.text);
        exit(1);
    }
    return log;
}

static double write_with(uint32_t thread_cnt) {
    sl_log *log = create(16u << 20);
    uint32_t stacks[STACKS];
    bench_thread threads[8];
    pthread_t ids[8];
    double sum = 0;
    make_stacks(log, stacks);
    for (uint32_t i = 0; i < thread_cnt; i++) {
        threads[i] = (bench_thread){log, stacks, i, 0};
        pthread_create(&ids[i], NULL, write_events, &threads[i]);
    }
    for (uint32_t i = 0; i < thread_cnt; i++) {
        pthread_join(ids[i], NULL);
        sum += threads[i].ns_per_event;
    }
    sl_log_close(log);
    return sum / thread_cnt;
}

static double one_thread(void) {
    return write_with(1);
}

static double two_threads(void) {
    return write_with(2);
}

static double four_threads(void) {
    return write_with(4);
}

/* ---- the table ---- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int print_table(void) {
    static const struct {
        const char *name;
        double (*run)(void);
    } cases[] = {
        {"copy of 32 bytes", copy_only},    {"clock alone", clock_only},
        {"event, 1 thread", one_thread},    {"event, 2 threads", two_threads},
        {"event, 4 threads", four_threads},
    };
    double times[SL_COUNT_OF(cases)][REPEATS];
    for (int r = 0; r < REPEATS; r++)
        for (size_t i = 0; i < SL_COUNT_OF(cases); i++)
            times[i][r] = cases[i].run();
    printf("%-18s %10s %10s %10s %10s\n", "ns of cpu time", "median", "smallest", "largest",
           "x copy");
    for (size_t i = 0; i < SL_COUNT_OF(cases); i++) {
        qsort(times[i], REPEATS, sizeof times[i][0], by_value);
        double median = times[i][REPEATS / 2];
        printf("%-18s %10.1f %10.1f %10.1f %10.1f\n", cases[i].name, median, times[i][0],
               times[i][REPEATS - 1], median / times[0][REPEATS / 2]);
    }
    unlink(path);
    return 0;
}

/* ---- real events ---- */

/* As events.py writes them. */
typedef struct row {
    uint64_t time_ns, addr, size;
    uint32_t stack_no, kind;
} row;

static int dump_ring(const char *to) {
    sl_log_reader *r;
    sl_error err = SL_ERROR_INIT;
    if (sl_log_open(path, &r, &err) < 0)
        return fprintf(stderr, "bench_log: %s\n", err.text), 1;
    const sl_fmt_header *h = sl_log_header(r);
    FILE *out = fopen(to, "wb");
    int fd = open(path, O_RDONLY);
    for (uint32_t i = 0; i < h->section_cnt; i++) {
        const sl_fmt_section *s = &h->sections[i];
        uint64_t left = s->kind == SL_SECTION_RING ? sl_log_state(r)->marks[i].used : 0;
        for (uint64_t c = 0; c < left; c++) {
            static uint8_t chunk[1 << 20];
            if (pread(fd, chunk, s->record_bytes, (off_t)(s->offset + c * s->record_bytes)) < 0)
                return 1;
            uint64_t word;
            memcpy(&word, chunk, sizeof word);
            fwrite(chunk, 1, sizeof(sl_fmt_chunk) + sl_chunk_count(word) * sizeof(sl_fmt_record),
                   out);
        }
    }
    close(fd);
    sl_log_reader_close(r);
    return fclose(out);
}

static int write_file(const char *from, const char *to, const char *kept) {
    sl_log *log = create(64u << 20);
    FILE *in = fopen(from, "rb");
    static uint32_t stacks[4096];
    row e;
    if (!in)
        return perror(from), 1;
    while (fread(&e, sizeof e, 1, in) == 1) {
        uint32_t no = e.stack_no % 4096;
        if (stacks[no] == 0)
            stacks[no] = sl_log_stack_child(
                log, 0, sl_log_frame_id(log, &(sl_log_frame){0, 0, no + 1, SL_FRAME_PYTHON}));
        sl_log_write(log, &(sl_log_event){.kind = (uint8_t)e.kind,
                                          .addr = e.addr,
                                          .size = e.size,
                                          .stack = e.kind == SL_EV_ALLOC ? stacks[no] : 0,
                                          .time_ns = e.time_ns,
                                          .total_allocated = SL_LOG_UNKNOWN,
                                          .total_reserved = SL_LOG_UNKNOWN});
    }
    fclose(in);
    sl_log_close(log);
    int code = dump_ring(to);
    if (!kept)
        unlink(path);
    else if (rename(path, kept) != 0)
        return perror(kept), 1;
    return code;
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 4 && argc != 5)
        return fprintf(stderr, "usage: bench_log FOLDER [EVENTS RING [LOG]]\n"), 2;
    snprintf(path, sizeof path, "%s/bench-%d.slog", argv[1], (int)getpid());
    return argc == 2 ? print_table() : write_file(argv[2], argv[3], argv[4]);
}
