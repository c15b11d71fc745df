/* SPDX-License-Identifier: MIT */
#include "base/files/file_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RANDOM_LEN  6
#define ATTEMPT_MAX 100

bool sl_share_is_on(void) {
    const char *text = getenv(SL_SHARE_ENV);
    return text && *text && strcmp(text, "0") != 0;
}

mode_t sl_share_file_mode(void) {
    return sl_share_is_on() ? 0644 : 0600;
}

mode_t sl_share_folder_mode(void) {
    return sl_share_is_on() ? 0755 : 0700;
}

/* ---- places ---- */

/* The kernel's rule for links (fs.protected_symlinks), for everything one can plant. */
static bool is_planted(const struct stat *part, const struct stat *folder) {
    return (folder->st_mode & S_ISVTX) && (folder->st_mode & S_IWOTH) &&
           part->st_uid != geteuid() && part->st_uid != 0 && part->st_uid != folder->st_uid;
}

/* Walks the path in place: each part is looked at without following it, then becomes the folder of
 * the next one. */
static sl_status check_parts(char *path, sl_error *err) {
    struct stat folder, part;
    if (stat(path[0] == '/' ? "/" : ".", &folder) != 0)
        return SL_OK;
    for (char *at = path + strspn(path, "/"); *at;) {
        char *end = at + strcspn(at, "/"), kept = *end;
        *end = '\0';
        if (lstat(path, &part) != 0)
            return SL_OK; /* not there yet; other failures show when it is used */
        if (is_planted(&part, &folder))
            return sl_fail(err, SL_E_PERMISSION,
                           "'%s' belongs to another user, in a folder that everybody may write to, "
                           "so it is not used; choose another folder",
                           path);
        if (stat(path, &folder) != 0)
            return SL_OK;
        *end = kept;
        at = end + strspn(end, "/");
    }
    return SL_OK;
}

sl_status sl_place_check(const char *path, sl_error *err) {
    char *copy = strdup(path);
    if (!copy)
        return sl_fail_no_memory(err, "a path");
    sl_status status = check_parts(copy, err);
    free(copy);
    return status;
}

/* ---- creating ---- */

static void fill_random(char *to) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    unsigned char bytes[RANDOM_LEN];
    /* Where the kernel has no entropy yet, the clock: creation is exclusive in any case. */
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)(now.tv_nsec >> (4 * i));
    }
    for (size_t i = 0; i < RANDOM_LEN; i++)
        to[i] = letters[bytes[i] % (sizeof letters - 1)];
}

/* A program may have closed its standard streams; what it prints must not end up in our file. */
static int above_standard(int fd) {
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int failed = errno;
    close(fd);
    errno = failed;
    return moved;
}

int sl_file_create(int folder_fd, const char *name, mode_t mode) {
    int fd;
    do
        fd = openat(folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return above_standard(fd);
}

int sl_temp_create(char *path, mode_t mode) {
    int fd = -1;
    errno = EEXIST;
    for (int i = 0; i < ATTEMPT_MAX && fd < 0 && errno == EEXIST; i++) {
        fill_random(path + strlen(path) - RANDOM_LEN);
        fd = sl_file_create(AT_FDCWD, path, mode);
    }
    return fd;
}

int sl_temp_mkdir(char *path, mode_t mode) {
    int result = -1;
    errno = EEXIST;
    for (int i = 0; i < ATTEMPT_MAX && result < 0 && errno == EEXIST; i++) {
        fill_random(path + strlen(path) - RANDOM_LEN);
        result = mkdir(path, mode);
    }
    return result;
}
