/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_list.h"
#include "cli/compat_cli.h"
#include "cli/watch_options.h"

typedef struct monitor {
    sl_watch watch;
    sl_watch_log log;
} monitor;

/* Cards in GB, the host in MB, as the Python tool prints them. */
static double shown(const sl_watch *watch, int64_t bytes) {
    return (double)bytes / (watch->counters ? 1073741824.0 : 1048576.0);
}

static const char *unit(const sl_watch *watch) {
    return watch->counters ? "GB" : "MB";
}

static void on_record(void *ctx, const sl_telemetry *set, const sl_tm_record *record) {
    monitor *m = ctx;
    sl_watch_log_put(&m->log, set, record);
}

static void on_second(void *ctx, const sl_watch *watch) {
    double seconds = (double)watch->elapsed_ns / 1e9;
    SL_UNUSED(ctx);
    if ((int64_t)seconds % 5 != 0)
        return;
    printf("Elapsed: %.1fs, Current Memory: %.2f %s\n", seconds, shown(watch, watch->current_bytes),
           unit(watch));
    fflush(stdout);
}

static void print_preamble(const sl_watch_options *o, double duration) {
    const char *backend = sl_watch_backend();
    bool is_card = strcmp(backend, "cpu") != 0;
    printf("Starting memory monitoring for %.1f seconds...\n", duration);
    printf(is_card ? "Mode: GPU (%s)\n" : "Mode: CPU\n", backend);
    printf("Sampling interval: %gs\n", o->interval_s);
    if (!o->pid && !o->command)
        printf("Watching this process itself; --pid PID or -- CMD watch another one.\n");
    printf("Press Ctrl+C to stop early\n\n");
    fflush(stdout);
}

static void print_summary(const sl_watch *watch) {
    printf("\nMonitoring Summary:\n");
    printf("------------------------------\n");
    printf("Snapshots collected: %llu\n", (unsigned long long)watch->sample_cnt);
    printf("Peak memory usage: %.2f %s\n", shown(watch, watch->peak_bytes), unit(watch));
    printf("Memory change from baseline: %.2f %s\n",
           shown(watch, watch->current_bytes - watch->first_bytes), unit(watch));
}

static int finish(monitor *m, const sl_opts *opts, sl_error *err) {
    const char *path = sl_opts_text(opts, "output");
    bool is_json = strcmp(sl_opts_text(opts, "format"), "json") == 0;
    if (m->watch.child)
        printf("The command goes on (process %d)\n", m->watch.child);
    print_summary(&m->watch);
    SL_TRY(sl_watch_log_finish(&m->log, is_json ? SL_TM_FORM_JSON : SL_TM_FORM_CSV, err));
    if (path)
        printf("Data saved to: %s\n", path);
    bool is_own_end = m->watch.options.command && m->watch.end == SL_WATCH_GONE;
    return is_own_end ? sl_watch_exit_code(&m->watch) : 0;
}

static int watch(monitor *m, const sl_opts *opts, sl_watch_options *o, sl_error *err) {
    SL_TRY(sl_watch_log_open(&m->log, sl_opts_text(opts, "output"), err));
    o->on_record = on_record;
    o->on_second = on_second;
    o->ctx = m;
    int result = sl_watch_run(&m->watch, o, err);
    if (result == 0)
        result = finish(m, opts, err);
    if (m->watch.record_cnt == 0)
        sl_watch_log_close(&m->log);
    sl_watch_fini(&m->watch);
    return result;
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_watch_options o;
    char **command;
    SL_TRY(sl_watch_read_options(opts, &o, &command, err));
    double duration = sl_opts_real(opts, "duration");
    /* A command is watched to its end unless a time was named. */
    if (command && !sl_opts_is_given(opts, "duration"))
        o.duration_s = 0;
    else if (!(duration > 0))
        o.duration_s = 1e-9; /* 0 means no sampling here */
    if (sl_opts_is_given(opts, "device"))
        o.device = (int)sl_opts_number(opts, "device");
    print_preamble(&o, duration);
    monitor *m = calloc(1, sizeof *m);
    int result = m ? watch(m, opts, &o, err) : (int)sl_fail(err, SL_E_NOMEM, "out of memory");
    free(m);
    free(command);
    return result;
}

static const sl_opt options[] = {
    {.name = "device", .type = SL_OPT_INT, .help = "which card"},
    {.name = "duration",
     .type = SL_OPT_REAL,
     .initial = "10.0",
     .help = "seconds; with a command, to its end when not given"},
    {.name = "interval", .type = SL_OPT_REAL, .initial = "0.1", .help = "seconds between samples"},
    {.name = "output", .type = SL_OPT_FILE, .help = "write the records to this file"},
    {.name = "format",
     .type = SL_OPT_CHOICE,
     .choices = "csv|json",
     .initial = "csv",
     .help = "form of that file"},
    SL_WATCH_PID_OPTION,
};

const sl_cmd sl_cmd_gpumemprof_monitor = {
    .name = "monitor",
    .operands = "[-- CMD...]",
    .operand_max = SL_OPERANDS_ANY,
    .stops_at_operand = true,
    .summary = "watch memory for a while and sum it up",
    .description =
        "Watches the process named by --pid, or the command behind --, with everything it starts: "
        "resident memory on the host, and on a machine with an NVIDIA driver what the driver says "
        "of the card and of that process.",
    .examples = "gpumemprof monitor --duration 30 --pid 4711\n"
                "gpumemprof monitor --output run.csv -- python train.py\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
