/* SPDX-License-Identifier: MIT */
#include "base/core/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static sl_sys_fault fault_hook;

static const char *const names[] = {
#define SL_SYS_NAME(name, text) [SL_SYS_##name] = text,
    SL_SYS_MAP(SL_SYS_NAME)
#undef SL_SYS_NAME
};

void sl_sys_set_fault(sl_sys_fault fault) {
    fault_hook = fault;
}

const char *sl_sys_name(sl_sys_call call) {
    return names[call];
}

/* 0: go on; negative: do half; positive: fail with this errno, which is set. */
static int ask(sl_sys_call call) {
    int answer = fault_hook ? fault_hook(call) : 0;
    if (answer > 0)
        errno = answer;
    return answer;
}

int sl_sys_open(const char *path, int flags, mode_t mode) {
    int fd;
    if (ask(SL_SYS_OPEN) > 0)
        return -1;
    do
        fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* A failing close still releases the descriptor (Linux), so the fault comes after it. */
int sl_sys_close(int fd) {
    int result = close(fd);
    return ask(SL_SYS_CLOSE) > 0 ? -1 : result;
}

int sl_sys_lift(int fd, int lowest) {
    return ask(SL_SYS_LIFT) > 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, lowest);
}

int sl_sys_fstat(int fd, struct stat *st) {
    return ask(SL_SYS_FSTAT) > 0 ? -1 : fstat(fd, st);
}

int sl_sys_ftruncate(int fd, uint64_t bytes) {
    return ask(SL_SYS_FTRUNCATE) > 0 ? -1 : ftruncate(fd, (off_t)bytes);
}

int sl_sys_fallocate(int fd, uint64_t offset, uint64_t bytes) {
    int result;
    if (ask(SL_SYS_FALLOCATE) > 0)
        return -1;
    do
        result = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
    while (result < 0 && errno == EINTR);
    return result;
}

int sl_sys_getrlimit(int resource, struct rlimit *limit) {
    return ask(SL_SYS_GETRLIMIT) > 0 ? -1 : getrlimit(resource, limit);
}

void *sl_sys_mmap(size_t bytes, int prot, int flags, int fd) {
    return ask(SL_SYS_MMAP) > 0 ? MAP_FAILED : mmap(NULL, bytes, prot, flags, fd, 0);
}

int sl_sys_munmap(void *at, size_t bytes) {
    int result = munmap(at, bytes);
    return ask(SL_SYS_MUNMAP) > 0 ? -1 : result;
}

int sl_sys_madvise(void *at, size_t bytes, int advice) {
    return ask(SL_SYS_MADVISE) > 0 ? -1 : madvise(at, bytes, advice);
}

ssize_t sl_sys_pread(int fd, void *to, size_t bytes, uint64_t offset) {
    ssize_t got;
    int answer = ask(SL_SYS_PREAD);
    if (answer > 0)
        return -1;
    if (answer < 0)
        bytes = (bytes + 1) / 2;
    do
        got = pread(fd, to, bytes, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got;
}

ssize_t sl_sys_pwrite(int fd, const void *from, size_t bytes, uint64_t offset) {
    ssize_t put;
    int answer = ask(SL_SYS_PWRITE);
    if (answer > 0)
        return -1;
    if (answer < 0)
        bytes = (bytes + 1) / 2;
    do
        put = pwrite(fd, from, bytes, (off_t)offset);
    while (put < 0 && errno == EINTR);
    return put;
}

int sl_sys_unlink(const char *path) {
    return ask(SL_SYS_UNLINK) > 0 ? -1 : unlink(path);
}

/* Open file description locks: unlike flock they can be asked about without being taken, and
 * unlike POSIX locks they are not lost when some other descriptor of the file is closed. */
static struct flock whole_file(void) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
}

static int take_lock(int fd, struct flock range) {
    if (ask(SL_SYS_LOCK) > 0)
        return -1;
    int result = fcntl(fd, F_OFD_SETLK, &range);
    if (result < 0 && errno == EACCES)
        errno = EAGAIN;
    return result;
}

int sl_sys_lock(int fd) {
    return take_lock(fd, whole_file());
}

int sl_sys_lock_shared(int fd) {
    struct flock range = whole_file();
    range.l_type = F_RDLCK;
    return take_lock(fd, range);
}

int sl_sys_is_locked(int fd) {
    struct flock range = whole_file();
    if (ask(SL_SYS_LOCK) > 0 || fcntl(fd, F_OFD_GETLK, &range) < 0)
        return -1;
    return range.l_type != F_UNLCK;
}

int sl_sys_thread_alive(int tid) {
    if (ask(SL_SYS_THREAD_ALIVE) > 0)
        return -1;
    if (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
        return 1;
    return errno == ESRCH ? 0 : -1;
}
