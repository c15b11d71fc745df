/* SPDX-License-Identifier: MIT */
/* What torch.profiler would see without us.
 *
 * PyTorch's CPU allocator reports only while a profiler asks for it, and then knows only the blocks
 * that were made meanwhile. With the recorder it reports always. This table remembers which blocks
 * were made while a profiler really was on, and the running total of those, so that the profiler
 * gets exactly the calls, with exactly the totals, it would have had. Used only while a profiler
 * with profile_memory=True is on. */
#ifndef SL_TORCH_PROFILER_H
#define SL_TORCH_PROFILER_H

#include "base/core/sl_base.h"

/* A block was made while the profiler is on. Returns the total to report. */
uint64_t sl_torch_profiler_add(const void *ptr, uint64_t size);

/* A block goes while the profiler is on. False when torch alone would not know it; else *total is
 * the total to report. */
bool sl_torch_profiler_remove(const void *ptr, uint64_t *total);

/* In the child of a fork. */
void sl_torch_profiler_after_fork_child(void);

#endif
