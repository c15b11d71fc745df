/* SPDX-License-Identifier: MIT */
/* What paths mean to the merge, and their reading by several threads: each has one file open at a time. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/recording_names.h"
#include "api/run_folder.h"
#include "base/core/order.h"
#include "ranks/fleet_impl.h"
#include "read/core/source.h"
#include "read/core/source_bundle.h"

/* Folders in a folder: of nodes, of ranks. */
#define DEPTH_MAX   2
#define THREADS_MAX 32u

typedef enum path_kind { KIND_NONE, KIND_RECORDING, KIND_TRACE, KIND_TELEMETRY } path_kind;

static bool has_end(const char *name, const char *end) {
    size_t len = strlen(name), end_len = strlen(end);
    return len > end_len && strcmp(name + len - end_len, end) == 0;
}

static bool is_telemetry_name(const char *name) {
    static const char *const ends[] = {".json",     ".jsonl",    ".csv",   ".json.gz",
                                       ".json.zst", ".jsonl.gz", ".csv.gz"};
    for (size_t i = 0; i < SL_COUNT_OF(ends); i++)
        if (has_end(name, ends[i]))
            return true;
    return false;
}

/* By name where that is enough: a folder may hold thousands. What begins like a recording or a pickle is that,
 * whatever its name; a snapshot as JSON and a trace are known by their first bytes. */
static path_kind kind_of(const char *path) {
    sl_source_kind kind;
    if (sl_bundle_is(path))
        return KIND_TRACE;
    if (sl_recordings_is_name(path))
        return KIND_RECORDING;
    if (!sl_trace_probe(path, &kind))
        return is_telemetry_name(path) ? KIND_TELEMETRY : KIND_NONE;
    return kind == SL_SOURCE_SLOG        ? KIND_RECORDING
           : kind == SL_SOURCE_TELEMETRY ? KIND_TELEMETRY
                                         : KIND_TRACE;
}

static sl_status add_path(sl_fleet_paths *paths, char *path, path_kind kind, bool is_given,
                          sl_error *err) {
    sl_fleet_path entry = {.path = path,
                           .is_given = is_given,
                           .is_recording = kind == KIND_RECORDING,
                           .err = SL_ERROR_INIT};
    bool is_added = path && (kind == KIND_TELEMETRY ? sl_vec_push(&paths->telemetry, entry)
                                                    : sl_vec_push(&paths->files, entry));
    if (is_added)
        return SL_OK;
    free(path);
    return sl_fail_no_memory(err, "a path");
}

/* A compressed recording beside its plain form is a copy. */
static bool is_copy(const char *path) {
    struct stat info;
    char plain[2048];
    size_t len = sl_recording_packed_stem(path);
    if (len == 0 || len + sizeof SL_RECORDING_END > sizeof plain)
        return false;
    memcpy(plain, path, len);
    strcpy(plain + len, SL_RECORDING_END);
    return stat(plain, &info) == 0;
}

static sl_status add_folder(sl_fleet_paths *paths, const char *folder, int depth, sl_error *err);

/* An entry of a folder. A bundle is evidence of a process that has its own recording, where there is one. */
static sl_status add_entry(sl_fleet_paths *paths, char *path, int depth, bool has_recordings,
                           sl_error *err) {
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    bool is_folder = is_there && S_ISDIR(info.st_mode);
    bool is_bundle = is_folder && sl_bundle_is(path);
    sl_status status = SL_OK;
    path_kind kind = KIND_NONE;
    if (is_folder && !is_bundle && !strstr(path, ".oom-") && depth < DEPTH_MAX)
        status = add_folder(paths, path, depth + 1, err);
    else if (is_bundle ? !has_recordings : is_there && S_ISREG(info.st_mode) && !is_copy(path))
        kind = kind_of(path);
    if (kind != KIND_NONE)
        return add_path(paths, path, kind, false, err);
    free(path);
    return status;
}

static int compare_names(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static sl_status add_folder(sl_fleet_paths *paths, const char *folder, int depth, sl_error *err) {
    struct dirent **entries;
    int cnt = scandir(folder, &entries, NULL, compare_names);
    sl_status status = SL_OK;
    bool has_recordings = false;
    if (cnt < 0)
        return sl_fail_errno(err, SL_E_READ, "cannot read the folder '%s'", folder);
    for (int i = 0; i < cnt; i++)
        has_recordings |= sl_recordings_is_name(entries[i]->d_name);
    for (int i = 0; i < cnt; i++) {
        char *path = NULL;
        bool is_wanted = entries[i]->d_name[0] != '.' &&
                         !sl_bundle_is_diagnose_file(folder, entries[i]->d_name) &&
                         strcmp(entries[i]->d_name, SL_LATEST_NAME) != 0;
        if (status == SL_OK && is_wanted)
            status = asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0
                         ? sl_fail_no_memory(err, "a path")
                         : add_entry(paths, path, depth, has_recordings, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static sl_status add_given(sl_fleet_paths *paths, const char *given, sl_error *err) {
    struct stat info;
    const char *path = sl_latest_path(given);
    size_t before = paths->files.cnt + paths->telemetry.cnt;
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode) && !sl_bundle_is(path);
    if (!is_folder) {
        path_kind kind = kind_of(path);
        return add_path(paths, strdup(path), kind == KIND_NONE ? KIND_TELEMETRY : kind, true, err);
    }
    SL_TRY(add_folder(paths, path, 0, err));
    if (paths->files.cnt + paths->telemetry.cnt == before)
        return sl_fail(err, SL_E_OPEN,
                       "'%s' contains no recording (*.slog), snapshot, telemetry file (.json, "
                       ".jsonl, .csv) or bundle",
                       given);
    return SL_OK;
}

sl_status sl__fleet_paths_find(sl_fleet_paths *paths, const char *const *given, size_t cnt,
                               sl_error *err) {
    for (size_t i = 0; i < cnt; i++)
        SL_TRY(add_given(paths, given[i], err));
    return SL_OK;
}

void sl__fleet_paths_fini(sl_fleet_paths *paths) {
    for (size_t i = 0; i < paths->files.cnt; i++) {
        free(paths->files.at[i].path);
        if (paths->files.at[i].summary)
            sl_rank_summary_fini(paths->files.at[i].summary);
        free(paths->files.at[i].summary);
    }
    for (size_t i = 0; i < paths->telemetry.cnt; i++)
        free(paths->telemetry.at[i].path);
    sl_vec_free(&paths->files);
    sl_vec_free(&paths->telemetry);
}

/* ---- reading ---- */

typedef struct reading {
    sl_fleet_paths *paths;
    atomic_size_t next;
} reading;

static void read_one(sl_fleet_path *file) {
    sl_rank_summary *summary = calloc(1, sizeof *summary);
    if (!summary) {
        sl_fail_no_memory(&file->err, "a rank");
        return;
    }
    summary->path = file->path;
    sl_status status = file->is_recording ? sl_rank_summary_slog(summary, file->path, &file->err)
                                          : sl_rank_summary_trace(summary, file->path, &file->err);
    file->summary = summary;
    sl_rank_curve_finish(&summary->curve);
    if (status >= 0)
        return;
    sl_rank_summary_fini(summary);
    free(summary);
    file->summary = NULL;
}

static void *read_files(void *self) {
    reading *r = self;
    for (size_t i; (i = atomic_fetch_add(&r->next, 1)) < r->paths->files.cnt;)
        read_one(&r->paths->files.at[i]);
    return NULL;
}

/* A thread that cannot be had is not missed: this one reads what is left. */
sl_status sl__fleet_paths_read(sl_fleet_paths *paths, unsigned thread_cnt, sl_error *err) {
    pthread_t threads[THREADS_MAX];
    reading r = {.paths = paths};
    size_t started = 0, wanted = sl_min_size(thread_cnt ? thread_cnt : 1, THREADS_MAX);
    while (started + 1 < wanted && started + 1 < paths->files.cnt &&
           pthread_create(&threads[started], NULL, read_files, &r) == 0)
        started++;
    read_files(&r);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < paths->files.cnt; i++) {
        sl_fleet_path *file = &paths->files.at[i];
        bool is_fatal = file->is_given || file->err.code == SL_E_NOMEM;
        if (!file->summary && is_fatal) {
            *err = file->err;
            /* Readers of other inputs have put the name in front themselves. */
            return file->is_recording ? sl_error_prefix(err, "cannot read '%s'", file->path)
                                      : err->code;
        }
    }
    return SL_OK;
}
