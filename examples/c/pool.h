/* SPDX-License-Identifier: MIT */
/* A pool allocator: blocks of one arena, first fit, and every block reported to stormlog's recorder. Not thread-safe. */
#ifndef POOL_H
#define POOL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pool pool;

pool *pool_create(size_t bytes);
void pool_destroy(pool *self);

/* NULL when no gap of the arena is large enough. */
void *pool_take(pool *self, size_t bytes);
void pool_give(pool *self, void *block);

#ifdef __cplusplus
}
#endif

#endif
