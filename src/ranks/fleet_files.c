/* SPDX-License-Identifier: MIT */
/* What paths mean to the merge, and their reading by several threads: each has one file open at a time. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* What a name promises. A file that does not keep it is named in the answer. */
static path_kind kind_by_name(const char *name) {
    static const char *const packed[] = {"", ".gz", ".zst", ".xz"};
    static const struct {
        const char *end;
        path_kind kind;
    } ends[] = {{".json", KIND_TELEMETRY},
                {".jsonl", KIND_TELEMETRY},
                {".csv", KIND_TELEMETRY},
                {".pickle", KIND_TRACE},
                {".pkl", KIND_TRACE}};
    char end[16];
    for (size_t i = 0; i < SL_COUNT_OF(ends); i++)
        for (size_t k = 0; k < SL_COUNT_OF(packed); k++) {
            snprintf(end, sizeof end, "%s%s", ends[i].end, packed[k]);
            if (has_end(name, end))
                return ends[i].kind;
        }
    return KIND_NONE;
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
        return kind_by_name(path);
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

/* An entry of a folder that this user cannot open: it may be the recording of a rank. Owns the path. */
static sl_status add_unread(sl_fleet_paths *paths, char *path, sl_error *err) {
    sl_error why = SL_ERROR_INIT;
    sl_fail_errno(&why, SL_E_READ, "cannot open");
    SL_TRY(add_path(paths, path, KIND_TRACE, false, err));
    paths->files.at[paths->files.cnt - 1].err = why;
    return SL_OK;
}

static sl_status add_folder(sl_fleet_paths *paths, const char *folder, int depth, sl_error *err);

/* An entry of a folder. A bundle is evidence of a process that has its own recording, where there is one. */
static sl_status add_entry(sl_fleet_paths *paths, char *path, int depth, bool has_recordings,
                           sl_error *err) {
    struct stat info;
    if (stat(path, &info) != 0 || access(path, R_OK) != 0)
        return add_unread(paths, path, err);
    bool is_folder = S_ISDIR(info.st_mode);
    bool is_bundle = is_folder && sl_bundle_is(path);
    sl_status status = SL_OK;
    path_kind kind = KIND_NONE;
    if (is_folder && !is_bundle && !strstr(path, ".oom-") && depth < DEPTH_MAX)
        status = add_folder(paths, path, depth + 1, err);
    else if (is_bundle ? !has_recordings : S_ISREG(info.st_mode) && !is_copy(path))
        kind = kind_of(path);
    if (kind != KIND_NONE)
        return add_path(paths, path, kind, false, err);
    free(path);
    return status;
}

/* What stormlog itself writes beside recordings: alerts of `run`, indexes of `ship`. */
static bool is_own_file(const char *name) {
    return strcmp(name, "alerts.jsonl") == 0 ||
           (strncmp(name, "index-", 6) == 0 && has_end(name, ".json"));
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
                         !(has_recordings && is_own_file(entries[i]->d_name)) &&
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

/* Names of folders above what was given do not name ranks: with one folder neither does its own, which is that of
 * a run ("lora-rank8"); of several folders each may be a rank's. */
static void mark_names(sl_fleet_paths *paths, size_t files, size_t telemetry, const char *folder,
                       bool is_alone) {
    size_t len = strlen(folder), from = len;
    while (from > 0 && folder[from - 1] == '/')
        from--;
    while (from > 0 && folder[from - 1] != '/')
        from--;
    for (size_t i = files; i < paths->files.cnt; i++)
        paths->files.at[i].named_from = is_alone ? len : from;
    for (size_t i = telemetry; i < paths->telemetry.cnt; i++)
        paths->telemetry.at[i].named_from = is_alone ? len : from;
}

static sl_status add_given(sl_fleet_paths *paths, const char *given, bool is_alone, sl_error *err) {
    struct stat info;
    const char *path = sl_latest_path(given);
    size_t files = paths->files.cnt, telemetry = paths->telemetry.cnt;
    bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode) && !sl_bundle_is(path);
    if (!is_folder) {
        path_kind kind = kind_of(path);
        return add_path(paths, strdup(path), kind == KIND_NONE ? KIND_TELEMETRY : kind, true, err);
    }
    SL_TRY(add_folder(paths, path, 0, err));
    mark_names(paths, files, telemetry, path, is_alone);
    if (paths->files.cnt + paths->telemetry.cnt == files + telemetry)
        return sl_fail(err, SL_E_OPEN,
                       "'%s' contains no recording (*.slog), snapshot, telemetry file (.json, "
                       ".jsonl, .csv) or bundle",
                       given);
    return SL_OK;
}

/* ---- a file that is reached twice, by links or by paths that overlap ---- */

typedef struct identity {
    dev_t dev;
    ino_t ino;
    bool is_given;
    size_t len, idx; /* of its path; of it in the list */
} identity;

static int compare_identities(const void *a, const void *b) {
    const identity *x = a, *y = b;
    if (x->dev != y->dev)
        return SL_ORDER(x->dev, y->dev);
    if (x->ino != y->ino)
        return SL_ORDER(x->ino, y->ino);
    if (x->is_given != y->is_given)
        return x->is_given ? -1 : 1;
    return x->len != y->len ? SL_ORDER(x->len, y->len) : SL_ORDER(x->idx, y->idx);
}

/* Of the paths to one file the one that was given, then the shortest. One that is not there has no file. */
static sl_status drop_same_files(sl_fleet_path *at, size_t *cnt, sl_error *err) {
    struct stat info;
    size_t found = 0, kept = 0;
    identity *ids = malloc((*cnt + 1) * sizeof *ids);
    if (!ids)
        return sl_fail_no_memory(err, "the paths");
    for (size_t i = 0; i < *cnt; i++)
        if (stat(at[i].path, &info) == 0)
            ids[found++] =
                (identity){info.st_dev, info.st_ino, at[i].is_given, strlen(at[i].path), i};
    qsort(ids, found, sizeof *ids, compare_identities);
    for (size_t i = 1; i < found; i++) {
        bool is_same = ids[i].dev == ids[i - 1].dev && ids[i].ino == ids[i - 1].ino;
        if (is_same) {
            free(at[ids[i].idx].path);
            at[ids[i].idx].path = NULL;
        }
    }
    for (size_t i = 0; i < *cnt; i++)
        if (at[i].path)
            at[kept++] = at[i];
    *cnt = kept;
    free(ids);
    return SL_OK;
}

sl_status sl__fleet_paths_find(sl_fleet_paths *paths, const char *const *given, size_t cnt,
                               sl_error *err) {
    for (size_t i = 0; i < cnt; i++)
        SL_TRY(add_given(paths, given[i], cnt == 1, err));
    SL_TRY(drop_same_files(paths->files.at, &paths->files.cnt, err));
    return drop_same_files(paths->telemetry.at, &paths->telemetry.cnt, err);
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
    if (file->err.code < 0) /* known since the folder was read */
        return;
    sl_rank_summary *summary = calloc(1, sizeof *summary);
    if (!summary) {
        sl_fail_no_memory(&file->err, "a rank");
        return;
    }
    summary->path = file->path;
    summary->named_from = file->named_from;
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
