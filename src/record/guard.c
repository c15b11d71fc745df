/* SPDX-License-Identifier: MIT */
#include "record/guard.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLOT_CNT 4096 /* threads alive at the same time; 256 KiB of zero pages until used */

_Thread_local sl_guard_slot *sl_guard_own __attribute__((tls_model("initial-exec")));

static sl_guard_slot slots[SLOT_CNT];
static atomic_uint slot_high; /* slots at and above were never taken */
static atomic_ullong refused_cnt;
static pthread_key_t exit_key;
static bool has_exit_key, has_membarrier;
static void (*exit_callback)(void);

static void end_thread(void *slot_ptr) {
    sl_guard_slot *slot = slot_ptr;
    /* Later destructors of this thread may still free tensors; those events find no slot and take
     * a new one, and this function runs again for it (POSIX repeats destructors). */
    atomic_store_explicit(&slot->is_inside, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (exit_callback)
        exit_callback();
    atomic_store_explicit(&slot->is_inside, 0, memory_order_release);
    sl_guard_own = NULL;
    slot->phase = 0;
    atomic_store_explicit(&slot->owner_tid, 0, memory_order_release);
}

void sl_guard_init(void) {
    if (!has_exit_key)
        has_exit_key = pthread_key_create(&exit_key, end_thread) == 0;
    has_membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void sl_guard_on_thread_exit(void (*callback)(void)) {
    exit_callback = callback;
}

static void raise_high(unsigned cnt) {
    unsigned high = atomic_load(&slot_high);
    while (high < cnt && !atomic_compare_exchange_weak(&slot_high, &high, cnt))
        ;
}

sl_guard_slot *sl_guard_take_slot(void) {
    unsigned tid = (unsigned)syscall(SYS_gettid);
    for (unsigned i = 0; i < SLOT_CNT; i++) {
        unsigned free_mark = 0;
        if (!atomic_compare_exchange_strong(&slots[i].owner_tid, &free_mark, tid))
            continue;
        raise_high(i + 1);
        sl_guard_own = &slots[i];
        if (has_exit_key)
            pthread_setspecific(exit_key, &slots[i]);
        return &slots[i];
    }
    atomic_fetch_add(&refused_cnt, 1);
    return NULL;
}

static bool is_empty(void) {
    unsigned high = atomic_load(&slot_high);
    for (unsigned i = 0; i < high; i++)
        if (&slots[i] != sl_guard_own &&
            atomic_load_explicit(&slots[i].is_inside, memory_order_acquire))
            return false;
    return true;
}

bool sl_guard_wait_empty(unsigned limit_ms) {
    struct timespec pause = {0, 1000000};
    /* Where the kernel has no membarrier, a millisecond is a million times what a store needs to
     * leave the core. */
    if (!has_membarrier || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        nanosleep(&pause, NULL);
    for (unsigned waited = 0; !is_empty(); waited++) {
        if (waited >= limit_ms)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

void sl_guard_after_fork_child(void) {
    unsigned high = atomic_load(&slot_high);
    for (unsigned i = 0; i < high; i++)
        if (&slots[i] != sl_guard_own) {
            atomic_store(&slots[i].is_inside, 0);
            atomic_store(&slots[i].owner_tid, 0);
        }
    sl_guard_init();
}

void sl_guard_each(void (*visit)(sl_guard_slot *slot, void *arg), void *arg) {
    unsigned high = atomic_load(&slot_high);
    for (unsigned i = 0; i < high; i++)
        visit(&slots[i], arg);
}

uint64_t sl_guard_get_refused_cnt(void) {
    return atomic_load(&refused_cnt);
}
