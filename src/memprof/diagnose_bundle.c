/* SPDX-License-Identifier: MIT */
#include "memprof/diagnose_bundle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#include "base/core/order.h"
#include "base/text/json_out.h"
#include "cli/commands/system_info.h"
#include "memprof/watch/watch.h"

#define HIGH_UTILIZATION 0.85
#define HIGH_FRAGMENTED  0.30
#define SAME_NAME_MAX    1000

typedef struct point {
    double seconds;
    int64_t allocated, used;
} point;

/* All measurements. */
typedef struct facts {
    const sl_diagnose *what;
    sl_system_info system;
    sl_device_sample card;
    bool has_card;
    SL_VEC(point) points;
    int64_t total, allocated, peak, used;
    sl_maybe_u64 host_available, host_total;
    bool out_of_memory;
} facts;

/* ---- measuring ---- */

static void on_record(void *ctx, const sl_telemetry *set, const sl_tm_record *r) {
    facts *f = ctx;
    SL_UNUSED(set);
    point p = {(double)r->timestamp_ns / 1e9, r->allocated_bytes, r->used_bytes};
    if (!sl_tm_is_sample(sl_tm_text(set, r->event_type)))
        return;
    if (!sl_vec_push(&f->points, p))
        f->out_of_memory = true;
}

static sl_status measure(facts *f, sl_error *err) {
    sl_watch *watch = calloc(1, sizeof *watch);
    sl_watch_options o = {.interval_s = f->what->interval_s,
                          .duration_s = f->what->duration_s,
                          .device = f->what->device,
                          .pid = f->what->pid,
                          .identity = {.world_size = 1},
                          .on_record = on_record,
                          .ctx = f};
    if (!watch)
        return sl_fail_no_memory(err, "the watch");
    /* 0 seconds: a single reading, no timeline. */
    if (!(o.duration_s > 0))
        o.duration_s = 1e-9;
    sl_status status = sl_watch_run(watch, &o, err);
    f->has_card = watch->counters != NULL;
    f->total = watch->total_bytes;
    f->allocated = watch->current_bytes;
    f->peak = sl_max_i64(watch->peak_bytes, watch->current_bytes);
    if (f->has_card)
        (void)watch->counters->read(f->what->device < 0 ? 0 : f->what->device, &f->card, NULL);
    sl_watch_fini(watch);
    free(watch);
    if (status == SL_OK && f->out_of_memory)
        status = sl_fail_no_memory(err, "the records");
    return status;
}

static void judge(facts *f, sl_diagnose_result *result) {
    sl_system_info_read(&f->system, f->what->pid);
    f->host_total = f->system.machine.memory_bytes;
    f->host_available = f->system.memory_available;
    f->used = f->allocated;
    for (size_t i = 0; i < f->points.cnt; i++)
        if (f->points.at[i].used > f->used)
            f->used = f->points.at[i].used;
    if (f->has_card && f->card.used_bytes.known && (int64_t)f->card.used_bytes.value > f->used)
        f->used = (int64_t)f->card.used_bytes.value;
    /* A card is judged by all of its memory in use; the host by the memory that is still
     * available. */
    if (f->has_card)
        result->high_utilization =
            f->total > 0 && (double)f->used >= HIGH_UTILIZATION * (double)f->total;
    else if (f->host_total.known && f->host_available.known)
        result->high_utilization =
            (double)f->host_available.value <= (1 - HIGH_UTILIZATION) * (double)f->host_total.value;
}

/* ---- files ---- */

static void put_text(sl_json_out *json, const char *key, const char *value) {
    sl_json_key(json, key);
    sl_json_cstr(json, value);
}

static void put_int(sl_json_out *json, const char *key, int64_t value) {
    sl_json_key(json, key);
    if (value < 0)
        sl_json_null(json);
    else
        sl_json_i64(json, value);
}

static void put_maybe(sl_json_out *json, const char *key, sl_maybe_u64 value) {
    sl_json_key(json, key);
    sl_json_maybe_u64(json, value);
}

static void put_error(sl_json_out *json, const char *key, const char *text) {
    sl_json_key(json, key);
    sl_json_begin_object(json);
    put_text(json, "error", text);
    sl_json_end_object(json);
}

static void write_environment(sl_json_out *json, const facts *f) {
    sl_json_begin_object(json);
    sl_json_key(json, "system");
    sl_system_info_json(json, &f->system);
    if (!f->has_card) {
        put_error(json, "gpu", "no NVIDIA driver answers on this machine");
        put_error(json, "fragmentation", "no NVIDIA driver answers on this machine");
        sl_json_end_object(json);
        return;
    }
    sl_json_key(json, "gpu");
    sl_json_begin_object(json);
    put_int(json, "device_id", f->what->device < 0 ? 0 : f->what->device);
    put_maybe(json, "total_memory", f->card.total_bytes);
    put_maybe(json, "used_memory", f->card.used_bytes);
    put_maybe(json, "process_memory", f->card.process_bytes);
    put_maybe(json, "other_processes_memory", f->card.others_bytes);
    put_maybe(json, "gpu_utilization_percent", f->card.utilization_pct);
    put_maybe(json, "temperature_c", f->card.temperature_c);
    put_maybe(json, "power_draw_mw", f->card.power_mw);
    sl_json_end_object(json);
    sl_json_key(json, "fragmentation");
    sl_json_begin_object(json);
    put_text(json, "note", "the allocator's blocks are visible only inside the program");
    sl_json_end_object(json);
    sl_json_end_object(json);
}

static void write_timeline(sl_json_out *json, const facts *f) {
    static const char *const keys[] = {"timestamps", "allocated", "reserved"};
    bool has_points = f->what->duration_s > 0;
    sl_json_begin_object(json);
    for (size_t k = 0; k < SL_COUNT_OF(keys); k++) {
        sl_json_key(json, keys[k]);
        sl_json_begin_array(json);
        for (size_t i = 0; has_points && i < f->points.cnt; i++) {
            if (k == 0)
                sl_json_f64(json, f->points.at[i].seconds);
            else
                sl_json_i64(json, f->points.at[i].allocated);
        }
        sl_json_end_array(json);
    }
    sl_json_end_object(json);
}

static void put_flags(sl_json_out *json, const sl_diagnose_result *r) {
    sl_json_key(json, "risk_flags");
    sl_json_begin_object(json);
    sl_json_key(json, "oom_occurred");
    sl_json_bool(json, r->oom_occurred);
    sl_json_key(json, "high_utilization");
    sl_json_bool(json, r->high_utilization);
    sl_json_key(json, "fragmentation_warning");
    sl_json_bool(json, r->fragmentation_warning);
    sl_json_end_object(json);
}

static void write_summary(sl_json_out *json, const facts *f, const sl_diagnose_result *r) {
    sl_json_begin_object(json);
    put_text(json, "backend", f->has_card ? "cuda" : "cpu");
    put_int(json, "allocated_bytes", f->allocated);
    put_int(json, "reserved_bytes", f->allocated);
    put_int(json, "peak_bytes", f->peak);
    put_int(json, "used_bytes", f->used);
    put_int(json, "total_bytes", f->total);
    sl_json_key(json, "utilization_ratio");
    sl_json_f64(json, f->total > 0 ? (double)f->used / (double)f->total : NAN);
    sl_json_key(json, "fragmentation_ratio");
    sl_json_null(json);
    sl_json_key(json, "num_ooms");
    sl_json_null(json);
    put_flags(json, r);
    sl_json_key(json, "suggestions");
    sl_json_begin_array(json);
    if (r->high_utilization) {
        sl_json_cstr(json, "Memory is nearly full: look for other processes, or use less "
                           "(smaller batch, mixed precision, activation checkpointing).");
        sl_json_cstr(json, "Record the program with 'stormlog run -- CMD' to see what holds it.");
    }
    sl_json_end_array(json);
    sl_json_end_object(json);
}

static bool is_risk(const sl_diagnose_result *r) {
    return r->high_utilization || r->fragmentation_warning || r->oom_occurred;
}

static void write_manifest(sl_json_out *json, const facts *f, const sl_diagnose_result *r) {
    static const char *const files[] = {"environment.json", "telemetry_timeline.json",
                                        "diagnostic_summary.json", "manifest.json"};
    char created[48];
    struct timeval now;
    struct tm utc;
    gettimeofday(&now, NULL);
    size_t len =
        strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &utc));
    snprintf(created + len, sizeof created - len, ".%06ldZ", (long)now.tv_usec);
    sl_json_begin_object(json);
    put_int(json, "version", 1);
    put_text(json, "created_iso", created);
    put_text(json, "command_line", f->what->command_line);
    sl_json_key(json, "files");
    sl_json_begin_array(json);
    for (size_t i = 0; i < SL_COUNT_OF(files); i++)
        sl_json_cstr(json, files[i]);
    sl_json_end_array(json);
    put_int(json, "exit_code", is_risk(r) ? 2 : 0);
    sl_json_key(json, "risk_detected");
    sl_json_bool(json, is_risk(r));
    sl_json_end_object(json);
}

static void write_file(sl_json_out *json, const char *name, const facts *f,
                       const sl_diagnose_result *r) {
    if (strcmp(name, "environment.json") == 0)
        write_environment(json, f);
    else if (strcmp(name, "telemetry_timeline.json") == 0)
        write_timeline(json, f);
    else if (strcmp(name, "diagnostic_summary.json") == 0)
        write_summary(json, f, r);
    else
        write_manifest(json, f, r);
}

static sl_status write_files(sl_bundle_folder *folder, const facts *f, const sl_diagnose_result *r,
                             sl_error *err) {
    static const char *const order[] = {"environment.json", "telemetry_timeline.json",
                                        "diagnostic_summary.json", "manifest.json"};
    for (size_t i = 0; i < SL_COUNT_OF(order); i++) {
        sl_json_out json;
        FILE *file = sl_bundle_file(folder, order[i], err);
        if (!file)
            return SL_E_WRITE;
        sl_json_init(&json, file, 2);
        write_file(&json, order[i], f, r);
        SL_TRY(sl_bundle_close_file(file, order[i], err));
    }
    return SL_OK;
}

/* ---- the folder ---- */

/* Uses a new path as it is; in an existing folder it makes a folder with the time in its name. */
static sl_status split_output(const sl_diagnose *what, char parent[SL_BUNDLE_PATH_CAP],
                              char name[256], sl_error *err) {
    struct stat info;
    bool is_there = what->output && stat(what->output, &info) == 0;
    if (is_there && !S_ISDIR(info.st_mode))
        return sl_fail(err, SL_E_OPEN, "'%s' is a file, expected a folder", what->output);
    if (what->output && !is_there) {
        char path[SL_BUNDLE_PATH_CAP];
        snprintf(path, sizeof path, "%s", what->output);
        for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
            path[len - 1] = '\0';
        char *slash = strrchr(path, '/');
        snprintf(name, 256, "%.255s", slash ? slash + 1 : path);
        snprintf(parent, SL_BUNDLE_PATH_CAP, "%.*s", slash ? (int)(slash - path) : 1,
                 slash ? path : ".");
        if (slash == path)
            snprintf(parent, SL_BUNDLE_PATH_CAP, "/");
        return SL_OK;
    }
    char stamp[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", gmtime_r(&now, &utc));
    snprintf(parent, SL_BUNDLE_PATH_CAP, "%s", what->output ? what->output : ".");
    snprintf(name, 256, "%.120s-%s", what->prefix, stamp);
    return SL_OK;
}

/* A function of its own, so that its paths are not on the stack during the measurement. */
__attribute__((noinline)) static sl_status open_folder(const sl_diagnose *what,
                                                       sl_bundle_folder *folder, sl_error *err) {
    char parent[SL_BUNDLE_PATH_CAP], name[256], numbered[300];
    SL_TRY(split_output(what, parent, name, err));
    for (int i = 0; i < SAME_NAME_MAX; i++) {
        snprintf(numbered, sizeof numbered, i ? "%s-%d" : "%s", name, i);
        sl_status status = sl_bundle_open(folder, parent, numbered, err);
        if (status != SL_E_OPEN)
            return status;
    }
    return sl_fail(err, SL_E_LIMIT, "too many bundles of this name in '%s'", parent);
}

sl_status sl_diagnose_write(const sl_diagnose *what, sl_diagnose_result *result, sl_error *err) {
    facts f = {.what = what, .total = SL_TM_NULL};
    sl_bundle_folder folder = {0};
    *result = (sl_diagnose_result){0};
    SL_TRY(open_folder(what, &folder, err));
    sl_status status = measure(&f, err);
    if (status == SL_OK) {
        judge(&f, result);
        status = write_files(&folder, &f, result, err);
    }
    if (status == SL_OK)
        status = sl_bundle_commit(&folder, err);
    else
        sl_bundle_abandon(&folder);
    if (status == SL_OK) {
        char *absolute = realpath(folder.path, NULL);
        snprintf(result->path, sizeof result->path, "%s", absolute ? absolute : folder.path);
        free(absolute);
    }
    sl_vec_free(&f.points);
    return status;
}

/* ---- the command ---- */

static void print_findings(const sl_diagnose_result *r) {
    const struct {
        bool is_set;
        const char *name;
    } flags[] = {{r->oom_occurred, "oom_occurred"},
                 {r->high_utilization, "high_utilization"},
                 {r->fragmentation_warning, "fragmentation_warning"}};
    size_t shown = 0;
    printf("Findings: ");
    for (size_t i = 0; i < SL_COUNT_OF(flags); i++)
        if (flags[i].is_set)
            printf("%s%s", shown++ ? ", " : "", flags[i].name);
    printf("%s\n", shown ? "" : "no memory risk detected");
}

static int complain(const char *text) {
    fprintf(stderr, "Error: %s\n", text);
    return 1;
}

const char *sl_diagnose_line(char line[SL_DIAGNOSE_LINE_CAP]) {
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t len = file ? fread(line, 1, SL_DIAGNOSE_LINE_CAP - 1, file) : 0;
    if (file)
        fclose(file);
    for (size_t i = 0; i + 1 < len; i++) /* arguments end with a NUL */
        line[i] = line[i] ? line[i] : ' ';
    line[len] = '\0';
    return line;
}

int sl_diagnose_command(const sl_opts *opts, const char *prefix, sl_error *err) {
    char line[SL_DIAGNOSE_LINE_CAP];
    sl_diagnose what = {
        .prefix = prefix,
        .command_line = sl_diagnose_line(line),
        .output = sl_opts_text(opts, "output"),
        .duration_s = sl_opts_real(opts, "duration"),
        .interval_s = sl_opts_real(opts, "interval"),
        .device = -1,
        .pid = (int)sl_opts_number(opts, "pid"),
    };
    sl_diagnose_result result;
    /* A number, or the number after "/GPU:". */
    if (sl_opts_is_given(opts, "device")) {
        const char *text = sl_opts_text(opts, "device"), *colon = strrchr(text, ':');
        what.device = (int)strtol(colon ? colon + 1 : text, NULL, 10);
    }
    if (!(what.duration_s >= 0))
        return complain("--duration must be >= 0");
    if (!(what.interval_s > 0))
        return complain("--interval must be > 0");
    if (sl_diagnose_write(&what, &result, err) < 0) {
        int code = complain(err->text);
        *err = (sl_error)SL_ERROR_INIT;
        return code;
    }
    int code = is_risk(&result) ? 2 : 0;
    printf("Artifact: %s\nStatus: %s (exit_code=%d)\n", result.path, code ? "MEMORY_RISK" : "OK",
           code);
    print_findings(&result);
    return code;
}
