/* SPDX-License-Identifier: MIT */
/* A tree of places with figures, and the rows of it that are shown: sorted, searched, opened and closed.
 * Pure; a tree owns its nodes, texts are in the arena of whoever made it. */
#ifndef SL_TREE_ROWS_H
#define SL_TREE_ROWS_H

#include "base/core/status.h"
#include "base/core/vec.h"

typedef enum sl_tree_figure {
    SL_TREE_LIVE,
    SL_TREE_GROWTH,
    SL_TREE_PEAK,
    SL_TREE_BLOCKS,
    SL_TREE_FIGURE_CNT,
} sl_tree_figure;

#define SL_TREE_ROOT UINT32_MAX

/* The levels: a file or module, a line of it, a frame of its largest stack. */
typedef enum sl_tree_level { SL_TREE_FILE, SL_TREE_LINE, SL_TREE_FRAME } sl_tree_level;

typedef struct sl_tree_node {
    const char *text;
    const char *file; /* of a line or a frame; "" = none */
    uint32_t line_number;
    uint32_t parent; /* SL_TREE_ROOT */
    uint32_t key;    /* of whoever made the tree */
    uint8_t level;   /* sl_tree_level */
    bool is_open, has_children;
    bool known[SL_TREE_FIGURE_CNT];
    int64_t figures[SL_TREE_FIGURE_CNT];
} sl_tree_node;

typedef struct sl_tree {
    SL_VEC(sl_tree_node) nodes; /* a parent is before its children */
} sl_tree;

/* The number of the new node; SL_TREE_ROOT when memory ran out. */
uint32_t sl_tree_add(sl_tree *tree, const sl_tree_node *node);
void sl_tree_free(sl_tree *tree);

typedef struct sl_tree_order {
    sl_tree_figure by;
    bool by_file;       /* the level of files is shown, too */
    const char *search; /* part of a text, ignoring case; "" = everything */
} sl_tree_order;

typedef SL_VEC(uint32_t) sl_tree_rows;

/* The nodes that are shown, from the top down. False when memory ran out. */
bool sl_tree_flatten(const sl_tree *tree, const sl_tree_order *order, sl_tree_rows *rows);

/* Whether a text contains a part, ignoring case. */
bool sl_text_has(const char *text, const char *part);

#endif
