/* SPDX-License-Identifier: MIT */
/* Live bytes split by user line, by file, by stream, by tag and by module, at the highest moment
 * of each column. The parts therefore add up to a value that was really reached. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "base/text/human.h"
#include "page/page_lane.h"

/* One way to split the live bytes. A block has a key (its site, its file, ...), and a key
 * belongs to a group: the keys with the highest live bytes have a group each, all others share
 * the last group. */
typedef struct split {
    sl_page_groups *groups;
    sl_page_column column;
    size_t (*key_of_life)(const struct split *by, const sl_page_lane *lane, const sl_life *life);
    sl_page_group (*group_of_key)(sl_page_lane *lane, size_t key);
    bool keeps_order; /* groups are in the order of their keys, key 0 ("unknown") last */
    size_t key_cnt;   /* 0 = the input cannot be split this way */
    uint32_t *keys;   /* owned; by site or by stack, if the key is not in the life itself */
    uint64_t *live;   /* owned; by key */
    uint64_t *peak;   /* owned; by key: the highest value of live */
    uint64_t *at_top; /* owned; by key: live at the peak of the device */
    uint8_t *group;   /* owned; by key */
    uint64_t now[SL_PAGE_GROUP_MAX + 1]; /* blocks of 0 bytes may have no group */
    uint64_t *rows;                      /* owned; group-major */
} split;

static const char *text_of(const sl_page_lane *lane, uint32_t string) {
    return sl_strtab_get(&lane->source->names->strings, string).ptr;
}

static sl_frame frame_of(const sl_page_lane *lane, size_t site) {
    return lane->source->names->stacks.frames.at[lane->sites.at[site].frame];
}

/* ---- the ways ---- */

static size_t line_of_life(const split *by, const sl_page_lane *lane, const sl_life *life) {
    SL_UNUSED(by);
    return sl_page_lane_site(lane, life);
}

static sl_page_group line_group(sl_page_lane *lane, size_t site) {
    return (sl_page_group){.label = text_of(lane, frame_of(lane, site).file),
                           .frame = lane->sites.at[site].frame};
}

static size_t file_of_life(const split *by, const sl_page_lane *lane, const sl_life *life) {
    return by->keys[sl_page_lane_site(lane, life)];
}

static sl_page_group text_group(sl_page_lane *lane, size_t string) {
    return (sl_page_group){.label = text_of(lane, (uint32_t)string), .frame = SL_IDX_NONE};
}

/* The file of each site; a site without a line is identified by its text. */
static bool number_files(const sl_page_lane *lane, split *by) {
    by->key_cnt = lane->source->names->strings.strings.cnt;
    by->keys = malloc((lane->sites.cnt + 1) * sizeof *by->keys);
    for (size_t i = 0; by->keys && i < lane->sites.cnt; i++) {
        sl_frame frame = frame_of(lane, i);
        by->keys[i] = frame.file ? frame.file : frame.function;
    }
    return by->keys != NULL;
}

static size_t stream_of_life(const split *by, const sl_page_lane *lane, const sl_life *life) {
    SL_UNUSED(by);
    SL_UNUSED(lane);
    return life->stream_idx;
}

/* Labels made here are kept in the table of names. */
static const char *keep_text(sl_page_lane *lane, const char *text) {
    uint32_t id = sl_strtab_intern(&lane->source->names->strings, text, strlen(text));
    lane->source->names->has_failed |= id == SL_STR_NONE;
    return id == SL_STR_NONE ? "" : text_of(lane, id);
}

static sl_page_group stream_group(sl_page_lane *lane, size_t stream) {
    char text[32];
    snprintf(text, sizeof text, "stream %zu", stream);
    return (sl_page_group){.label = keep_text(lane, text), .frame = SL_IDX_NONE};
}

static size_t tag_of_life(const split *by, const sl_page_lane *lane, const sl_life *life) {
    SL_UNUSED(by);
    return sl_page_lane_tag(lane, life);
}

static sl_page_group tag_group(sl_page_lane *lane, size_t tag) {
    SL_UNUSED(lane);
    return (sl_page_group){.label = sl_tag_name((sl_tag)tag), .frame = SL_IDX_NONE};
}

static size_t module_of_life(const split *by, const sl_page_lane *lane, const sl_life *life) {
    SL_UNUSED(lane);
    return by->keys[life->stack_id];
}

static sl_page_group module_group(sl_page_lane *lane, size_t string) {
    return string == 0 ? (sl_page_group){.label = "outside any module", .frame = SL_IDX_NONE}
                       : text_group(lane, string);
}

/* The path of the innermost module in a stack; NULL when there is no module in it. */
static const sl_str *module_of_stack(const sl_trace *trace, uint32_t stack_id) {
    static const sl_str module_file = {SL_MODULE_FRAME_FILE, sizeof SL_MODULE_FRAME_FILE - 1};
    for (size_t i = 0; i < sl_stack_depth(&trace->stacks, stack_id); i++) {
        sl_frame frame = sl_stack_frame(&trace->stacks, stack_id, i);
        sl_str file = sl_strtab_get(&trace->strings, frame.file);
        if (sl_str_equals(file, module_file))
            return &trace->strings.strings.at[frame.function];
    }
    return NULL;
}

/* The module of each stack, as a string id of the page; 0 when there is no module in the stack. */
static bool number_modules(sl_page_lane *lane, split *by) {
    sl_page_names *names = lane->source->names;
    size_t stack_cnt = lane->trace->stacks.spans.cnt;
    by->keys = calloc(stack_cnt + 1, sizeof *by->keys);
    if (!by->keys)
        return false;
    for (uint32_t i = 0; i < stack_cnt; i++) {
        const sl_str *path = module_of_stack(lane->trace, i);
        if (!path)
            continue;
        by->keys[i] = sl_strtab_intern(&names->strings, path->ptr, path->len);
        if (by->keys[i] == SL_STR_NONE)
            return false;
        lane->has_modules = true;
    }
    by->key_cnt = lane->has_modules ? names->strings.strings.cnt : 0;
    return true;
}

/* ---- which keys have a group of their own ---- */

typedef struct ranked {
    uint64_t weight;
    uint32_t key;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static uint64_t weight_of(const split *by, size_t key) {
    if (!by->keeps_order)
        return by->peak[key];
    return key == 0 ? 1 : by->key_cnt - key + 1;
}

/* How many keys have a group of their own; the keys after them, if any, share the last group. */
static size_t count_named(const split *by, const ranked *all, size_t cnt) {
    if (cnt <= SL_PAGE_GROUPS)
        return cnt;
    uint64_t total = 0, rest = 0;
    for (size_t i = 0; i < cnt; i++) {
        total += by->at_top[all[i].key];
        rest += i < SL_PAGE_GROUPS - 1 ? 0 : by->at_top[all[i].key];
    }
    size_t named = SL_PAGE_GROUPS - 1;
    for (; named + 1 < SL_PAGE_GROUP_MAX && sl_sites_rest_is_large(rest, total); named++)
        rest -= by->at_top[all[named].key];
    return named + 1 == cnt ? cnt : named; /* a single remaining key gets its own group */
}

/* "28 more, the largest 3.20 MiB": a shared group must not look like a single line. */
static sl_page_group rest_group(sl_page_lane *lane, size_t cnt, uint64_t largest_bytes) {
    char text[64], human[SL_HUMAN_CAP];
    snprintf(text, sizeof text, "%zu more, the largest %s", cnt,
             sl_human_bytes(human, largest_bytes));
    return (sl_page_group){.label = keep_text(lane, text), .frame = SL_IDX_NONE, .is_rest = true};
}

static bool choose_groups(sl_page_lane *lane, split *by) {
    size_t cnt = 0;
    ranked *all = malloc((by->key_cnt + 1) * sizeof *all);
    if (!all)
        return false;
    for (size_t key = 0; key < by->key_cnt; key++)
        if (by->peak[key] > 0)
            all[cnt++] = (ranked){weight_of(by, key), (uint32_t)key};
    qsort(all, cnt, sizeof *all, compare_ranked);
    size_t named = count_named(by, all, cnt);
    memset(by->group, (int)named, by->key_cnt);
    for (size_t g = 0; g < named; g++) {
        by->group[all[g].key] = (uint8_t)g;
        by->groups->at[g] = by->group_of_key(lane, all[g].key);
    }
    if (named < cnt)
        by->groups->at[named] = rest_group(lane, cnt - named, by->peak[all[named].key]);
    by->groups->cnt = named + (named < cnt);
    free(all);
    return true;
}

static void measure_change(const sl_page_lane *lane, split *by, const sl_life *life,
                           bool is_begin) {
    if (by->key_cnt == 0)
        return;
    size_t key = by->key_of_life(by, lane, life);
    by->live[key] += is_begin ? life->requested_bytes : 0 - life->requested_bytes;
    if (by->live[key] > by->peak[key])
        by->peak[key] = by->live[key];
}

/* The live bytes of each key at the peak of the device. */
static void measure_top(const sl_page_lane *lane, split *by) {
    const sl_replay *replay = lane->replay;
    for (size_t i = 0; by->key_cnt > 0 && i < replay->lives.cnt; i++) {
        const sl_life *life = &replay->lives.at[i];
        if (sl_life_is_live(life, lane->peak.event))
            by->at_top[by->key_of_life(by, lane, life)] += life->requested_bytes;
    }
}

/* The highest live bytes of each key over all events, and its live bytes at the peak. */
static void measure_keys(sl_page_lane *lane, split *splits, size_t split_cnt) {
    for (size_t s = 0; s < split_cnt; s++)
        measure_top(lane, &splits[s]);
    for (size_t i = 0; i < lane->replay->base_cnt; i++)
        for (size_t s = 0; s < split_cnt; s++)
            measure_change(lane, &splits[s], &lane->replay->lives.at[i], true);
    sl_page_walk_rewind(&lane->walk);
    for (sl_page_change change; sl_page_walk_next(&lane->walk, &change);)
        for (size_t s = 0; s < split_cnt; s++)
            measure_change(lane, &splits[s], &lane->replay->lives.at[change.life], change.is_begin);
}

/* ---- the columns ---- */

static void apply(const sl_page_lane *lane, split *by, const sl_life *life, bool is_begin) {
    if (by->key_cnt == 0)
        return;
    uint64_t *now = &by->now[by->group[by->key_of_life(by, lane, life)]];
    *now += is_begin ? life->requested_bytes : 0 - life->requested_bytes;
}

static void take_column(split *splits, size_t split_cnt, size_t column, size_t column_cnt) {
    for (size_t s = 0; s < split_cnt; s++)
        for (size_t g = 0; g < splits[s].groups->cnt; g++)
            splits[s].rows[g * column_cnt + column] = splits[s].now[g];
}

static void walk_columns(sl_page_lane *lane, split *splits, size_t split_cnt,
                         const uint32_t *instants, uint32_t column_cnt) {
    for (size_t i = 0; i < lane->replay->base_cnt; i++)
        for (size_t s = 0; s < split_cnt; s++)
            apply(lane, &splits[s], &lane->replay->lives.at[i], true);
    uint32_t column = 0;
    sl_page_walk_rewind(&lane->walk);
    for (sl_page_change change; sl_page_walk_next(&lane->walk, &change);) {
        for (; column < column_cnt && instants[column] < change.event; column++)
            take_column(splits, split_cnt, column, column_cnt);
        for (size_t s = 0; s < split_cnt; s++)
            apply(lane, &splits[s], &lane->replay->lives.at[change.life], change.is_begin);
    }
    for (; column < column_cnt; column++)
        take_column(splits, split_cnt, column, column_cnt);
}

static void put_rows(sl_page_lane *lane, const split *by, size_t column_cnt) {
    for (size_t i = 0; i < by->groups->cnt * column_cnt; i++)
        sl_page_put(&lane->columns, by->column, (int64_t)by->rows[i]);
}

static bool make_room(split *by, uint32_t column_cnt) {
    by->live = calloc(by->key_cnt + 1, sizeof *by->live);
    by->peak = calloc(by->key_cnt + 1, sizeof *by->peak);
    by->at_top = calloc(by->key_cnt + 1, sizeof *by->at_top);
    by->group = calloc(by->key_cnt + 1, 1);
    by->rows = calloc((size_t)column_cnt * SL_PAGE_GROUP_MAX + 1, sizeof *by->rows);
    return by->live && by->peak && by->at_top && by->group && by->rows;
}

static void split_fini(split *by) {
    free(by->keys);
    free(by->live);
    free(by->peak);
    free(by->at_top);
    free(by->group);
    free(by->rows);
}

enum { BY_LINE, BY_FILE, BY_STREAM, BY_TAG, BY_MODULE, SPLIT_CNT };

static bool fill(sl_page_lane *lane, split *splits, const uint32_t *instants, uint32_t column_cnt) {
    for (size_t s = 0; s < SPLIT_CNT; s++)
        if (!make_room(&splits[s], column_cnt))
            return false;
    measure_keys(lane, splits, SPLIT_CNT);
    for (size_t s = 0; s < SPLIT_CNT; s++)
        if (!choose_groups(lane, &splits[s]))
            return false;
    walk_columns(lane, splits, SPLIT_CNT, instants, column_cnt);
    for (uint32_t i = 0; i < column_cnt; i++)
        sl_page_put(&lane->columns, SL_PAGE_GROUPS_EVENT, instants[i]);
    for (size_t s = 0; s < SPLIT_CNT; s++)
        put_rows(lane, &splits[s], column_cnt);
    return true;
}

bool sl_page_add_groups(sl_page_lane *lane) {
    split splits[SPLIT_CNT] = {
        [BY_LINE] = {.groups = &lane->lines,
                     .column = SL_PAGE_GROUPS_LINE,
                     .key_of_life = line_of_life,
                     .group_of_key = line_group,
                     .key_cnt = lane->sites.cnt},
        [BY_FILE] = {.groups = &lane->files,
                     .column = SL_PAGE_GROUPS_FILE,
                     .key_of_life = file_of_life,
                     .group_of_key = text_group},
        [BY_STREAM] = {.groups = &lane->streams,
                       .column = SL_PAGE_GROUPS_STREAM,
                       .key_of_life = stream_of_life,
                       .group_of_key = stream_group,
                       .key_cnt = (size_t)UINT16_MAX + 1},
        [BY_TAG] = {.groups = &lane->tags,
                    .column = SL_PAGE_GROUPS_TAG,
                    .key_of_life = tag_of_life,
                    .group_of_key = tag_group,
                    .keeps_order = true,
                    .key_cnt = lane->trace->has_tags ? SL_TAG_LIMIT : 0},
        [BY_MODULE] = {.groups = &lane->modules,
                       .column = SL_PAGE_GROUPS_MODULE,
                       .key_of_life = module_of_life,
                       .group_of_key = module_group},
    };
    uint32_t column_cnt = lane->budget.columns;
    uint32_t *instants = NULL;
    bool ok = number_files(lane, &splits[BY_FILE]) && number_modules(lane, &splits[BY_MODULE]) &&
              sl_page_instants(lane, &column_cnt, &instants) &&
              fill(lane, splits, instants, column_cnt);
    for (size_t s = 0; s < SPLIT_CNT; s++)
        split_fini(&splits[s]);
    free(instants);
    return ok;
}
