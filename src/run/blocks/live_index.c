/* SPDX-License-Identifier: MIT */
#include "run/blocks/live_index.h"

#define BUCKET 16u

/* Leaves of the tree: the smallest power of two that holds all buckets. */
static size_t leaf_count(size_t cnt) {
    size_t leaves = 1;
    while (leaves * BUCKET < cnt)
        leaves *= 2;
    return leaves;
}

uint32_t *sl_live_index_new(const sl_life *lives, size_t cnt) {
    size_t leaves = leaf_count(cnt);
    uint32_t *tree = calloc(leaves * 2, sizeof *tree);
    if (!tree)
        return NULL;
    for (size_t i = 0; i < cnt; i++) {
        uint32_t *leaf = &tree[leaves + i / BUCKET];
        *leaf = lives[i].end_event > *leaf ? lives[i].end_event : *leaf;
    }
    for (size_t i = leaves; i-- > 1;)
        tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
    return tree;
}

static bool scan_bucket(const sl_replay *replay, size_t bucket, size_t prefix, uint32_t event,
                        sl_life_ids *out) {
    size_t end = (bucket + 1) * BUCKET < prefix ? (bucket + 1) * BUCKET : prefix;
    for (size_t i = bucket * BUCKET; i < end; i++)
        if (replay->lives.at[i].end_event > event && !sl_vec_push(out, (uint32_t)i))
            return false;
    return true;
}

/* Depth first with an explicit stack: the depth is at most the bits of a bucket's index. */
bool sl_live_index_query(const sl_replay *replay, size_t prefix, uint32_t event, sl_life_ids *out) {
    size_t leaves = leaf_count(replay->lives.cnt), pending[80], depth = 0;
    if (prefix)
        pending[depth++] = 1;
    while (depth) {
        size_t node = pending[--depth];
        if (replay->max_end[node] <= event)
            continue;
        if (node >= leaves) {
            if (!scan_bucket(replay, node - leaves, prefix, event, out))
                return false;
            continue;
        }
        /* The first bucket under the right child, to skip what lies beyond the prefix. */
        size_t right = 2 * node + 1, first = right;
        while (first < leaves)
            first *= 2;
        if ((first - leaves) * BUCKET < prefix)
            pending[depth++] = right;
        pending[depth++] = 2 * node;
    }
    return true;
}
