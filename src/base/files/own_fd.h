/* SPDX-License-Identifier: MIT */
/* A descriptor of ours in somebody else's process. The numbers belong to the program: another thread may close
 * all it finds at any moment, and open a file of its own under the same number.
 *
 * (D1) It lives for microseconds, under a high number that no open(2) of the program is given, never
 *      under 0, 1 or 2, and does not survive an exec.
 * (D2) Before it changes or closes anything, fstat proves that it still is what was opened.
 * (D3) It is read by pread only: should the number be somebody else's after all, nothing is taken out of a
 *      pipe or a socket, and no offset moves.
 * (D4) As long as it is open the thread cannot be cancelled: open(2) and its like are cancellation
 * points, and the hooked function that called us is not one. */
#ifndef SL_OWN_FD_H
#define SL_OWN_FD_H

#include <sys/types.h>

#include "base/core/sl_base.h"

typedef struct sl_own_fd {
    int fd;          /* -1 = none */
    bool was_opened; /* also when it could not be kept: with O_CREAT the file is there */
    dev_t device;
    ino_t inode;
    int cancel_state; /* of the thread before */
} sl_own_fd;

/* O_CLOEXEC, O_NOCTTY and O_NONBLOCK are added. False with errno. */
bool sl_own_fd_open(sl_own_fd *own, const char *path, int flags, mode_t mode);

/* (D2) */
bool sl_own_fd_is_valid(const sl_own_fd *own);

/* errno stays. */
void sl_own_fd_close(sl_own_fd *own);

#endif
