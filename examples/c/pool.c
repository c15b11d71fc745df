/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <stdlib.h>
#include <stormlog/record.h>

#define HOST (-1) /* a pool of a card's memory would pass the card's index */
#define ALIGN 64

/* In front of every block, in the order of their addresses. */
typedef struct header {
    struct header *next;
    size_t bytes; /* with the header */
    int is_used;
} header;

/* A whole number of lines, so that blocks are aligned. */
enum { HEADER_BYTES = (sizeof(header) + ALIGN - 1) / ALIGN * ALIGN };

struct pool {
    header *first;
};

pool *pool_create(size_t bytes) {
    pool *self = malloc(sizeof *self);
    bytes = bytes / ALIGN * ALIGN;
    if (!self || bytes < HEADER_BYTES || !(self->first = aligned_alloc(ALIGN, bytes))) {
        free(self);
        return NULL;
    }
    *self->first = (header){NULL, bytes, 0};
    return self;
}

void pool_destroy(pool *self) {
    if (self)
        free(self->first);
    free(self);
}

static void split(header *at, size_t bytes) {
    if (at->bytes < bytes + 2 * HEADER_BYTES)
        return;
    header *rest = (header *)((char *)at + bytes);
    *rest = (header){at->next, at->bytes - bytes, 0};
    at->next = rest;
    at->bytes = bytes;
}

void *pool_take(pool *self, size_t bytes) {
    const void *caller = __builtin_return_address(0); /* the code that the block belongs to */
    size_t wanted = HEADER_BYTES + (bytes + ALIGN - 1) / ALIGN * ALIGN;
    for (header *at = self->first; at && wanted > bytes; at = at->next)
        if (!at->is_used && at->bytes >= wanted) {
            split(at, wanted);
            at->is_used = 1;
            sl_record_alloc(HOST, (char *)at + HEADER_BYTES, bytes, caller);
            return (char *)at + HEADER_BYTES;
        }
    sl_record_oom(HOST, bytes, caller);
    return NULL;
}

static void merge(header *from) {
    for (header *at = from; at && at->next;)
        if (!at->is_used && !at->next->is_used) {
            at->bytes += at->next->bytes;
            at->next = at->next->next;
        } else {
            at = at->next;
        }
}

void pool_give(pool *self, void *block) {
    if (!block)
        return;
    sl_record_free(HOST, block); /* before the pool can hand it out again */
    ((header *)((char *)block - HEADER_BYTES))->is_used = 0;
    merge(self->first);
}
