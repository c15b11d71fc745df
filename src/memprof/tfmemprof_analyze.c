/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files/file_atomic.h"
#include "base/stats/sample_stats.h"
#include "cli/core/cmd_list.h"
#include "memprof/compat_cli.h"
#include "memprof/compat_plot.h"
#include "memprof/usage_series.h"
#include "read/torch/number_lists.h"

enum { USAGE, TIMES, PEAK, AVERAGE, DURATION, LIST_CNT };

typedef struct readings {
    sl_number_list lists[LIST_CNT];
    double peak, average, duration;
    sl_usage usage;
} readings;

static double single(const sl_number_list *list, double otherwise) {
    return list->is_found && list->values.cnt ? list->values.at[0] : otherwise;
}

static sl_status read_input(const char *path, readings *r, sl_error *err) {
    *r = (readings){.lists = {{.name = "memory_usage"},
                              {.name = "timestamps"},
                              {.name = "peak_memory"},
                              {.name = "average_memory"},
                              {.name = "duration"}}};
    if (access(path, F_OK) != 0)
        return sl_fail(err, SL_E_OPEN, "Input file %s not found", path);
    SL_TRY(sl_number_lists_read(path, r->lists, LIST_CNT, err));
    const sl_number_list *usage = &r->lists[USAGE], *times = &r->lists[TIMES];
    if (usage->values.cnt != times->values.cnt)
        return sl_fail(err, SL_E_FORMAT,
                       "Invalid input: 'memory_usage' and 'timestamps' must have equal length, "
                       "found %zu and %zu",
                       usage->values.cnt, times->values.cnt);
    double largest = 0;
    for (size_t i = 0; i < usage->values.cnt; i++)
        largest = usage->values.at[i] > largest ? usage->values.at[i] : largest;
    r->peak = single(&r->lists[PEAK], largest);
    r->average = single(&r->lists[AVERAGE], sl_stat_mean(usage->values.at, usage->values.cnt));
    size_t cnt = times->values.cnt;
    r->duration =
        single(&r->lists[DURATION], cnt ? times->values.at[cnt - 1] - times->values.at[0] : 0);
    sl_usage_analyze(usage->values.at, usage->values.cnt, r->duration, r->peak, &r->usage);
    return SL_OK;
}

/* Megabytes as the Python tool's TensorFlow commands write sizes; unlike gpumemprof, 0 has decimals. */
static const char *bytes_text(char buf[SL_COMPAT_BYTES_CAP], double mb) {
    int64_t bytes = (int64_t)(mb * 1048576);
    return bytes ? sl_compat_bytes(buf, bytes) : "0.00 B";
}

static void print_basic(FILE *to, const readings *r) {
    char peak[SL_COMPAT_BYTES_CAP], average[SL_COMPAT_BYTES_CAP];
    sl_compat_heading(to, "\nBasic Analysis:", 15);
    fprintf(to, "Peak Memory: %s\nAverage Memory: %s\n", bytes_text(peak, r->peak),
            bytes_text(average, r->average));
    fprintf(to, "Duration: %.2f seconds\nMemory Allocations: %zu\nMemory Deallocations: %zu\n",
            r->duration, r->usage.increases, r->usage.decreases);
}

static void print_leaks(FILE *to, const readings *r) {
    sl_compat_heading(to, "\nMemory Leak Analysis:", 22);
    fprintf(to, r->usage.leak_cnt ? "Potential memory leaks detected:\n"
                                  : "No memory leaks detected\n");
    for (size_t i = 0; i < r->usage.leak_cnt; i++) {
        const sl_usage_leak *leak = &r->usage.leaks[i];
        fprintf(to, "  - %s: %s (Severity: %s)\n", sl_usage_kind_name(leak->kind),
                leak->description, leak->severity);
    }
}

/* Fragmentation is not rated: it needs the reserved bytes, which these files do not have. */
static void print_score(FILE *to, const readings *r) {
    double performance = 10;
    sl_compat_heading(to, "\nOptimization Analysis:", 22);
    fprintf(to, "Overall Score: %.1f/10\n", (r->usage.efficiency + performance) / 2);
    fprintf(to,
            "\nCategory Scores:\n  memory_efficiency: %.1f/10\n  fragmentation: not rated\n  "
            "performance: %.1f/10\n",
            r->usage.efficiency, performance);
    int number = 1;
    fprintf(to, "\nTop Recommendations:\n");
    if (r->peak > 4000)
        fprintf(to, "  %d. lower the peak: a smaller batch, mixed precision\n", number++);
    if (r->usage.leak_cnt)
        fprintf(to, "  %d. find what grows: record the program with 'stormlog run -- CMD'\n",
                number++);
    if (number == 1)
        fprintf(to, "  1. nothing unusual\n");
}

static sl_status save_report(const sl_opts *opts, const readings *r, sl_error *err) {
    const char *path = sl_opts_text(opts, "report");
    sl_file_out file;
    if (!path)
        return SL_OK;
    SL_TRY(sl_file_out_open(&file, path, err));
    print_basic(file.stream, r);
    print_leaks(file.stream, r);
    print_score(file.stream, r);
    SL_TRY(sl_file_out_commit(&file, err));
    printf("\nGenerating comprehensive report...\nReport saved to %s\n", path);
    return SL_OK;
}

/* The analysis is complete without a picture, so a failure is only reported. */
static void draw(const readings *r) {
    static const char path[] = "memory_timeline.png";
    sl_error err = SL_ERROR_INIT;
    printf("\nGenerating visualizations...\n");
    if (!r->lists[USAGE].values.cnt)
        printf("Could not generate timeline plot: the file holds no readings\n");
    else if (sl_compat_plot_usage(r->lists[TIMES].values.at, r->lists[USAGE].values.at,
                                  r->lists[USAGE].values.cnt, path, &err) < 0)
        printf("Could not generate timeline plot: %s\n", err.text);
    else
        printf("Timeline plot saved as %s\n", path);
}

static int run(const sl_opts *opts, sl_error *err) {
    readings r;
    sl_status status = read_input(sl_opts_text(opts, "input"), &r, err);
    if (status == SL_OK) {
        printf("Analyzing results from %s...\n", sl_opts_text(opts, "input"));
        print_basic(stdout, &r);
        if (sl_opts_flag(opts, "detect-leaks"))
            print_leaks(stdout, &r);
        if (sl_opts_flag(opts, "optimize"))
            print_score(stdout, &r);
        if (sl_opts_flag(opts, "visualize"))
            draw(&r);
        status = save_report(opts, &r, err);
    }
    sl_number_lists_fini(r.lists, LIST_CNT);
    return status;
}

static const sl_opt options[] = {
    {.name = "input",
     .type = SL_OPT_FILE,
     .is_required = true,
     .help = "file written by track or monitor"},
    {.name = "detect-leaks",
     .type = SL_OPT_FLAG,
     .help = "look for growth, spikes and memory that remains"},
    {.name = "optimize", .type = SL_OPT_FLAG, .help = "rate it from 0 to 10"},
    {.name = "visualize", .type = SL_OPT_FLAG, .help = "draw memory_timeline.png in this folder"},
    {.name = "report", .type = SL_OPT_FILE, .help = "write all of it to this text file"},
};

const sl_cmd sl_cmd_tfmemprof_analyze = {
    .name = "analyze",
    .operands = "",
    .summary = "analyze a file of readings",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
