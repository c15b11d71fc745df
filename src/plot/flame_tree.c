/* SPDX-License-Identifier: MIT */
#include "plot/flame_tree.h"

#include "base/core/str.h"
#include "run/lines/stack_sums.h"

static uint32_t child_of(sl_flame_tree *tree, uint32_t parent, uint32_t frame_id) {
    uint64_t key = (uint64_t)parent << 32 | frame_id;
    uint32_t idx = sl_addr_map_find(&tree->children, key);
    if (idx != SL_ADDR_NONE)
        return idx;
    sl_flame_node node = {.frame_id = frame_id,
                          .first_child = SL_IDX_NONE,
                          .next_sibling = tree->nodes.at[parent].first_child};
    idx = (uint32_t)tree->nodes.cnt;
    if (!sl_vec_push(&tree->nodes, node) || !sl_addr_map_put(&tree->children, key, idx))
        return SL_IDX_NONE;
    tree->nodes.at[parent].first_child = idx;
    return idx;
}

/* A line of Python; "<string>" and similar names are lines of Python without a file. */
static bool is_python(const sl_trace *trace, sl_frame frame) {
    sl_str file = sl_strtab_get(&trace->strings, frame.file);
    return sl_str_ends_with(file, SL_STR(".py")) || (file.len > 1 && file.ptr[0] == '<');
}

static bool has_python(const sl_trace *trace, uint32_t stack_id) {
    for (size_t i = 0; i < sl_stack_depth(&trace->stacks, stack_id); i++)
        if (is_python(trace, sl_stack_frame(&trace->stacks, stack_id, i)))
            return true;
    return false;
}

static uint32_t add_node(sl_flame_tree *tree, uint32_t parent, uint32_t frame_id, uint64_t bytes) {
    uint32_t node = child_of(tree, parent, frame_id);
    if (node != SL_IDX_NONE)
        tree->nodes.at[node].bytes += bytes;
    return node;
}

static bool add_stack(sl_flame_tree *tree, const sl_sites *grouped, uint32_t stack_id,
                      uint64_t bytes) {
    const sl_stacks *stacks = &grouped->trace->stacks;
    sl_frame user = {0};
    bool has_user = sl_site_frame(grouped->sites.at[grouped->site_of_stack[stack_id]].site, &user);
    bool skips_native = has_python(grouped->trace, stack_id);
    size_t depth = sl_stack_depth(stacks, stack_id), rows = 0;
    uint32_t node = 0;
    tree->nodes.at[0].bytes += bytes;
    if (depth == 0)
        return add_node(tree, 0, SL_IDX_NONE, bytes) != SL_IDX_NONE;
    for (size_t i = depth; i > 0; i--) {
        sl_frame frame = sl_stack_frame(stacks, stack_id, i - 1);
        if (skips_native && !is_python(grouped->trace, frame)) {
            tree->has_skipped = true;
            continue;
        }
        node = add_node(tree, node, stacks->frame_ids.at[stacks->spans.at[stack_id].first + i - 1],
                        bytes);
        if (node == SL_IDX_NONE)
            return false;
        if (has_user && frame.file == user.file && frame.line == user.line &&
            (frame.line || frame.function == user.function))
            tree->nodes.at[node].is_user = true;
        rows++;
    }
    tree->depth = rows > tree->depth ? rows : tree->depth;
    return true;
}

typedef struct sibling {
    uint64_t bytes;
    uint32_t idx;
} sibling;

static int compare_siblings(const void *a, const void *b) {
    const sibling *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->idx < y->idx ? -1 : 1;
}

/* Largest child first, so that a picture begins with what matters. */
static bool sort_children(sl_flame_tree *tree) {
    SL_VEC(sibling) list = {0};
    bool is_done = true;
    for (size_t parent = 0; is_done && parent < tree->nodes.cnt; parent++) {
        uint32_t *next = &tree->nodes.at[parent].first_child;
        list.cnt = 0;
        for (uint32_t i = *next; is_done && i != SL_IDX_NONE; i = tree->nodes.at[i].next_sibling)
            is_done = sl_vec_push(&list, ((sibling){tree->nodes.at[i].bytes, i}));
        if (!is_done || list.cnt < 2)
            continue;
        qsort(list.at, list.cnt, sizeof *list.at, compare_siblings);
        for (size_t i = 0; i < list.cnt; i++) {
            *next = list.at[i].idx;
            next = &tree->nodes.at[list.at[i].idx].next_sibling;
        }
        *next = SL_IDX_NONE;
    }
    sl_vec_free(&list);
    return is_done;
}

bool sl_flame_tree_init(sl_flame_tree *tree, const sl_sites *grouped, const sl_replay *replay,
                        uint32_t event) {
    *tree = (sl_flame_tree){.depth = 1};
    sl_stack_sum *sums = sl_stack_sums_new(grouped->trace);
    sl_flame_node root = {
        .frame_id = SL_IDX_NONE, .first_child = SL_IDX_NONE, .next_sibling = SL_IDX_NONE};
    bool is_done =
        sums && sl_vec_push(&tree->nodes, root) && sl_stack_sums_live(replay, event, sums);
    for (size_t id = 0; is_done && id < sl_stack_sums_cnt(grouped->trace); id++)
        if (sums[id].bytes)
            is_done = add_stack(tree, grouped, (uint32_t)id, sums[id].bytes);
    free(sums);
    return is_done && sort_children(tree);
}

void sl_flame_tree_fini(sl_flame_tree *tree) {
    sl_vec_free(&tree->nodes);
    sl_addr_map_fini(&tree->children);
}
