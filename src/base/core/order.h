/* SPDX-License-Identifier: MIT */
/* What is larger: of two numbers, and for qsort. Inline, libc only, callable from any thread. */
#ifndef SL_ORDER_H
#define SL_ORDER_H

#include <string.h>

#include "base/core/sl_base.h"

/* -1, 0 or 1 for two numbers of one type; evaluates them twice. */
#define SL_ORDER(x, y) (((x) > (y)) - ((x) < (y)))

static inline uint64_t sl_max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline uint64_t sl_min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline int64_t sl_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline int64_t sl_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline size_t sl_max_size(size_t a, size_t b) {
    return a > b ? a : b;
}

static inline size_t sl_min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Ascending arrays of int64_t, of uint32_t, of char *. */
static inline int sl_order_i64(const void *a, const void *b) {
    return SL_ORDER(*(const int64_t *)a, *(const int64_t *)b);
}

static inline int sl_order_u32(const void *a, const void *b) {
    return SL_ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

static inline int sl_order_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

#endif
