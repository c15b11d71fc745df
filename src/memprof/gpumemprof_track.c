/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/core/str.h"
#include "base/text/human.h"
#include "base/text/term.h"
#include "cli/commands/system_info.h"
#include "cli/core/cmd_list.h"
#include "export/bundle/oom_bundle.h"
#include "memprof/compat_cli.h"
#include "memprof/watch/watch_session.h"
#include "model/oom_class.h"

typedef struct track {
    sl_watch_session session;
    const sl_opts *opts;
} track;

/* ---- while it runs ---- */

static bool is_alert(sl_str type) {
    static const char *const names[] = {"warning", "critical", "error"};
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        if (sl_str_is(type, names[i]))
            return true;
    return false;
}

/* Prints "[12:30:05] WARNING: Memory usage at 81.0%". */
static void print_alert(const sl_telemetry *set, const sl_tm_record *record) {
    char clock[16], word[16];
    time_t seconds = (time_t)(record->timestamp_ns / 1000000000);
    struct tm local;
    sl_str type = sl_tm_text(set, record->event_type);
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&seconds, &local));
    snprintf(word, sizeof word, "%.*s", (int)type.len, type.ptr);
    for (char *c = word; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    sl_term_printf(stdout, "[%s] %s: %s\n", clock, word, sl_tm_text(set, record->context).ptr);
    fflush(stdout);
}

static void on_record(void *ctx, const sl_telemetry *set, const sl_tm_record *record) {
    SL_UNUSED(ctx);
    if (is_alert(sl_tm_text(set, record->event_type)))
        print_alert(set, record);
}

static void on_second(void *ctx, const sl_watch *watch) {
    double seconds = (double)watch->elapsed_ns / 1e9;
    SL_UNUSED(ctx);
    if ((int64_t)seconds % 10 != 0)
        return;
    printf("Elapsed: %.1fs, Memory: %.2f %s (%.1f%%), Peak: %.2f %s\n", seconds,
           sl_watch_shown(watch, watch->current_bytes), sl_watch_unit(watch),
           sl_watch_percent(watch), sl_watch_shown(watch, watch->peak_bytes), sl_watch_unit(watch));
    fflush(stdout);
}

static void print_recorder(const sl_opts *opts, size_t buffer_size) {
    printf("OOM flight recorder enabled:\n  Dump directory: %s\n  Buffer size: %zu event%s\n"
           "  Max dumps: %lld\n  Max total size: %lld MB\n",
           sl_opts_text(opts, "oom-dump-dir"), buffer_size, sl_plural(buffer_size),
           (long long)sl_opts_number(opts, "oom-max-dumps"),
           (long long)sl_opts_number(opts, "oom-max-total-mb"));
}

static void print_preamble(const sl_opts *opts, const sl_watch_options *o) {
    char text[SL_COMPAT_REAL_CAP];
    printf("Starting real-time memory tracking...\n");
    if (sl_opts_is_given(opts, "device"))
        printf("Device: %d\n", o->device);
    else
        printf("Device: current\n");
    printf("Sampling interval: %ss\n", sl_compat_real(text, o->interval_s));
    if (o->duration_s > 0)
        printf("Duration: %ss\n", sl_compat_real(text, o->duration_s));
    else
        printf("Duration: indefinite\n");
    printf("Press Ctrl+C to stop\n\n");
    sl_watch_print_own(o);
    if (strcmp(sl_watch_backend(), "cpu") == 0)
        printf("Running CPU memory tracker (no GPU backend available).\n");
    if (sl_opts_flag(opts, "oom-flight-recorder"))
        print_recorder(opts, o->buffer_size ? o->buffer_size : (size_t)10000);
    if (sl_opts_flag(opts, "watchdog"))
        printf(
            "Watchdog: not used, because another process's cache cannot be flushed from here.\n");
    fflush(stdout);
}

/* ---- memory ran out ---- */

typedef struct verdict {
    char reason[SL_OOM_REASON_CAP];
    char message[1024];
} verdict;

/* The kernel's count of OOM kills first; then the last error output of the program. */
static bool ran_out(const sl_watch *watch, verdict *v) {
    sl_str line;
    if (watch->was_oom_killed) {
        snprintf(v->reason, sizeof v->reason, "kernel:oom_kill");
        snprintf(v->message, sizeof v->message,
                 "the kernel killed a process of this control group: out of memory");
        return true;
    }
    bool has_failed = watch->options.command && sl_watch_exit_code(watch) != 0;
    if (!has_failed || !sl_oom_find_in_output(watch->errors, v->reason, &line))
        return false;
    snprintf(v->message, sizeof v->message, "%.*s", (int)line.len, line.ptr);
    return true;
}

/* The exception's name as it was in the output: "torch.cuda.OutOfMemoryError: ..." */
static void split_name(const verdict *v, char module[96], char type[96]) {
    size_t len = strcspn(v->message, ": ");
    module[0] = type[0] = '\0';
    if (v->message[len] != ':' || len >= 96)
        return;
    snprintf(module, 96, "%.*s", (int)len, v->message);
    char *dot = strrchr(module, '.');
    snprintf(type, 96, "%s", dot ? dot + 1 : module);
    if (dot)
        *dot = '\0';
    else
        snprintf(module, 96, "builtins");
}

static char *custom_metadata(const sl_watch *watch) {
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    if (!to)
        return NULL;
    fprintf(to,
            "{\"tracker_stats\":{\"peak_memory\":%lld,\"total_events\":%llu,\"alert_count\":%llu,"
            "\"current_memory_allocated\":%lld,\"tracking_duration_seconds\":%.6f},"
            "\"sampling_interval_s\":%g,\"command\":\"track\",\"runtime_backend\":\"%s\","
            "\"exit_code\":%d,\"sample_allocated_bytes\":%lld}",
            (long long)watch->peak_bytes, (unsigned long long)watch->record_cnt,
            (unsigned long long)watch->alert_cnt, (long long)watch->current_bytes,
            (double)watch->elapsed_ns / 1e9, watch->options.interval_s, watch->backend,
            sl_watch_exit_code(watch), (long long)watch->current_bytes);
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static sl_status write_bundle(track *t, const verdict *v, char path[SL_BUNDLE_PATH_CAP],
                              sl_error *err) {
    char module[96], type[96];
    size_t cnt;
    sl_system_info info;
    split_name(v, module, type);
    sl_system_info_read(&info, 0);
    char *system = sl_system_info_text(&info), *custom = custom_metadata(&t->session.watch);
    const sl_tm_record **records = sl_watch_kept(&t->session.watch, &cnt);
    sl_oom_bundle bundle = {
        .dump_dir = sl_opts_text(t->opts, "oom-dump-dir"),
        .backend = t->session.watch.backend,
        .reason = v->reason,
        .exception_type = type[0] ? type : NULL,
        .exception_module = module[0] ? module : NULL,
        .exception_message = v->message,
        .context = "stormlog.track",
        .custom_metadata_json = custom,
        .system_json = system,
        .time_s = (int64_t)time(NULL),
        .pid = t->session.watch.pid,
        .max_dumps = sl_opts_number(t->opts, "oom-max-dumps"),
        .max_total_mb = sl_opts_number(t->opts, "oom-max-total-mb"),
    };
    sl_status status =
        records ? sl_oom_bundle_write(&bundle, t->session.watch.kept, records, cnt, path, err)
                : sl_fail_no_memory(err, "a bundle");
    free(records);
    free(custom);
    free(system);
    return status;
}

static void handle_end(track *t) {
    verdict v;
    char path[SL_BUNDLE_PATH_CAP], context[SL_OOM_REASON_CAP + 32],
        metadata[SL_OOM_REASON_CAP + 32];
    sl_error err = SL_ERROR_INIT;
    if (!sl_opts_flag(t->opts, "oom-flight-recorder") || !ran_out(&t->session.watch, &v))
        return;
    snprintf(context, sizeof context, "OOM detected (%s)", v.reason);
    snprintf(metadata, sizeof metadata, "{\"oom_reason\":\"%s\"}", v.reason);
    t->session.watch.alert_cnt++;
    (void)sl_watch_record(&t->session.watch, "error", 0, context, metadata);
    if (write_bundle(t, &v, path, &err) < 0)
        sl_term_printf(stdout, "OOM bundle could not be written: %s\n", err.text);
    else
        printf("OOM flight recorder dump saved to: %s\n", path);
}

/* ---- the end ---- */

static sl_status finish(void *ctx, sl_error *err) {
    track *t = ctx;
    const char *path = sl_opts_text(t->opts, "output");
    const sl_watch *watch = &t->session.watch;
    if (watch->end == SL_WATCH_INTERRUPTED)
        printf("\nTracking stopped by user\n");
    if (watch->child)
        printf("The command continues (process %d)\n", watch->child);
    handle_end(t);
    sl_compat_heading(stdout, "\nTracking Summary:", 30);
    printf("Total events: %llu\n", (unsigned long long)watch->record_cnt);
    printf("Peak memory: %.2f %s\n", sl_watch_shown(watch, watch->peak_bytes),
           sl_watch_unit(watch));
    SL_TRY(sl_watch_session_save(&t->session, t->opts, err));
    if (path)
        printf("Events saved to: %s\n", path);
    return SL_OK;
}

static sl_status read_options(const sl_opts *opts, sl_watch_options *o, char ***command,
                              sl_error *err) {
    SL_TRY(sl_watch_read_options(opts, o, command, err));
    SL_TRY(sl_watch_read_identity(opts, &o->identity, err));
    if (sl_opts_is_given(opts, "device"))
        o->device = (int)sl_opts_number(opts, "device");
    int64_t buffer = sl_opts_number(opts, "oom-buffer-size");
    o->buffer_size = buffer > 0 ? (size_t)buffer : 0;
    o->has_alerts = true;
    o->warning_pct = sl_opts_real(opts, "warning-threshold");
    o->critical_pct = sl_opts_real(opts, "critical-threshold");
    o->keeps_errors = o->command && sl_opts_flag(opts, "oom-flight-recorder");
    return SL_OK;
}

static int run(const sl_opts *opts, sl_error *err) {
    sl_watch_options o;
    char **command = NULL;
    track *t = calloc(1, sizeof *t);
    int result =
        t ? (int)read_options(opts, &o, &command, err) : (int)sl_fail_no_memory(err, "the watch");
    if (result == 0) {
        t->opts = opts;
        print_preamble(opts, &o);
        o.on_record = on_record;
        o.on_second = on_second;
        o.ctx = t;
        result = sl_watch_session_run(&t->session, sl_opts_text(opts, "output"), &o, finish, err);
    }
    free(t);
    free(command);
    return result;
}

static const sl_opt options[] = {
    {.name = "device", .type = SL_OPT_INT, .help = "which card"},
    {.name = "duration",
     .type = SL_OPT_REAL,
     .help = "seconds to track (default, and 0: until the end)"},
    SL_WATCH_INTERVAL_OPTION("0.1"),
    SL_WATCH_OUTPUT_OPTIONS,
    {.name = "watchdog",
     .type = SL_OPT_FLAG,
     .help = "accepted without effect; works only inside a program"},
    {.name = "warning-threshold",
     .type = SL_OPT_REAL,
     .initial = "80.0",
     .help = "percent of the card or of the host's memory that raises a warning"},
    {.name = "critical-threshold",
     .type = SL_OPT_REAL,
     .initial = "95.0",
     .help = "percent that raises a critical alert"},
    SL_WATCH_IDENTITY_OPTIONS,
    {.name = "oom-flight-recorder",
     .type = SL_OPT_FLAG,
     .help = "write a bundle if the command runs out of memory"},
    {.name = "oom-dump-dir",
     .type = SL_OPT_FILE,
     .initial = "oom_dumps",
     .help = "folder for the bundles"},
    {.name = "oom-buffer-size", .type = SL_OPT_INT, .help = "records in a bundle, 10,000 at most"},
    {.name = "oom-max-dumps",
     .type = SL_OPT_INT,
     .initial = "5",
     .help = "number of bundles to keep"},
    {.name = "oom-max-total-mb",
     .type = SL_OPT_INT,
     .initial = "256",
     .help = "space for all bundles; the newest is always kept"},
    SL_WATCH_PID_OPTION,
};

const sl_cmd sl_cmd_gpumemprof_track = {
    .name = "track",
    .operands = "[-- CMD...]",
    .operand_max = SL_OPERANDS_ANY,
    .stops_at_operand = true,
    .summary = "record memory with alerts, until the end or Ctrl+C",
    .description =
        "Watches the process given by --pid, or the command after --, with all its children. Every "
        "record is written to disk at once (to FILE.part.jsonl until the end). An alert is raised "
        "once, and again only after the value has fallen by five percentage points. With a "
        "command, the exit code is that of the command.\n\n"
        "With --oom-flight-recorder, the command's error output is read as well. If the command "
        "ends because memory ran out, or the kernel kills it for memory, a bundle is written.",
    .examples = "gpumemprof track --pid 4711 --output events.json --format json\n"
                "gpumemprof track --oom-flight-recorder -- python train.py\n",
    .options = options,
    .option_cnt = SL_COUNT_OF(options),
    .run = run,
};
