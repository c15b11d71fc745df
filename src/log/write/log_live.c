/* SPDX-License-Identifier: MIT */
/* The live table: which blocks exist now. An address hashes to one bucket of eight slots in each
 * level; a block lies in any free slot of its bucket in the lowest level that has one. There are
 * no probe chains, so a free leaves nothing behind (no tombstones), a search costs one cache line
 * of keys per level, and a full bucket simply means the next level, which is twice as large. */
#include "log/write/log_writer_impl.h"

#define KEY_WORD_MASK (~SL_SIZE_MASK) /* device and domain of a size word */

static sl_fmt_bucket *bucket_of(const sl_log *log, uint32_t level, uint64_t hash) {
    return &log->live[level].buckets[hash & log->live[level].mask];
}

static uint32_t top_level(const sl_log *log) {
    return (uint32_t)sl_get_acquire(&log->live_top);
}

static bool slot_matches(const sl_fmt_bucket *b, uint32_t i, uint64_t addr, uint64_t size_word) {
    return sl_get_acquire(&b->key[i]) == addr &&
           ((sl_get(&b->slot[i].size_word) ^ size_word) & KEY_WORD_MASK) == 0;
}

SL_HOT sl_live_ref sl__live_find(const sl_log *log, uint64_t addr, uint64_t size_word) {
    uint64_t hash = sl_live_hash(addr, size_word);
    for (uint32_t level = 0, top = top_level(log); level <= top; level++) {
        sl_fmt_bucket *b = bucket_of(log, level, hash);
        for (uint32_t i = 0; i < SL_FORMAT_BUCKET_SLOTS; i++)
            if (slot_matches(b, i, addr, size_word))
                return (sl_live_ref){b, i};
    }
    return (sl_live_ref){NULL, 0};
}

/* The time is stored first and the key last, and every store is a release: a reader that sees the
 * same key and time before and after reading the slot has read one block, not two halves. */
static void fill(sl_fmt_bucket *b, uint32_t i, uint64_t addr, const sl_fmt_live *live) {
    sl_set_release(&b->slot[i].time_ns, live->time_ns);
    sl_set_release(&b->slot[i].size_word, live->size_word);
    sl_set_release(&b->slot[i].site_word, live->site_word);
    sl_set_release(&b->key[i], addr);
}

static bool insert_into(sl_fmt_bucket *b, uint64_t addr, const sl_fmt_live *live,
                        sl_live_ref *ref) {
    for (uint32_t i = 0; i < SL_FORMAT_BUCKET_SLOTS; i++) {
        uint64_t key = sl_get(&b->key[i]);
        if (key != SL_FORMAT_KEY_EMPTY || !sl_swap(&b->key[i], &key, SL_FORMAT_KEY_BUSY))
            continue;
        fill(b, i, addr, live);
        *ref = (sl_live_ref){b, i};
        return true;
    }
    return false;
}

/* Raises live_top before the first block of a level is stored, so that a search that must find
 * the block cannot miss the level. */
static void raise_top(sl_log *log, uint32_t level) {
    uint64_t top = sl_get(&log->live_top);
    while (top < level && !sl_swap(&log->live_top, &top, level))
        continue;
}

SL_HOT sl_live_ref sl__live_insert(sl_log *log, uint64_t addr, const sl_fmt_live *live) {
    uint64_t hash = sl_live_hash(addr, live->size_word);
    sl_live_ref ref = {NULL, 0};
    for (uint32_t level = 0; level < log->live_levels; level++) {
        if (level > 0) { /* the first one has its space since the log was made */
            if (sl_get_acquire(&log->wm[SL_SECTION_LIVE][level].reserved) == 0)
                break;
            raise_top(log, level);
        }
        if (insert_into(bucket_of(log, level, hash), addr, live, &ref))
            break;
    }
    return ref;
}

/* The keys and the slots that are filled first; a bucket is seldom fuller. */
SL_HOT void sl__live_expect(const sl_log *log, uint64_t addr, uint64_t size_word) {
    const sl_fmt_bucket *b = bucket_of(log, 0, sl_live_hash(addr, size_word));
    __builtin_prefetch(b->key, 1);
    __builtin_prefetch(b->slot, 1);
}

SL_HOT void sl__live_remove(sl_live_ref ref) {
    sl_set_release(&ref.bucket->key[ref.slot], SL_FORMAT_KEY_EMPTY);
}
