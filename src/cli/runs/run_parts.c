/* SPDX-License-Identifier: MIT */
#include "cli/runs/run_parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/core/recordings.h"

#define BLOCK_BYTES 512 /* of st_blocks */

static bool is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* An own descriptor: the caller's position in the folder stays. */
static DIR *open_again(int folder_fd, const char *name) {
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

/* The files of docs/bundles.md; whole, or beside a manifest that was never written. */
static bool is_bundle_file(const char *name) {
    static const char *const names[] = {
        "manifest.json", "events.json",       "metadata.json",   "environment.json",
        "trace.json",    "trace.json.gz",     "live_sites.json", "counters.json",
        "report.json",   "recent_events.txt", "report.txt",
    };
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* "python3-4711.slog.oom-2", and ".python3-4711.slog.oom-2.tmp-99-AbCdEf" while it is written. */
static bool is_bundle_name(const char *name) {
    char recording[256];
    const char *end = strstr(name, ".oom-");
    name += name[0] == '.';
    if (!end || end <= name || (size_t)(end - name) >= sizeof recording)
        return false;
    memcpy(recording, name, (size_t)(end - name));
    recording[end - name] = '\0';
    end += strlen(".oom-");
    size_t digits = strspn(end, "0123456789");
    return sl_recordings_is_name(recording) && digits > 0 &&
           (!end[digits] || strncmp(end + digits, ".tmp-", 5) == 0);
}

/* ".rank-3-0": how a rank says that it is here (api/run_folder.c). */
static bool is_claim_name(const char *name) {
    return strncmp(name, ".rank-", 6) == 0 && name[6] &&
           strspn(name + 6, "0123456789-") == strlen(name + 6);
}

/* "python3-4711.slog.tmp-AbCdEf" of compact, ".stormlog-AbCdEf" of run. */
static bool is_leftover_name(const char *name) {
    char recording[256];
    const char *end = strstr(name, ".tmp-");
    if (is_claim_name(name))
        return true;
    if (strncmp(name, ".stormlog-", 10) == 0)
        return strlen(name) == 16;
    if (!end || end == name || (size_t)(end - name) >= sizeof recording || strlen(end) != 11)
        return false;
    memcpy(recording, name, (size_t)(end - name));
    recording[end - name] = '\0';
    return sl_recordings_is_name(recording);
}

/* True when the folder holds nothing but files of a bundle. */
static bool measure_bundle(int folder_fd, const char *name, uint64_t *bytes) {
    struct stat info;
    bool is_ours = true;
    DIR *dir = open_again(folder_fd, name);
    if (!dir)
        return false;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (is_dots(entry->d_name))
            continue;
        bool is_there = fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0;
        is_ours = is_ours && is_there && S_ISREG(info.st_mode) && is_bundle_file(entry->d_name);
        *bytes += is_there ? (uint64_t)info.st_blocks * BLOCK_BYTES : 0;
    }
    closedir(dir);
    return is_ours;
}

static sl_run_part_kind kind_of(int folder_fd, const char *name, const struct stat *info,
                                uint64_t *bytes) {
    if (S_ISREG(info->st_mode) && sl_recordings_is_name(name))
        return SL_RUN_PART_RECORDING;
    if (S_ISREG(info->st_mode) && is_leftover_name(name))
        return SL_RUN_PART_LEFTOVER;
    if (S_ISDIR(info->st_mode) && is_bundle_name(name) && measure_bundle(folder_fd, name, bytes))
        return SL_RUN_PART_BUNDLE;
    return SL_RUN_PART_FOREIGN;
}

sl_status sl_run_parts_each(int folder_fd, void (*take)(const sl_run_part *part, void *context),
                            void *context, sl_error *err) {
    DIR *dir = open_again(folder_fd, ".");
    if (!dir)
        return sl_fail_errno(err, SL_E_READ, "cannot read the folder");
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat info;
        if (is_dots(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        sl_run_part part = {.name = entry->d_name, .bytes = (uint64_t)info.st_blocks * BLOCK_BYTES};
        part.kind = kind_of(dirfd(dir), entry->d_name, &info, &part.bytes);
        take(&part, context);
    }
    closedir(dir);
    return SL_OK;
}

/* ---- removing ---- */

typedef struct removal {
    int folder_fd;
    sl_error *err;
    sl_status status;
} removal;

static bool remove_files(int folder_fd, const char *name) {
    DIR *dir = open_again(folder_fd, name);
    bool ok = dir;
    for (struct dirent *entry; ok && (entry = readdir(dir));)
        if (!is_dots(entry->d_name))
            ok = unlinkat(dirfd(dir), entry->d_name, 0) == 0;
    if (dir)
        closedir(dir);
    return ok;
}

static void remove_part(const sl_run_part *part, void *context) {
    removal *r = context;
    bool is_bundle = part->kind == SL_RUN_PART_BUNDLE;
    if (part->kind == SL_RUN_PART_FOREIGN || r->status < 0)
        return;
    if ((is_bundle && !remove_files(r->folder_fd, part->name)) ||
        unlinkat(r->folder_fd, part->name, is_bundle ? AT_REMOVEDIR : 0) != 0)
        r->status = sl_fail_errno(r->err, SL_E_WRITE, "cannot remove '%s'", part->name);
}

sl_status sl_run_parts_remove(int folder_fd, sl_error *err) {
    removal r = {folder_fd, err, SL_OK};
    SL_TRY(sl_run_parts_each(folder_fd, remove_part, &r, err));
    return r.status;
}
