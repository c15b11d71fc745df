/* SPDX-License-Identifier: MIT */
#include "cli/run/run_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/oom_bundles.h"
#include "base/core/str.h"
#include "base/core/vec.h"
#include "base/text/human.h"
#include "cli/core/cli.h"
#include "cli/core/recordings.h"
#include "cli/run/run_forecast.h"
#include "log/read/log_reader.h"

#define READER_MAX 256 /* recordings watched at a time; each has a file open */
#define ALERT_MAX  64  /* kinds of alert printed in one run, by rule and device */

/* One recording of the run, or one that was there before it. */
typedef struct watched {
    char *name;            /* owned */
    sl_log_reader *reader; /* owned; NULL: not opened yet, or done */
    uint64_t oom_cnt;      /* failures that a writer was started for */
    uint64_t alert_cnt;    /* alerts read so far */
    bool is_old;           /* from before the run */
    bool is_over;          /* its process is gone and everything was seen */
    bool has_failed;       /* a bundle could not be written, which was reported */
} watched;

typedef struct told_alert {
    char rule[48];
    int device;
} told_alert;

struct sl_run_watch {
    const sl_run_folder *folder;
    SL_VEC(watched) logs;
    struct timespec folder_changed; /* when the list was read last */
    size_t reader_cnt;
    pid_t writer;      /* 0 = none */
    size_t writer_log; /* what it works on */
    told_alert told[ALERT_MAX];
    size_t told_cnt;
    bool is_quiet;
    sl_run_forecast *forecast; /* owned; NULL = none */
};

/* ---- the list ---- */

static bool is_known(const sl_run_watch *watch, const char *name) {
    for (size_t i = watch->logs.cnt; i-- > 0;)
        if (strcmp(watch->logs.at[i].name, name) == 0)
            return true;
    return false;
}

static void add_log(sl_run_watch *watch, const char *name, bool is_old) {
    watched log = {.name = strdup(name), .is_old = is_old, .is_over = is_old};
    if (!log.name || !sl_vec_push(&watch->logs, log))
        free(log.name);
}

static void read_folder(sl_run_watch *watch, bool is_old) {
    struct stat info;
    const char *own = watch->folder->own_start;
    if (stat(watch->folder->full_path, &info) != 0 ||
        memcmp(&info.st_mtim, &watch->folder_changed, sizeof info.st_mtim) == 0)
        return;
    DIR *dir = opendir(watch->folder->full_path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, own, strlen(own)) == 0 && !is_known(watch, entry->d_name) &&
            sl_recordings_is_file(dirfd(dir), entry->d_name))
            add_log(watch, entry->d_name, is_old);
    closedir(dir);
    watch->folder_changed = info.st_mtim;
}

sl_run_watch *sl_run_watch_new(const sl_run_folder *folder, const sl_run_watch_options *options) {
    sl_run_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->folder = folder;
    watch->is_quiet = options->is_quiet;
    if (!options->no_forecast)
        watch->forecast = sl_run_forecast_new(folder, options->is_quiet);
    read_folder(watch, true);
    return watch;
}

static void close_log(sl_run_watch *watch, watched *log) {
    if (log->reader)
        watch->reader_cnt--;
    sl_log_reader_close(log->reader);
    log->reader = NULL;
}

void sl_run_watch_free(sl_run_watch *watch) {
    if (!watch)
        return;
    for (size_t i = 0; i < watch->logs.cnt; i++) {
        close_log(watch, &watch->logs.at[i]);
        free(watch->logs.at[i].name);
    }
    sl_vec_free(&watch->logs);
    sl_run_forecast_free(watch->forecast);
    free(watch);
}

static bool join(char path[SL_RUN_PATH_CAP], const char *folder, const char *name) {
    return (size_t)snprintf(path, SL_RUN_PATH_CAP, "%s/%s", folder, name) < SL_RUN_PATH_CAP;
}

/* ---- bundles ---- */

static void tell(const sl_run_watch *watch, const char *text, const char *where) {
    if (!watch->is_quiet)
        sl_cli_complain("%s%s", text, where);
}

/* Writes one bundle and prints a line for the first. False if it cannot be written, after a message. It is not a
 * failure if the bundle exists already (SL_E_OPEN), or if its events are not in the file yet (SL_E_LAPPED):
 * sl_run_watch_finish tries again. */
static bool write_bundle(const sl_run_watch *watch, const watched *log, uint64_t number) {
    char path[SL_RUN_PATH_CAP];
    sl_error err = SL_ERROR_INIT;
    if (!join(path, watch->folder->full_path, log->name))
        return true;
    sl_status status = sl_oom_bundles_write(path, NULL, number, NULL, &err);
    if (status == SL_OK && number == 1 && !watch->is_quiet)
        sl_cli_complain("out of memory: evidence in %s/%s.oom-%" PRIu64, watch->folder->path,
                        log->name, number);
    if (status == SL_OK || status == SL_E_OPEN || status == SL_E_LAPPED)
        return true;
    tell(watch, "out of memory, but no bundle was written: ", err.text);
    return false;
}

static bool write_bundles(const sl_run_watch *watch, const watched *log, uint64_t first,
                          uint64_t last) {
    for (uint64_t number = first; number <= last && number <= SL_OOM_BUNDLES_MAX; number++)
        if (!write_bundle(watch, log, number))
            return false;
    return true;
}

/* If the host runs out of memory, the kernel should kill this writer, not the training. */
static void offer_to_killer(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t done = write(fd, "1000", 4);
    SL_UNUSED(done);
    close(fd);
}

static void start_writer(sl_run_watch *watch, size_t index, uint64_t last) {
    watched *log = &watch->logs.at[index];
    uint64_t first = log->oom_cnt + 1;
    pid_t pid = fork();
    if (pid == 0) {
        offer_to_killer();
        _exit(write_bundles(watch, log, first, last) ? 0 : 1);
    }
    if (pid < 0)
        return; /* the end of the run catches up */
    watch->writer = pid;
    watch->writer_log = index;
    log->oom_cnt = last;
}

/* What a writer that was killed left half done. */
static void remove_half(const sl_run_watch *watch) {
    char start[300], temp[32], path[SL_RUN_PATH_CAP];
    DIR *dir = opendir(watch->folder->full_path);
    snprintf(start, sizeof start, ".%.255s.oom-", watch->logs.at[watch->writer_log].name);
    snprintf(temp, sizeof temp, SL_BUNDLE_TEMP, (int)watch->writer);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strncmp(entry->d_name, start, strlen(start)) == 0 && strstr(entry->d_name, temp) &&
            join(path, watch->folder->full_path, entry->d_name))
            sl_remove_folder(path);
    if (dir)
        closedir(dir);
}

static void reap_writer(sl_run_watch *watch, int flags) {
    int status;
    if (!watch->writer || waitpid(watch->writer, &status, flags) != watch->writer)
        return;
    if (WIFSIGNALED(status))
        remove_half(watch);
    else if (WEXITSTATUS(status) != 0)
        watch->logs.at[watch->writer_log].has_failed = true;
    watch->writer = 0;
}

/* ---- alerts ---- */

static bool is_told(sl_run_watch *watch, sl_str rule, int device) {
    for (size_t i = 0; i < watch->told_cnt; i++)
        if (watch->told[i].device == device && sl_str_is(rule, watch->told[i].rule))
            return true;
    if (watch->told_cnt == ALERT_MAX || rule.len >= sizeof watch->told[0].rule)
        return true;
    told_alert *row = &watch->told[watch->told_cnt++];
    memcpy(row->rule, rule.ptr, rule.len);
    row->rule[rule.len] = '\0';
    row->device = device;
    return false;
}

/* Every rank of a node sees the same full card: one line per rule and device in the whole run. */
static void tell_alert(sl_run_watch *watch, const watched *log, const sl_fmt_alert *alert) {
    int device = (int32_t)(uint32_t)alert->device_word;
    sl_str rule = sl_log_get_string(log->reader, (uint32_t)alert->text_word);
    sl_str text = sl_log_get_string(log->reader, (uint32_t)(alert->text_word >> 32));
    char value[SL_HUMAN_CAP], threshold[SL_HUMAN_CAP], place[32] = "host";
    if (is_told(watch, rule, device) || watch->is_quiet)
        return;
    if (device >= 0)
        snprintf(place, sizeof place, "device %d", device);
    sl_cli_complain("alert: %s: %.*s (%s used, the limit is %s); printed once per run, 'stormlog "
                    "top' lists all",
                    place, (int)text.len, text.ptr, sl_human_bytes(value, alert->value),
                    sl_human_bytes(threshold, alert->threshold));
}

static void look_at_alerts(sl_run_watch *watch, watched *log) {
    uint64_t cnt = sl_log_list_used(log->reader, SL_SECTION_ALERTS);
    sl_log_alerts alerts;
    if (cnt == log->alert_cnt || sl_log_load_names(log->reader, NULL) < 0 ||
        sl_log_load_alerts(log->reader, &alerts, NULL) < 0)
        return;
    for (size_t i = 0; i < alerts.cnt; i++)
        if ((alerts.at[i].seq >> 8) > log->alert_cnt)
            tell_alert(watch, log, &alerts.at[i]);
    if (alerts.cnt)
        log->alert_cnt = alerts.at[alerts.cnt - 1].seq >> 8;
    sl_vec_free(&alerts);
}

/* ---- looking ---- */

static bool open_reader(sl_run_watch *watch, watched *log) {
    char path[SL_RUN_PATH_CAP];
    if (log->reader || watch->reader_cnt == READER_MAX ||
        !join(path, watch->folder->full_path, log->name) ||
        sl_log_open(path, &log->reader, NULL) < 0)
        return log->reader != NULL;
    watch->reader_cnt++;
    return true;
}

static void look_at(sl_run_watch *watch, size_t index) {
    watched *log = &watch->logs.at[index];
    if (!open_reader(watch, log) || sl_log_refresh(log->reader, NULL) < 0)
        return;
    /* Read before the lists, so that what a process wrote before it ended is seen below. */
    bool is_over = sl_log_get_ending(log->reader) != SL_LOG_LIVE;
    uint64_t oom_cnt = sl_log_list_used(log->reader, SL_SECTION_OOMS);
    look_at_alerts(watch, log);
    if (watch->forecast && !is_over && !oom_cnt)
        sl_run_forecast_look(watch->forecast, log->name, log->reader);
    if (oom_cnt > log->oom_cnt && log->oom_cnt < SL_OOM_BUNDLES_MAX && !log->has_failed) {
        if (!watch->writer)
            start_writer(watch, index, oom_cnt);
        return;
    }
    log->is_over = is_over;
    if (is_over)
        close_log(watch, log);
}

void sl_run_watch_look(sl_run_watch *watch) {
    reap_writer(watch, WNOHANG);
    read_folder(watch, false);
    for (size_t i = 0; i < watch->logs.cnt; i++)
        if (!watch->logs.at[i].is_over)
            look_at(watch, i);
}

/* A single failure was reported when its bundle was written. */
static void tell_count(const char *name, const sl_oom_bundles_result *r) {
    size_t saved = r->written_cnt + r->present_cnt;
    char which[64];
    if (r->failure_cnt == 1 && saved == 1)
        return;
    if (saved == r->failure_cnt && saved == 2)
        snprintf(which, sizeof which, "evidence was saved for both");
    else if (saved == r->failure_cnt)
        snprintf(which, sizeof which, "evidence was saved for all of them");
    else if (saved)
        snprintf(which, sizeof which, "evidence was saved for %zu of them", saved);
    else
        snprintf(which, sizeof which, "no evidence was saved");
    sl_cli_complain("%" PRIu64 " request%s failed in %s; %s", r->failure_cnt,
                    sl_plural(r->failure_cnt), name, which);
}

typedef struct finishing {
    const sl_run_watch *watch;
    sl_oom_bundles_result result;
} finishing;

/* Prints a line for the first bundle of a recording, unless write_bundle() has printed it. */
static void tell_bundle(void *self, const char *path) {
    const finishing *f = self;
    if (f->result.written_cnt == 1 && f->result.present_cnt == 0 && !f->watch->is_quiet)
        sl_cli_complain("out of memory: evidence in %s/%s", f->watch->folder->path,
                        sl_base_name(path));
}

static void finish_log(const sl_run_watch *watch, const watched *log) {
    char path[SL_RUN_PATH_CAP];
    finishing f = {.watch = watch};
    sl_error err = SL_ERROR_INIT;
    uint64_t cnt;
    if (!join(path, watch->folder->full_path, log->name) ||
        sl_oom_bundles_count(path, &cnt, NULL) < 0 || cnt == 0)
        return; /* whoever needs it reports what cannot be read */
    if (sl_oom_bundles_write_all(path, NULL, tell_bundle, &f, &f.result, &err) < 0)
        tell(watch, "out of memory, but no bundle was written: ", err.text);
    if (!watch->is_quiet)
        tell_count(log->name, &f.result);
}

void sl_run_watch_finish(sl_run_watch *watch) {
    reap_writer(watch, 0);
    watch->folder_changed = (struct timespec){0}; /* the last change may share a clock tick with the
                                                   * one before */
    read_folder(watch, false);
    for (size_t i = 0; i < watch->logs.cnt; i++) {
        watched *log = &watch->logs.at[i];
        if (log->is_old || log->has_failed)
            continue;
        if (open_reader(watch, log) && sl_log_refresh(log->reader, NULL) >= 0)
            look_at_alerts(watch, log);
        close_log(watch, log);
        finish_log(watch, log);
    }
}
