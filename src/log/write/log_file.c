/* SPDX-License-Identifier: MIT */
#include "log/write/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/sys.h"
#include "base/files/own_fd.h"
#include "log/layout/log_layout.h"

/* Linux 4.17 has it, the headers of glibc 2.27, which wheels are built with, do not. */
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* ---- descriptors ---- */

/* False when the path leads elsewhere by now, or nowhere. */
static bool open_again(const sl_log_file *file, sl_own_fd *own) {
    if (!sl_own_fd_open(own, file->path, O_RDWR | O_NOFOLLOW, 0))
        return false;
    if (own->device == file->device && own->inode == file->inode)
        return true;
    sl_own_fd_close(own);
    errno = ESTALE;
    return false;
}

/* The program may change its folder later. What cannot be made absolute stays as it is: then the
 * file is not found again and stays larger than it must be, nothing else. */
static bool keep_path(sl_log_file *file, const char *path) {
    size_t len = strlen(path), used = 0;
    if (path[0] != '/' && getcwd(file->path, sizeof file->path - 1)) {
        used = strlen(file->path);
        file->path[used++] = '/';
    }
    if (used + len >= sizeof file->path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(file->path + used, path, len + 1);
    return true;
}

/* ---- making it ---- */

static sl_status lock_file(int fd, const char *path, sl_error *err) {
    if (sl_sys_lock(fd) == 0)
        return SL_OK;
    if (errno != EAGAIN)
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot lock '%s'", path);
    static sl_fmt_header h; /* a page is too much for the target's stack; control is one thread */
    bool is_known = sl_sys_pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h &&
                    memcmp(h.magic, SL_FORMAT_MAGIC, SL_FORMAT_MAGIC_BYTES) == 0;
    if (is_known)
        return sl_fail(err, SL_E_BUSY, "cannot write '%s': process %u already writes to it", path,
                       h.pid);
    return sl_fail(err, SL_E_BUSY, "cannot write '%s': another process already writes to it", path);
}

/* Opens or makes the file and notes which one it is. */
static sl_status open_file(sl_log_file *file, const sl_log_file_wish *wish, sl_own_fd *own,
                           bool *is_new, sl_error *err) {
    *is_new = true;
    bool is_open =
        sl_own_fd_open(own, wish->path, O_RDWR | O_NOFOLLOW | O_CREAT | O_EXCL, wish->mode);
    if (!is_open && errno == EEXIST) {
        *is_new = false;
        is_open = sl_own_fd_open(own, wish->path, O_RDWR | O_NOFOLLOW, 0);
    }
    if (!is_open) {
        sl_status status = sl_fail_errno(err, SL_E_OPEN, "cannot create '%s'", wish->path);
        if (*is_new && own->was_opened)
            sl_sys_unlink(wish->path);
        return status;
    }
    file->device = own->device;
    file->inode = own->inode;
    file->is_known = true;
    return SL_OK;
}

/* A file that existed is only reused when it is empty or the caller said so, and nobody has it. */
static sl_status claim_file(const sl_log_file_wish *wish, const sl_own_fd *own, sl_error *err) {
    struct stat st;
    if (sl_sys_fstat(own->fd, &st) < 0)
        return sl_fail_errno(err, SL_E_OPEN, "cannot examine '%s'", wish->path);
    if (!S_ISREG(st.st_mode))
        return sl_fail(err, SL_E_OPEN, "cannot write '%s': not a regular file", wish->path);
    if (st.st_size > 0 && !wish->overwrite)
        return sl_fail(err, SL_E_OPEN,
                       "cannot create '%s': it exists (%lld bytes); choose another name",
                       wish->path, (long long)st.st_size);
    if (st.st_size > 0 && (!sl_own_fd_is_valid(own) || sl_sys_ftruncate(own->fd, 0) < 0))
        return sl_fail_errno(err, SL_E_WRITE, "cannot empty '%s'", wish->path);
    return SL_OK;
}

/* `ulimit -f` is asked before, because going beyond it is answered with SIGXFSZ. */
static sl_status size_file(const sl_log_file_wish *wish, const sl_own_fd *own, sl_error *err) {
    struct rlimit limit;
    if (sl_sys_getrlimit(RLIMIT_FSIZE, &limit) < 0)
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot read the file size limit");
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < wish->bytes)
        return sl_fail(err, SL_E_NOSPACE,
                       "cannot create '%s': it may grow to %llu bytes, but the file size limit "
                       "(ulimit -f) is %llu; raise it or use a smaller ring",
                       wish->path, (unsigned long long)wish->bytes,
                       (unsigned long long)limit.rlim_cur);
    if (!sl_own_fd_is_valid(own) || sl_sys_ftruncate(own->fd, wish->bytes) < 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot size '%s' to %llu bytes", wish->path,
                             (unsigned long long)wish->bytes);
    return SL_OK;
}

static int write_zeros(const sl_own_fd *own, uint64_t offset, uint64_t bytes) {
    static const uint8_t zeros[4096];
    while (bytes > 0) {
        size_t piece = bytes < sizeof zeros ? (size_t)bytes : sizeof zeros;
        ssize_t put = sl_own_fd_is_valid(own) ? sl_sys_pwrite(own->fd, zeros, piece, offset) : -1;
        if (put < 0)
            return -1;
        if (put == 0) {
            errno = ENOSPC;
            return -1;
        }
        offset += (uint64_t)put;
        bytes -= (uint64_t)put;
    }
    return 0;
}

static sl_status map_file(sl_log_file *file, const sl_log_file_wish *wish, const sl_own_fd *own,
                          size_t head_bytes, sl_error *err) {
    if (write_zeros(own, 0, head_bytes) < 0)
        return sl_fail_errno(err, SL_E_WRITE, "cannot write '%s'", wish->path);
    void *map = sl_own_fd_is_valid(own)
                    ? sl_sys_mmap(wish->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own->fd)
                    : MAP_FAILED;
    if (map == MAP_FAILED)
        return sl_fail_errno(err, SL_E_SYSTEM, "cannot map %llu bytes of '%s'",
                             (unsigned long long)wish->bytes, wish->path);
    file->map = map;
    file->map_bytes = wish->bytes;
    /* Without this the kernel reads ahead around every first touch of a hole: with 8 MiB of
     * read-ahead that takes 5 ms each time, and as much of the page cache. */
    (void)sl_sys_madvise(map, wish->bytes, MADV_RANDOM);
    file->is_fork_free = sl_sys_madvise(map, wish->bytes, MADV_DONTFORK) == 0; /* (F3) */
    return SL_OK;
}

static sl_status fill_in(sl_log_file *file, const sl_log_file_wish *wish, const sl_own_fd *own,
                         size_t head_bytes, bool *is_removable, sl_error *err) {
    sl_status status = lock_file(own->fd, wish->path, err);
    if (status == SL_E_BUSY)
        *is_removable = false; /* somebody was quicker to lock it */
    SL_TRY(status);
    SL_TRY(claim_file(wish, own, err));
    *is_removable = true; /* empty: nothing of value is left to keep */
    SL_TRY(size_file(wish, own, err));
    return map_file(file, wish, own, head_bytes, err);
}

sl_status sl__file_create(sl_log_file *file, const sl_log_file_wish *wish, size_t head_bytes,
                          sl_error *err) {
    sl_own_fd own;
    bool is_removable;
    if (!keep_path(file, wish->path))
        return sl_fail_errno(err, SL_E_OPEN, "cannot create '%s'", wish->path);
    SL_TRY(open_file(file, wish, &own, &is_removable, err));
    sl_status status = fill_in(file, wish, &own, head_bytes, &is_removable, err);
    sl_own_fd_close(&own);
    if (status < 0 && is_removable)
        sl__file_unlink(file);
    return status;
}

/* ---- later ---- */

/* `ulimit -f` is asked, because the kernel would answer with a signal that ends the target. */
static int within_limit(uint64_t end) {
    struct rlimit limit;
    if (sl_sys_getrlimit(RLIMIT_FSIZE, &limit) < 0)
        return -1;
    if (limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur)
        return 0;
    errno = EFBIG;
    return -1;
}

/* The range is not in use yet, so zeros destroy nothing. */
static int reserve_by_descriptor(const sl_log_file *file, uint64_t offset, uint64_t bytes) {
    sl_own_fd own;
    if (within_limit(offset + bytes) < 0 || !open_again(file, &own))
        return -1;
    int result = sl_own_fd_is_valid(&own) ? sl_sys_fallocate(own.fd, offset, bytes) : -1;
    if (result < 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
        result = write_zeros(&own, offset, bytes);
    sl_own_fd_close(&own);
    return result;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; an older kernel says EINVAL */
#endif

/* Reserves the space and takes the page faults here instead of on the event path. The kernel says
 * EFAULT where touching the page would have been a SIGBUS: no space left. */
int sl__file_reserve(sl_log_file *file, uint64_t offset, uint64_t bytes) {
    uint64_t from = offset & ~UINT64_C(4095), end = offset + bytes;
    if (end > file->map_bytes)
        end = file->map_bytes;
    if (from >= end || sl_sys_madvise(file->map + from, end - from, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (errno == EFAULT) {
        errno = ENOSPC;
        return -1;
    }
    return reserve_by_descriptor(file, offset, bytes);
}

void sl__file_trim(const sl_log_file *file, uint64_t bytes) {
    sl_own_fd own;
    if (!open_again(file, &own))
        return;
    if (sl_own_fd_is_valid(&own))
        (void)sl_sys_ftruncate(own.fd, bytes);
    sl_own_fd_close(&own);
}

/* Whole pages only: the others hold something. */
void sl__file_release(const sl_log_file *file, uint64_t offset, uint64_t bytes) {
    uint64_t from = sl_align_up(offset, 4096), end = (offset + bytes) & ~UINT64_C(4095);
    if (from < end)
        (void)sl_sys_madvise(file->map + from, end - from, MADV_REMOVE);
}

void sl__file_unlink(const sl_log_file *file) {
    struct stat st;
    if (file->is_known && lstat(file->path, &st) == 0 && st.st_dev == file->device &&
        st.st_ino == file->inode)
        sl_sys_unlink(file->path);
}

void sl__file_unmap(sl_log_file *file) {
    if (file->map)
        sl_sys_munmap(file->map, file->map_bytes);
    file->map = NULL;
}

/* What another handler of the fork has mapped meanwhile may lie where the mapping was. */
void sl__file_after_fork_child(sl_log_file *file, bool is_in_use) {
    if (is_in_use)
        mmap(file->map, file->map_bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                 (file->is_fork_free ? MAP_FIXED_NOREPLACE : MAP_FIXED),
             -1, 0);
    else if (!file->is_fork_free)
        sl__file_unmap(file);
}
