/* SPDX-License-Identifier: MIT
 *
 * A writer process with several threads is killed with SIGKILL at a random moment, over and over. Each thread tells the
 * parent through shared memory how many events it has published, after each one. Then the file must hold exactly that:
 *   - it opens (or was killed before its header was written, and says so);
 *   - every event reported as published is there, each equal to the sequence that the thread's number determines, and
 *     nothing else; where the ring has wrapped, what is there are whole runs of the sequence up to its end, at most as
 *     many as rule L11 allows, and the number of lost events is right;
 *   - totals of every site, computed anew from the sequences, equal the file's to the last byte; so do the live blocks;
 *   - steps reported are in the list; fsck finds no damage, and its replay agrees where nothing was overwritten;
 *   - all of that holds once more after the file was compacted.
 *
 * usage: crash_kill [--keep] ROUNDS SEED FOLDER      --keep: small, and the last file stays
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "log/compact/log_compact.h"
#include "log/read/log_fsck.h"
#include "log_fixture.h"

#define THREADS    4
#define STEP_EVERY 1000

typedef struct shared {
    uint64_t is_ready;
    uint64_t published[THREADS];
    uint64_t steps;
    uint64_t tids[THREADS];
} shared;

typedef struct plan {
    const char *path;
    uint64_t ring_bytes;
    bool kills_at_start; /* perhaps before the file is complete */
    bool may_lose;       /* the ring is small and wraps */
    bool grows;          /* regions grow while they are written */
    bool is_kept;        /* as the writer left it */
    uint64_t
        event_max; /* of each thread: where nothing may be lost it stops before the ring is full */
    uint32_t delay_us;
} plan;

/* ---- the writer ---- */

typedef struct worker {
    sl_log *log;
    shared *to;
    const uint32_t *stack_ids;
    uint32_t thread_no;
    uint64_t event_max;
    fixture_thread sequence;
} worker;

static void *work(void *arg) {
    worker *w = arg;
    fixture_thread *sequence = &w->sequence;
    __atomic_store_n(&w->to->tids[w->thread_no], (uint64_t)gettid(), __ATOMIC_SEQ_CST);
    while (sequence->next < w->event_max) {
        fixture_event e = fixture_next(sequence);
        fixture_write(w->log, w->stack_ids, &e);
        __atomic_store_n(&w->to->published[w->thread_no], sequence->next, __ATOMIC_SEQ_CST);
        if (w->thread_no == 0 && sequence->next % STEP_EVERY == 0) {
            sl_log_step(w->log, sequence->next / STEP_EVERY, 0);
            __atomic_store_n(&w->to->steps, sequence->next / STEP_EVERY, __ATOMIC_SEQ_CST);
        }
    }
    for (;;)
        pause();
    return NULL;
}

static void write_forever(const plan *p, shared *to) {
    sl_log *log;
    sl_error err = SL_ERROR_INIT;
    sl_log_options options = {.struct_size = sizeof options,
                              .path = p->path,
                              .ring_bytes = p->ring_bytes,
                              .chunk_bytes = 4096,
                              .live_cap = 512, /* the threads' blocks spill into further levels */
                              .live_levels = 4,
                              .string_bytes = 65536,
                              .frame_cap = 1024,
                              .stack_cap = 1024,
                              .site_cap = 64,
                              .thread_cap = 16,
                              .counter_cap = 4,
                              .mark_cap = 16384,
                              .alert_cap = 16,
                              .oom_cap = 4,
                              .reserve_all = !p->grows};
    if (sl_log_create(&options, &log, &err) < 0) {
        printf("# create: %s\n", err.text);
        fflush(stdout);
        _exit(9);
    }
    uint32_t stack_ids[FIXTURE_STACKS];
    fixture_stacks(log, stack_ids);
    static worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_t id;
        workers[i] = (worker){log, to, stack_ids, i, p->event_max, {.thread_no = i}};
        pthread_create(&id, NULL, work, &workers[i]);
    }
    __atomic_store_n(&to->is_ready, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        sl_log_maintain(log);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* ---- the judge ---- */

static char why[700];

#define MUST(condition, ...)                        \
    do {                                            \
        if (!(condition)) {                         \
            snprintf(why, sizeof why, __VA_ARGS__); \
            return false;                           \
        }                                           \
    } while (0)

typedef unsigned long long llu;

/* Expected totals by stack number; a thread's part of them. */
typedef struct totals {
    uint64_t alloc_cnt, alloc_bytes, free_cnt, free_bytes;
} totals;

typedef struct found {
    fixture_thread sequence[THREADS]; /* up to the last event present */
    uint64_t events, steps;
    totals by_stack[FIXTURE_STACKS];
} found;

static int thread_of(const shared *to, uint32_t tid) {
    for (int i = 0; i < THREADS; i++)
        if (to->tids[i] == tid)
            return i;
    return -1;
}

static void play(found *f, int i, fixture_event *e) {
    *e = fixture_next(&f->sequence[i]);
    totals *t = &f->by_stack[e->stack_no];
    if (e->kind == SL_EV_ALLOC)
        t->alloc_cnt++, t->alloc_bytes += e->size;
    else
        t->free_cnt++, t->free_bytes += e->size;
}

/* An event tells the low 16 bits of its number; the rest follows from the last one, whose number the thread has
 * reported, going backwards. So records are collected first and compared then. */
typedef struct kept {
    sl_log_record *at;
    size_t cnt, cap;
} kept;

static bool collect(sl_log_reader *r, const shared *to, kept kept_by[THREADS], found *f,
                    uint64_t *lost) {
    sl_error err = SL_ERROR_INIT;
    sl_log_cursor *cursor;
    sl_log_record record;
    int got;
    MUST(sl_log_cursor_new(r, &cursor, &err) >= 0, "cursor: %s", err.text);
    uint64_t last_ns = 0;
    while ((got = sl_log_cursor_next(cursor, &record, &err)) > 0) {
        MUST(record.time_ns >= last_ns, "time goes backwards at %llu", (llu)record.time_ns);
        last_ns = record.time_ns;
        f->events++;
        int i = thread_of(to, record.tid);
        MUST(i >= 0, "an event of thread %u, which wrote nothing", record.tid);
        if (record.kind == SL_EV_STEP) {
            f->steps++;
            continue;
        }
        kept *k = &kept_by[i];
        MUST(sl_vec_push(k, record), "no memory");
    }
    MUST(got == 0, "next: %s", err.text);
    *lost = sl_log_cursor_lost(cursor);
    MUST(sl_log_cursor_torn(cursor) == 0, "%llu torn records", (llu)sl_log_cursor_torn(cursor));
    sl_log_cursor_free(cursor);
    return true;
}

/* How far the record before this one lies behind it. A small ring is overwritten long before the 16 bits repeat. */
static uint64_t distance_to(const kept *k, size_t i) {
    return (uint16_t)(k->at[i].tag - k->at[i - 1].tag);
}

/* Number of the first record kept. Runs of consecutive numbers follow each other; only a chunk that outlived newer ones
 * (L11) begins a further run, and at most one chunk for each thread can. */
static bool find_first(const plan *p, const kept *k, int thread, uint64_t end, uint64_t *first) {
    int runs = 1;
    *first = end - 1;
    for (size_t i = k->cnt - 1; i > 0; i--) {
        uint64_t distance = distance_to(k, i);
        MUST(distance >= 1 && distance <= *first, "thread %d: event %llu stands behind %u", thread,
             (llu)*first, k->at[i - 1].tag);
        runs += distance > 1;
        *first -= distance;
    }
    MUST(runs == 1 || (p->may_lose && runs <= 1 + THREADS), "thread %d: its events are in %d runs",
         thread, runs);
    MUST(*first == 0 || p->may_lose, "thread %d: the first %llu of %llu events are missing", thread,
         (llu)*first, (llu)end);
    return true;
}

static bool is_equal(const sl_log_record *r, const fixture_event *e) {
    return r->kind == e->kind && r->addr == e->addr && r->size == e->size && r->tag == e->tag;
}

static bool compare_thread(const plan *p, const shared *to, const kept *k, found *f, int i) {
    uint64_t published = to->published[i], at;
    fixture_event e;
    f->sequence[i].thread_no = (uint32_t)i;
    if (k->cnt == 0) {
        MUST(published == 0 || p->may_lose, "thread %d: %llu published, none found", i,
             (llu)published);
        for (uint64_t n = 0; n < published; n++)
            play(f, i, &e);
        return true;
    }
    uint16_t last_tag = k->at[k->cnt - 1].tag;
    uint64_t end = published + (uint16_t)(last_tag + 1 - (uint16_t)published);
    MUST(end - published <= 1, "thread %d: published %llu, found up to %llu", i, (llu)published,
         (llu)end);
    MUST(end >= k->cnt, "thread %d: more events than were made", i);
    if (!find_first(p, k, i, end, &at))
        return false;
    size_t next = 0;
    for (uint64_t n = 0; n < end; n++) {
        play(f, i, &e);
        if (n != at)
            continue;
        const sl_log_record *r = &k->at[next];
        MUST(is_equal(r, &e),
             "thread %d event %llu: kind %u addr %llx size %llu tag %u, expected %u %llx %llu %u",
             i, (llu)n, r->kind, (llu)r->addr, (llu)r->size, r->tag, e.kind, (llu)e.addr,
             (llu)e.size, e.tag);
        if (++next < k->cnt)
            at += distance_to(k, next);
    }
    MUST(next == k->cnt, "thread %d: %zu of %zu events compared", i, next, k->cnt);
    return true;
}

/* The stack number of a site, by the name of its innermost frame. */
static int stack_no_of(const sl_log_reader *r, uint32_t stack) {
    sl_fmt_frame frame;
    uint32_t caller;
    if (!sl_log_get_frame(r, stack, &frame, &caller))
        return -1;
    return (int)frame.line - 10;
}

static bool compare_sites(const sl_log_reader *r, const sl_log_tables *t, const found *f) {
    uint32_t seen = 0;
    MUST(t->mismatched_sites == 0, "%llu sites differ from the live table",
         (llu)t->mismatched_sites);
    for (size_t i = 0; i < t->sites.cnt; i++) {
        const sl_log_site *s = &t->sites.at[i];
        if (s->domain == SL_DOMAIN_OTHER)
            continue;
        int no = stack_no_of(r, s->stack);
        MUST(no >= 0 && no < FIXTURE_STACKS, "site %u has no stack of ours", s->id);
        const totals *w = &f->by_stack[no];
        seen |= 1u << no;
        if (s->is_uncertain)
            continue;
        MUST(s->alloc_cnt == w->alloc_cnt && s->alloc_bytes == w->alloc_bytes &&
                 s->free_cnt == w->free_cnt && s->free_bytes == w->free_bytes,
             "site %u: %llu allocs %llu B, %llu frees %llu B; expected %llu %llu, %llu %llu", s->id,
             (llu)s->alloc_cnt, (llu)s->alloc_bytes, (llu)s->free_cnt, (llu)s->free_bytes,
             (llu)w->alloc_cnt, (llu)w->alloc_bytes, (llu)w->free_cnt, (llu)w->free_bytes);
        MUST(s->peak_bytes >= s->live_bytes, "site %u: peak below live", s->id);
    }
    for (int no = 0; no < FIXTURE_STACKS; no++)
        MUST((seen >> no & 1) || f->by_stack[no].alloc_cnt == 0, "stack %d has no site", no);
    return true;
}

static bool compare_blocks(const sl_log_tables *t, const found *f) {
    size_t live = 0;
    for (int i = 0; i < THREADS; i++)
        for (int b = 0; b < FIXTURE_BLOCKS; b++)
            live += f->sequence[i].blocks[b].size != 0;
    MUST(t->blocks.cnt == live, "%zu live blocks, expected %zu", t->blocks.cnt, live);
    for (size_t n = 0; n < t->blocks.cnt; n++) {
        const sl_log_block *b = &t->blocks.at[n];
        uint64_t i = (b->addr - UINT64_C(0x7f0000000000)) >> 32;
        MUST(i < THREADS, "a live block at %llx", (llu)b->addr);
        const fixture_block *w = &f->sequence[i].blocks[(b->addr & 0xffffffff) / 512];
        MUST(w->size == b->size, "block %llx: %llu B, expected %llu", (llu)b->addr, (llu)b->size,
             (llu)w->size);
    }
    return true;
}

static bool check_steps(sl_log_reader *r, const shared *to) {
    sl_error err = SL_ERROR_INIT;
    sl_log_marks marks;
    MUST(sl_log_load_marks(r, &marks, &err) >= 0, "marks: %s", err.text);
    MUST(marks.cnt >= to->steps && marks.cnt <= to->steps + 1, "%zu steps, reported %llu",
         marks.cnt, (llu)to->steps);
    for (size_t i = 0; i < marks.cnt; i++)
        MUST(marks.at[i].step == i, "step %llu at place %zu", (llu)marks.at[i].step, i);
    sl_vec_free(&marks);
    return true;
}

static bool check_fsck(sl_log_reader *r, const plan *p, uint64_t lost) {
    sl_error err = SL_ERROR_INIT;
    sl_fsck_report report;
    MUST(sl_log_fsck(r, &report, &err) >= 0, "fsck: %s", err.text);
    MUST(report.problems.cnt == 0, "fsck: %s: %s", report.problems.at[0].rule,
         report.problems.at[0].text);
    MUST(report.ending == SL_LOG_KILLED, "ending %s", sl_log_ending_name(report.ending));
    MUST(report.lost == lost, "fsck says %llu lost, the cursor %llu", (llu)report.lost, (llu)lost);
    MUST(p->may_lose || report.replay == SL_FSCK_REPLAY_EQUAL, "the replay was not equal (%d)",
         (int)report.replay);
    sl_log_fsck_fini(&report);
    return true;
}

static uint64_t uncertain_sites, in_flight_events, repaired_sites, lost_events;

static bool judge_tables(sl_log_reader *r, const found *f) {
    sl_error err = SL_ERROR_INIT;
    sl_log_tables tables;
    MUST(sl_log_load_tables(r, &tables, &err) >= 0, "tables: %s", err.text);
    uncertain_sites += tables.uncertain_sites;
    repaired_sites += tables.repaired_sites;
    in_flight_events += tables.intents.cnt;
    bool is_fine = compare_sites(r, &tables, f) && compare_blocks(&tables, f);
    sl_log_tables_fini(&tables);
    return is_fine;
}

static bool judge_open(sl_log_reader *r, const plan *p, const shared *to) {
    static found f;
    kept kept_by[THREADS] = {{0}};
    uint64_t lost = 0, missing = 0;
    f = (found){0};
    bool is_fine = collect(r, to, kept_by, &f, &lost);
    for (int i = 0; i < THREADS && is_fine; i++) {
        is_fine = compare_thread(p, to, &kept_by[i], &f, i);
        missing += f.sequence[i].next - kept_by[i].cnt;
    }
    for (int i = 0; i < THREADS; i++)
        sl_vec_free(&kept_by[i]);
    if (!is_fine)
        return false;
    /* Steps are events too, and the small ring has lost some of them. */
    MUST(lost >= missing && lost - missing <= to->steps + 1,
         "%llu events lost, the cursor says %llu", (llu)missing, (llu)lost);
    lost_events += lost;
    return judge_tables(r, &f) && check_steps(r, to) && check_fsck(r, p, lost);
}

static bool judge_file(const plan *p, const shared *to) {
    sl_error err = SL_ERROR_INIT;
    sl_log_reader *r;
    sl_status status = sl_log_open(p->path, &r, &err);
    if (status < 0) {
        MUST(!to->is_ready, "open: %s", err.text);
        MUST(status == SL_E_OPEN || status == SL_E_TRUNCATED ||
                 (status == SL_E_FORMAT && strstr(err.text, "zeros")),
             "killed at its start: %s", err.text);
        return true;
    }
    bool is_fine = judge_open(r, p, to);
    sl_log_reader_close(r);
    return is_fine;
}

/* A file whose header was never written cannot be compacted, and stays. */
static bool judge(const plan *p, const shared *to) {
    sl_error err = SL_ERROR_INIT;
    sl_compact_result result;
    if (!judge_file(p, to))
        return false;
    if (p->is_kept)
        return true;
    sl_status status = sl_log_compact(p->path, NULL, &result, &err);
    MUST(status >= 0 || !to->is_ready, "compact: %s", err.text);
    MUST(status < 0 || result.outcome == SL_COMPACT_DONE, "compact: outcome %d", result.outcome);
    return judge_file(p, to);
}

/* ---- rounds ---- */

static uint64_t random_state;

static uint32_t random_below(uint32_t n) {
    random_state = fixture_hash(random_state + UINT64_C(0x9e3779b97f4a7c15));
    return (uint32_t)(random_state >> 32) % n;
}

static void wait_until_ready(const shared *to) {
    while (!__atomic_load_n(&to->is_ready, __ATOMIC_SEQ_CST))
        nanosleep(&(struct timespec){0, 100000}, NULL);
}

static bool run_round(const plan *p, shared *to) {
    unlink(p->path);
    memset(to, 0, sizeof *to);
    pid_t child = fork();
    MUST(child >= 0, "fork: %s", strerror(errno));
    if (child == 0)
        write_forever(p, to);
    if (!p->kills_at_start)
        wait_until_ready(to);
    nanosleep(&(struct timespec){0, (long)p->delay_us * 1000}, NULL);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the writer ended by itself (%x)",
         (unsigned)status);
    return judge(p, to);
}

int main(int argc, char **argv) {
    bool keeps = argc > 1 && strcmp(argv[1], "--keep") == 0;
    argc -= keeps;
    argv += keeps;
    if (argc != 4) {
        fprintf(stderr, "usage: crash_kill [--keep] ROUNDS SEED FOLDER\n");
        return 2;
    }
    int rounds = atoi(argv[1]), failed = 0;
    uint64_t events = 0;
    random_state = strtoull(argv[2], NULL, 10);
    static char path[4096];
    snprintf(path, sizeof path, "%s/crash-%d.slog", argv[3], (int)getpid());
    shared *to = mmap(NULL, sizeof *to, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < rounds && failed < 5; i++) {
        plan p = {.path = path,
                  .kills_at_start = i % 5 == 4,
                  .may_lose = i % 3 == 1,
                  .grows = i % 3 == 2};
        p.ring_bytes = p.may_lose ? 256u << 10 : p.grows ? 64u << 20 : 32u << 20;
        p.event_max = p.may_lose ? UINT64_MAX : p.grows ? 60000 : 250000;
        if (keeps)
            p = (plan){.path = path,
                       .may_lose = true,
                       .is_kept = true,
                       .ring_bytes = 128u << 10,
                       .event_max = UINT64_MAX};
        p.delay_us = random_below(p.kills_at_start ? 3000 : 8000);
        bool is_fine = run_round(&p, to);
        for (int t = 0; t < THREADS; t++)
            events += to->published[t];
        printf("%s %d - killed after %u us%s%s\n", is_fine ? "ok" : "not ok", i + 1, p.delay_us,
               p.kills_at_start ? " from its start" : "",
               p.may_lose ? ", small ring"
               : p.grows  ? ", growing"
                          : "");
        if (!is_fine)
            printf("# %s\n", why), failed++;
        fflush(stdout);
    }
    printf("1..%d\n# %llu events published, %llu overwritten, %llu in flight at a kill, %llu sites "
           "completed, %llu of them "
           "uncertain\n",
           rounds, (llu)events, (llu)lost_events, (llu)in_flight_events, (llu)repaired_sites,
           (llu)uncertain_sites);
    if (!keeps)
        unlink(path);
    return failed > 0;
}
