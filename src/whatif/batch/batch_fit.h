/* SPDX-License-Identifier: MIT */
/* How one allocation's bytes depend on the size that was changed (batch, sequence length). Pure.
 *
 * (F1) A tensor is a product of dimensions, so its bytes are constant, proportional to the size
 *      or to its square. Two recordings show which, to the byte; where sizes are rounded
 *      (recordings), within the rounding.
 * (F2) With three or more sizes, a constant plus a proportional or square part is recognised as
 *      well.
 * (F3) Everything else (a workspace that a library chose, a padded dimension) is interpolated or
 *      extrapolated from the nearest two sizes, and has a low and a high estimate: from "stays
 *      as it is" to "grows as the program's tensors do". When the two do not show a growth that
 *      a tensor could have, the library chose another algorithm: then it stays as it is.
 * (F4) What only one recording has is estimated between constant and growing as the program's
 *      tensors do. */
#ifndef SL_BATCH_FIT_H
#define SL_BATCH_FIT_H

#include "base/core/sl_base.h"

#define SL_BATCH_RECORDINGS_MAX 8

typedef struct sl_batch_point {
    uint64_t size;
    uint64_t bytes;
    bool is_rounded; /* the bytes are those of a block, not of the request */
} sl_batch_point;

/* enumerator, name in JSON, description. */
#define SL_BATCH_LAW_MAP(X)                            \
    X(CONSTANT, "constant", "stay constant")           \
    X(LINEAR, "proportional", "grow in proportion")    \
    X(SQUARE, "square", "grow with the square")        \
    X(MIXED, "mixed", "have a constant part and grow") \
    X(OTHER, "other", "follow no simple law")          \
    X(ALONE, "alone", "are in one recording only")

typedef enum sl_batch_law {
#define SL_BATCH_LAW_ENUM(name, json, text) SL_BATCH_##name,
    SL_BATCH_LAW_MAP(SL_BATCH_LAW_ENUM)
#undef SL_BATCH_LAW_ENUM
        SL_BATCH_LAW_CNT
} sl_batch_law;

typedef struct sl_batch_estimate {
    uint64_t likely, low, high;
    sl_batch_law law;
} sl_batch_estimate;

/* Whether (F1) holds; the points must have different sizes. */
bool sl_batch_fit_exactly(const sl_batch_point *points, size_t cnt);

/* The bytes at another size; points by ascending size, at least one. `growth` is the power of
 * the size by which the program's tensors grow, 1 to 2: (F3), (F4). */
sl_batch_estimate sl_batch_estimate_at(const sl_batch_point *points, size_t cnt, uint64_t size,
                                       double growth);

#endif
