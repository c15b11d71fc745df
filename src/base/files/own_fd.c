/* SPDX-License-Identifier: MIT */
#include "base/files/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/core/sys.h"

/* Numbers that a program's own open(2) reaches last. The first that the limit allows is taken. */
static const int high_numbers[] = {1000, 500, 200, 60, 10, 3};

static bool is_same(int fd, dev_t device, ino_t inode) {
    struct stat st;
    return sl_sys_fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

bool sl_own_fd_is_valid(const sl_own_fd *own) {
    return own->fd >= 0 && is_same(own->fd, own->device, own->inode);
}

static void close_if_valid(sl_own_fd *own) {
    int saved_errno = errno;
    if (sl_own_fd_is_valid(own))
        sl_sys_close(own->fd);
    own->fd = -1;
    errno = saved_errno;
}

void sl_own_fd_close(sl_own_fd *own) {
    close_if_valid(own);
    pthread_setcancelstate(own->cancel_state, NULL);
}

/* The same file under a high number, or under the one it has when that is not 0 to 2 (D1). */
static bool lift(sl_own_fd *own) {
    sl_own_fd low = *own;
    int high = -1;
    for (size_t i = 0; high < 0 && i < SL_COUNT_OF(high_numbers); i++)
        high = sl_sys_lift(low.fd, high_numbers[i]);
    if (high < 0 && low.fd > 2)
        return true;
    close_if_valid(&low);
    own->fd = high;
    if (high < 0 || sl_own_fd_is_valid(own))
        return high >= 0;
    sl_sys_close(high); /* the number was somebody else's by then, and this one is ours alone */
    own->fd = -1;
    errno = EBADF;
    return false;
}

static bool open_high(sl_own_fd *own, const char *path, int flags, mode_t mode) {
    struct stat st;
    own->fd = sl_sys_open(path, flags | O_NOCTTY | O_NONBLOCK, mode);
    own->was_opened = own->fd >= 0;
    if (!own->was_opened)
        return false;
    if (sl_sys_fstat(own->fd, &st) < 0) {
        int saved_errno = errno;
        sl_sys_close(own->fd); /* nothing else can be known of it */
        own->fd = -1;
        errno = saved_errno;
        return false;
    }
    own->device = st.st_dev;
    own->inode = st.st_ino;
    return lift(own);
}

bool sl_own_fd_open(sl_own_fd *own, const char *path, int flags, mode_t mode) {
    *own = (sl_own_fd){.fd = -1};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own->cancel_state);
    if (open_high(own, path, flags, mode))
        return true;
    pthread_setcancelstate(own->cancel_state, NULL);
    return false;
}
