/* SPDX-License-Identifier: MIT */
/* Growable arrays for any element type. Growth doubles; an array hands out indexes, never
 * pointers that outlive the next push. Not for the target process: it allocates. */
#ifndef SL_VEC_H
#define SL_VEC_H

#include <stdlib.h>

#include "base/core/sl_base.h"

/* Declares a vector type, e.g. typedef SL_VEC(uint32_t) u32_vec; zero-initialised is empty. */
#define SL_VEC(type) \
    struct {         \
        type *at;    \
        size_t cnt;  \
        size_t cap;  \
    }

/* True and the element appended, or false when memory ran out (the vector is unchanged). */
#define sl_vec_push(vec, value) \
    (sl_vec_reserve(vec, 1) ? ((vec)->at[(vec)->cnt++] = (value), true) : false)

/* Room for `more` further elements. */
#define sl_vec_reserve(vec, more) \
    sl_vec_grow((void **)&(vec)->at, &(vec)->cap, (vec)->cnt, (more), sizeof(*(vec)->at))

#define sl_vec_free(vec)                               \
    do {                                               \
        free((vec)->at);                               \
        (vec)->at = NULL, (vec)->cnt = (vec)->cap = 0; \
    } while (0)

static inline bool sl_vec_grow(void **at, size_t *cap, size_t cnt, size_t more, size_t elem_size) {
    size_t want, bytes;
    if (sl_add_overflows(cnt, more, &want))
        return false;
    if (want <= *cap)
        return true;
    size_t new_cap = *cap ? *cap * 2 : 16;
    if (new_cap < want)
        new_cap = want;
    if (sl_mul_overflows(new_cap, elem_size, &bytes))
        return false;
    void *grown = realloc(*at, bytes);
    if (!grown)
        return false;
    *at = grown;
    *cap = new_cap;
    return true;
}

#endif
