/* SPDX-License-Identifier: MIT */
/* A bump allocator: many small objects with one common end of life. Pointers stay valid until
 * sl_arena_fini. One thread at a time. */
#ifndef SL_ARENA_H
#define SL_ARENA_H

#include "base/core/sl_base.h"

typedef struct sl_arena_chunk sl_arena_chunk;

typedef struct sl_arena {
    sl_arena_chunk *newest; /* owned list of chunks */
} sl_arena;

#define SL_ARENA_INIT \
    { NULL }

/* Zeroed, aligned to 16 bytes; NULL when memory ran out. */
void *sl_arena_alloc(sl_arena *arena, size_t size);

/* A terminated copy of the bytes; NULL when memory ran out. */
char *sl_arena_copy(sl_arena *arena, const char *ptr, size_t len);

/* printf into the arena; NULL when memory ran out. */
char *sl_arena_printf(sl_arena *arena, const char *fmt, ...) SL_PRINTF(2, 3);

/* Frees everything; the arena is empty and usable again. */
void sl_arena_fini(sl_arena *arena);

#endif
