/* SPDX-License-Identifier: MIT */
#include "cli/run/run_forecast.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/live/live_json.h"
#include "base/core/clock.h"
#include "base/files/file_rights.h"
#include "cli/core/cli.h"

/* Time between two looks at a recording: at least this, and this many times what the last one took. */
#define LOOK_NS    UINT64_C(1000000000)
#define LOOK_TIMES 50

/* Lines on standard error in one run: the ranks of a node tend to grow together. */
#define LINE_MAX 16

/* One device of one recording. */
typedef struct said_row {
    int device;
    sl_forecast_said said;
} said_row;

typedef struct looked_at {
    char *name; /* owned */
    uint64_t next_ns, names_used;
    SL_VEC(said_row) said;
} looked_at;

struct sl_run_forecast {
    const sl_run_folder *folder;
    SL_VEC(looked_at) logs;
    size_t line_cnt;
    bool is_quiet;
};

sl_run_forecast *sl_run_forecast_new(const sl_run_folder *folder, bool is_quiet) {
    sl_run_forecast *forecast = calloc(1, sizeof *forecast);
    if (forecast)
        *forecast = (sl_run_forecast){.folder = folder, .is_quiet = is_quiet};
    return forecast;
}

void sl_run_forecast_free(sl_run_forecast *forecast) {
    if (!forecast)
        return;
    for (size_t i = 0; i < forecast->logs.cnt; i++) {
        free(forecast->logs.at[i].name);
        sl_vec_free(&forecast->logs.at[i].said);
    }
    sl_vec_free(&forecast->logs);
    free(forecast);
}

static looked_at *find_log(sl_run_forecast *forecast, const char *name) {
    for (size_t i = 0; i < forecast->logs.cnt; i++)
        if (strcmp(forecast->logs.at[i].name, name) == 0)
            return &forecast->logs.at[i];
    looked_at log = {.name = strdup(name)};
    if (log.name && sl_vec_push(&forecast->logs, log))
        return &forecast->logs.at[forecast->logs.cnt - 1];
    free(log.name);
    return NULL;
}

static sl_forecast_said *find_said(looked_at *log, int device) {
    for (size_t i = 0; i < log->said.cnt; i++)
        if (log->said.at[i].device == device)
            return &log->said.at[i].said;
    said_row row = {.device = device};
    return sl_vec_push(&log->said, row) ? &log->said.at[log->said.cnt - 1].said : NULL;
}

/* ---- saying it ---- */

static void print_line(sl_run_forecast *forecast, const sl_log_reader *reader,
                       const sl_live_forecast *live) {
    char text[SL_FORECAST_TEXT_CAP], place[64] = "host";
    if (forecast->is_quiet || forecast->line_cnt++ >= LINE_MAX)
        return;
    if (live->device >= 0)
        snprintf(place, sizeof place, "device %d", live->device);
    if (sl_log_rank(reader) >= 0)
        snprintf(place + strlen(place), sizeof place - strlen(place), " of rank %d",
                 (int)sl_log_rank(reader));
    sl_cli_complain("alert: %s: %s", place,
                    sl_forecast_text(text, &live->forecast, sl_str_of(live->line)));
}

/* One line of JSON, appended in one piece. */
static void write_line(const sl_run_forecast *forecast, const char *name,
                       const sl_log_reader *reader, const sl_live_forecast *live, double now_s) {
    char path[SL_RUN_PATH_CAP], *text = NULL;
    size_t len = 0;
    sl_json_out json;
    if ((size_t)snprintf(path, sizeof path, "%s/alerts.jsonl", forecast->folder->full_path) >=
        sizeof path)
        return;
    FILE *memory = open_memstream(&text, &len);
    if (!memory)
        return;
    sl_json_init(&json, memory, 0);
    sl_json_begin_object(&json);
    sl_json_key_cstr(&json, "kind", "time-to-out-of-memory");
    sl_json_key_f64(&json, "time_s", now_s);
    sl_json_key_cstr(&json, "recording", name);
    sl_json_key_u64(&json, "pid", sl_log_header(reader)->pid);
    sl_json_key_i64(&json, "device", live->device);
    sl_json_key(&json, "forecast");
    sl_live_forecast_write(&json, live);
    sl_json_end_object(&json);
    bool is_made = sl_json_finish(&json, NULL) == SL_OK;
    fclose(memory);
    int fd = is_made ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                            sl_share_file_mode())
                     : -1;
    if (fd >= 0) {
        ssize_t done = write(fd, text, len);
        SL_UNUSED(done);
        close(fd);
    }
    free(text);
}

/* ---- looking ---- */

static bool is_device(const sl_log_counters *counters, size_t i) {
    const sl_log_counter_info *info = &counters->at[i];
    return info->kind == SL_COUNTER_ALLOCATED && !info->name;
}

static void look_at_devices(sl_run_forecast *forecast, looked_at *log, sl_log_reader *reader,
                            const sl_log_counters *counters) {
    const sl_fmt_state *state = sl_log_state(reader);
    double now_s = (double)(state->closed_ns ? state->closed_ns : state->heartbeat_ns) / 1e9;
    for (size_t i = 0; i < counters->cnt; i++) {
        sl_live_forecast live;
        int device = counters->at[i].device;
        if (!is_device(counters, i) ||
            sl_live_forecast_read(reader, counters, NULL, device, &live, NULL) < 0)
            continue;
        sl_forecast_said *said = find_said(log, device);
        if (!said || !sl_forecast_is_news(said, &live.forecast, now_s))
            continue;
        print_line(forecast, reader, &live);
        write_line(forecast, log->name, reader, &live, now_s);
    }
}

/* Strings are only read again when there are new ones. */
static bool load_names(looked_at *log, sl_log_reader *reader) {
    uint64_t used = 1 + sl_log_list_used(reader, SL_SECTION_STRINGS);
    if (used != log->names_used && sl_log_load_names(reader, NULL) < 0)
        return false;
    log->names_used = used;
    return true;
}

void sl_run_forecast_look(sl_run_forecast *forecast, const char *name, sl_log_reader *reader) {
    looked_at *log = find_log(forecast, name);
    uint64_t start_ns = sl_clock_mono_ns();
    sl_log_counters counters = {0};
    if (!log || start_ns < log->next_ns)
        return;
    if (load_names(log, reader) && sl_log_load_counters(reader, &counters, NULL) >= 0)
        look_at_devices(forecast, log, reader, &counters);
    sl_vec_free(&counters);
    uint64_t took_ns = sl_clock_mono_ns() - start_ns;
    log->next_ns = start_ns + LOOK_NS + LOOK_TIMES * took_ns;
}
