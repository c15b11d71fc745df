/* SPDX-License-Identifier: MIT */
/* How exact and how fast the replay of the allocator is, for bench/whatif/score.py and tests/whatif.
 *   bench_whatif --proof FILE...       one line per device: addresses, reserved bytes
 *   bench_whatif --oracle FILE < ROWS  rows "conf<TAB>limit<TAB>seed": what the model makes of the file's calls
 *   bench_whatif --speed FILE...       nanoseconds per event and setting
 *   bench_whatif --stress N            the same for about N synthetic events: 20,000 blocks of many
 *                                      sizes at once, three streams */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/core/str.h"
#include "read/core/source.h"
#include "whatif/whatif.h"

static int complain(const char *path, const sl_error *err) {
    fprintf(stderr, "%s: %s\n", path, err->text);
    return 1;
}

static void print_proof(const char *path, const sl_calls *calls, sl_error *err) {
    sl_pass pass;
    sl_pass_options options = {
        .settings = calls->settings, .limit_bytes = SL_ALLOC_NO_LIMIT, .is_recorded = true};
    if (sl_pass_run(calls, &options, &pass, err) < 0)
        return;
    printf("%s\t%d\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
           "\t%" PRIu64 "\t%" PRId64 "\n",
           sl_base_name(path), calls->replay->device->device, calls->replay->event_cnt,
           pass.same_cnt, pass.placed_cnt, pass.same_reserved_cnt, pass.reserved_cnt,
           pass.recorded_peak, pass.stats.reserved_peak, pass.not_released_cnt,
           pass.first_wrong_event == SL_EVENT_NEVER ? -1 : (int64_t)pass.first_wrong_event);
}

typedef int (*device_fn)(const char *path, const sl_calls *calls);

static int with_devices(const char *path, device_fn use) {
    sl_error err = SL_ERROR_INIT;
    sl_trace *trace;
    sl_run *run;
    int rc = 0;
    if (sl_trace_load(path, NULL, &trace, &err) < 0)
        return complain(path, &err);
    if (sl_run_new((const sl_trace *const *)&trace, 1, &run, &err) < 0)
        return complain(path, &err);
    for (size_t d = 0; d < run->inputs[0].device_cnt && rc == 0; d++) {
        sl_calls *calls;
        if (run->inputs[0].devices[d].events->events.cnt < 2)
            continue;
        if (sl_calls_new(&run->inputs[0].devices[d], &calls, &err) < 0) {
            rc = complain(path, &err);
            break;
        }
        rc = use(path, calls);
        sl_calls_free(calls);
    }
    sl_run_free(run);
    sl_trace_free(trace);
    return rc;
}

static int prove(const char *path, const sl_calls *calls) {
    sl_error err = SL_ERROR_INIT;
    print_proof(path, calls, &err);
    return err.code < 0 ? complain(path, &err) : 0;
}

/* As the rows were measured: one pool, one stream, requests and frees only, up to the first failure. */
static int answer_row(const sl_calls *calls, const char *conf, uint64_t limit, uint64_t seed) {
    sl_error err = SL_ERROR_INIT;
    sl_alloc_settings settings;
    sl_alloc_model *model;
    sl_alloc_limits limits = {limit ? limit : SL_ALLOC_NO_LIMIT, SL_ALLOC_NO_LIMIT,
                              (uint64_t)140 << 30};
    int64_t done = 0, failed = -1;
    sl_alloc_settings_init(&settings);
    if (sl_alloc_settings_parse(&settings, sl_str_of(conf), &err) < 0 ||
        sl_alloc_model_new(&settings, &limits, &(sl_alloc_places){.seed = seed}, &model, &err) < 0)
        return complain(conf, &err);
    sl_alloc_model_add_group(model, 0);
    for (size_t i = 0; i < calls->list.cnt && failed < 0; i++) {
        const sl_call *call = &calls->list.at[i];
        if (call->kind == SL_CALL_REQUEST) {
            if (sl_alloc_request(model, 0, call->slot, call->bytes) != SL_ALLOC_DONE)
                failed = done;
            done++;
        } else if (call->kind == SL_CALL_FREE && sl_alloc_addr(model, call->slot)) {
            sl_alloc_give_back(model, call->slot);
            done++;
        }
    }
    const sl_alloc_stats *stats = sl_alloc_model_stats(model);
    printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRId64 "\t%" PRIu64 "\t%" PRId64 "\n",
           stats->reserved_peak, stats->reserved_bytes, stats->active_peak, failed,
           stats->driver_allocs, done);
    sl_alloc_model_free(model);
    return 0;
}

static int answer_rows(const char *path, const sl_calls *calls) {
    char line[1024];
    (void)path;
    while (fgets(line, sizeof line, stdin)) {
        char *tab = strchr(line, '\t'), *end;
        if (!tab)
            return 2;
        *tab = '\0';
        uint64_t limit = strtoull(tab + 1, &end, 10);
        if (answer_row(calls, line, limit, *end == '\t' ? strtoull(end, NULL, 10) : 0))
            return 1;
    }
    return 0;
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int time_settings(const char *path, const sl_calls *calls) {
    static const char *const confs[] = {
        "",
        "expandable_segments:True",
        "max_split_size_mb:64",
        "roundup_power2_divisions:4",
        "garbage_collection_threshold:0.8,per_process_memory_fraction:0.9",
        "no_caching:True",
    };
    sl_error err = SL_ERROR_INIT;
    double total = 0;
    (void)path;
    for (size_t i = 0; i < SL_COUNT_OF(confs); i++) {
        sl_pass pass;
        sl_pass_options options = {.limit_bytes = SL_ALLOC_NO_LIMIT};
        sl_alloc_settings_init(&options.settings);
        sl_alloc_settings_parse(&options.settings, sl_str_of(confs[i]), &err);
        double from = now_s();
        if (sl_pass_run(calls, &options, &pass, &err) < 0)
            return complain(confs[i], &err);
        double took = now_s() - from;
        total += took;
        printf("%-66s %6.2f s, %5.0f ns per event, %5.0f ns per call, peak %" PRIu64 " MiB\n",
               confs[i][0] ? confs[i] : "(defaults)", took, took * 1e9 / calls->replay->event_cnt,
               took * 1e9 / (double)calls->list.cnt, pass.stats.reserved_peak >> 20);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%zu settings on %u events (%zu calls): %.2f s; peak memory %ld MiB\n",
           SL_COUNT_OF(confs), calls->replay->event_cnt, calls->list.cnt, total,
           usage.ru_maxrss / 1024);
    return 0;
}

enum { LIVE = 20000, STREAMS = 3 };

typedef struct stress_block {
    uint64_t addr, bytes; /* 0 = none */
    uint16_t stream;
} stress_block;

typedef struct stress_trace {
    sl_trace *trace;
    sl_device_trace *device;
    sl_alloc_model *model; /* whose addresses the trace has */
    uint64_t random;
    stress_block live[LIVE];
} stress_trace;

static uint64_t next_random(stress_trace *s, uint64_t below) {
    s->random ^= s->random << 13, s->random ^= s->random >> 7, s->random ^= s->random << 17;
    return (s->random >> 11) % below;
}

static void push(stress_trace *s, sl_event_kind kind, const stress_block *block) {
    sl_event event = {.time_us = (int64_t)s->device->events.cnt,
                      .addr = block->addr,
                      .size_bytes = block->bytes,
                      .stream_idx = block->stream,
                      .kind = kind};
    if (!sl_events_push(&s->device->events, &event))
        abort();
}

static void request(stress_trace *s, uint32_t slot) {
    stress_block *block = &s->live[slot];
    uint64_t before = sl_alloc_model_stats(s->model)->reserved_bytes;
    block->stream = next_random(s, 16) < 14 ? 0 : (uint16_t)(1 + next_random(s, STREAMS - 1));
    block->bytes = next_random(s, (uint64_t)1 << (8 + next_random(s, 17))) + 1;
    if (sl_alloc_request(s->model, block->stream, slot, block->bytes) != SL_ALLOC_DONE)
        abort();
    block->addr = sl_alloc_addr(s->model, slot);
    stress_block segment = {block->addr, sl_alloc_model_stats(s->model)->reserved_bytes - before,
                            block->stream};
    if (segment.bytes)
        push(s, SL_EV_SEGMENT_ALLOC, &segment);
    push(s, SL_EV_ALLOC, block);
}

static void give_back(stress_trace *s, uint32_t slot) {
    push(s, SL_EV_FREE_REQUESTED, &s->live[slot]);
    push(s, SL_EV_FREE_COMPLETED, &s->live[slot]);
    sl_alloc_give_back(s->model, slot);
    s->live[slot].bytes = 0;
}

/* A trace that is harder than a training: sizes of every magnitude, lives of every length, nothing repeats. */
static bool make_stress(stress_trace *s, uint64_t event_cnt) {
    sl_alloc_settings settings;
    sl_error err = SL_ERROR_INIT;
    sl_alloc_limits limits = {SL_ALLOC_NO_LIMIT, SL_ALLOC_NO_LIMIT, 0};
    sl_alloc_settings_init(&settings);
    s->trace = sl_trace_new("stress", SL_SOURCE_TORCH_SNAPSHOT);
    s->device = s->trace ? sl_trace_device(s->trace, 0) : NULL;
    if (!s->device ||
        sl_alloc_model_new(&settings, &limits, &(sl_alloc_places){0}, &s->model, &err) < 0)
        return false;
    s->trace->has_requested_sizes = s->trace->has_time = true;
    sl_trace_pool(s->trace, 0, 0);
    for (uint64_t handle = 0; handle < STREAMS; handle++) {
        sl_trace_stream(s->trace, handle);
        sl_alloc_model_add_group(s->model, 0);
    }
    while (s->device->events.cnt < event_cnt) {
        uint32_t slot = (uint32_t)next_random(s, LIVE);
        if (s->live[slot].bytes)
            give_back(s, slot);
        else
            request(s, slot);
    }
    sl_alloc_model_free(s->model);
    return true;
}

static long peak_mib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

/* The whole answer as the command gives it: proof, sweep, cards, two threads. */
static int time_answer(const sl_run_device *device) {
    sl_error err = SL_ERROR_INIT;
    sl_whatif_options options = {.thread_cnt = 2, .wants_cards = true, .wants_lines = true};
    sl_whatif *answer;
    double from = now_s();
    if (sl_whatif_new(device, &options, &answer, &err) < 0)
        return complain("stress", &err);
    printf("the answer, proof, cards and repairs of lines included: %zu settings in %.2f s with 2 "
           "threads; %" PRIu64 " of %" PRIu64 " addresses\n",
           answer->rows.cnt, now_s() - from, answer->proof.pass.same_cnt,
           answer->proof.pass.placed_cnt);
    sl_whatif_free(answer);
    return 0;
}

static int stress(uint64_t event_cnt) {
    static stress_trace made = {.random = 88172645463325252u};
    sl_error err = SL_ERROR_INIT;
    sl_run *run;
    sl_calls *calls;
    if (!make_stress(&made, event_cnt))
        return 1;
    printf("%zu events; the trace takes %ld MiB\n", made.device->events.cnt, peak_mib());
    if (sl_run_new((const sl_trace *const *)&made.trace, 1, &run, &err) < 0 ||
        sl_calls_new(&run->inputs[0].devices[0], &calls, &err) < 0)
        return complain("stress", &err);
    int rc = time_settings("stress", calls);
    sl_calls_free(calls);
    if (rc == 0)
        rc = time_answer(&run->inputs[0].devices[0]);
    sl_run_free(run);
    sl_trace_free(made.trace);
    return rc;
}

int main(int argc, char **argv) {
    device_fn use = argc < 3                           ? NULL
                    : strcmp(argv[1], "--proof") == 0  ? prove
                    : strcmp(argv[1], "--oracle") == 0 ? answer_rows
                    : strcmp(argv[1], "--speed") == 0  ? time_settings
                                                       : NULL;
    if (argc == 3 && strcmp(argv[1], "--stress") == 0)
        return stress(strtoull(argv[2], NULL, 10));
    int rc = use ? 0 : 2;
    for (int i = 2; use && i < argc; i++)
        rc |= with_devices(argv[i], use);
    return rc;
}
