/* SPDX-License-Identifier: MIT */
#include "base/core/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"

#define ARENA_ALIGN       16
#define ARENA_CHUNK_BYTES ((size_t)64 * 1024)

struct sl_arena_chunk {
    sl_arena_chunk *older;
    size_t used;
    size_t cap;
    _Alignas(ARENA_ALIGN) unsigned char bytes[];
};

static sl_arena_chunk *add_chunk(sl_arena *arena, size_t at_least) {
    size_t cap = sl_max_size(at_least, ARENA_CHUNK_BYTES);
    size_t total;
    if (sl_add_overflows(sizeof(sl_arena_chunk), cap, &total))
        return NULL;
    sl_arena_chunk *chunk = malloc(total);
    if (!chunk)
        return NULL;
    chunk->used = 0;
    chunk->cap = cap;
    chunk->older = arena->newest;
    arena->newest = chunk;
    return chunk;
}

void *sl_arena_alloc(sl_arena *arena, size_t size) {
    size_t padded;
    if (sl_add_overflows(size, ARENA_ALIGN - 1, &padded))
        return NULL;
    padded &= ~(size_t)(ARENA_ALIGN - 1);
    sl_arena_chunk *chunk = arena->newest;
    if (!chunk || chunk->cap - chunk->used < padded)
        chunk = add_chunk(arena, padded);
    if (!chunk)
        return NULL;
    void *result = chunk->bytes + chunk->used;
    chunk->used += padded;
    return memset(result, 0, size);
}

char *sl_arena_copy(sl_arena *arena, const char *ptr, size_t len) {
    char *copy = sl_arena_alloc(arena, len + 1);
    if (copy && len)
        memcpy(copy, ptr, len);
    return copy;
}

char *sl_arena_printf(sl_arena *arena, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = len < 0 ? NULL : sl_arena_alloc(arena, (size_t)len + 1);
    if (text)
        vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    return text;
}

void sl_arena_fini(sl_arena *arena) {
    sl_arena_chunk *chunk = arena->newest;
    while (chunk) {
        sl_arena_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
    arena->newest = NULL;
}
