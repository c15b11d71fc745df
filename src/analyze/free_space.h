/* SPDX-License-Identifier: MIT */
/* Reserved memory that no block uses, at an instant. Internal to src/analyze. */
#ifndef SL_FREE_SPACE_H
#define SL_FREE_SPACE_H

#include "analyze/an_context.h"

typedef struct sl_free_space {
    uint64_t inactive_bytes; /* all pools */
    uint64_t private_bytes;  /* of it, in private pools */
    uint64_t large_bytes;    /* of it, in the default pool's large segments */
    uint64_t small_bytes;    /* of it, in the default pool's small segments */
    uint64_t largest_large;  /* largest free block of the default pool, by class */
    uint64_t largest_small;
    uint64_t releasable_bytes; /* what empty_cache would give back */
    uint64_t hole_cnt;         /* free blocks of the default pool */
} sl_free_space;

/* False when memory ran out. Meaningful where replay->geometry_known. */
bool sl_free_space_at(const sl_an *an, uint32_t event, sl_free_space *out);

#endif
