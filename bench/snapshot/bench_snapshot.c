/* SPDX-License-Identifier: MIT */
/* Loads one file and prints what it took: bench_snapshot FILE -> "events seconds peak_kib". */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "read/core/source.h"

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    sl_trace *trace;
    sl_error err = SL_ERROR_INIT;
    double start = now_s();
    if (sl_trace_load(argv[1], NULL, &trace, &err) < 0) {
        fprintf(stderr, "bench_snapshot: %s\n", err.text);
        return sl_status_exit_code(err.code);
    }
    double took = now_s() - start;
    size_t events = 0;
    for (size_t i = 0; i < trace->devices.cnt; i++)
        events += trace->devices.at[i]->events.cnt;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%zu %.6f %ld %zu\n", events, took, usage.ru_maxrss, trace->stacks.spans.cnt);
    sl_trace_free(trace);
    return 0;
}
