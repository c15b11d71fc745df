/* SPDX-License-Identifier: MIT */
#include "whatif/alloc/alloc_bins.h"

#include <string.h>

/* The sort key of a block. The number makes the order total even if segments of a hostile trace
 * overlap. */
typedef struct block_key {
    uint64_t bytes, addr;
    uint32_t idx;
} block_key;

void sl_bins_init(sl_alloc_bins *bins) {
    memset(bins->roots, 0xff, sizeof bins->roots);
    memset(bins->used, 0, sizeof bins->used);
}

/* Monotonic in the size: four bins for each power of two of 512-byte units. */
static unsigned bin_of(uint64_t bytes) {
    uint64_t units = bytes >> 9;
    if (units < 4)
        return (unsigned)units;
    unsigned log2 = 63u - (unsigned)__builtin_clzll(units);
    return (log2 - 1) * 4 + (unsigned)(units >> (log2 - 2) & 3);
}

static bool is_before(const sl_alloc_block *blocks, uint32_t idx, const block_key *key) {
    const sl_alloc_block *b = &blocks[idx];
    if (b->bytes != key->bytes)
        return b->bytes < key->bytes;
    return b->addr != key->addr ? b->addr < key->addr : idx < key->idx;
}

static block_key key_of(const sl_alloc_block *blocks, uint32_t idx) {
    return (block_key){blocks[idx].bytes, blocks[idx].addr, idx};
}

/* The treap's priority: a hash of the number, so that it takes no memory. */
static uint32_t rank_of(uint32_t idx) {
    uint32_t x = (idx + 1) * 0x9e3779b1u;
    x ^= x >> 15;
    x *= 0x85ebca6bu;
    return x ^ x >> 13;
}

/* Splits a tree into the blocks before the key and the rest. */
static void split(sl_alloc_block *blocks, uint32_t root, const block_key *key, uint32_t *before,
                  uint32_t *rest) {
    while (root != SL_ALLOC_NONE) {
        if (is_before(blocks, root, key)) {
            *before = root;
            before = &blocks[root].right;
            root = *before;
        } else {
            *rest = root;
            rest = &blocks[root].left;
            root = *rest;
        }
    }
    *before = *rest = SL_ALLOC_NONE;
}

/* Joins two trees; everything in `a` must be before everything in `b`. */
static void join(sl_alloc_block *blocks, uint32_t a, uint32_t b, uint32_t *to) {
    while (a != SL_ALLOC_NONE && b != SL_ALLOC_NONE) {
        if (rank_of(a) > rank_of(b)) {
            *to = a;
            to = &blocks[a].right;
            a = *to;
        } else {
            *to = b;
            to = &blocks[b].left;
            b = *to;
        }
    }
    *to = a != SL_ALLOC_NONE ? a : b;
}

void sl_bins_add(sl_alloc_bins *bins, sl_alloc_block *blocks, uint32_t idx) {
    block_key key = key_of(blocks, idx);
    unsigned bin = bin_of(key.bytes);
    uint32_t *link = &bins->roots[bin], rank = rank_of(idx);
    bins->used[bin >> 6] |= (uint64_t)1 << (bin & 63);
    while (*link != SL_ALLOC_NONE && rank_of(*link) >= rank)
        link = is_before(blocks, *link, &key) ? &blocks[*link].right : &blocks[*link].left;
    uint32_t below = *link;
    *link = idx;
    split(blocks, below, &key, &blocks[idx].left, &blocks[idx].right);
}

void sl_bins_remove(sl_alloc_bins *bins, sl_alloc_block *blocks, uint32_t idx) {
    block_key key = key_of(blocks, idx);
    unsigned bin = bin_of(key.bytes);
    uint32_t *link = &bins->roots[bin];
    while (*link != idx)
        link = is_before(blocks, *link, &key) ? &blocks[*link].right : &blocks[*link].left;
    join(blocks, blocks[idx].left, blocks[idx].right, link);
    if (bins->roots[bin] == SL_ALLOC_NONE)
        bins->used[bin >> 6] &= ~((uint64_t)1 << (bin & 63));
}

/* The first non-empty bin from this one on; SL_BIN_CNT if there is none. */
static unsigned bin_from(const sl_alloc_bins *bins, unsigned bin) {
    for (unsigned word = bin >> 6; word < SL_BIN_WORDS; word++) {
        uint64_t bits = bins->used[word];
        if (word == bin >> 6)
            bits &= ~(uint64_t)0 << (bin & 63);
        if (bits)
            return word * 64 + (unsigned)__builtin_ctzll(bits);
    }
    return SL_BIN_CNT;
}

/* The last non-empty bin before this one; SL_BIN_CNT if there is none. */
static unsigned bin_before(const sl_alloc_bins *bins, unsigned bin) {
    while (bin-- > 0) {
        uint64_t bits = bins->used[bin >> 6] & ~(uint64_t)0 >> (63 - (bin & 63));
        if (bits)
            return (bin & ~63u) + 63u - (unsigned)__builtin_clzll(bits);
        bin &= ~63u;
    }
    return SL_BIN_CNT;
}

/* The first block at or after the key, or the last one before it. */
static inline uint32_t neighbour(const sl_alloc_bins *bins, const sl_alloc_block *blocks,
                                 const block_key *key, bool is_after) {
    unsigned bin = bin_of(key->bytes);
    uint32_t found = SL_ALLOC_NONE;
    for (uint32_t i = bins->roots[bin]; i != SL_ALLOC_NONE;) {
        bool is_less = is_before(blocks, i, key);
        found = is_less == is_after ? found : i;
        i = is_less ? blocks[i].right : blocks[i].left;
    }
    if (found != SL_ALLOC_NONE)
        return found;
    bin = is_after ? bin_from(bins, bin + 1) : bin_before(bins, bin);
    uint32_t i = bin == SL_BIN_CNT ? SL_ALLOC_NONE : bins->roots[bin];
    for (; i != SL_ALLOC_NONE; i = is_after ? blocks[i].left : blocks[i].right)
        found = i;
    return found;
}

uint32_t sl_bins_find(const sl_alloc_bins *bins, const sl_alloc_block *blocks, uint64_t bytes) {
    return neighbour(bins, blocks, &(block_key){bytes, 0, 0}, true);
}

uint32_t sl_bins_find_below(const sl_alloc_bins *bins, const sl_alloc_block *blocks,
                            uint64_t bytes) {
    return neighbour(bins, blocks, &(block_key){bytes, 0, 0}, false);
}

uint32_t sl_bins_next(const sl_alloc_bins *bins, const sl_alloc_block *blocks, uint32_t idx) {
    block_key key = key_of(blocks, idx);
    key.idx++;
    return neighbour(bins, blocks, &key, true);
}

uint32_t sl_bins_prev(const sl_alloc_bins *bins, const sl_alloc_block *blocks, uint32_t idx) {
    block_key key = key_of(blocks, idx);
    return neighbour(bins, blocks, &key, false);
}
