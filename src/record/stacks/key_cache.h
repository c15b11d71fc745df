/* SPDX-License-Identifier: MIT */
/* A cache of 64-bit values by 64-bit keys: fixed memory, mapped at start and touched as it fills,
 * no lock, any thread. A miss is always allowed, so a table that is three quarters full is cleared
 * and, if possible, doubled. It starts small because most programs have a few hundred stacks, which
 * should share few pages. */
#ifndef SL_KEY_CACHE_H
#define SL_KEY_CACHE_H

#include <stdatomic.h>

#include "base/core/sl_base.h"

/* (atomic) What callers remember next to a value, because that cache line was just loaded: the
 * stack's site in the log, and which sizes were scanned (workspace_watch.h). Only hints: they may
 * belong to another key. */
typedef struct sl_key_memo {
    uint32_t site;
    uint32_t workspace;
    uint64_t looks;
} sl_key_memo;

/* An entry is usable when value is not 0. A thread that finds its key with value 0 met another
 * thread between its two stores, and treats it as a miss. */
typedef struct sl_key_cache_entry {
    _Atomic(uint64_t) key; /* 0 = free */
    _Atomic(uint64_t) value;
    sl_key_memo memo; /* two entries fill a cache line */
} sl_key_cache_entry;

typedef struct sl_key_cache {
    sl_key_cache_entry *entries; /* mapped, entry_max of them */
    size_t entry_max;            /* a power of two, like entry_cnt */
    _Atomic(size_t) entry_cnt;   /* in use */
    _Atomic(size_t) used_cnt;
} sl_key_cache;

#define SL_KEY_CACHE_PROBE_MAX 16
#define SL_KEY_CACHE_FIRST     1024u
/* max: a power of two from SL_KEY_CACHE_FIRST up. */
#define SL_KEY_CACHE_INIT(max) \
    { .entry_max = (max), .entry_cnt = SL_KEY_CACHE_FIRST }

/* Maps the table; false when there is no memory. True at once when it is mapped already. */
bool sl_key_cache_init(sl_key_cache *cache);

/* Empties it. Other threads may be reading: they see misses. */
void sl_key_cache_clear(sl_key_cache *cache);

/* Neither key nor value may be 0. */
void sl_key_cache_add(sl_key_cache *cache, uint64_t key, uint64_t value);

typedef struct sl_key_cache_hit {
    uint64_t value;    /* 0: it is not there */
    sl_key_memo *memo; /* of its entry, NULL when it is not there */
} sl_key_cache_hit;

static inline sl_key_cache_hit sl_key_cache_find(const sl_key_cache *cache, uint64_t key) {
    size_t mask = atomic_load_explicit(&cache->entry_cnt, memory_order_relaxed) - 1;
    for (size_t i = 0; i < SL_KEY_CACHE_PROBE_MAX; i++) {
        sl_key_cache_entry *entry = &cache->entries[(key + i) & mask];
        uint64_t found = atomic_load_explicit(&entry->key, memory_order_acquire);
        if (SL_LIKELY(found == key))
            return (sl_key_cache_hit){atomic_load_explicit(&entry->value, memory_order_acquire),
                                      &entry->memo};
        if (found == 0)
            break;
    }
    return (sl_key_cache_hit){0, NULL};
}

/* Multiply to 128 bits and fold: the mixing step of wyhash, for making keys. */
static inline uint64_t sl_key_mix(uint64_t a, uint64_t b) {
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#define SL_KEY_A UINT64_C(0xa0761d6478bd642f)
#define SL_KEY_B UINT64_C(0xe7037ed1a0b428db)

#endif
