/* SPDX-License-Identifier: MIT */
/* The memory of the calling thread's stack, so that a walk along it never reads beyond it. */
#ifndef SL_THREAD_STACK_H
#define SL_THREAD_STACK_H

#include "base/core/sl_base.h"

/* One past the last readable byte above `sp`, which lies on the calling thread's stack; 0 when that is
 * not known. The first call of a thread, and the first on another stack (a fiber's), reads
 * /proc/self/maps; the others are two comparisons. */
uintptr_t sl_thread_stack_end(uintptr_t sp);

#endif
