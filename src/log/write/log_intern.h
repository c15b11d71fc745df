/* SPDX-License-Identifier: MIT */
/* Interning without a lock: a hash index of ids in memory, the records in the file. Two threads
 * that meet the same new content both make a record; the one whose compare-and-swap fills the
 * index slot wins, the other uses the winner's id, and its own record stays behind unused. So
 * equal content never has two ids. Inline, so that each table gets its own loop. */
#ifndef SL_LOG_INTERN_H
#define SL_LOG_INTERN_H

#include "log/write/log_writer_impl.h"

typedef struct sl_intern_ops {
    bool (*is_same)(const sl_log *log, uint32_t id, const void *key);
    uint32_t (*make)(sl_log *log, const void *key); /* 0: no room, counted */
    void (*drop)(sl_log *log, uint32_t id);         /* made, but lost the race; may be NULL */
} sl_intern_ops;

static inline uint64_t sl_hash_mix(uint64_t h) {
    h ^= h >> 32;
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static inline __attribute__((always_inline)) uint32_t sl_intern(sl_log *log, const sl_index *index,
                                                                uint64_t hash,
                                                                const sl_intern_ops *ops,
                                                                const void *key) {
    uint32_t made = 0;
    for (uint32_t n = 0; n <= index->mask; n++) {
        uint32_t *slot = &index->slots[(hash + n) & index->mask];
        uint32_t id = sl_get32_acquire(slot);
        if (id == 0) {
            if (made == 0 && (made = ops->make(log, key)) == 0)
                return 0;
            if (sl_swap32(slot, &id, made))
                return made;
        }
        if (ops->is_same(log, id, key)) {
            if (made && ops->drop)
                ops->drop(log, made);
            return id;
        }
    }
    return 0;
}

#endif
