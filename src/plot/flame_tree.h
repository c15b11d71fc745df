/* SPDX-License-Identifier: MIT */
/* Stacks folded into a tree of frames, outermost at the root. Each node has the bytes of
 * everything below it: what an icicle or flame graph draws. Native frames are skipped in stacks
 * that have lines of Python: a dozen rows of the interpreter between two lines explain nothing. */
#ifndef SL_FLAME_TREE_H
#define SL_FLAME_TREE_H

#include "model/addr_map.h"
#include "run/lines/sites.h"

typedef struct sl_flame_node {
    uint64_t bytes;
    uint32_t frame_id; /* SL_IDX_NONE for the root and for blocks without a stack */
    uint32_t first_child, next_sibling; /* SL_IDX_NONE = none; siblings: largest first */
    bool is_user;                       /* the user's own line in at least one stack */
} sl_flame_node;

typedef struct sl_flame_tree {
    SL_VEC(sl_flame_node) nodes; /* the root is number 0 */
    sl_addr_map children;        /* parent and frame -> node, only while the tree is built */
    size_t depth;                /* rows below the root */
    bool has_skipped;            /* native frames were skipped */
} sl_flame_tree;

/* Builds the tree of the bytes live after the event. False when memory ran out; call fini in
 * either case. */
bool sl_flame_tree_init(sl_flame_tree *tree, const sl_sites *grouped, const sl_replay *replay,
                        uint32_t event);
void sl_flame_tree_fini(sl_flame_tree *tree);

#endif
