/* SPDX-License-Identifier: MIT */
/* The few words every file may use: attributes, array length, checked arithmetic.
 * libc only, no state, no domain words. */
#ifndef SL_SL_BASE_H
#define SL_SL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_API                      __attribute__((visibility("default")))
#define SL_PRINTF(fmt_idx, arg_idx) __attribute__((format(printf, fmt_idx, arg_idx)))
#define SL_LIKELY(x)                __builtin_expect(!!(x), 1)
#define SL_UNLIKELY(x)              __builtin_expect(!!(x), 0)
/* On the path of every event. These functions are linked next to each other: the program's own work
 * between two events evicts their pages, so the fewer pages the better. */
#define SL_HOT                      __attribute__((hot))
/* Never inlined, and away from the code that runs all the time. */
#define SL_COLD                     __attribute__((cold, noinline))
#define SL_UNUSED(x)                ((void)(x))
#define SL_COUNT_OF(array)          (sizeof(array) / sizeof((array)[0]))
/* The value of a macro as a string literal. */
#define SL_TEXT_OF(number)          SL_TEXT_OF_EXPANDED(number)
#define SL_TEXT_OF_EXPANDED(number) #number

/* A byte string that is borrowed, not terminated. */
typedef struct sl_str {
    const char *ptr;
    size_t len;
} sl_str;

#define SL_STR(literal) ((sl_str){(literal), sizeof(literal) - 1})

/* Numbers that may be unknown. Unknown is never shown as 0. */
typedef struct sl_maybe_u64 {
    uint64_t value;
    bool known;
} sl_maybe_u64;

typedef struct sl_maybe_f64 {
    double value;
    bool known;
} sl_maybe_f64;

static inline sl_maybe_u64 sl_known_u64(uint64_t value) {
    return (sl_maybe_u64){value, true};
}

/* For sums of what is known. */
static inline uint64_t sl_u64_or_0(sl_maybe_u64 number) {
    return number.known ? number.value : 0;
}

static inline sl_maybe_f64 sl_known_f64(double value) {
    return (sl_maybe_f64){value, true};
}

/* True when the result does not fit; *out is then meaningless. */
static inline bool sl_add_overflows(size_t a, size_t b, size_t *out) {
    return __builtin_add_overflow(a, b, out);
}

static inline bool sl_mul_overflows(size_t a, size_t b, size_t *out) {
    return __builtin_mul_overflow(a, b, out);
}

static inline size_t sl_align_up(size_t n, size_t power_of_two) {
    return (n + power_of_two - 1) & ~(power_of_two - 1);
}

#endif
