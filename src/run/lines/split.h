/* SPDX-License-Identifier: MIT */
/* Live memory divided among a few named classes: by tag, by phase. */
#ifndef SL_SPLIT_H
#define SL_SPLIT_H

#include "base/core/sl_base.h"

#define SL_SPLIT_MAX 8

typedef struct sl_share {
    uint64_t bytes; /* requested */
    uint64_t blocks;
} sl_share;

typedef struct sl_split {
    bool is_known; /* false: the input does not record it */
    unsigned cnt;  /* classes */
    const char *names[SL_SPLIT_MAX];
    sl_share shares[SL_SPLIT_MAX];
} sl_split;

#endif
