/* SPDX-License-Identifier: MIT */
/* The lines of a device that was read whole, as a tree: file, line, the frames of its largest stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "export/report/report_words.h"
#include "tui/facts/run_facts.h"

/* Lines that are listed; the report's lists are shorter still. */
#define LINES_MAX   2000
/* Where growth is measured from: what comes before is warm-up (optimizer state, workspaces). */
#define GROWTH_FROM 4

#define KNOWN_LATER "known when all events are read"

typedef struct line_row {
    uint32_t site;
    uint32_t stack; /* the stack with most bytes at the peak; SL_STACK_EMPTY = not known */
    uint64_t live, peak, early, blocks, stack_bytes;
} line_row;

typedef struct site_work {
    const sl_sites *sites;
    const sl_replay *replay;
    line_row *rows; /* owned; by site */
    sl_tui_source *source;
    sl_tree *tree;
} site_work;

static int compare_rows(const void *a, const void *b) {
    const line_row *x = a, *y = b;
    uint64_t most_x = x->live > x->peak ? x->live : x->peak;
    uint64_t most_y = y->live > y->peak ? y->live : y->peak;
    return most_x != most_y ? (most_x < most_y ? 1 : -1)
                            : (x->site > y->site) - (x->site < y->site);
}

/* For each line, the stack that holds most at the peak. */
static bool find_stacks(site_work *work) {
    sl_life_ids ids = {0};
    uint64_t *sums = calloc(work->sites->trace->stacks.spans.cnt + 1, sizeof *sums);
    bool is_done =
        sums && sl_replay_live_at(work->replay, work->replay->peak_requested.event, &ids);
    for (size_t i = 0; is_done && i < ids.cnt; i++) {
        const sl_life *life = &work->replay->lives.at[ids.at[i]];
        line_row *row = &work->rows[sl_sites_of(work->sites, life)];
        uint64_t sum = sums[life->stack_id] += life->requested_bytes;
        if (sum >= row->stack_bytes) {
            row->stack_bytes = sum;
            row->stack = life->stack_id;
        }
    }
    free(sums);
    sl_vec_free(&ids);
    return is_done;
}

static bool sum_lines(site_work *work) {
    const sl_replay *replay = work->replay;
    size_t cnt = work->sites->sites.cnt;
    uint64_t *bytes = calloc(cnt + 1, sizeof *bytes), *blocks = calloc(cnt + 1, sizeof *blocks);
    uint32_t early = replay->event_cnt / GROWTH_FROM;
    bool is_done = bytes && blocks;
    is_done =
        is_done && sl_sites_bytes_at(work->sites, replay, sl_replay_end(replay), bytes, blocks);
    for (size_t i = 0; is_done && i < cnt; i++)
        work->rows[i].live = bytes[i], work->rows[i].blocks = blocks[i];
    is_done = is_done && sl_sites_bytes_at(work->sites, replay, early, bytes, NULL);
    for (size_t i = 0; is_done && i < cnt; i++)
        work->rows[i].early = bytes[i];
    is_done = is_done &&
              sl_sites_bytes_at(work->sites, replay, replay->peak_requested.event, bytes, NULL);
    for (size_t i = 0; is_done && i < cnt; i++)
        work->rows[i].peak = bytes[i];
    free(bytes);
    free(blocks);
    return is_done;
}

static const char *keep_str(site_work *work, sl_str text) {
    return sl_arena_copy(&work->source->arena, text.ptr, text.len);
}

/* The node of a line's file; made for the first line of that file. */
static uint32_t file_node(site_work *work, const char *file) {
    for (uint32_t i = 0; i < work->tree->nodes.cnt; i++)
        if (work->tree->nodes.at[i].level == SL_TREE_FILE &&
            strcmp(work->tree->nodes.at[i].text, file) == 0)
            return i;
    return sl_tree_add(
        work->tree,
        &(sl_tree_node){.text = file, .file = "", .parent = SL_TREE_ROOT, .level = SL_TREE_FILE});
}

static void set_figures(sl_tree_node *node, const line_row *row, bool has_history) {
    const int64_t figures[] = {
        [SL_TREE_LIVE] = (int64_t)row->live,
        [SL_TREE_GROWTH] = (int64_t)row->live - (int64_t)row->early,
        [SL_TREE_PEAK] = (int64_t)row->peak,
        [SL_TREE_BLOCKS] = (int64_t)row->blocks,
    };
    for (size_t i = 0; i < SL_TREE_FIGURE_CNT; i++) {
        node->figures[i] += figures[i];
        node->known[i] = i == SL_TREE_LIVE || i == SL_TREE_BLOCKS || has_history;
    }
}

static void add_frames(site_work *work, const line_row *row, uint32_t parent) {
    const sl_trace *trace = work->sites->trace;
    char text[SL_WORDS_CAP];
    size_t depth = row->stack_bytes ? sl_stack_depth(&trace->stacks, row->stack) : 0;
    for (size_t i = 0; i < depth; i++) {
        sl_frame frame = sl_stack_frame(&trace->stacks, row->stack, i);
        sl_words_frame(text, trace, frame, 0);
        sl_tree_node node = {.text = keep_str(work, sl_str_of(text)),
                             .file = keep_str(work, sl_strtab_get(&trace->strings, frame.file)),
                             .line_number = frame.line,
                             .parent = parent,
                             .level = SL_TREE_FRAME};
        if (!node.text || !node.file || sl_tree_add(work->tree, &node) == SL_TREE_ROOT)
            work->source->has_failed = true;
    }
}

static void add_line(site_work *work, const line_row *row) {
    char text[SL_WORDS_CAP];
    sl_frame frame = {0};
    const sl_trace *trace = work->sites->trace;
    sl_site site = row->stack_bytes ? sl_sites_show(work->sites, row->site, row->stack)
                                    : work->sites->sites.at[row->site].site;
    bool has_line = sl_site_frame(site, &frame);
    const char *file = has_line ? keep_str(work, sl_strtab_get(&trace->strings, frame.file)) : "";
    if (has_line || !work->source->is_early)
        sl_words_site(text, site, 0);
    else /* why it has no line is in the events */
        snprintf(text, sizeof text, "(%s)", KNOWN_LATER);
    uint32_t parent = file ? file_node(work, *file ? file : "(no file)") : SL_TREE_ROOT;
    sl_tree_node node = {.text = keep_str(work, sl_str_of(text)),
                         .file = file,
                         .line_number = frame.line,
                         .parent = parent,
                         .key = row->site,
                         .level = SL_TREE_LINE};
    set_figures(&node, row, work->replay->has_history);
    if (parent == SL_TREE_ROOT || !node.text) {
        work->source->has_failed = true;
        return;
    }
    set_figures(&work->tree->nodes.at[parent], row, work->replay->has_history);
    uint32_t at = sl_tree_add(work->tree, &node);
    if (at != SL_TREE_ROOT)
        add_frames(work, row, at);
}

void sl__site_facts(const sl_run_device *device, sl_tui_source *source, sl_tui_device *to) {
    site_work work = {.source = source, .tree = &to->sites};
    if (sl_run_replay(device, &work.replay, NULL) < 0 ||
        sl_run_lines(device->input, &work.sites, NULL) < 0)
        return;
    to->growth_span = source->is_early           ? KNOWN_LATER
                      : work.replay->has_history ? "from a quarter of the run to its end"
                                                 : "unknown, the input has no history";
    size_t cnt = work.sites->sites.cnt;
    work.rows = calloc(cnt + 1, sizeof *work.rows);
    for (uint32_t i = 0; work.rows && i < cnt; i++)
        work.rows[i].site = i;
    if (work.rows && sum_lines(&work) && find_stacks(&work)) {
        qsort(work.rows, cnt, sizeof *work.rows, compare_rows);
        for (size_t i = 0; i < cnt && i < LINES_MAX && (work.rows[i].live || work.rows[i].peak);
             i++)
            add_line(&work, &work.rows[i]);
        sl__module_facts(work.replay, work.sites, work.replay->event_cnt / GROWTH_FROM, source,
                         &to->modules);
    } else {
        source->has_failed = true;
    }
    free(work.rows);
}
