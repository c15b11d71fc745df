/* SPDX-License-Identifier: MIT */
#include "tui/facts/live_sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/live_line.h"
#include "base/core/str.h"
#include "base/text/term.h"
#include "model/stack.h"
#include "read/torch/native_name.h"

#define TEXT_CAP  512
#define LINES_MAX 2000

/* A site and the line it belongs to; after sorting, the sites of a line are adjacent. */
typedef struct line_site {
    uint32_t group;                /* what it is listed under: its file or its module */
    uint32_t file, line, function; /* string ids of the log */
    const sl_log_site *site;
} line_site;

typedef SL_VEC(line_site) line_sites;

typedef struct site_work {
    sl_tree *tree;
    sl_arena *arena;
    const sl_log_reader *reader;
    const sl_live_base *base;
    bool by_module;
} site_work;

void sl_live_base_free(sl_live_base *base) {
    sl_vec_free(&base->bytes);
}

static bool take_base(sl_live_base *base, const sl_log_tables *tables) {
    if (base->is_taken)
        return true;
    for (size_t i = 0; i < tables->sites.cnt; i++) {
        while (base->bytes.cnt <= tables->sites.at[i].id)
            if (!sl_vec_push(&base->bytes, 0))
                return false;
        base->bytes.at[tables->sites.at[i].id] = tables->sites.at[i].live_bytes;
    }
    return base->is_taken = true;
}

static int64_t growth_of(const sl_live_base *base, const sl_log_site *site) {
    uint64_t before = site->id < base->bytes.cnt ? base->bytes.at[site->id] : 0;
    return (int64_t)site->live_bytes - (int64_t)before;
}

static int compare_lines(const void *a, const void *b) {
    const line_site *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return (x->site->live_bytes < y->site->live_bytes) -
           (x->site->live_bytes > y->site->live_bytes);
}

static bool is_same_line(const line_site *a, const line_site *b) {
    return a->group == b->group && a->file == b->file && a->line == b->line &&
           a->function == b->function;
}

static const char *frame_text(const site_work *work, const sl_fmt_frame *frame) {
    char text[TEXT_CAP], line[16] = "", name[SL_NATIVE_NAME_CAP];
    sl_str file = sl_log_get_string(work->reader, frame->file);
    sl_str function = sl_live_line_function(work->reader, frame, name);
    if (frame->line)
        snprintf(line, sizeof line, ":%u", frame->line);
    snprintf(text, sizeof text, "%.*s%s in %.*s", (int)(file.len < 300 ? file.len : 300),
             file.ptr + (file.len < 300 ? 0 : file.len - 300), line,
             (int)(function.len < 100 ? function.len : 100), function.ptr);
    sl_term_clean(text);
    return sl_arena_copy(work->arena, text, strlen(text));
}

static bool add_frames(site_work *work, uint32_t stack, uint32_t parent) {
    sl_fmt_frame frame;
    for (uint32_t caller; sl_log_get_frame(work->reader, stack, &frame, &caller); stack = caller) {
        sl_str file = sl_log_get_string(work->reader, frame.file);
        sl_tree_node node = {.text = frame_text(work, &frame),
                             .file = sl_arena_copy(work->arena, file.ptr, file.len),
                             .line_number = frame.line,
                             .parent = parent,
                             .level = SL_TREE_FRAME};
        if (!node.text || !node.file || sl_tree_add(work->tree, &node) == SL_TREE_ROOT)
            return false;
    }
    return true;
}

static void add_figures(sl_tree_node *node, const site_work *work, const line_site *from,
                        size_t cnt) {
    for (size_t i = 0; i < cnt; i++) {
        node->figures[SL_TREE_LIVE] += (int64_t)from[i].site->live_bytes;
        node->figures[SL_TREE_GROWTH] += growth_of(work->base, from[i].site);
        node->figures[SL_TREE_BLOCKS] += (int64_t)from[i].site->live_cnt;
    }
    /* The peaks of different stacks were at different times, so a line's peak is known only if it
     * has a single stack. */
    if (cnt == 1 && node->level == SL_TREE_LINE) {
        node->figures[SL_TREE_PEAK] = (int64_t)from[0].site->peak_bytes;
        node->known[SL_TREE_PEAK] = true;
    }
    node->known[SL_TREE_LIVE] = node->known[SL_TREE_GROWTH] = node->known[SL_TREE_BLOCKS] = true;
}

static bool add_line(site_work *work, const line_site *from, size_t cnt, uint32_t file_node) {
    sl_fmt_frame frame = {0};
    bool has_line = sl_live_line_find(work->reader, from->site->stack, &frame);
    sl_str file = sl_log_get_string(work->reader, frame.file);
    sl_tree_node node = {.text = has_line ? frame_text(work, &frame) : "(no Python stack)",
                         .file = sl_arena_copy(work->arena, file.ptr, file.len),
                         .line_number = frame.line,
                         .parent = file_node,
                         .level = SL_TREE_LINE};
    add_figures(&node, work, from, cnt);
    add_figures(&work->tree->nodes.at[file_node], work, from, cnt);
    uint32_t at = node.text && node.file ? sl_tree_add(work->tree, &node) : SL_TREE_ROOT;
    if (work->by_module) /* the stacks are in the other tree */
        return at != SL_TREE_ROOT;
    return at != SL_TREE_ROOT && add_frames(work, from->site->stack, at);
}

static uint32_t add_group(site_work *work, uint32_t group) {
    sl_str name = sl_log_get_string(work->reader, group);
    sl_tree_node node = {.text = name.len          ? sl_arena_copy(work->arena, name.ptr, name.len)
                                 : work->by_module ? "(outside any module)"
                                                   : "(no file)",
                         .file = "",
                         .parent = SL_TREE_ROOT,
                         .level = SL_TREE_FILE};
    return node.text ? sl_tree_add(work->tree, &node) : SL_TREE_ROOT;
}

static bool add_lines(site_work *work, const line_sites *list) {
    uint32_t file_node = SL_TREE_ROOT;
    for (size_t i = 0, cnt; i < list->cnt && i < LINES_MAX; i += cnt) {
        for (cnt = 1; i + cnt < list->cnt && is_same_line(&list->at[i], &list->at[i + cnt]);)
            cnt++;
        if (i == 0 || list->at[i].group != list->at[i - 1].group)
            file_node = add_group(work, list->at[i].group);
        if (file_node == SL_TREE_ROOT || !add_line(work, &list->at[i], cnt, file_node))
            return false;
    }
    return true;
}

/* The path of the innermost module in a stack; 0 = there is none. */
static uint32_t module_of(const sl_log_reader *reader, uint32_t stack) {
    sl_fmt_frame frame;
    for (uint32_t caller; sl_log_get_frame(reader, stack, &frame, &caller); stack = caller)
        if (sl_str_is(sl_log_get_string(reader, frame.file), SL_MODULE_FRAME_FILE))
            return frame.function;
    return 0;
}

/* The sites of a device that hold something, or did when the screen was opened. */
static bool list_sites(const sl_log_reader *reader, const sl_log_tables *tables, int device,
                       const sl_live_base *base, line_sites *list) {
    for (size_t i = 0; i < tables->sites.cnt; i++) {
        const sl_log_site *site = &tables->sites.at[i];
        sl_fmt_frame frame = {0};
        if (site->domain != SL_DOMAIN_BLOCK || site->device != device ||
            (!site->live_bytes && growth_of(base, site) == 0))
            continue;
        sl_live_line_find(reader, site->stack, &frame);
        if (!sl_vec_push(list,
                         ((line_site){frame.file, frame.file, frame.line, frame.function, site})))
            return false;
    }
    return true;
}

static bool add_modules(site_work *work, line_sites *list) {
    bool has_any = false;
    for (size_t i = 0; i < list->cnt; i++) {
        list->at[i].group = module_of(work->reader, list->at[i].site->stack);
        has_any |= list->at[i].group != 0;
    }
    if (!has_any)
        return true;
    qsort(list->at, list->cnt, sizeof *list->at, compare_lines);
    return add_lines(work, list);
}

bool sl_live_sites_fill(sl_tree *tree, sl_tree *modules, sl_arena *arena,
                        const sl_log_reader *reader, const sl_log_tables *tables, int device,
                        sl_live_base *base) {
    line_sites list = {0};
    site_work work = {tree, arena, reader, base, false};
    site_work by_module = {modules, arena, reader, base, true};
    bool has_room = take_base(base, tables) && list_sites(reader, tables, device, base, &list);
    if (list.cnt)
        qsort(list.at, list.cnt, sizeof *list.at, compare_lines);
    has_room = has_room && add_lines(&work, &list) && add_modules(&by_module, &list);
    sl_vec_free(&list);
    return has_room;
}
