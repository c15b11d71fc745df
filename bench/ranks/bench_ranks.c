/* SPDX-License-Identifier: MIT */
/* Recordings of a made-up job with a fault, by the recorder's own writer under a clock of our own (clock_gettime is
 * wrapped when this is linked). What is right is printed as one line of JSON: what `stormlog ranks` should find.
 *
 *   bench_ranks DIR FAULT SEED RANKS STEPS EVENTS [plain|packed]   EVENTS: per rank; not compacted, or not compressed
 *   bench_ranks list                                                  names of the faults
 *
 * Every choice follows from SEED: the rank, the step, the sizes, the skew of the clocks, the noise. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log/compact/log_compact.h"
#include "log/write/log_writer.h"

#define MIB    (UINT64_C(1) << 20)
#define SECOND INT64_C(1000000000)

/* name, what `first_cause.fault` may be. Healthy ones have none. */
#define FAULT_MAP(X)                                     \
    X(HEALTHY, "healthy", "")                            \
    X(HEALTHY_NOISE, "healthy-noise", "")                \
    X(HEALTHY_SKEW, "healthy-skew", "")                  \
    X(HEALTHY_STAGES, "healthy-stages", "")              \
    X(HEALTHY_RESUMED, "healthy-resumed", "")            \
    X(HEALTHY_GROWTH, "healthy-growth", "")              \
    X(HEALTHY_STOPPED, "healthy-stopped", "")            \
    X(LEAK, "leak", "leak")                              \
    X(LEAK_START, "leak-from-start", "leak")             \
    X(LEAK_SMALL, "leak-small", "leak")                  \
    X(LEAK_TWO, "two-leaks", "leak")                     \
    X(LEAK_OOM, "leak-oom-timeouts", "leak")             \
    X(LEAK_SKEW, "leak-skewed-clocks", "leak")           \
    X(LEAK_STAGE, "leak-in-stage", "leak")               \
    X(LEAK_RANK0, "leak-on-fuller-rank0", "leak")        \
    X(LEAK_NOISE, "leak-noise", "leak")                  \
    X(LEAK_MISSING, "leak-with-missing-ranks", "leak")   \
    X(OOM, "oom-timeouts", "oom")                        \
    X(KILLED, "killed-timeouts", "killed,silent")        \
    X(KILLED_JUMP, "killed-clock-jump", "killed,silent") \
    X(FAILED, "exit-1-timeouts", "failed,silent")        \
    X(SILENT, "silent", "silent")                        \
    X(HANG, "hang", "silent")                            \
    X(MISSING, "missing", "missing")                     \
    X(LATE, "late-start", "late")                        \
    X(STRAGGLER, "straggler", "straggler")               \
    X(EXPERT, "expert-imbalance", "peak,shift")          \
    X(SHIFT, "shift", "shift")                           \
    X(RAISED, "exception-timeouts", "failed")            \
    X(RAISED_STOPPED, "exception-stopped", "failed")

typedef enum fault {
#define FAULT_ENUM(id, name, right) FAULT_##id,
    FAULT_MAP(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_LIMIT
} fault;

static const struct {
    const char *name, *right;
} faults[] = {
#define FAULT_ROW(id, name, right) {name, right},
    FAULT_MAP(FAULT_ROW)
#undef FAULT_ROW
};

/* ---- the clock ---- */

static int64_t fake_now_ns =
    -1; /* CLOCK_MONOTONIC and the common clock of the job; -1 = the real one */
static int64_t fake_skew_ns; /* of CLOCK_REALTIME */

int __real_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);

int __wrap_clock_gettime(clockid_t id, struct timespec *out) {
    if (fake_now_ns < 0)
        return __real_clock_gettime(id, out);
    int64_t now =
        fake_now_ns + (id == CLOCK_REALTIME ? INT64_C(1700000000) * SECOND + fake_skew_ns : 0);
    out->tv_sec = now / SECOND;
    out->tv_nsec = now % SECOND;
    return 0;
}

/* ---- chance ---- */

static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* 0 <= x < 1, by three numbers; the same for the same ones. */
static double chance(uint64_t seed, uint64_t what, uint64_t which) {
    return (double)(mix(mix(mix(seed) ^ what) ^ which) >> 11) / 9007199254740992.0;
}

static uint64_t between(uint64_t seed, uint64_t what, uint64_t from, uint64_t to) {
    return from + (uint64_t)(chance(seed, what, 0) * (double)(to - from + 1));
}

/* ---- the job ---- */

typedef struct job {
    fault fault;
    uint64_t seed, ranks, steps, events;
    uint64_t culprit, second; /* ranks */
    uint64_t onset;           /* step at which it begins */
    uint64_t leak_bytes;      /* per step */
    uint64_t stages;          /* of the pipeline */
    uint64_t first_step;
    double noise; /* of sizes, per rank and step */
    double step_s;
    bool is_plain, is_packed;
    const char *folder;
} job;

static job make_job(char **argv) {
    job j = {.folder = argv[1],
             .fault = FAULT_LIMIT,
             .seed = strtoull(argv[3], NULL, 10),
             .ranks = strtoull(argv[4], NULL, 10),
             .steps = strtoull(argv[5], NULL, 10),
             .events = strtoull(argv[6], NULL, 10)};
    for (size_t i = 0; i < FAULT_LIMIT; i++)
        if (strcmp(faults[i].name, argv[2]) == 0)
            j.fault = (fault)i;
    if (j.fault == FAULT_LIMIT || j.ranks < 3 || j.steps < 20) {
        fprintf(stderr, "bench_ranks: unknown fault '%s', or fewer than 3 ranks or 20 steps\n",
                argv[2]);
        exit(2);
    }
    j.seed = mix(j.seed * 1000 + (uint64_t)j.fault);
    j.culprit = between(j.seed, 1, 0, j.ranks - 1);
    j.second = (j.culprit + between(j.seed, 2, 1, j.ranks - 1)) % j.ranks;
    j.onset = between(j.seed, 3, j.steps / 4, j.steps / 2);
    j.leak_bytes = between(j.seed, 4, 2, 16) * MIB;
    j.stages = j.fault == FAULT_HEALTHY_STAGES || j.fault == FAULT_LEAK_STAGE ? 4 : 1;
    j.noise = j.fault == FAULT_HEALTHY_NOISE || j.fault == FAULT_LEAK_NOISE ? 0.05 : 0.005;
    j.step_s = 0.2 + chance(j.seed, 5, 0);
    j.first_step = j.fault == FAULT_HEALTHY_RESUMED ? 10000 : 0;
    if (j.fault == FAULT_LEAK_START)
        j.onset = 1;
    if (j.fault == FAULT_LEAK_SMALL)
        j.leak_bytes = between(j.seed, 4, 256, 1024) * 1024;
    if (j.fault == FAULT_LEAK_RANK0)
        j.culprit = 0;
    if (j.fault == FAULT_LATE)
        j.onset = 0;
    return j;
}

static bool times_out(const job *j) {
    return j->fault == FAULT_LEAK_OOM || j->fault == FAULT_OOM || j->fault == FAULT_KILLED ||
           j->fault == FAULT_KILLED_JUMP || j->fault == FAULT_FAILED || j->fault == FAULT_HANG ||
           j->fault == FAULT_RAISED || j->fault == FAULT_RAISED_STOPPED;
}

/* The last step that a rank makes. */
static uint64_t last_step_of(const job *j, uint64_t rank) {
    uint64_t end = j->onset + (j->fault == FAULT_LEAK_OOM ? j->steps / 3 : 0);
    if (j->fault == FAULT_SILENT && rank == j->culprit)
        return j->onset;
    if (!times_out(j))
        return j->steps;
    /* The culprit fails inside step `end`; the others have to wait for it at its end. A hang: it does not come to
     * the collective that ends step `end`, which the optimizers of the others have passed. */
    return j->fault == FAULT_HANG && rank != j->culprit ? end : end - 1;
}

static int64_t skew_of(const job *j, uint64_t rank) {
    bool is_wild = j->fault == FAULT_HEALTHY_SKEW || j->fault == FAULT_LEAK_SKEW ||
                   j->fault == FAULT_KILLED_JUMP || j->fault == FAULT_OOM;
    double range_s = is_wild ? 5 : 0.02;
    return (int64_t)((2 * chance(j->seed, 6, rank) - 1) * range_s * 1e9);
}

/* When a step ends on the common clock. The ranks wait for each other, but for a straggler. */
static int64_t step_end(const job *j, uint64_t rank, uint64_t step) {
    double at = 30 + (double)step * j->step_s;
    if (j->fault == FAULT_LATE)
        at += 60 + 60 * chance(j->seed, 7, 0);
    if (j->fault == FAULT_STRAGGLER && rank == j->culprit && step > j->onset)
        at += (double)(step - j->onset) * j->step_s * (0.1 + 0.3 * chance(j->seed, 8, 0));
    return (int64_t)((at + 0.004 * chance(j->seed, 1000 + step, rank)) * 1e9);
}

static int64_t start_of(const job *j, uint64_t rank) {
    double at = 3 * chance(j->seed, 9, rank);
    if (j->fault == FAULT_LATE && rank == j->culprit)
        at += 60 + 60 * chance(j->seed, 7, 0);
    return (int64_t)(at * 1e9);
}

/* ---- one rank ---- */

typedef enum line {
    LINE_WEIGHTS,
    LINE_FORWARD,
    LINE_DISPATCH,
    LINE_BATCH,
    LINE_KEEP,
    LINE_STATE,
    LINE_SECOND,
    LINE_CNT
} line;

static const struct {
    const char *file, *function;
    uint32_t number;
} lines[LINE_CNT] = {
    {"/job/model.py", "__init__", 12},    {"/job/model.py", "forward", 31},
    {"/job/moe.py", "dispatch", 64},      {"/job/data.py", "next_batch", 22},
    {"/job/train.py", "log_metrics", 57}, {"/job/optim.py", "init_state", 9},
    {"/job/hooks.py", "keep_output", 18},
};

typedef struct rank_log {
    const job *j;
    sl_log *log;
    uint64_t rank, next_addr, total, peak, written;
    uint32_t stacks[LINE_CNT], memos[LINE_CNT];
    uint64_t *kept; /* addresses that stay, and their sizes */
    uint64_t *kept_bytes;
    size_t kept_cnt;
    uint64_t addrs[512], bytes[512]; /* of the step */
} rank_log;

static uint64_t add_block(rank_log *r, line l, uint64_t bytes) {
    uint64_t addr = r->next_addr;
    r->next_addr += (bytes + 511) / 512 * 512 + 512;
    r->total += bytes;
    sl_log_event event = {.kind = SL_EV_ALLOC,
                          .device = 0,
                          .stack = r->stacks[l],
                          .addr = addr,
                          .size = bytes,
                          .total_allocated = r->total,
                          .total_reserved = SL_LOG_UNKNOWN,
                          .site_memo = &r->memos[l]};
    sl_log_write(r->log, &event);
    r->written++;
    return addr;
}

static void free_block(rank_log *r, uint64_t addr, uint64_t bytes) {
    r->total -= bytes;
    sl_log_event event = {.kind = SL_EV_FREE,
                          .device = 0,
                          .addr = addr,
                          .size = bytes,
                          .total_allocated = r->total,
                          .total_reserved = SL_LOG_UNKNOWN};
    sl_log_write(r->log, &event);
    r->written++;
}

static void keep(rank_log *r, line l, uint64_t bytes) {
    r->kept_bytes[r->kept_cnt] = bytes;
    r->kept[r->kept_cnt++] = add_block(r, l, bytes);
}

static void make_stacks(rank_log *r) {
    uint32_t main_frame =
        sl_log_frame_of(r->log, SL_STR("main"), SL_STR("/job/train.py"), 80, SL_FRAME_PYTHON);
    uint32_t bottom = sl_log_stack_child(r->log, 0, main_frame);
    for (size_t i = 0; i < LINE_CNT; i++) {
        uint32_t frame = sl_log_frame_of(
            r->log, (sl_str){lines[i].function, strlen(lines[i].function)},
            (sl_str){lines[i].file, strlen(lines[i].file)}, lines[i].number, SL_FRAME_PYTHON);
        r->stacks[i] = sl_log_stack_child(r->log, bottom, frame);
    }
}

static uint64_t sized(const rank_log *r, uint64_t bytes, uint64_t step, uint64_t which,
                      double noise) {
    double common =
        0.9 + 0.2 * chance(r->j->seed, 5000 + step, 0); /* the length of the batch, for all */
    double own = 1 + noise * (2 * chance(r->j->seed, 9000 + step, r->rank * 64 + which) - 1);
    return ((uint64_t)((double)bytes * common * own) + 511) / 512 * 512;
}

/* What the fault adds to this step. */
static void add_fault(rank_log *r, uint64_t step) {
    const job *j = r->j;
    bool is_culprit = r->rank == j->culprit && step >= j->onset;
    switch (j->fault) {
    case FAULT_LEAK:
    case FAULT_LEAK_START:
    case FAULT_LEAK_SMALL:
    case FAULT_LEAK_OOM:
    case FAULT_LEAK_SKEW:
    case FAULT_LEAK_STAGE:
    case FAULT_LEAK_RANK0:
    case FAULT_LEAK_NOISE:
    case FAULT_LEAK_MISSING:
        if (is_culprit)
            keep(r, LINE_KEEP, j->leak_bytes);
        break;
    case FAULT_LEAK_TWO:
        if (is_culprit)
            keep(r, LINE_KEEP, j->leak_bytes);
        if (r->rank == j->second && step >= j->onset + j->steps / 5)
            keep(r, LINE_SECOND, 2 * j->leak_bytes);
        break;
    case FAULT_SHIFT:
        if (is_culprit && step == j->onset)
            keep(r, LINE_SECOND, 40 * j->leak_bytes);
        break;
    case FAULT_HEALTHY_GROWTH: keep(r, LINE_KEEP, j->leak_bytes / 8); break;
    default: break;
    }
}

/* Forward allocates, backward frees; a batch lives until the next one is there. */
static void make_step(rank_log *r, uint64_t step, uint64_t *batch, uint64_t *batch_bytes) {
    const job *j = r->j;
    uint64_t layers = j->events / j->steps / 2, *addrs = r->addrs, *bytes = r->bytes;
    int64_t from = step == 1 ? fake_now_ns : step_end(j, r->rank, step - 1),
            to = step_end(j, r->rank, step);
    layers = layers < 4 ? 4 : layers > 512 ? 512 : layers;
    bool is_crowded = j->fault == FAULT_EXPERT && r->rank == j->culprit && step >= j->onset;
    for (uint64_t i = 0; i + 2 < layers; i++) {
        line l = i % 4 == 3 ? LINE_DISPATCH : LINE_FORWARD;
        uint64_t size = (2 * 1024 * MIB / layers) * (is_crowded && l == LINE_DISPATCH ? 4 : 1);
        fake_now_ns = from + (to - from) * (int64_t)i / (int64_t)(2 * layers);
        bytes[i] = sized(r, size, step, i % 8, j->noise);
        addrs[i] = add_block(r, l, bytes[i]);
    }
    uint64_t next_bytes = sized(r, 64 * MIB, step, 63, 4 * j->noise);
    uint64_t next = add_block(r, LINE_BATCH, next_bytes);
    if (*batch)
        free_block(r, *batch, *batch_bytes);
    *batch = next, *batch_bytes = next_bytes;
    add_fault(r, step);
    for (uint64_t i = layers - 2; i-- > 0;) {
        fake_now_ns = to - (to - from) * (int64_t)i / (int64_t)(2 * layers) - 1000;
        free_block(r, addrs[i], bytes[i]);
    }
    if (step == 1)
        for (uint64_t i = 0; i < 16; i++)
            keep(r, LINE_STATE, (256 + 32 * (r->rank * j->stages / j->ranks)) * MIB / 2);
    fake_now_ns = to;
    sl_log_step(r->log, j->first_step + step, sl_log_string(r->log, "step", 4));
    r->written++;
    if (step % 8 == 0)
        sl_log_maintain(r->log);
}

/* How it goes on after the last step. */
static void end_rank(rank_log *r) {
    const job *j = r->j;
    bool is_culprit = r->rank == j->culprit,
         is_over = times_out(j) || j->fault == FAULT_HEALTHY_STOPPED;
    if (is_culprit && (j->fault == FAULT_RAISED || j->fault == FAULT_RAISED_STOPPED)) {
        fake_now_ns += (int64_t)(j->step_s * 3e8);
        sl_log_maintain(r->log);
        sl_log_close(r->log); /* as any Python program; its status is not in the recording */
        return;
    }
    if (is_culprit && (j->fault == FAULT_LEAK_OOM || j->fault == FAULT_OOM)) {
        fake_now_ns += (int64_t)(j->step_s * 4e8);
        sl_log_oom_add(r->log, &(sl_log_oom){.device = 0,
                                             .stack = r->stacks[LINE_FORWARD],
                                             .requested = 2048 * MIB,
                                             .allocated = r->total,
                                             .reserved = SL_LOG_UNKNOWN,
                                             .device_free = 100 * MIB,
                                             .device_total = 81920 * MIB});
        fake_now_ns += SECOND / 2;
        sl_log_maintain(r->log);
        sl_log_note_exit(r->log, 1, true);
    } else if (is_culprit && j->fault == FAULT_FAILED) {
        fake_now_ns += (int64_t)(j->step_s * 3e8);
        sl_log_maintain(r->log);
        sl_log_note_exit(r->log, 1, true);
    } else if (is_culprit && is_over && j->fault != FAULT_HANG) {
        fake_now_ns += (int64_t)(j->step_s * 3e8);
        sl_log_maintain(r->log);
    } else if (is_over) { /* NCCL's watchdog ends the others; a job that was stopped ends at once */
        bool is_stopped = j->fault == FAULT_HEALTHY_STOPPED || j->fault == FAULT_RAISED_STOPPED;
        fake_now_ns += is_stopped ? (int64_t)(j->step_s * 3e8) + SECOND / 4
                                  : 600 * SECOND + (int64_t)(chance(j->seed, 11, r->rank) * 5e9);
        sl_log_maintain(r->log);
    } else if (is_culprit && j->fault == FAULT_SILENT) {
        fake_now_ns = step_end(j, 0, j->steps) + SECOND;
        sl_log_maintain(r->log);
    } else {
        sl_log_mark(r->log, SL_EV_WORK_END, 0);
        for (size_t i = 0; i < r->kept_cnt; i++)
            free_block(r, r->kept[i], r->kept_bytes[i]);
        sl_log_close(r->log);
        return;
    }
    sl_log_free(r->log); /* not closed: as after a kill */
}

static uint64_t make_rank(const job *j, uint64_t rank) {
    char path[2048], host[32], job_id[32];
    uint64_t batch = 0, batch_bytes = 0;
    snprintf(path, sizeof path, "%s/rank%" PRIu64 "-python3-%" PRIu64 ".slog", j->folder, rank,
             4000 + rank);
    snprintf(host, sizeof host, "node%03" PRIu64, rank / 8);
    snprintf(job_id, sizeof job_id, "job-%" PRIu64, j->seed % 10000);
    sl_log_identity identity = {.job = job_id,
                                .host = host,
                                .exe = "/usr/bin/python3",
                                .cwd = "/job",
                                .cmdline = "python3 /job/train.py",
                                .rank = (int32_t)rank,
                                .local_rank = (int32_t)(rank % 8),
                                .world_size = (int32_t)j->ranks};
    sl_log_options options = {.struct_size = sizeof options,
                              .path = path,
                              .identity = &identity,
                              .ring_bytes = (j->events + j->events / 8 + 4096) * 33 + (1 << 18),
                              .overwrite = true,
                              .curve_bins = 512,
                              .live_cap = 512,
                              .thread_cap = 16,
                              .counter_cap = 16};
    static rank_log r; /* too large for a stack frame */
    r = (rank_log){.j = j, .rank = rank, .next_addr = UINT64_C(0x7f0000000000)};
    sl_error err = SL_ERROR_INIT;
    if (j->is_packed)
        options.curve_bins = 16, options.chunk_bytes = 4096;
    fake_now_ns = start_of(j, rank);
    fake_skew_ns = skew_of(j, rank);
    r.kept = calloc(2 * j->steps + 64, sizeof *r.kept);
    r.kept_bytes = calloc(2 * j->steps + 64, sizeof *r.kept_bytes);
    if (!r.kept || !r.kept_bytes || sl_log_create(&options, &r.log, &err) < 0) {
        fprintf(stderr, "bench_ranks: %s: %s\n", path, err.text);
        exit(1);
    }
    make_stacks(&r);
    fake_now_ns += SECOND;
    uint64_t stage = rank * j->stages / j->ranks;
    for (uint64_t i = 0; i < 32; i++)
        keep(&r, LINE_WEIGHTS, (256 + 64 * stage) * MIB / 2);
    if (rank == 0 && j->fault == FAULT_LEAK_RANK0)
        keep(&r, LINE_WEIGHTS, 700 * MIB);
    if (start_of(j, rank) < step_end(j, rank, 0))
        fake_now_ns = step_end(j, rank, 0);
    for (uint64_t step = 1; step <= last_step_of(j, rank); step++)
        make_step(&r, step, &batch, &batch_bytes);
    end_rank(&r);
    free(r.kept);
    free(r.kept_bytes);
    fake_now_ns = -1;
    sl_compact_result result;
    if (!j->is_plain &&
        sl_log_compact(path, &(sl_compact_options){.is_plain = j->is_packed}, &result, &err) < 0) {
        fprintf(stderr, "bench_ranks: %s: %s\n", path, err.text);
        exit(1);
    }
    return r.written;
}

static bool is_missing(const job *j, uint64_t rank) {
    if (j->fault == FAULT_MISSING)
        return rank == j->culprit;
    return j->fault == FAULT_LEAK_MISSING && rank == j->second;
}

static void print_truth(const job *j, uint64_t events) {
    bool has_line = strcmp(faults[j->fault].right, "leak") == 0;
    bool has_step = has_line || j->fault == FAULT_EXPERT || j->fault == FAULT_SHIFT ||
                    j->fault == FAULT_STRAGGLER;
    printf("{\"fault\": \"%s\", \"right\": \"%s\", \"rank\": %" PRId64 ", \"step\": %" PRId64
           ", \"line\": \"%s\", "
           "\"events\": %" PRIu64 "}\n",
           faults[j->fault].name, faults[j->fault].right,
           faults[j->fault].right[0] ? (int64_t)j->culprit : -1,
           has_step ? (int64_t)(j->first_step + j->onset) : -1, has_line ? "train.py:57" : "",
           events);
}

int main(int argc, char **argv) {
    uint64_t events = 0;
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < FAULT_LIMIT; i++)
            puts(faults[i].name);
        return 0;
    }
    if (argc < 7) {
        fprintf(stderr, "usage: bench_ranks DIR FAULT SEED RANKS STEPS EVENTS [plain|packed], or "
                        "bench_ranks list\n");
        return 2;
    }
    job j = make_job(argv);
    j.is_plain = argc > 7 && strcmp(argv[7], "plain") == 0;
    j.is_packed = argc > 7 && strcmp(argv[7], "packed") == 0;
    mkdir(j.folder, 0777);
    for (uint64_t rank = 0; rank < j.ranks; rank++)
        if (!is_missing(&j, rank))
            events += make_rank(&j, rank);
    print_truth(&j, events);
    return 0;
}
