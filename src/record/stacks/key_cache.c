/* SPDX-License-Identifier: MIT */
#include "record/stacks/key_cache.h"

#include <sys/mman.h>

#define GROW_FACTOR 4

bool sl_key_cache_init(sl_key_cache *cache) {
    if (cache->entries)
        return true;
    void *at = mmap(NULL, cache->entry_max * sizeof(sl_key_cache_entry), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return false;
    cache->entries = at;
    return true;
}

/* Gives zero pages: a thread that probes meanwhile sees misses, never a mixture, because a key and its
 * value lie in one page. */
void sl_key_cache_clear(sl_key_cache *cache) {
    if (cache->entries)
        madvise(cache->entries, cache->entry_max * sizeof(sl_key_cache_entry), MADV_DONTNEED);
    atomic_store(&cache->used_cnt, 0);
}

static void make_room(sl_key_cache *cache) {
    size_t cnt = atomic_load(&cache->entry_cnt);
    if (atomic_load(&cache->used_cnt) < cnt / 4 * 3)
        return;
    size_t more = cnt * GROW_FACTOR;
    atomic_store(&cache->entry_cnt, more < cache->entry_max ? more : cache->entry_max);
    sl_key_cache_clear(cache);
}

void sl_key_cache_add(sl_key_cache *cache, uint64_t key, uint64_t value) {
    make_room(cache);
    size_t mask = atomic_load(&cache->entry_cnt) - 1;
    for (size_t i = 0; i < SL_KEY_CACHE_PROBE_MAX; i++) {
        sl_key_cache_entry *entry = &cache->entries[(key + i) & mask];
        uint64_t found = 0;
        bool is_new = atomic_compare_exchange_strong(&entry->key, &found, key);
        if (!is_new && found != key)
            continue;
        atomic_store_explicit(&entry->value, value, memory_order_release);
        if (is_new)
            atomic_fetch_add(&cache->used_cnt, 1);
        return;
    }
}
