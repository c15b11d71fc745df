/* SPDX-License-Identifier: MIT */
/* PyTorch's own trace of its CUDA allocator, handed over entry by entry (attachAllocatorTraceTracker): what a block was asked
 * for, its stream and pool, when the memory of a free becomes reusable, and every segment.
 *
 * Torch makes an entry right before it reports the same alloc or free, on the same thread and under the device's lock. An
 * entry of a block is therefore only remembered, in the thread's own memory, and goes into the log with the report.
 *
 * (K1) Attached once per process, where tracker_proof.h says so, and never detached: torch cannot. After a stop the
 *      callback finds no log and returns.
 * (K2) Attaching takes the locks of all devices. It happens inside an allocation, which holds one of them (they may be taken
 *      again by their thread); nobody else takes two of them, so nobody waits in a circle.
 * (K3) Every alloc's entry must fit its report: same address, not more bytes than the block. When too many do not, the
 *      entries are not what they are thought to be, and the tracker is switched off for good. Reading a wrong one
 *      is harmless: it lies on the caller's stack, and the recorder reads 64 bytes of it.
 * (K4) Whether the log has all segments of a device is seen at its first block: torch's reserved total is then the sum of those
 *      that were handed over, or larger. */
#ifndef SL_TRACE_TRACKER_H
#define SL_TRACE_TRACKER_H

#include <stdatomic.h>

#include "log/write/log_writer.h"

typedef enum sl_tracker_state {
    SL_TRACKER_UNTRIED,
    SL_TRACKER_BUSY, /* a thread is trying */
    SL_TRACKER_ON,
    SL_TRACKER_OFF, /* refused, or switched off */
} sl_tracker_state;

extern atomic_int sl_tracker_now; /* sl_tracker_state; never back to UNTRIED */

static inline bool sl_tracker_is(sl_tracker_state state) {
    return atomic_load_explicit(&sl_tracker_now, memory_order_relaxed) == (int)state;
}

/* PyTorch is about to take memory from the driver, or has reported a block: the moment to attach. Not inside the guard. */
void sl_tracker_attach(void);

static inline void sl_tracker_try(void) {
    if (SL_UNLIKELY(sl_tracker_is(SL_TRACKER_UNTRIED)))
        sl_tracker_attach();
}

/* The same from a function of the driver or the runtime, where the caller is PyTorch's allocator. */
void sl_tracker_try_driver(const void *caller);

/* Before an alloc or free of the CUDA allocator is written: adds what its entry said. Inside the guard. */
void sl_tracker_complete(sl_log *log, sl_log_event *event);

/* A request failed: what the card had free then, SL_LOG_UNKNOWN without an entry. */
uint64_t sl_tracker_take_free_bytes(void);

/* A log was opened: says in it what is known so far. Under the control lock. */
void sl_tracker_start(sl_log *log);

#endif
