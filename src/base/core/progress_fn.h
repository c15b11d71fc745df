/* SPDX-License-Identifier: MIT */
/* How long-running work reports its progress, and how it is told to end. The worker calls the function now and then,
 * from its own thread; it is cheap (two stores), never fails and never prints. */
#ifndef SL_PROGRESS_FN_H
#define SL_PROGRESS_FN_H

#include <stdatomic.h>

#include "base/core/sl_base.h"

/* total is 0 if unknown. */
typedef void (*sl_progress_fn)(void *ctx, uint64_t done, uint64_t total);

/* 0 = go on. Set by a signal handler or another thread, read by any: lock-free, so all may. */
typedef atomic_int sl_stop_flag;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler sets it");

#endif
