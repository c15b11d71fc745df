/* SPDX-License-Identifier: MIT */
#include "record/core/guard.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/clock.h"

#define SLOT_CNT 4096 /* threads alive at the same time; 256 KiB of zero pages until used */

_Thread_local sl_guard_slot *sl_guard_own __attribute__((tls_model("initial-exec")));

static sl_guard_slot slots[SLOT_CNT];
static atomic_uint slot_high; /* slots at and above were never taken */
static atomic_ullong refused_cnt;
static pthread_key_t exit_key;
static bool has_exit_key, has_membarrier;
static atomic_uint main_tid; /* that of the main thread is the process id */
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
    atomic_store_explicit(&slot->is_in_torch, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->owner_tid, 0, memory_order_release);
}

void sl_guard_init(void) {
    atomic_store(&main_tid, (unsigned)getpid());
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

static bool is_inside(const sl_guard_slot *slot) {
    return atomic_load_explicit(&slot->is_inside, memory_order_acquire);
}

static bool is_in_torch(const sl_guard_slot *slot) {
    return atomic_load_explicit(&slot->is_in_torch, memory_order_acquire);
}

static bool is_any(bool (*is_set)(const sl_guard_slot *slot)) {
    unsigned high = atomic_load(&slot_high);
    for (unsigned i = 0; i < high; i++)
        if (&slots[i] != sl_guard_own && is_set(&slots[i]))
            return true;
    return false;
}

static bool wait_for_none(bool (*is_set)(const sl_guard_slot *slot), unsigned limit_ms) {
    bool is_none;
    /* Where the kernel has no membarrier, a millisecond is a million times what a store needs to
     * leave the core. */
    if (!has_membarrier || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        sl_clock_pause_us(1000);
    for (unsigned waited = 0; !(is_none = !is_any(is_set)) && waited < limit_ms; waited++)
        sl_clock_pause_us(1000);
    return is_none;
}

bool sl_guard_wait_empty(unsigned limit_ms) {
    return wait_for_none(is_inside, limit_ms);
}

bool sl_guard_wait_out_of_torch(unsigned limit_ms) {
    return wait_for_none(is_in_torch, limit_ms);
}

bool sl_guard_is_main(const sl_guard_slot *slot) {
    return atomic_load(&slot->owner_tid) == atomic_load(&main_tid);
}

void sl_guard_after_fork_child(void) {
    unsigned high = atomic_load(&slot_high);
    for (unsigned i = 0; i < high; i++)
        if (&slots[i] != sl_guard_own) {
            atomic_store(&slots[i].is_inside, 0);
            atomic_store(&slots[i].is_in_torch, 0);
            atomic_store(&slots[i].owner_tid, 0);
        }
    if (sl_guard_own) /* the forking thread is the child's main one */
        atomic_store(&sl_guard_own->owner_tid, (unsigned)getpid());
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
