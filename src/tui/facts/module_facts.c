/* SPDX-License-Identifier: MIT */
/* The modules of a device that was read whole, as a tree: module, the lines that allocate in it. A line that runs
 * in several modules is a row in each. */
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "export/report/report_words.h"
#include "run/lines/sites.h"
#include "run/lines/stack_sums.h"
#include "tui/facts/run_facts.h"

#define ROWS_MAX 4000

/* One stack; those of the same module and line are put together. */
typedef struct stack_row {
    uint32_t module, site, stack; /* module: string of its path; 0 = outside any */
    uint64_t live, blocks, early, peak;
} stack_row;

typedef SL_VEC(stack_row) stack_rows;

/* The path of the innermost module in a stack. */
static uint32_t module_of(const sl_trace *trace, uint32_t stack) {
    for (size_t i = 0; i < sl_stack_depth(&trace->stacks, stack); i++) {
        sl_frame frame = sl_stack_frame(&trace->stacks, stack, i);
        if (sl_str_is(sl_strtab_get(&trace->strings, frame.file), SL_MODULE_FRAME_FILE))
            return frame.function;
    }
    return 0;
}

static int compare_rows(const void *a, const void *b) {
    const stack_row *x = a, *y = b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    return (x->live + x->peak < y->live + y->peak) - (x->live + x->peak > y->live + y->peak);
}

static bool list_stacks(const sl_replay *replay, const sl_sites *sites, stack_rows *rows,
                        uint32_t early_event) {
    const sl_trace *trace = sites->trace;
    sl_stack_sum *live = sl_stack_sums_new(trace), *early = sl_stack_sums_new(trace),
                 *peak = sl_stack_sums_new(trace);
    bool is_done = live && early && peak &&
                   sl_stack_sums_live(replay, sl_replay_end(replay), live) &&
                   sl_stack_sums_live(replay, early_event, early) &&
                   sl_stack_sums_live(replay, replay->peak_requested.event, peak);
    for (uint32_t i = 0; is_done && i < sl_stack_sums_cnt(trace); i++)
        if (live[i].bytes || peak[i].bytes)
            is_done = sl_vec_push(rows, ((stack_row){.module = module_of(trace, i),
                                                     .site = sites->site_of_stack[i],
                                                     .stack = i,
                                                     .live = live[i].bytes,
                                                     .blocks = live[i].blocks,
                                                     .early = early[i].bytes,
                                                     .peak = peak[i].bytes}));
    free(live);
    free(early);
    free(peak);
    return is_done;
}

static void add_figures(sl_tree_node *node, const stack_row *row, bool has_history) {
    node->figures[SL_TREE_LIVE] += (int64_t)row->live;
    node->figures[SL_TREE_GROWTH] += (int64_t)row->live - (int64_t)row->early;
    node->figures[SL_TREE_PEAK] += (int64_t)row->peak;
    node->figures[SL_TREE_BLOCKS] += (int64_t)row->blocks;
    for (size_t i = 0; i < SL_TREE_FIGURE_CNT; i++)
        node->known[i] = i == SL_TREE_LIVE || i == SL_TREE_BLOCKS || has_history;
}

static uint32_t add_node(sl_tui_source *source, sl_tree *tree, sl_tree_node node, const char *text,
                         size_t len) {
    node.text = sl_arena_copy(&source->arena, text, len);
    node.file = node.file ? node.file : "";
    uint32_t at = node.text ? sl_tree_add(tree, &node) : SL_TREE_ROOT;
    source->has_failed |= at == SL_TREE_ROOT;
    return at;
}

static uint32_t add_module(sl_tui_source *source, sl_tree *tree, const sl_trace *trace,
                           uint32_t module) {
    sl_str name =
        module ? sl_strtab_get(&trace->strings, module) : sl_str_of("(outside any module)");
    sl_tree_node node = {.parent = SL_TREE_ROOT, .level = SL_TREE_FILE};
    return add_node(source, tree, node, name.ptr, name.len);
}

static uint32_t add_line(sl_tui_source *source, sl_tree *tree, const sl_sites *sites,
                         const stack_row *row, uint32_t parent) {
    char text[SL_WORDS_CAP];
    sl_frame frame = {0};
    sl_site site = sl_sites_show(sites, row->site, row->stack);
    sl_tree_node node = {.parent = parent, .level = SL_TREE_LINE, .key = row->site};
    if (sl_site_frame(site, &frame)) {
        sl_str file = sl_strtab_get(&sites->trace->strings, frame.file);
        node.file = sl_arena_copy(&source->arena, file.ptr, file.len);
        node.line_number = frame.line;
    }
    sl_words_site(text, site, 0);
    return add_node(source, tree, node, text, strlen(text));
}

static void add_rows(sl_tui_source *source, sl_tree *tree, const sl_sites *sites,
                     const stack_rows *rows, bool has_history) {
    uint32_t module = SL_TREE_ROOT, line = SL_TREE_ROOT;
    for (size_t i = 0; i < rows->cnt && tree->nodes.cnt < ROWS_MAX; i++) {
        const stack_row *row = &rows->at[i], *last = i ? &rows->at[i - 1] : NULL;
        bool is_new = !last || last->module != row->module;
        if (is_new)
            module = add_module(source, tree, sites->trace, row->module);
        if (module != SL_TREE_ROOT && (is_new || last->site != row->site))
            line = add_line(source, tree, sites, row, module);
        if (module == SL_TREE_ROOT || line == SL_TREE_ROOT)
            return;
        add_figures(&tree->nodes.at[module], row, has_history);
        add_figures(&tree->nodes.at[line], row, has_history);
    }
}

void sl__module_facts(const sl_replay *replay, const sl_sites *sites, uint32_t early_event,
                      sl_tui_source *source, sl_tree *tree) {
    stack_rows rows = {0};
    bool is_done = list_stacks(replay, sites, &rows, early_event);
    bool has_modules = false;
    for (size_t i = 0; i < rows.cnt; i++)
        has_modules |= rows.at[i].module != 0;
    if (is_done && has_modules) {
        qsort(rows.at, rows.cnt, sizeof *rows.at, compare_rows);
        add_rows(source, tree, sites, &rows, replay->has_history);
    }
    source->has_failed |= !is_done;
    sl_vec_free(&rows);
}
