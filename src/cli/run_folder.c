/* SPDX-License-Identifier: MIT */
#include "cli/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/recordings.h"

#define LATEST SL_RUNS_FOLDER "/latest"

static size_t count_recordings(const char *path) {
    DIR *dir = opendir(path);
    size_t cnt = 0;
    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        cnt += sl_recordings_is_name(entry->d_name);
    closedir(dir);
    return cnt;
}

/* mkdir -p. *is_made: the last part was not there before. */
static sl_status make_folders(const char *path, bool *is_made, sl_error *err) {
    char part[SL_RUN_PATH_CAP];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(part, 0777); /* an error shows at the last part */
            *at = '/';
        }
    *is_made = mkdir(path, 0777) == 0;
    struct stat info;
    if (*is_made)
        return SL_OK;
    if (errno != EEXIST)
        return sl_fail_errno(err, SL_E_WRITE, "cannot make the folder '%s'", path);
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return sl_fail(err, SL_E_WRITE, "cannot record into '%s': it is not a folder", path);
    return SL_OK;
}

/* Two runs within a second get a count behind the time. */
static sl_status make_default(sl_run_folder *folder, const char *name, sl_error *err) {
    char stamp[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    for (unsigned attempt = 0; attempt < 100 && !folder->is_made; attempt++) {
        char suffix[16] = "";
        if (attempt)
            snprintf(suffix, sizeof suffix, ".%u", attempt);
        snprintf(folder->path, sizeof folder->path, SL_RUNS_FOLDER "/%s-%s%s", stamp, name, suffix);
        SL_TRY(make_folders(folder->path, &folder->is_made, err));
    }
    return SL_OK;
}

static void point_latest_to(const char *target) {
    /* A shortcut is a convenience: a failure (no links on this disk) is not worth a word. */
    unlink(LATEST);
    if (target[0] && symlink(target, LATEST) != 0)
        return;
}

static void set_latest(sl_run_folder *folder) {
    ssize_t len = readlink(LATEST, folder->latest_before, sizeof folder->latest_before - 1);
    folder->latest_before[len > 0 ? len : 0] = '\0';
    point_latest_to(folder->path + strlen(SL_RUNS_FOLDER "/"));
}

/* realpath wants PATH_MAX bytes of room, whatever the path; full_path is smaller. */
static sl_status resolve(sl_run_folder *folder, sl_error *err) {
    char *full = realpath(folder->path, NULL);
    if (!full)
        return sl_fail_errno(err, SL_E_WRITE, "cannot use the folder '%s'", folder->path);
    bool fits = strlen(full) < sizeof folder->full_path;
    if (fits)
        strcpy(folder->full_path, full);
    free(full);
    return fits ? SL_OK
                : sl_fail(err, SL_E_USAGE, "the full name of '%s' is too long", folder->path);
}

sl_status sl_run_folder_open(sl_run_folder *folder, const char *wanted, const char *name,
                             sl_error *err) {
    *folder = (sl_run_folder){.is_default = !wanted, .started = time(NULL)};
    if (!wanted)
        SL_TRY(make_default(folder, name, err));
    else {
        if (strlen(wanted) >= sizeof folder->path - 64)
            return sl_fail(err, SL_E_USAGE, "the folder's name is too long (%zu bytes)",
                           strlen(wanted));
        strcpy(folder->path, wanted);
        SL_TRY(make_folders(wanted, &folder->is_made, err));
    }
    SL_TRY(resolve(folder, err));
    if (access(folder->path, W_OK | X_OK) != 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot write into the folder '%s'", folder->path);
    folder->recording_cnt_before = count_recordings(folder->path);
    if (folder->is_default)
        set_latest(folder);
    return SL_OK;
}

size_t sl_run_folder_count_new(const sl_run_folder *folder) {
    size_t now = count_recordings(folder->full_path);
    return now > folder->recording_cnt_before ? now - folder->recording_cnt_before : 0;
}

void sl_run_folder_discard(const sl_run_folder *folder) {
    if (!folder->is_made || rmdir(folder->full_path) != 0)
        return;
    if (!folder->is_default)
        return;
    point_latest_to(folder->latest_before);
    rmdir(SL_RUNS_FOLDER); /* succeeds only when it is empty */
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The script of `python [options] script.py`, or of `torchrun ... script.py`. */
static const char *find_script(int argc, const char *const *argv) {
    for (int i = 1; i < argc; i++) {
        size_t len = strlen(argv[i]);
        if (argv[i][0] != '-' && len > 3 && strcmp(argv[i] + len - 3, ".py") == 0)
            return argv[i];
    }
    return NULL;
}

void sl_run_folder_name(char buf[64], int argc, const char *const *argv) {
    const char *script = find_script(argc, argv);
    snprintf(buf, 64, "%s", base_name(script ? script : argv[0]));
    size_t len = strlen(buf);
    if (script && len > 3 && strcmp(buf + len - 3, ".py") == 0)
        buf[len - 3] = '\0';
    for (char *at = buf; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *at))
            *at = '_';
}
