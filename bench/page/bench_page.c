/* SPDX-License-Identifier: MIT */
/* Makes the page of a synthetic training run: bench_page EVENTS OUT.html [OUT.pickle]. A run of
 * steps as PyTorch makes them: parameters first, activations down and up, gradients, workspaces of
 * varying size, and one line that keeps a little of every step; tagged, and with the modules that
 * ran. The pickle is the same run as a PyTorch snapshot, for other programs. Prints the seconds of
 * the export and its size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analyze/analysis.h"
#include "export/formats/exporter.h"
#include "page/page_html.h"

#define LAYERS      48
#define STACK_DEPTH 24
#define STEP_US     40000

enum { FORWARD, BACKWARD, STEP, WORKSPACE, KIND_CNT };

static const struct {
    const char *function;
    sl_tag tag;
} kinds[KIND_CNT] = {
    [FORWARD] = {"forward", SL_TAG_ACTIVATION},
    [BACKWARD] = {"backward", SL_TAG_GRADIENT},
    [STEP] = {"step", SL_TAG_OPTIMIZER_STATE},
    [WORKSPACE] = {"workspace", SL_TAG_OTHER},
};

typedef struct run {
    sl_trace *trace;
    sl_events *events;
    uint32_t stacks[LAYERS * KIND_CNT];
    uint64_t next_addr, seed;
    int64_t now_us;
} run;

static uint64_t next_random(run *r) {
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return r->seed >> 33;
}

static uint32_t add_frame(sl_trace *trace, const char *file, const char *function, uint32_t line) {
    sl_frame frame = {sl_strtab_intern(&trace->strings, function, strlen(function)),
                      sl_strtab_intern(&trace->strings, file, strlen(file)), line};
    return sl_stacks_intern_frame(&trace->stacks, frame);
}

/* Library frames around one line of the user's model for each layer and kind of tensor; a layer is
 * a module. */
static void make_stacks(run *r) {
    for (uint32_t i = 0; i < SL_COUNT_OF(r->stacks); i++) {
        uint32_t frames[STACK_DEPTH];
        for (uint32_t f = 0; f < STACK_DEPTH; f++)
            frames[f] = add_frame(r->trace, "site-packages/torch/nn/modules/module.py",
                                  "_call_impl", 100 + (i * 7 + f) % 900);
        char module[48];
        snprintf(module, sizeof module, "encoder.layers.%u", i / KIND_CNT);
        frames[6] = add_frame(r->trace, SL_MODULE_FRAME_FILE, module, 0);
        frames[8] = add_frame(r->trace, "model.py", kinds[i % KIND_CNT].function, 10 + i);
        frames[STACK_DEPTH - 1] = add_frame(r->trace, "train.py", "main", 60);
        r->stacks[i] = sl_stacks_intern(&r->trace->stacks, frames, STACK_DEPTH);
    }
}

static void push(run *r, sl_event_kind kind, uint64_t addr, uint64_t size, uint32_t stack,
                 sl_tag tag) {
    r->now_us += (int64_t)(next_random(r) % 16);
    sl_event event = {.time_us = r->now_us,
                      .addr = addr,
                      .size_bytes = size,
                      .stack_id = r->stacks[stack],
                      .kind = kind,
                      .tag = tag};
    if (!sl_events_push(r->events, &event))
        abort();
}

static uint64_t alloc_as(run *r, uint64_t size, uint32_t stack, sl_tag tag) {
    uint64_t addr = r->next_addr;
    r->next_addr += sl_align_up(size, 512);
    push(r, SL_EV_ALLOC, addr, size, stack, tag);
    return addr;
}

static uint64_t alloc(run *r, uint64_t size, uint32_t stack) {
    return alloc_as(r, size, stack, kinds[stack % KIND_CNT].tag);
}

static void drop(run *r, uint64_t addr, uint64_t size, uint32_t stack) {
    push(r, SL_EV_FREE_REQUESTED, addr, size, stack, SL_TAG_UNKNOWN);
    push(r, SL_EV_FREE_COMPLETED, addr, size, stack, SL_TAG_UNKNOWN);
}

static void one_step(run *r, uint64_t step) {
    uint64_t addr[LAYERS], size[LAYERS];
    uint64_t batch = 1 + next_random(r) % 4;
    for (uint32_t i = 0; i < LAYERS; i++) {
        uint64_t scratch = (1 + next_random(r) % 64) << 14;
        size[i] = batch << 20;
        addr[i] = alloc(r, size[i], i * KIND_CNT + FORWARD);
        uint64_t at = alloc(r, scratch, i * KIND_CNT + WORKSPACE);
        drop(r, at, scratch, i * KIND_CNT + WORKSPACE);
    }
    for (uint32_t i = LAYERS; i-- > 0;) {
        uint64_t grad = alloc(r, 1 << 19, i * KIND_CNT + BACKWARD);
        drop(r, addr[i], size[i], i * KIND_CNT + BACKWARD);
        drop(r, grad, 1 << 19, i * KIND_CNT + BACKWARD);
    }
    if (step % 8 == 0)
        alloc(r, 1 << 16, STEP);
    r->now_us += STEP_US;
}

static sl_trace *make_run(size_t event_cnt) {
    run r = {.trace = sl_trace_new("synthetic", SL_SOURCE_TORCH_SNAPSHOT),
             .next_addr = (uint64_t)0x7f0000000000,
             .seed = 1};
    r.trace->has_time = r.trace->has_event_stacks = r.trace->has_requested_sizes = true;
    r.trace->has_tags = true;
    sl_device_trace *device = sl_trace_device(r.trace, 0);
    device->capacity_bytes = sl_known_u64((uint64_t)80 << 30);
    r.events = &device->events;
    sl_trace_stream(r.trace, 0);
    make_stacks(&r);
    for (uint32_t i = 0; i < LAYERS * 3; i++)
        alloc_as(&r, (uint64_t)8 << 20, STEP + i % KIND_CNT, SL_TAG_PARAMETER);
    for (uint64_t step = 0; r.events->cnt < event_cnt; step++)
        one_step(&r, step);
    return r.trace;
}

static bool write_snapshot(const sl_run *whole, const char *path, sl_error *err) {
    FILE *to = fopen(path, "wb");
    if (!to)
        return false;
    bool ok = sl_export_snapshot(&whole->inputs[0], &(sl_export_options){0}, to, err) == SL_OK;
    return fclose(to) == 0 && ok;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: %s EVENTS OUT.html [OUT.pickle]\n", argv[0]);
        return 2;
    }
    sl_trace *trace = make_run(strtoull(argv[1], NULL, 10));
    uint64_t events = trace->devices.at[0]->events.cnt;
    sl_html_options options = {.title = "synthetic run"};
    sl_error err = SL_ERROR_INIT;
    sl_run *whole = NULL;
    sl_report *report = NULL;
    if (sl_run_new((const sl_trace *const *)&trace, 1, &whole, &err) < 0 ||
        sl_analyze(whole, NULL, &report, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    FILE *out = fopen(argv[2], "w");
    double start = seconds();
    if (!out || sl_export_html(out, whole, report, &options, &err) < 0) {
        fprintf(stderr, "%s: %s\n", argv[2], out ? err.text : "cannot open");
        return 1;
    }
    long bytes = ftell(out);
    fclose(out);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"events\": %llu, \"bytes\": %ld, \"export_s\": %.2f, \"peak_rss_mib\": %ld}\n",
           (unsigned long long)events, bytes, seconds() - start, usage.ru_maxrss / 1024);
    if (argc == 4 && !write_snapshot(whole, argv[3], &err)) {
        fprintf(stderr, "%s: %s\n", argv[3], err.text);
        return 1;
    }
    sl_report_free(report);
    sl_run_free(whole);
    sl_trace_free(trace);
    return 0;
}
