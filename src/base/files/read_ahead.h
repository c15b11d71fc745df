/* SPDX-License-Identifier: MIT */
/* A thread that reads a file ahead of its consumer into a few buffers, so that copying out of the
 * page cache and decoding happen on two cores. One consumer; the descriptor stays the caller's. */
#ifndef SL_READ_AHEAD_H
#define SL_READ_AHEAD_H

#include "base/core/sl_base.h"

/* Writable bytes in front of every buffer: the consumer moves what it has not used there, and has
 * it in one piece with what follows. */
#define SL_AHEAD_HEADROOM ((size_t)64 * 1024)

typedef struct sl_read_ahead sl_read_ahead;

typedef struct sl_ahead_chunk {
    unsigned char *at; /* SL_AHEAD_HEADROOM writable bytes are before it */
    size_t len;        /* 0 at the end of the file or after an error */
    int sys_errno;     /* of the error, 0 otherwise */
} sl_ahead_chunk;

/* NULL when there is no memory or no thread: the caller then reads without it. */
sl_read_ahead *sl_read_ahead_start(int fd);

/* The next chunk in order; waits for it. It stays valid until sl_read_ahead_release. */
sl_ahead_chunk sl_read_ahead_take(sl_read_ahead *ahead);

/* Gives the oldest chunk that was taken back to the thread. */
void sl_read_ahead_release(sl_read_ahead *ahead);

void sl_read_ahead_stop(sl_read_ahead *ahead); /* NULL is fine */

#endif
