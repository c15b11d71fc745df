/* SPDX-License-Identifier: MIT */
/* tfmemprof monitor and track: the same watch as gpumemprof's, in MB. The records are wrapped in
 * the JSON object of the Python tool's TensorFlow commands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/files/file_atomic.h"
#include "cli/core/cmd_list.h"
#include "memprof/compat_cli.h"
#include "memprof/watch/watch_session.h"

#define MB         1048576.0
#define ALERT_TEXT "Memory usage %.1f MB exceeds threshold %.1f MB"

typedef struct tf_alert {
    double seconds, mb;
} tf_alert;

typedef struct tf_watch {
    sl_watch_session session;
    double threshold_mb; /* 0 = none */
    bool is_above;
    bool is_track;
    SL_VEC(tf_alert) alerts;
} tf_watch;

static void on_record(void *ctx, const sl_telemetry *set, const sl_tm_record *r) {
    tf_watch *t = ctx;
    double mb = (double)r->allocated_bytes / MB;
    if (!sl_tm_is_sample(sl_tm_text(set, r->event_type)) || t->threshold_mb <= 0)
        return;
    /* Reported once when the threshold is crossed; again only after a fall below 95 % of it. */
    if (mb > t->threshold_mb && !t->is_above) {
        t->is_above = true;
        printf("\nMEMORY ALERT: " ALERT_TEXT "\n", mb, t->threshold_mb);
        (void)sl_vec_push(&t->alerts, ((tf_alert){(double)r->timestamp_ns / 1e9, mb}));
    } else if (mb < 0.95 * t->threshold_mb) {
        t->is_above = false;
    }
}

static void on_second(void *ctx, const sl_watch *watch) {
    const tf_watch *t = ctx;
    double mb = (double)watch->current_bytes / MB;
    if (!t->is_track)
        printf("\rCurrent memory usage: %.1f MB", mb);
    else if (watch->elapsed_ns / 1000000000 % 5 == 0)
        printf("Current memory: %.1f MB\n", mb);
    fflush(stdout);
}

/* ---- the file ---- */

static void put_real(sl_json_out *json, const char *key, double value) {
    sl_json_key(json, key);
    sl_json_f64(json, value);
}

static void put_series(sl_json_out *json, const char *key, const sl_telemetry *set, bool is_time) {
    sl_json_key(json, key);
    sl_json_begin_array(json);
    for (size_t i = 0; i < set->records.cnt; i++) {
        const sl_tm_record *r = &set->records.at[i];
        if (sl_tm_is_sample(sl_tm_text(set, r->event_type)))
            sl_json_f64(json,
                        is_time ? (double)r->timestamp_ns / 1e9 : (double)r->allocated_bytes / MB);
    }
    sl_json_end_array(json);
}

static void put_alerts(sl_json_out *json, const tf_watch *t) {
    char message[128];
    sl_json_key(json, "alerts");
    sl_json_begin_array(json);
    for (size_t i = 0; i < t->alerts.cnt; i++) {
        sl_json_begin_object(json);
        put_real(json, "timestamp", t->alerts.at[i].seconds);
        put_real(json, "memory_mb", t->alerts.at[i].mb);
        put_real(json, "threshold_mb", t->threshold_mb);
        sl_json_key(json, "message");
        snprintf(message, sizeof message, ALERT_TEXT, t->alerts.at[i].mb, t->threshold_mb);
        sl_json_cstr(json, message);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static double average_mb(const sl_watch *watch) {
    return watch->sample_cnt ? watch->sum_bytes / (double)watch->sample_cnt / MB : 0;
}

static void write_envelope(sl_json_out *json, const tf_watch *t, const sl_telemetry *set) {
    sl_json_begin_object(json);
    put_real(json, "peak_memory", (double)t->session.watch.peak_bytes / MB);
    put_real(json, "average_memory", average_mb(&t->session.watch));
    put_real(json, "duration", (double)t->session.watch.elapsed_ns / 1e9);
    put_series(json, "memory_usage", set, false);
    put_series(json, "timestamps", set, true);
    put_alerts(json, t);
    if (t->is_track) {
        sl_json_key(json, "events");
        sl_json_begin_array(json);
        for (size_t i = 0; i < set->records.cnt; i++)
            sl_tm_record_json(json, set, &set->records.at[i]);
        sl_json_end_array(json);
    }
    sl_json_end_object(json);
}

static sl_status save(tf_watch *t, sl_error *err) {
    sl_file_out file;
    sl_json_out json;
    sl_telemetry *set = sl_telemetry_new();
    sl_status status =
        set ? sl_watch_log_load(&t->session.log, set, err) : sl_fail_no_memory(err, "the records");
    if (status == SL_OK)
        status = sl_file_out_open(&file, t->session.log.path, err);
    if (status == SL_OK) {
        sl_json_init(&json, file.stream, 2);
        write_envelope(&json, t, set);
        status = sl_file_out_commit(&file, err);
    }
    sl_telemetry_free(set);
    if (status == SL_OK)
        sl_watch_log_close(&t->session.log);
    return status;
}

/* ---- the commands ---- */

static sl_status save_and_tell(tf_watch *t, sl_error *err) {
    if (!t->session.log.path)
        return SL_OK;
    SL_TRY(save(t, err));
    printf("Results saved to %s\n", t->session.log.path);
    return SL_OK;
}

static sl_status finish_monitor(void *ctx, sl_error *err) {
    tf_watch *t = ctx;
    const sl_watch *watch = &t->session.watch;
    if (watch->end == SL_WATCH_INTERRUPTED)
        printf("\n\nStopping monitoring...\n");
    sl_compat_heading(stdout, "\nMonitoring Results:", 20);
    printf("Peak Memory: %.1f MB\nAverage Memory: %.1f MB\n", (double)watch->peak_bytes / MB,
           average_mb(watch));
    printf("Duration: %.1f seconds\n", (double)watch->elapsed_ns / 1e9);
    printf("Samples Collected: %llu\n", (unsigned long long)watch->sample_cnt);
    if (t->alerts.cnt)
        printf("Alerts Triggered: %zu\n", t->alerts.cnt);
    return save_and_tell(t, err);
}

static sl_status finish_track(void *ctx, sl_error *err) {
    tf_watch *t = ctx;
    const sl_watch *watch = &t->session.watch;
    if (watch->end == SL_WATCH_INTERRUPTED)
        printf("\nStopping tracking...\n");
    SL_TRY(save_and_tell(t, err));
    printf("\nTracking completed. Peak memory: %.1f MB\n", (double)watch->peak_bytes / MB);
    return SL_OK;
}

static void print_preamble(const tf_watch *t, const sl_watch_options *o) {
    char text[SL_COMPAT_REAL_CAP];
    if (t->is_track) {
        printf("Starting background memory tracking...\n");
        sl_watch_print_own(o);
        printf("Tracking started. Press Ctrl+C to stop and save results.\n");
        return;
    }
    printf("Starting TensorFlow memory monitoring...\n");
    printf("Sampling interval: %s seconds\n", sl_compat_real(text, o->interval_s));
    if (o->duration_s > 0)
        printf("Duration: %s seconds\n", sl_compat_real(text, o->duration_s));
    else
        printf("Duration: Indefinite\n");
    if (t->threshold_mb > 0)
        printf("Alert threshold: %s MB\n", sl_compat_real(text, t->threshold_mb));
    sl_watch_print_own(o);
    printf("Press Ctrl+C to stop\n\n");
}

/* "/GPU:1" -> 1; "/CPU:0" means the host. */
static void read_device(const char *text, sl_watch_options *o) {
    const char *colon = strrchr(text, ':');
    o->uses_host = strcasestr(text, "cpu") != NULL;
    if (colon && colon[1])
        o->device = (int)strtol(colon + 1, NULL, 10);
}

static int run(const sl_opts *opts, bool is_track, sl_error *err) {
    sl_watch_options o;
    char **command;
    SL_TRY(sl_watch_read_options(opts, &o, &command, err));
    read_device(sl_opts_text(opts, "device"), &o);
    int result = is_track ? (int)sl_watch_read_identity(opts, &o.identity, err) : 0;
    tf_watch *t = calloc(1, sizeof *t);
    if (!t)
        result = sl_fail_no_memory(err, "the watch");
    if (result == 0) {
        t->is_track = is_track;
        t->threshold_mb = sl_opts_real(opts, "threshold");
        print_preamble(t, &o);
        fflush(stdout);
        o.collector = "stormlog.tensorflow.memory_tracker";
        o.on_record = on_record;
        o.on_second = on_second;
        o.ctx = t;
        result = sl_watch_session_run(&t->session, sl_opts_text(opts, "output"), &o,
                                      is_track ? finish_track : finish_monitor, err);
        sl_vec_free(&t->alerts);
    }
    free(t);
    free(command);
    return result;
}

static int run_monitor(const sl_opts *opts, sl_error *err) {
    return run(opts, false, err);
}

static int run_track(const sl_opts *opts, sl_error *err) {
    return run(opts, true, err);
}

static const sl_opt monitor_options[] = {
    SL_WATCH_INTERVAL_OPTION("1.0"),
    {.name = "duration", .type = SL_OPT_REAL, .help = "seconds (default: until the end)"},
    {.name = "threshold", .type = SL_OPT_REAL, .help = "MB above which an alert is raised"},
    {.name = "device", .type = SL_OPT_STRING, .initial = "/GPU:0", .help = "/GPU:0, /CPU:0"},
    {.name = "output", .type = SL_OPT_FILE, .help = "write the readings to this JSON file"},
    SL_WATCH_PID_OPTION,
};

const sl_cmd sl_cmd_tfmemprof_monitor = {
    .name = "monitor",
    .operands = "[-- CMD...]",
    .operand_max = SL_OPERANDS_ANY,
    .stops_at_operand = true,
    .summary = "watch memory for a while and summarise it",
    .options = monitor_options,
    .option_cnt = SL_COUNT_OF(monitor_options),
    .run = run_monitor,
};

static const sl_opt track_options[] = {
    {.name = "output",
     .type = SL_OPT_FILE,
     .is_required = true,
     .help = "write readings and records to this JSON file"},
    SL_WATCH_INTERVAL_OPTION("1.0"),
    {.name = "duration", .type = SL_OPT_REAL, .help = "seconds (default: until the end)"},
    {.name = "threshold",
     .type = SL_OPT_REAL,
     .initial = "4000",
     .help = "MB above which an alert is raised"},
    {.name = "device", .type = SL_OPT_STRING, .initial = "/GPU:0", .help = "/GPU:0, /CPU:0"},
    SL_WATCH_IDENTITY_OPTIONS,
    SL_WATCH_PID_OPTION,
};

const sl_cmd sl_cmd_tfmemprof_track = {
    .name = "track",
    .operands = "[-- CMD...]",
    .operand_max = SL_OPERANDS_ANY,
    .stops_at_operand = true,
    .summary = "record memory until the end or Ctrl+C",
    .options = track_options,
    .option_cnt = SL_COUNT_OF(track_options),
    .run = run_track,
};
