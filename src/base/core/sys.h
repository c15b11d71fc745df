/* SPDX-License-Identifier: MIT */
/* The system calls of the log, by name, so that a test can make any one of them fail. They behave
 * like the calls they are named after: result or -1 with errno, never retried except on EINTR.
 * None of them runs on the event path. Thread-safe as long as the fault hook stays put. */
#ifndef SL_SYS_H
#define SL_SYS_H

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/core/sl_base.h"

#define SL_SYS_MAP(X)         \
    X(OPEN, "open")           \
    X(CLOSE, "close")         \
    X(LIFT, "lift")           \
    X(FSTAT, "fstat")         \
    X(LOCK, "lock")           \
    X(FTRUNCATE, "ftruncate") \
    X(FALLOCATE, "fallocate") \
    X(GETRLIMIT, "getrlimit") \
    X(MMAP, "mmap")           \
    X(MUNMAP, "munmap")       \
    X(MADVISE, "madvise")     \
    X(PREAD, "pread")         \
    X(PWRITE, "pwrite")       \
    X(UNLINK, "unlink")       \
    X(THREAD_ALIVE, "thread_alive")

typedef enum sl_sys_call {
#define SL_SYS_ENUM(name, text) SL_SYS_##name,
    SL_SYS_MAP(SL_SYS_ENUM)
#undef SL_SYS_ENUM
        SL_SYS_LIMIT
} sl_sys_call;

/* For tests: asked before each call; a positive answer is the errno to fail with instead, a
 * negative one makes pread and pwrite move half of the bytes. NULL, the default, means never. */
typedef int (*sl_sys_fault)(sl_sys_call call);
void sl_sys_set_fault(sl_sys_fault fault);

const char *sl_sys_name(sl_sys_call call);

int sl_sys_open(const char *path, int flags, mode_t mode);
int sl_sys_close(int fd);
/* The same open file under a number of at least `lowest`; the old number stays open. */
int sl_sys_lift(int fd, int lowest);
int sl_sys_fstat(int fd, struct stat *st);
int sl_sys_ftruncate(int fd, uint64_t bytes);
int sl_sys_fallocate(int fd, uint64_t offset, uint64_t bytes);
int sl_sys_getrlimit(int resource, struct rlimit *limit);
void *sl_sys_mmap(size_t bytes, int prot, int flags, int fd); /* MAP_FAILED on failure */
int sl_sys_munmap(void *at, size_t bytes);
int sl_sys_madvise(void *at, size_t bytes, int advice);
ssize_t sl_sys_pread(int fd, void *to, size_t bytes, uint64_t offset);
ssize_t sl_sys_pwrite(int fd, const void *from, size_t bytes, uint64_t offset);
int sl_sys_unlink(const char *path);

/* Takes the write lock of a file for this open file description: 0, or -1 with EAGAIN when
 * another one holds it. It goes away with the last descriptor, also after SIGKILL. */
int sl_sys_lock(int fd);

/* Keeps the write lock away from everybody: 0, or -1 with EAGAIN when somebody has it. Reading is
 * enough for it; several may hold it. */
int sl_sys_lock_shared(int fd);

/* 1 when another open file description holds the write lock, 0 when nobody does, -1 when the
 * file system cannot tell. */
int sl_sys_is_locked(int fd);

/* 1 when the thread of this process exists, 0 when not, -1 when that is unknown. */
int sl_sys_thread_alive(int tid);

#endif
