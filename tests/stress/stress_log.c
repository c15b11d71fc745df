/* SPDX-License-Identifier: MIT
 *
 * Writer threads that come and go, a maintaining thread, and readers that open, follow and load
 * tables at the same time, on a ring small enough to be overrun all the while. Meant for
 * ThreadSanitizer; the checks hold in any build:
 *   - a reader never sees a torn record: each one carries its thread's number, its own number and their hash;
 *   - numbers of one thread ascend; what is missing is reported as lapped;
 *   - live tables never show half of one block and half of another;
 *   - at the end the totals are exact.
 *
 * usage: stress_log MILLISECONDS FOLDER
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "log/read/log_fsck.h"
#include "log_fixture.h"

#define WRITERS 4
#define READERS 2

static char path[4096];
static sl_log *the_log;
static atomic_bool stops;
static atomic_uint failures, lapped, polls, table_loads, opened;
static _Atomic uint64_t events_read, events_written;

static void fail(const char *what, unsigned long long a, unsigned long long b) {
    if (atomic_fetch_add(&failures, 1) < 10)
        printf("# %s: %llu, %llu\n", what, a, b);
}

/* size and address of a sample event follow from thread and number. */
static uint64_t check_of(uint64_t thread_no, uint64_t n) {
    return fixture_hash(thread_no << 40 ^ n) & SL_SIZE_MASK;
}

typedef struct writer {
    uint32_t no;
    uint64_t next; /* goes on when the thread is started anew */
} writer;

static void write_sample(writer *w) {
    uint64_t addr = (uint64_t)w->no << 40 | w->next;
    sl_log_event e = {.kind = SL_EV_SAMPLE,
                      .device = (int8_t)w->no,
                      .addr = addr,
                      .size = check_of(w->no, w->next),
                      .total_allocated = w->next,
                      .total_reserved = SL_LOG_UNKNOWN};
    sl_log_write(the_log, &e);
    w->next++;
}

/* The block's size repeats its address, so that halves would not fit. */
static void write_block(writer *w, uint64_t i, bool is_alloc) {
    uint64_t addr = ((uint64_t)w->no << 32 | (i % 64 + 1) << 9);
    sl_log_event e = {.kind = is_alloc ? SL_EV_ALLOC : SL_EV_FREE,
                      .device = (int8_t)w->no,
                      .tag = (uint16_t)(addr >> 9),
                      .addr = addr,
                      .size = addr + i % 7,
                      .total_allocated = SL_LOG_UNKNOWN,
                      .total_reserved = SL_LOG_UNKNOWN};
    sl_log_write(the_log, &e);
}

static void *write_some(void *arg) {
    writer *w = arg;
    for (uint64_t i = 0; i < 20000 && !atomic_load(&stops); i++) {
        write_sample(w);
        write_block(w, i, true);
        if (i % 100 == 0) {
            char name[32];
            int len = snprintf(name, sizeof name, "name %u", (unsigned)(i % 1000));
            uint32_t s = sl_log_string(the_log, name, (size_t)len);
            sl_log_stack_child(
                the_log, 0,
                sl_log_frame_id(the_log, &(sl_log_frame){s, s, w->no, SL_FRAME_PYTHON}));
            sl_log_step(the_log, i, s);
        }
        write_block(w, i, false);
    }
    atomic_fetch_add(&events_written, 1);
    return NULL;
}

/* Threads end and new ones take over, so that slots and chunks change hands. */
static void *write_all(void *arg) {
    while (!atomic_load(&stops)) {
        pthread_t id;
        pthread_create(&id, NULL, write_some, arg);
        pthread_join(id, NULL);
    }
    return NULL;
}

static void *maintain(void *arg) {
    SL_UNUSED(arg);
    while (!atomic_load(&stops)) {
        sl_log_maintain(the_log);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return NULL;
}

/* ---- readers ---- */

static void check_record(const sl_log_record *r, uint64_t next[WRITERS]) {
    uint64_t thread_no = r->addr >> 40, n = r->addr & ((UINT64_C(1) << 40) - 1);
    if (r->kind != SL_EV_SAMPLE)
        return;
    if (thread_no >= WRITERS || r->size != check_of(thread_no, n) || r->device != (int)thread_no)
        fail("a torn record", r->addr, r->size);
    else if (n < next[thread_no])
        fail("a number came twice", n, next[thread_no]);
    else
        next[thread_no] = n + 1;
    atomic_fetch_add(&events_read, 1);
}

static void follow(sl_log_reader *reader, sl_log_cursor *cursor, uint64_t next[WRITERS]) {
    sl_error err = SL_ERROR_INIT;
    sl_log_record record;
    for (int round = 0; round < 20 && !atomic_load(&stops); round++) {
        int got;
        while ((got = sl_log_cursor_next(cursor, &record, &err)) != 0) {
            if (got == SL_E_LAPPED)
                atomic_fetch_add(&lapped, 1);
            else if (got < 0)
                return fail(err.text, (unsigned)-got, 0);
            else
                check_record(&record, next);
        }
        atomic_fetch_add(&polls, 1);
        if (sl_log_cursor_follow(cursor, &err) < 0)
            return fail(err.text, 0, 0);
    }
    SL_UNUSED(reader);
}

static void check_tables(sl_log_reader *reader) {
    sl_error err = SL_ERROR_INIT;
    sl_log_tables t;
    if (sl_log_load_tables(reader, &t, &err) < 0)
        return fail(err.text, 0, 0);
    for (size_t i = 0; i < t.blocks.cnt; i++) {
        const sl_log_block *b = &t.blocks.at[i];
        if (b->size < b->addr || b->size >= b->addr + 7 || b->tag != (uint16_t)(b->addr >> 9) ||
            b->device != (int)(b->addr >> 32))
            fail("halves of two blocks", b->addr, b->size);
    }
    sl_log_tables_fini(&t);
    atomic_fetch_add(&table_loads, 1);
}

static void check_curves(sl_log_reader *reader) {
    sl_error err = SL_ERROR_INIT;
    sl_log_counters counters;
    if (sl_log_load_counters(reader, &counters, &err) < 0)
        return fail(err.text, 0, 0);
    for (size_t i = 0; i < counters.cnt; i++) {
        sl_log_bins bins;
        if (sl_log_load_curve(reader, counters.at[i].idx, &bins, &err) < 0)
            fail(err.text, 0, 0);
        sl_vec_free(&bins);
    }
    sl_vec_free(&counters);
}

static void *read_all(void *arg) {
    SL_UNUSED(arg);
    while (!atomic_load(&stops)) {
        sl_error err = SL_ERROR_INIT;
        sl_log_reader *reader;
        sl_log_cursor *cursor;
        uint64_t next[WRITERS] = {0};
        if (sl_log_open(path, &reader, &err) < 0) {
            fail(err.text, 0, 0);
            break;
        }
        atomic_fetch_add(&opened, 1);
        if (sl_log_cursor_new(reader, &cursor, &err) < 0) {
            fail(err.text, 1, 0);
        } else {
            follow(reader, cursor, next);
            sl_log_cursor_free(cursor);
        }
        check_tables(reader);
        check_curves(reader);
        sl_log_reader_close(reader);
    }
    return NULL;
}

static bool check_end(void) {
    sl_error err = SL_ERROR_INIT;
    sl_log_reader *reader;
    sl_fsck_report report;
    if (sl_log_open(path, &reader, &err) < 0 || sl_log_fsck(reader, &report, &err) < 0) {
        printf("# %s\n", err.text);
        return false;
    }
    bool is_fine = report.problems.cnt == 0;
    if (!is_fine)
        printf("# fsck: %s\n", report.problems.at[0].text);
    printf("# at the end: %llu events there, %llu overwritten\n", (unsigned long long)report.events,
           (unsigned long long)report.lost);
    sl_log_fsck_fini(&report);
    sl_log_reader_close(reader);
    return is_fine;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    snprintf(path, sizeof path, "%s/stress-%d.slog", argv[2], (int)getpid());
    sl_error err = SL_ERROR_INIT;
    sl_log_options o = {.struct_size = sizeof o,
                        .path = path,
                        .ring_bytes = 64u << 10,
                        .chunk_bytes = 1024,
                        .live_cap = 256,
                        .mark_cap = 64,
                        .overwrite = true};
    if (sl_log_create(&o, &the_log, &err) < 0) {
        printf("not ok 1 - %s\n1..1\n", err.text);
        return 1;
    }
    pthread_t ids[WRITERS + READERS + 1];
    writer writers[WRITERS];
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.no = i};
        pthread_create(&ids[i], NULL, write_all, &writers[i]);
    }
    for (int i = 0; i < READERS; i++)
        pthread_create(&ids[WRITERS + i], NULL, read_all, NULL);
    pthread_create(&ids[WRITERS + READERS], NULL, maintain, NULL);
    long ms = strtol(argv[1], NULL, 10);
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    atomic_store(&stops, true);
    for (size_t i = 0; i < SL_COUNT_OF(ids); i++)
        pthread_join(ids[i], NULL);
    sl_log_close(the_log);
    printf("%s 1 - readers saw only whole records and blocks\n", failures ? "not ok" : "ok");
    printf("%s 2 - readers read, followed, were overrun and noticed\n",
           events_read && polls && lapped && table_loads ? "ok" : "not ok");
    bool is_fine = check_end();
    printf("%s 3 - the totals are exact at the end\n1..3\n", is_fine ? "ok" : "not ok");
    printf("# %u opens, %llu events read, %u polls, overrun %u times, tables loaded %u times\n",
           opened, (unsigned long long)events_read, polls, lapped, table_loads);
    unlink(path);
    return failures || !is_fine;
}
