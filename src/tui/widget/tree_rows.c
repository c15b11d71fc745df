/* SPDX-License-Identifier: MIT */
#include "tui/widget/tree_rows.h"

#include <stdlib.h>
#include <string.h>

uint32_t sl_tree_add(sl_tree *tree, const sl_tree_node *node) {
    if (!sl_vec_push(&tree->nodes, *node))
        return SL_TREE_ROOT;
    if (node->parent != SL_TREE_ROOT)
        tree->nodes.at[node->parent].has_children = true;
    return (uint32_t)(tree->nodes.cnt - 1);
}

void sl_tree_free(sl_tree *tree) {
    sl_vec_free(&tree->nodes);
}

bool sl_text_has(const char *text, const char *part) {
    return !*part || strcasestr(text, part) != NULL;
}

typedef struct sort_key {
    int64_t figure;
    uint32_t node;
} sort_key;

typedef struct flattening {
    const sl_tree *tree;
    const sl_tree_order *order;
    sl_tree_rows *rows;
    sort_key *keys;                /* owned; the nodes of every parent beside each other, sorted */
    uint32_t *first_key, *key_cnt; /* owned; by node, the root's last */
    bool has_room;
} flattening;

/* Largest first; frames, and equal ones, in their own order. */
static int compare_keys(const void *a, const void *b) {
    const sort_key *x = a, *y = b;
    if (x->figure != y->figure)
        return x->figure < y->figure ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool matches(const flattening *f, uint32_t node) {
    const sl_tree_node *at = &f->tree->nodes.at[node];
    if (sl_text_has(at->text, f->order->search))
        return true;
    for (uint32_t i = 0; i < f->key_cnt[node]; i++)
        if (f->keys[f->first_key[node] + i].node != node &&
            matches(f, f->keys[f->first_key[node] + i].node))
            return true;
    return false;
}

static void add_rows(flattening *f, uint32_t node) {
    for (uint32_t i = 0; i < f->key_cnt[node]; i++) {
        uint32_t child = f->keys[f->first_key[node] + i].node;
        const sl_tree_node *at = &f->tree->nodes.at[child];
        if (at->level != SL_TREE_FRAME && !matches(f, child))
            continue;
        if (!sl_vec_push(f->rows, child))
            f->has_room = false;
        bool is_found = at->level == SL_TREE_FILE && *f->order->search;
        if (at->is_open || is_found)
            add_rows(f, child);
    }
}

/* The node it is shown under: a line has a file above it only if files are shown. */
static uint32_t place_of(const flattening *f, uint32_t node) {
    const sl_tree_node *at = &f->tree->nodes.at[node];
    bool is_top = at->parent == SL_TREE_ROOT || (at->level == SL_TREE_LINE && !f->order->by_file);
    return is_top ? (uint32_t)f->tree->nodes.cnt : at->parent;
}

static bool is_left_out(const flattening *f, uint32_t node) {
    return f->tree->nodes.at[node].level == SL_TREE_FILE && !f->order->by_file;
}

static int64_t key_of(const flattening *f, uint32_t node) {
    const sl_tree_node *at = &f->tree->nodes.at[node];
    if (at->level == SL_TREE_FRAME)
        return 0;
    return at->known[f->order->by] ? at->figures[f->order->by] : INT64_MIN;
}

/* Counts, then places, then sorts: one pass each. */
static void group_nodes(flattening *f) {
    size_t cnt = f->tree->nodes.cnt;
    uint32_t used = 0;
    for (uint32_t i = 0; i < cnt; i++)
        if (!is_left_out(f, i))
            f->key_cnt[place_of(f, i)]++;
    for (size_t i = 0; i <= cnt; i++) {
        f->first_key[i] = used;
        used += f->key_cnt[i];
        f->key_cnt[i] = 0;
    }
    for (uint32_t i = 0; i < cnt; i++) {
        if (is_left_out(f, i))
            continue;
        uint32_t place = place_of(f, i);
        f->keys[f->first_key[place] + f->key_cnt[place]++] = (sort_key){key_of(f, i), i};
    }
    for (size_t i = 0; i <= cnt; i++)
        if (f->key_cnt[i] > 1)
            qsort(f->keys + f->first_key[i], f->key_cnt[i], sizeof *f->keys, compare_keys);
}

bool sl_tree_flatten(const sl_tree *tree, const sl_tree_order *order, sl_tree_rows *rows) {
    size_t cnt = tree->nodes.cnt;
    flattening f = {.tree = tree, .order = order, .rows = rows, .has_room = true};
    f.keys = calloc(cnt + 1, sizeof *f.keys);
    f.first_key = calloc(cnt + 1, sizeof *f.first_key);
    f.key_cnt = calloc(cnt + 1, sizeof *f.key_cnt);
    rows->cnt = 0;
    bool is_done = f.keys && f.first_key && f.key_cnt;
    if (is_done) {
        group_nodes(&f);
        add_rows(&f, (uint32_t)cnt);
    }
    free(f.keys);
    free(f.first_key);
    free(f.key_cnt);
    return is_done && f.has_room;
}
