/* SPDX-License-Identifier: MIT */
/* Every replacement function enters and leaves through this guard.
 *
 * It does three things: keeps a hook from recording what the recorder itself causes on the same
 * thread, preserves errno (R1), and lets a thread that wants to close the log wait until nobody is
 * inside. The last is done without an atomic read-modify-write on the event path: each thread
 * marks its own cache line, and the closing thread uses membarrier(2) to make all marks visible.
 *
 * (G1) A thread sets is_inside before it loads the log pointer. The closer clears the pointer,
 *      issues the barrier, then reads the marks: a thread whose mark it does not see has not
 *      loaded the pointer yet and will find it cleared. */
#ifndef SL_GUARD_H
#define SL_GUARD_H

#include <errno.h>
#include <stdatomic.h>

#include "base/core/sl_base.h"

/* One thread's part; a cache line of its own. */
typedef struct sl_guard_slot {
    _Alignas(64) atomic_uint is_inside;
    atomic_uint owner_tid;   /* 0 = free */
    uint32_t phase;          /* private to the thread: phase_watch.c */
    atomic_uint is_in_torch; /* inside torch's own table of CPU blocks: hook_torch.c */
} sl_guard_slot;

typedef struct sl_guard {
    sl_guard_slot *slot;
    int saved_errno;
} sl_guard;

extern _Thread_local sl_guard_slot *sl_guard_own __attribute__((tls_model("initial-exec")));

/* The calling thread's slot, taken on its first event; NULL when all are taken. */
sl_guard_slot *sl_guard_take_slot(void);

/* False when this thread is inside already, or when no slot is left (counted). */
static inline bool sl_guard_enter(sl_guard *guard) {
    sl_guard_slot *slot = sl_guard_own;
    int saved_errno = errno;
    if (SL_UNLIKELY(!slot) && !(slot = sl_guard_take_slot()))
        return false;
    if (SL_UNLIKELY(atomic_load_explicit(&slot->is_inside, memory_order_relaxed)))
        return false;
    atomic_store_explicit(&slot->is_inside, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the other half is the closer's membarrier (G1) */
    guard->slot = slot;
    guard->saved_errno = saved_errno;
    return true;
}

static inline void sl_guard_leave(const sl_guard *guard) {
    atomic_store_explicit(&guard->slot->is_inside, 0, memory_order_release);
    errno = guard->saved_errno;
}

/* Waits until no thread but the calling one is inside, at most limit_ms. True when so. The caller
 * has already taken away what the threads would use (G1). */
bool sl_guard_wait_empty(unsigned limit_ms);

/* Waits until no other thread has is_in_torch set, at most limit_ms; as sl_guard_wait_empty. */
bool sl_guard_wait_out_of_torch(unsigned limit_ms);

/* Whether the slot belongs to the main thread. */
bool sl_guard_is_main(const sl_guard_slot *slot);

/* Process start: registers for membarrier and for the end of threads. */
void sl_guard_init(void);

/* Called at the end of a thread that had a slot; NULL = nothing. */
void sl_guard_on_thread_exit(void (*callback)(void));

/* In the child of a fork: the other threads are gone, so are their marks. */
void sl_guard_after_fork_child(void);

/* Calls visit for every slot that was ever taken. Only when no thread but the caller is inside. */
void sl_guard_each(void (*visit)(sl_guard_slot *slot, void *arg), void *arg);

/* Threads that found no slot; their events are not recorded. */
uint64_t sl_guard_get_refused_cnt(void);

#endif
