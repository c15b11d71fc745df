/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cmd_list.h"
#include "memprof/compat_cli.h"
#include "memprof/watch/watch_session.h"

typedef struct monitor {
    sl_watch_session session;
    const sl_opts *opts;
} monitor;

static void on_second(void *ctx, const sl_watch *watch) {
    double seconds = (double)watch->elapsed_ns / 1e9;
    SL_UNUSED(ctx);
    if ((int64_t)seconds % 5 != 0)
        return;
    printf("Elapsed: %.1fs, Current Memory: %.2f %s\n", seconds,
           sl_watch_shown(watch, watch->current_bytes), sl_watch_unit(watch));
    fflush(stdout);
}

static void print_preamble(const sl_watch_options *o, double duration) {
    const char *backend = sl_watch_backend();
    bool is_card = strcmp(backend, "cpu") != 0;
    char text[SL_COMPAT_REAL_CAP];
    printf("Starting memory monitoring for %s seconds...\n", sl_compat_real(text, duration));
    printf(is_card ? "Mode: GPU (%s)\n" : "Mode: CPU\n", backend);
    printf("Sampling interval: %ss\n", sl_compat_real(text, o->interval_s));
    sl_watch_print_own(o);
    printf("Press Ctrl+C to stop early\n\n");
    fflush(stdout);
}

static void print_summary(const sl_watch *watch) {
    sl_compat_heading(stdout, "\nMonitoring Summary:", 30);
    printf("Snapshots collected: %llu\n", (unsigned long long)watch->sample_cnt);
    printf("Peak memory usage: %.2f %s\n", sl_watch_shown(watch, watch->peak_bytes),
           sl_watch_unit(watch));
    printf("Memory change from baseline: %.2f %s\n",
           sl_watch_shown(watch, watch->current_bytes - watch->first_bytes), sl_watch_unit(watch));
}

static sl_status finish(void *ctx, sl_error *err) {
    monitor *m = ctx;
    const sl_watch *watch = &m->session.watch;
    const char *path = sl_opts_text(m->opts, "output");
    if (watch->end == SL_WATCH_INTERRUPTED)
        printf("\nMonitoring stopped by user\n");
    if (watch->child)
        printf("The command continues (process %d)\n", watch->child);
    print_summary(watch);
    SL_TRY(sl_watch_session_save(&m->session, m->opts, err));
    if (path)
        printf("Data saved to: %s\n", path);
    return SL_OK;
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_watch_options o;
    char **command;
    SL_TRY(sl_watch_read_options(opts, &o, &command, err));
    double duration = sl_opts_real(opts, "duration");
    /* A command is watched until it ends unless a duration was given. */
    if (command && !sl_opts_is_given(opts, "duration"))
        o.duration_s = 0;
    else if (!(duration > 0))
        o.duration_s = 1e-9; /* 0 means one reading here */
    if (sl_opts_is_given(opts, "device"))
        o.device = (int)sl_opts_number(opts, "device");
    print_preamble(&o, duration);
    monitor *m = calloc(1, sizeof *m);
    int result = SL_E_NOMEM;
    if (m) {
        m->opts = opts;
        o.on_second = on_second;
        o.ctx = m;
        result = sl_watch_session_run(&m->session, sl_opts_text(opts, "output"), &o, finish, err);
    } else {
        (void)sl_fail_no_memory(err, "the watch");
    }
    free(m);
    free(command);
    return result;
}

static const sl_opt options[] = {
    {.name = "device", .type = SL_OPT_INT, .help = "which card"},
    {.name = "duration",
     .type = SL_OPT_REAL,
     .initial = "10.0",
     .help = "seconds to watch (default with a command: until it ends)"},
    SL_WATCH_INTERVAL_OPTION("0.1"),
    SL_WATCH_OUTPUT_OPTIONS,
    SL_WATCH_PID_OPTION,
};

const sl_cmd sl_cmd_gpumemprof_monitor = {
    .name = "monitor",
    .operands = "[-- CMD...]",
    .operand_max = SL_OPERANDS_ANY,
    .stops_at_operand = true,
    .summary = "watch memory for a while and summarise it",
    .description = "Watches the process given by --pid, or the command after --, with all its "
                   "children: resident memory on the host and, with an NVIDIA driver, what the "
                   "driver reports for the card and for that process.",
    .examples = "gpumemprof monitor --duration 30 --pid 4711\n"
                "gpumemprof monitor --output run.csv -- python train.py\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
