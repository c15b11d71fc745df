/* SPDX-License-Identifier: MIT */
/* Reads the counters of host and devices into the log, in the recorder's threads. The driver's library
 * is loaded only in processes that were seen to use a device. */
#ifndef SL_SAMPLER_H
#define SL_SAMPLER_H

#include <stdatomic.h>

#include "log/write/log_writer.h"

extern _Atomic(uint64_t) sl_sampler_devices; /* bit per device index that had an event */

/* Event path: this device is in use. */
static inline void sl_sampler_note_device(int index) {
    uint64_t bit = UINT64_C(1) << (index & 63);
    if (SL_UNLIKELY(!(atomic_load_explicit(&sl_sampler_devices, memory_order_relaxed) & bit)))
        atomic_fetch_or(&sl_sampler_devices, bit);
}

/* Event path: the allocator has asked the driver for memory or given some back; the card is read soon. */
extern atomic_bool sl_sampler_is_wanted;

static inline void sl_sampler_want(void) {
    atomic_store_explicit(&sl_sampler_is_wanted, true, memory_order_relaxed);
}

/* One reading of the host, and one of the devices that are in use; each in one thread at a time. */
void sl_sampler_run_host(sl_log *log);
void sl_sampler_run_devices(sl_log *log);

/* A last reading of what needs no driver, which may hang at the end of a process. */
void sl_sampler_finish(sl_log *log);

/* The log is gone: the next one begins without devices. */
void sl_sampler_reset(void);

/* In the child of a fork: as reset, without calling the driver, whose state is the parent's. */
void sl_sampler_after_fork_child(void);

#endif
