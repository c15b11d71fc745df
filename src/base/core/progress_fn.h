/* SPDX-License-Identifier: MIT */
/* How long-running work reports its progress. The worker calls it now and then, from its own
 * thread; it is cheap (two stores), never fails and never prints. */
#ifndef SL_PROGRESS_FN_H
#define SL_PROGRESS_FN_H

#include "base/core/sl_base.h"

/* total is 0 if unknown. */
typedef void (*sl_progress_fn)(void *ctx, uint64_t done, uint64_t total);

#endif
