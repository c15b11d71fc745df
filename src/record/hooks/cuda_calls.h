/* SPDX-License-Identifier: MIT */
/* What a driver call of this thread belongs to: the device of its current context, tracked from the
 * calls that set it so that CUDA need not be asked, and the library that made it. */
#ifndef SL_CUDA_CALLS_H
#define SL_CUDA_CALLS_H

#include "log/write/log_writer.h"

/* A context belongs to a device. */
void sl_cuda_note_context(const void *context, int device);

/* The calling thread's current context. Push and pop keep a short history. */
void sl_cuda_set_current(const void *context);
void sl_cuda_push_current(const void *context);
void sl_cuda_pop_current(void);

/* Device of the calling thread's context; where that is not known, the only device the process has
 * contexts on, else 0. */
int sl_cuda_get_device(void);

/* The calling thread is inside the runtime, called from this address (NULL = it is not any more).
 * Returns what was set before. */
const void *sl_cuda_set_wanting(const void *caller);

/* Who wants the memory of a driver call: the caller of the runtime, else the caller of the driver. */
const void *sl_cuda_get_wanting(const void *driver_caller);

/* The library that contains this address, as a label of the log: "libcublas". */
uint16_t sl_cuda_label(sl_log *log, const void *address);

#endif
