/* SPDX-License-Identifier: MIT */
/* The few atomic operations of the log, on plain integers of the mapped file (stormlog/format.h is
 * C99 and knows no _Atomic). No fences: ThreadSanitizer does not understand them, and release
 * stores with acquire loads are enough for every rule of log_layout.h. */
#ifndef SL_LOG_ATOMIC_H
#define SL_LOG_ATOMIC_H

#include "base/core/sl_base.h"

static inline uint64_t sl_get(const uint64_t *at) {
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static inline uint64_t sl_get_acquire(const uint64_t *at) {
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static inline void sl_set(uint64_t *at, uint64_t value) {
    __atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static inline void sl_set_release(uint64_t *at, uint64_t value) {
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static inline uint32_t sl_get32_acquire(const uint32_t *at) {
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static inline void sl_set32_release(uint32_t *at, uint32_t value) {
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* The value before the addition. */
static inline uint64_t sl_add(uint64_t *at, uint64_t n) {
    return __atomic_fetch_add(at, n, __ATOMIC_RELAXED);
}

/* True when *at was `expected` and is now `wanted`; else *expected is what was found. */
static inline bool sl_swap(uint64_t *at, uint64_t *expected, uint64_t wanted) {
    return __atomic_compare_exchange_n(at, expected, wanted, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static inline bool sl_swap32(uint32_t *at, uint32_t *expected, uint32_t wanted) {
    return __atomic_compare_exchange_n(at, expected, wanted, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

#endif
