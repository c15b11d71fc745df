/* SPDX-License-Identifier: MIT */
#include "api/recording_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/run_folder.h"
#include "base/core/order.h"
#include "read/core/source_bundle.h"

/* Beside its plain form a compressed one is a copy, as `zstd run.slog` leaves it. */
static bool is_copy(const char *path) {
    struct stat info;
    size_t len = sl_recording_packed_stem(path);
    char *plain = NULL;
    bool is_there = len > 0 && asprintf(&plain, "%.*s" SL_RECORDING_END, (int)len, path) > 0 &&
                    stat(plain, &info) == 0;
    free(plain);
    return is_there;
}

static bool is_recording(const char *path) {
    return sl_recordings_is_file(AT_FDCWD, path) && !is_copy(path);
}

static sl_status add_owned(sl_recordings *list, char *path, sl_error *err) {
    if (path && sl_vec_push(&list->paths, path))
        return SL_OK;
    free(path);
    return sl_fail_no_memory(err, "a path");
}

void sl_left_out_add(sl_left_out *names, const char *name) {
    size_t room = sizeof names->text - names->used, need = strlen(name) + 3;
    if (names->more_cnt || need > room)
        names->more_cnt++;
    else
        names->used += (size_t)snprintf(names->text + names->used, room, "%s%s",
                                        names->used ? ", " : "", name);
}

/* Those entries of the folder that the test takes. */
static sl_status add_entries(sl_recordings *list, const char *folder, DIR *dir,
                             bool (*takes)(const char *path), sl_error *err) {
    for (struct dirent *entry; (entry = readdir(dir));) {
        char *path = NULL;
        if (entry->d_name[0] == '.') /* also bundles that are being written */
            continue;
        if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
            return sl_fail_no_memory(err, "a path");
        if (takes(path)) {
            SL_TRY(add_owned(list, path, err));
            continue;
        }
        if (takes != is_recording && !sl_bundle_is_diagnose_file(folder, entry->d_name))
            sl_left_out_add(&list->left_out, entry->d_name);
        bool is_irregular = takes == is_recording && sl_recordings_is_name(path) && !is_copy(path);
        if (!is_irregular || !sl_vec_push(&list->irregular, path))
            free(path);
    }
    return SL_OK;
}

/* A pipe would wait for a writer. */
static bool is_input(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0)
        return false;
    return S_ISDIR(info.st_mode) ? sl_bundle_is(path)
                                 : S_ISREG(info.st_mode) && sl_trace_is_known(path);
}

/* A folder of runs is one level too high. */
static bool holds_runs(const char *folder) {
    struct stat info;
    char *latest = NULL;
    bool is_there = asprintf(&latest, "%s/" SL_LATEST_NAME, folder) > 0 &&
                    stat(latest, &info) == 0 && S_ISDIR(info.st_mode);
    free(latest);
    return is_there;
}

static sl_status list_folder(sl_recordings *list, const char *folder, sl_find_what what,
                             sl_error *err) {
    DIR *dir = opendir(folder);
    if (!dir)
        return sl_fail_errno(err, SL_E_READ, "cannot read the folder '%s'", folder);
    sl_status status = add_entries(list, folder, dir, is_recording, err);
    if (status == SL_OK && list->paths.cnt == 0 && what == SL_FIND_INPUTS) {
        rewinddir(dir);
        status = add_entries(list, folder, dir, is_input, err);
    }
    closedir(dir);
    if (status == SL_OK && list->paths.cnt == 0 && holds_runs(folder))
        return sl_fail(err, SL_E_OPEN,
                       "cannot read '%s': it is a folder of runs; name one of them, such as "
                       "%s/" SL_LATEST_NAME,
                       folder, folder);
    if (status == SL_OK && list->paths.cnt == 0 && what == SL_FIND_INPUTS)
        return sl_fail(err, SL_E_OPEN,
                       "cannot read '%s': it is a folder without a recording (*.slog), snapshot, "
                       "telemetry file or bundle",
                       folder);
    if (status == SL_OK && list->paths.cnt == 0)
        return sl_fail(err, SL_E_OPEN,
                       "cannot read '%s': it is a folder without recordings (*.slog); give a file",
                       folder);
    if (list->paths.cnt > 1)
        qsort(list->paths.at, list->paths.cnt, sizeof *list->paths.at, sl_order_texts);
    return status;
}

sl_status sl_recordings_list(sl_recordings *list, const char *path, sl_find_what what,
                             sl_error *err) {
    struct stat info;
    path = sl_latest_path(path);
    *list = (sl_recordings){.is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
                                         !sl_bundle_is(path)};
    sl_status status =
        list->is_folder ? list_folder(list, path, what, err) : add_owned(list, strdup(path), err);
    return status;
}

void sl_recordings_fini(sl_recordings *list) {
    for (size_t i = 0; i < list->paths.cnt; i++)
        free(list->paths.at[i]);
    sl_vec_free(&list->paths);
    for (size_t i = 0; i < list->irregular.cnt; i++)
        free(list->irregular.at[i]);
    sl_vec_free(&list->irregular);
}

sl_status sl_recordings_one(const sl_recordings *list, const char *path, const char **one,
                            sl_error *err) {
    char names[200] = "";
    size_t used = 0;
    *one = list->paths.at[0];
    if (list->paths.cnt == 1)
        return SL_OK;
    for (size_t i = 0; i < list->paths.cnt && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 strrchr(list->paths.at[i], '/') + 1);
    return sl_fail(err, SL_E_USAGE, "'%s' contains %zu recordings; give one of them: %s%s", path,
                   list->paths.cnt, names, used < sizeof names ? "" : "...");
}
