/* SPDX-License-Identifier: MIT */
/* "Did you mean": the known word nearest to a mistyped one. No state. */
#ifndef SL_NEAREST_H
#define SL_NEAREST_H

#include "base/core/sl_base.h"

/* Steps of inserting, removing, changing or swapping letters from one word to the other; words
 * longer than 63 bytes are compared by their first 63. */
size_t sl_edit_distance(const char *a, const char *b);

#define SL_NEAREST_CAP 64

/* A running search: start with {.word = word}, offer every candidate, read best ("" = none is
 * near). */
typedef struct sl_nearest {
    const char *word;
    char best[SL_NEAREST_CAP];
    size_t best_distance;
} sl_nearest;

void sl_nearest_offer(sl_nearest *search, sl_str candidate);

#endif
