/* SPDX-License-Identifier: MIT */
/* PyTorch's own trace of its CUDA allocator, handed over entry by entry
 * (attachAllocatorTraceTracker): the requested size of a block, its stream and pool, when the
 * memory of a free becomes reusable, and every segment.
 *
 * Torch makes an entry right before it reports the same alloc or free, on the same thread and under
 * the device's lock. An entry of a block is therefore only remembered, in the thread's own memory,
 * and goes into the log with the report.
 *
 * (K1) Attached once per process, if tracker_proof.h allows it, and never detached: torch has no
 *      function for that. After a stop the callback finds no log and returns.
 * (K2) Attaching takes the locks of all devices. It happens inside an allocation, which holds one
 *      of them (the locks are recursive). No other thread takes two of them, so there is no
 *      deadlock.
 * (K3) Every alloc's entry must match its report: same address, not more bytes than the block.
 *      After too many mismatches the layout of an entry must be different from what we assume, and
 *      the tracker is switched off for good. Reading such an entry is harmless: it is on the
 *      caller's stack, and the recorder reads 64 bytes of it.
 * (K4) The first block of a device shows whether the log has all its segments: if so, torch's
 *      reserved total equals the sum of the segments handed over; if not, it is larger. */
#ifndef SL_TRACE_TRACKER_H
#define SL_TRACE_TRACKER_H

#include <stdatomic.h>

#include "log/write/log_writer.h"

typedef enum sl_tracker_state {
    SL_TRACKER_UNWANTED,
    SL_TRACKER_UNTRIED,
    SL_TRACKER_BUSY, /* a thread is trying */
    SL_TRACKER_ON,
    SL_TRACKER_OFF, /* refused, or switched off */
} sl_tracker_state;

extern atomic_int sl_tracker_now; /* sl_tracker_state; once tried it stays so */

static inline bool sl_tracker_is(sl_tracker_state state) {
    return atomic_load_explicit(&sl_tracker_now, memory_order_relaxed) == (int)state;
}

/* Before a recording: whether it wants the trace. Under the control lock. */
void sl_tracker_arm(bool is_wanted);

/* PyTorch is about to take memory from the driver, or has reported a block: the moment to attach.
 * Not inside the guard. */
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

/* A log was opened: writes what is known so far into it. Under the control lock. */
void sl_tracker_start(sl_log *log);

#endif
