/* SPDX-License-Identifier: MIT */
/* bench_telemetry write RECORDS PATH [RANKS]: samples with noise and a few spikes, as the Python tool's
 * exporter lays them out. bench_telemetry read PATH: loads and analyses, and prints the time
 * of each part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "analyze/analysis.h"
#include "analyze/samples/an_collective.h"
#include "analyze/samples/an_gap.h"
#include "analyze/samples/an_ranks.h"
#include "read/core/source.h"
#include "telemetry/telemetry.h"
#include "telemetry/telemetry_out.h"

/* CPU time of the one thread, so that other load on the machine is not counted. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t seed = 88172645463325252u;

static int64_t noise(int64_t width) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)width);
}

static uint32_t intern(sl_telemetry *set, const char *text) {
    uint32_t id = 0;
    if (sl_tm_intern(set, text, &id, NULL) < 0)
        abort();
    return id;
}

static int write_file(size_t cnt, const char *path, int ranks) {
    sl_telemetry *set = sl_telemetry_new();
    FILE *to = fopen(path, "w");
    sl_tm_out out;
    if (!set || !to)
        return 1;
    sl_tm_record r = {.sampling_interval_ms = 100,
                      .active_bytes = SL_TM_NULL,
                      .inactive_bytes = SL_TM_NULL,
                      .free_bytes = SL_TM_NULL,
                      .total_bytes = INT64_C(16) << 30,
                      .event_type = intern(set, "sample"),
                      .collector = intern(set, "stormlog.cuda_tracker"),
                      .host = intern(set, "bench"),
                      .job_id = SL_TM_NO_TEXT,
                      .context = SL_TM_NO_TEXT,
                      .metadata =
                          intern(set, "{\"backend\":\"cuda\",\"supports_device_total\":true,"
                                      "\"supports_device_free\":true}"),
                      .pid = 1,
                      .world_size = ranks};
    sl_tm_out_begin(&out, to, SL_TM_FORM_JSON);
    for (size_t i = 0; i < cnt; i++) {
        r.rank = r.local_rank = (int32_t)(i % (size_t)ranks);
        r.timestamp_ns =
            INT64_C(1700000000000000000) + (int64_t)(i / (size_t)ranks) * 100000000 + r.rank;
        r.allocated_bytes = INT64_C(2000000000) + noise(100000000);
        r.reserved_bytes = r.allocated_bytes + 200000000;
        /* A CUDA context alone takes about 640 MB, so there is always a gap. */
        r.used_bytes = r.reserved_bytes + 640000000 + noise(20000000);
        if (i / (size_t)ranks % 997 == 500)
            r.used_bytes += INT64_C(1600000000);
        sl_tm_out_put(&out, set, &r);
    }
    int code = sl_tm_out_end(&out, NULL) < 0 || fclose(to) != 0;
    sl_telemetry_free(set);
    return code;
}

static int read_file(const char *path) {
    sl_trace *trace;
    sl_error err = SL_ERROR_INIT;
    sl_gap_result gaps;
    sl_collective_results collective = {0};
    sl_ranks *ranks;
    sl_report *report;
    struct stat info;
    struct rusage use;
    double t0 = now();
    if (sl_trace_load(path, NULL, &trace, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const sl_telemetry *set = trace->telemetry;
    double t1 = now();
    sl_gap_analyze(set->records.at, set->records.cnt, NULL, &gaps, NULL);
    double t2 = now();
    sl_collective_attribute(set, NULL, &collective, NULL);
    double t3 = now();
    if (sl_ranks_new(set, &ranks, &err) < 0)
        return 1;
    double t4 = now();
    const sl_trace *one = trace;
    if (sl_analyze_traces(&one, 1, NULL, &report, &err) < 0)
        return 1;
    double t5 = now(), total = t5 - t0, cnt = (double)set->records.cnt;
    stat(path, &info);
    getrusage(RUSAGE_SELF, &use);
    printf(
        "%10.0f records %8.1f MB: %7.3f CPU s total, %6.0f ns a record; load %.3f (%.0f MB/s), gap "
        "%.3f, collective %.3f, ranks %.3f, growth %.3f; peak %ld MB\n",
        cnt, (double)info.st_size / 1e6, total, total / cnt * 1e9, t1 - t0,
        (double)info.st_size / 1e6 / (t1 - t0), t2 - t1, t3 - t2, t4 - t3, t5 - t4,
        use.ru_maxrss / 1024);
    sl_report_free(report);
    sl_ranks_free(ranks);
    sl_vec_free(&collective);
    sl_trace_free(trace);
    return 0;
}

int main(int argc, char **argv) {
    if ((argc == 4 || argc == 5) && strcmp(argv[1], "write") == 0) {
        int ranks = argc == 5 ? atoi(argv[4]) : 1;
        return write_file(strtoull(argv[2], NULL, 10), argv[3], ranks > 0 ? ranks : 1);
    }
    if (argc == 3 && strcmp(argv[1], "read") == 0)
        return read_file(argv[2]);
    fprintf(stderr, "usage: bench_telemetry write RECORDS PATH [RANKS] | read PATH\n");
    return 2;
}
