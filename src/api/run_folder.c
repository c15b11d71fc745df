/* SPDX-License-Identifier: MIT */
#include "api/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/recording_names.h"
#include "base/core/str.h"
#include "base/files/file_rights.h"
#include "model/job/launcher.h"

#define LATEST SL_RUNS_FOLDER "/" SL_LATEST_NAME

/* What a recording takes at its first event, rounded up: its sections' first records, and 8 MiB of
 * its ring. */
#define FIRST_BYTES (24 << 20)

const char *sl_latest_path(const char *path) {
    struct stat info;
    bool is_meant = strcmp(path, SL_LATEST_NAME) == 0 && lstat(path, &info) != 0 &&
                    stat(LATEST, &info) == 0 && S_ISDIR(info.st_mode);
    return is_meant ? LATEST : path;
}

static bool is_own(const char *own_start, const char *name) {
    return strncmp(name, own_start, strlen(own_start)) == 0;
}

static size_t count_recordings(const char *path, const char *own_start) {
    DIR *dir = opendir(path);
    size_t cnt = 0;
    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        cnt += is_own(own_start, entry->d_name) && sl_recordings_is_file(dirfd(dir), entry->d_name);
    closedir(dir);
    return cnt;
}

/* mkdir for one part; a folder that is there is fine, whatever mkdir said (a disk that is read-only
 * says so before it looks). */
static sl_status make_part(const char *part, mode_t mode, bool *is_made, sl_error *err) {
    struct stat info;
    *is_made = mkdir(part, mode) == 0;
    int failed = errno;
    if (*is_made)
        return SL_OK;
    bool is_there = stat(part, &info) == 0;
    errno = failed;
    if (is_there && S_ISDIR(info.st_mode))
        return SL_OK;
    if (is_there)
        return sl_fail(err, SL_E_WRITE, "cannot record into '%s': it is not a folder", part);
    return sl_fail_errno(err, SL_E_WRITE, "cannot create the folder '%s'", part);
}

/* mkdir -p; the folder itself is private. *is_made: the last part was not there before. */
static sl_status make_folders(const char *path, bool *is_made, sl_error *err) {
    char part[SL_RUN_PATH_CAP];
    bool is_new;
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1; *at; at++)
        if (*at == '/' && at[1] && at[1] != '/') {
            *at = '\0';
            if (make_part(part, 0777, &is_new, err) < 0)
                return sl_error_prefix(err, "cannot create the folder '%s'", path);
            *at = '/';
        }
    return make_part(part, sl_share_folder_mode(), is_made, err);
}

static const char *runs_folder(void) {
    const char *wanted = getenv(SL_RUNS_ENV);
    return wanted && wanted[0] ? wanted : SL_RUNS_FOLDER;
}

/* `runs`/`key`-`name`, and a count for all attempts but the first. */
static sl_status make_attempt(sl_run_folder *folder, const char *key, const char *name,
                              unsigned attempt, sl_error *err) {
    char suffix[16] = "";
    if (attempt)
        snprintf(suffix, sizeof suffix, ".%u", attempt);
    size_t len = (size_t)snprintf(folder->path, sizeof folder->path, "%s/%s-%s%s", runs_folder(),
                                  key, name, suffix);
    if (len >= sizeof folder->path)
        return sl_fail(err, SL_E_USAGE, "the folder's name is too long (%zu bytes)", len);
    return make_folders(folder->path, &folder->is_made, err);
}

/* Two runs within a second get a count after the time. */
static sl_status make_default(sl_run_folder *folder, const char *name, sl_error *err) {
    char stamp[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    for (unsigned attempt = 0; attempt < 100 && !folder->is_made; attempt++)
        SL_TRY(make_attempt(folder, stamp, name, attempt, err));
    return SL_OK;
}

/* One file for each rank and restart, with the process that made it: a rank that finds another's belongs to a
 * later start that the launcher gave the same key. False with errno when it is not this process's. */
static bool claim_folder(sl_run_folder *folder, int32_t rank) {
    char path[SL_RUN_PATH_CAP + sizeof folder->claim], host[64] = "", self[96], found[96] = "";
    const char *restart = getenv("TORCHELASTIC_RESTART_COUNT");
    long number = restart ? strtol(restart, NULL, 10) : 0;
    gethostname(host, sizeof host - 1);
    snprintf(self, sizeof self, "%s:%d", host, (int)getpid());
    snprintf(folder->claim, sizeof folder->claim, ".rank-%d-%ld", (int)rank, number);
    snprintf(path, sizeof path, "%s/%s", folder->path, folder->claim);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) {
        bool is_written = write(fd, self, strlen(self)) == (ssize_t)strlen(self);
        close(fd);
        return is_written;
    }
    int failed = errno;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t len = fd >= 0 ? read(fd, found, sizeof found - 1) : 0;
    if (fd >= 0)
        close(fd);
    errno = failed;
    return failed == EEXIST && len > 0 && strcmp(found, self) == 0;
}

static sl_status make_shared(sl_run_folder *folder, const char *key, const char *name, int32_t rank,
                             sl_error *err) {
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        SL_TRY(make_attempt(folder, key, name, attempt, err));
        if (claim_folder(folder, rank))
            return SL_OK;
        folder->claim[0] = '\0';
        if (errno != EEXIST)
            return sl_fail_errno(err, SL_E_WRITE, "cannot write to the folder '%s'", folder->path);
    }
    return sl_fail(err, SL_E_WRITE, "'%s' and 999 earlier ones have a rank %d already",
                   folder->path, (int)rank);
}

static sl_status make_named(sl_run_folder *folder, const char *name, int32_t rank, sl_error *err) {
    char key[SL_LAUNCH_KEY_CAP];
    return rank >= 0 && sl_launcher_key(getenv, key) ? make_shared(folder, key, name, rank, err)
                                                     : make_default(folder, name, err);
}

/* Whoever has a file or a folder of this name keeps it. */
static bool is_latest_ours(void) {
    struct stat info;
    return lstat(LATEST, &info) != 0 || S_ISLNK(info.st_mode);
}

/* By renaming, so that there is a `latest` at every moment. A shortcut is a convenience: a failure
 * (no links on this disk) is not worth a message. */
static void point_latest_to(const char *target) {
    char temp[sizeof LATEST + 32];
    if (!is_latest_ours())
        return;
    if (!target[0]) {
        unlink(LATEST);
        return;
    }
    snprintf(temp, sizeof temp, SL_RUNS_FOLDER "/.latest-%d", (int)getpid());
    unlink(temp); /* of a process of the same number that was killed */
    if (symlink(target, temp) == 0 && rename(temp, LATEST) != 0)
        unlink(temp);
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

/* "stormlog-runs/name": `latest` points to it, whoever chose the name. */
static bool is_below_runs(const char *wanted) {
    size_t len = strlen(SL_RUNS_FOLDER "/");
    return strncmp(wanted, SL_RUNS_FOLDER "/", len) == 0 && wanted[len] &&
           !strchr(wanted + len, '/');
}

/* Until this process ends. A run without the lock is as good: only a cleaning at the same time would have
 * to guess. Never waits: a network disk might let it wait for ever. `stormlog runs` holds the lock for a
 * moment to find out, hence the attempts. */
static int lock_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int attempt = 0; fd >= 0 && attempt < 5; attempt++) {
        if (flock(fd, LOCK_SH | LOCK_NB) == 0)
            return fd;
        usleep(2000);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

sl_status sl_run_folder_open(sl_run_folder *folder, const char *wanted, const char *name,
                             bool is_launcher, sl_error *err) {
    *folder = (sl_run_folder){.is_default = wanted ? is_below_runs(wanted)
                                                   : strcmp(runs_folder(), SL_RUNS_FOLDER) == 0,
                              .started = time(NULL),
                              .lock_fd = -1};
    int32_t rank = is_launcher ? -1 : sl_launcher_find(getenv).rank;
    if (rank >= 0)
        snprintf(folder->own_start, sizeof folder->own_start, "rank%d-", (int)rank);
    SL_TRY(sl_place_check(wanted ? wanted : runs_folder(), err));
    if (!wanted)
        SL_TRY(make_named(folder, name, rank, err));
    else {
        if (strlen(wanted) >= sizeof folder->path - 64)
            return sl_fail(err, SL_E_USAGE, "the folder's name is too long (%zu bytes)",
                           strlen(wanted));
        strcpy(folder->path, wanted);
        SL_TRY(make_folders(wanted, &folder->is_made, err));
    }
    SL_TRY(resolve(folder, err));
    if (access(folder->path, W_OK | X_OK) != 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot write to the folder '%s'", folder->path);
    folder->lock_fd = lock_folder(folder->path);
    folder->recording_cnt_before = count_recordings(folder->path, folder->own_start);
    if (folder->is_default)
        set_latest(folder);
    return SL_OK;
}

size_t sl_run_folder_count_new(const sl_run_folder *folder) {
    size_t now = count_recordings(folder->full_path, folder->own_start);
    return now > folder->recording_cnt_before ? now - folder->recording_cnt_before : 0;
}

bool sl_run_folder_is_new(const sl_run_folder *folder, const char *path) {
    struct stat info;
    return is_own(folder->own_start, sl_base_name(path)) && sl_recordings_is_name(path) &&
           stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_mtime >= folder->started;
}

sl_status sl_run_folder_try(const sl_run_folder *folder, sl_error *err) {
    char path[SL_RUN_PATH_CAP + 32];
    snprintf(path, sizeof path, "%s/.stormlog-XXXXXX", folder->full_path);
    int fd = sl_temp_create(path, 0600);
    if (fd < 0 && errno == ENOENT)
        return sl_fail(err, SL_E_WRITE, "the folder '%s' was removed during the run", folder->path);
    int failed = fd < 0 || fallocate(fd, 0, 0, FIRST_BYTES) != 0 ? errno : 0;
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    errno = failed;
    /* What this file system does not offer says nothing about the run. */
    if (failed == 0 || failed == EOPNOTSUPP || failed == EINVAL || failed == EMFILE)
        return SL_OK;
    return sl_fail_errno(err, SL_E_WRITE, "cannot write to the folder '%s'", folder->path);
}

void sl_run_folder_discard(const sl_run_folder *folder) {
    char claim[SL_RUN_PATH_CAP + sizeof folder->claim];
    snprintf(claim, sizeof claim, "%s/%s", folder->full_path, folder->claim);
    if (folder->claim[0])
        unlink(claim);
    if ((!folder->is_made && !folder->claim[0]) || rmdir(folder->full_path) != 0)
        return;
    if (!folder->is_default)
        return;
    point_latest_to(folder->latest_before);
    rmdir(SL_RUNS_FOLDER); /* succeeds only when it is empty */
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
    snprintf(buf, 64, "%s", sl_base_name(script ? script : argv[0]));
    size_t len = strlen(buf);
    if (script && len > 3 && strcmp(buf + len - 3, ".py") == 0)
        buf[len - 3] = '\0';
    for (char *at = buf; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *at))
            *at = '_';
}
