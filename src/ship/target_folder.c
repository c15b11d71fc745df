/* SPDX-License-Identifier: MIT */
/* A folder, usually on a disk that many machines share. A file is written as "<name>.part-<sum>" and
 * renamed when its sum was read back; an interrupted copy goes on where that file ends. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/sys.h"
#include "base/files/file_rights.h"
#include "ship/ship_target.h"

#define FOLDER_CAP 1024
#define PATH_CAP   (FOLDER_CAP + SL_SHIP_KEY_CAP)

typedef struct folder_target {
    char path[FOLDER_CAP];
} folder_target;

static sl_status open_folder(sl_ship_target *target, const char *where, sl_error *err) {
    folder_target *own = calloc(1, sizeof *own);
    struct stat info;
    if (!own)
        return sl_fail_no_memory(err, "a target");
    size_t len = strlen(where);
    while (len > 1 && where[len - 1] == '/')
        len--;
    sl_status status = SL_OK;
    if (len >= sizeof own->path)
        status = sl_fail(err, SL_E_USAGE, "the path of the target is too long: at most %zu bytes",
                         sizeof own->path - 1);
    else if (stat(where, &info) != 0)
        status = sl_fail_errno(err, SL_E_OPEN, "cannot use '%s'", where);
    else if (!S_ISDIR(info.st_mode))
        status = sl_fail(err, SL_E_USAGE, "'%s' is not a folder", where);
    else
        status = sl_place_check(where, err);
    if (status < 0) {
        free(own);
        return status;
    }
    memcpy(own->path, where, len);
    target->own = own;
    return SL_OK;
}

static void close_folder(sl_ship_target *target) {
    free(target->own);
}

static const char *path_of(const sl_ship_target *target, const char *key, char path[PATH_CAP]) {
    const folder_target *own = target->own;
    snprintf(path, PATH_CAP, "%s/%s", own->path, key);
    return path;
}

/* The folder of a key, which has one level. */
static sl_status make_parent(const char *path, sl_error *err) {
    char parent[PATH_CAP];
    const char *slash = strrchr(path, '/');
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    if (mkdir(parent, sl_share_folder_mode()) != 0 && errno != EEXIST)
        return sl_fail_errno(err, SL_E_WRITE, "cannot make the folder '%s'", parent);
    return SL_OK;
}

static sl_status copy_rest(const sl_ship_target *target, const sl_ship_file *file, int to,
                           const char *path, sl_ship_put *put, sl_error *err) {
    enum { PIECE = 1 << 18 };
    const sl_stop_flag *stop = target->options.patience.stop;
    const uint64_t from = put->resumed_bytes;
    char *piece = malloc(PIECE);
    sl_status status = piece ? SL_OK : sl_fail_no_memory(err, "a copy");
    for (uint64_t at = from; status == SL_OK && at < file->bytes;) {
        size_t want = file->bytes - at < PIECE ? (size_t)(file->bytes - at) : PIECE;
        ssize_t n = sl_sys_pread(file->fd, piece, want, at);
        if (stop && *stop)
            status = sl_fail(err, SL_E_SYSTEM, "interrupted");
        else if (n <= 0)
            status = sl_fail_errno(err, SL_E_READ, "cannot read '%s'", file->key);
        else if ((n = pwrite(to, piece, (size_t)n, (off_t)at)) < 0)
            status = sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", path);
        at += n > 0 ? (uint64_t)n : 0;
        put->sent_bytes = at - from;
    }
    free(piece);
    return status;
}

/* Whether what was written is what was meant; a part of another content begins anew next time. */
static sl_status check_part(const sl_ship_file *file, int part, const char *path, sl_error *err) {
    char sum[SL_SHA256_HEX_CAP];
    if (fsync(part) != 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", path);
    SL_TRY(sl_ship_hash(part, 0, file->bytes, sum, err));
    if (strcmp(sum, file->sha256) == 0)
        return SL_OK;
    unlink(path);
    return sl_fail(err, SL_E_WRITE, "'%s' was read back with other contents; try again", path);
}

static sl_status fill_part(const sl_ship_target *target, const sl_ship_file *file, const char *path,
                           sl_ship_put *put, sl_error *err) {
    int part = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, sl_share_file_mode());
    struct stat info;
    if (part < 0 || fstat(part, &info) != 0) {
        sl_status status = sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", path);
        if (part >= 0)
            close(part);
        return status;
    }
    uint64_t have = (uint64_t)info.st_size <= file->bytes ? (uint64_t)info.st_size : 0;
    sl_status status = SL_OK;
    if (have < (uint64_t)info.st_size && ftruncate(part, 0) != 0)
        status = sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", path);
    put->resumed_bytes = have;
    if (status == SL_OK)
        status = copy_rest(target, file, part, path, put, err);
    if (status == SL_OK)
        status = check_part(file, part, path, err);
    close(part);
    return status;
}

static sl_status put_file(sl_ship_target *target, const sl_ship_file *file, sl_ship_put *put,
                          sl_error *err) {
    char path[PATH_CAP], part[PATH_CAP + 32];
    path_of(target, file->key, path);
    SL_TRY(make_parent(path, err));
    snprintf(part, sizeof part, "%s.part-%.12s", path, file->sha256);
    SL_TRY(fill_part(target, file, part, put, err));
    return rename(part, path) == 0
               ? SL_OK
               : sl_fail_errno(err, SL_E_WRITE, "cannot rename '%s' to '%s'", part, path);
}

static sl_status write_text(int fd, sl_str text, const char *path, sl_error *err) {
    for (size_t at = 0; at < text.len;) {
        ssize_t n = write(fd, text.ptr + at, text.len - at);
        if (n < 0 && errno != EINTR)
            return sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", path);
        at += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0 ? SL_OK : sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", path);
}

static sl_status put_text(sl_ship_target *target, const char *key, sl_str text, sl_error *err) {
    char path[PATH_CAP], temp[PATH_CAP + 16];
    path_of(target, key, path);
    SL_TRY(make_parent(path, err));
    snprintf(temp, sizeof temp, "%s.tmp-XXXXXX", path);
    int fd = sl_temp_create(temp, sl_share_file_mode());
    if (fd < 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", path);
    sl_status status = write_text(fd, text, path, err);
    close(fd);
    if (status == SL_OK && rename(temp, path) != 0)
        status = sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", path);
    if (status < 0)
        unlink(temp);
    return status;
}

static sl_status open_key(const sl_ship_target *target, const char *key, int *fd, uint64_t *bytes,
                          sl_error *err) {
    char path[PATH_CAP];
    struct stat info;
    path_of(target, key, path);
    *fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd >= 0 && fstat(*fd, &info) == 0 && S_ISREG(info.st_mode)) {
        *bytes = (uint64_t)info.st_size;
        return SL_OK;
    }
    if (*fd >= 0) {
        close(*fd);
        return sl_fail(err, SL_E_OPEN, "'%s' is not a regular file", path);
    }
    return sl_fail_errno(err, SL_E_OPEN, "cannot open '%s'", path);
}

static sl_status get_file(sl_ship_target *target, const char *key, int fd, uint64_t max,
                          sl_error *err) {
    int from;
    uint64_t bytes;
    sl_ship_put put = {0};
    SL_TRY(open_key(target, key, &from, &bytes, err));
    sl_ship_file file = {.key = key, .fd = from, .bytes = bytes};
    sl_status status =
        bytes > max ? sl_fail(err, SL_E_LIMIT, "'%s' is larger than %" PRIu64 " bytes", key, max)
                    : copy_rest(target, &file, fd, 0, &put, err);
    close(from);
    return status;
}

static sl_status get_size(sl_ship_target *target, const char *key, uint64_t *bytes, sl_error *err) {
    int fd;
    SL_TRY(open_key(target, key, &fd, bytes, err));
    close(fd);
    return SL_OK;
}

static sl_status list_folder(sl_ship_target *target, const char *folder, sl_ship_name_fn take,
                             void *self, sl_error *err) {
    char path[PATH_CAP];
    DIR *dir = opendir(path_of(target, folder, path));
    sl_status status = SL_OK;
    if (!dir)
        return errno == ENOENT ? SL_OK : sl_fail_errno(err, SL_E_OPEN, "cannot read '%s'", path);
    for (struct dirent *entry; status == SL_OK && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            status = take(self, entry->d_name, err);
    closedir(dir);
    return status;
}

const sl_ship_target_ops sl_ship_folder_ops = {
    .open = open_folder,
    .close = close_folder,
    .put_file = put_file,
    .put_text = put_text,
    .get_file = get_file,
    .size = get_size,
    .list = list_folder,
};
