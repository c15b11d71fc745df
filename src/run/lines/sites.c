/* SPDX-License-Identifier: MIT */
#include "run/lines/sites.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "model/addr_map.h"

typedef struct site_builder {
    sl_sites *sites;
    sl_group_by group_by;
    sl_addr_map by_key;
} site_builder;

/* What is equal for stacks of one site. Ids are 32 bits, so a pair of them is exact. */
static uint64_t key_of(const site_builder *builder, uint32_t stack_id, sl_frame frame) {
    switch (builder->group_by) {
    case SL_GROUP_FUNCTION: return (uint64_t)frame.file << 32 | frame.function;
    case SL_GROUP_FILE: return frame.file;
    case SL_GROUP_STACK: return stack_id;
    case SL_GROUP_LINE: break;
    }
    /* Native code has no lines: there it is the function, with the place inside it. */
    return (uint64_t)frame.file << 32 |
           (frame.line ? frame.line : UINT32_C(1) << 31 | frame.function);
}

static bool add_special_sites(sl_sites *sites) {
    for (int origin = 1; origin <= SL_ORIGIN_BEFORE; origin++) {
        sl_site site = {sites->trace, SL_STACK_EMPTY, 0, (sl_origin)origin};
        if (!sl_vec_push(&sites->sites, ((sl_site_info){site, true, 0})))
            return false;
    }
    sites->before_site = SL_ORIGIN_BEFORE - 1;
    return true;
}

static uint32_t site_for(site_builder *builder, uint32_t stack_id) {
    sl_sites *sites = builder->sites;
    const sl_stack_class *class = &sites->classes[stack_id];
    if (class->origin != SL_ORIGIN_LINE)
        return class->origin - 1u;
    sl_frame frame = sl_stack_frame(&sites->trace->stacks, stack_id, class->frame_pos);
    uint64_t key = key_of(builder, stack_id, frame);
    uint32_t idx = sl_addr_map_find(&builder->by_key, key);
    if (idx != SL_ADDR_NONE)
        return idx;
    sl_site site = {sites->trace, stack_id, class->frame_pos, SL_ORIGIN_LINE};
    if (!sl_vec_push(&sites->sites, ((sl_site_info){site, true, 0})) ||
        !sl_addr_map_put(&builder->by_key, key, (uint32_t)sites->sites.cnt - 1))
        return SL_IDX_NONE;
    return (uint32_t)sites->sites.cnt - 1;
}

static bool build(sl_sites *sites, sl_group_by group_by) {
    size_t stack_cnt = sites->trace->stacks.spans.cnt;
    sites->classes = sl_stacks_classify(sites->trace);
    sites->site_of_stack = malloc((stack_cnt + 1) * sizeof(uint32_t));
    if (!sites->classes || !sites->site_of_stack || !add_special_sites(sites))
        return false;
    site_builder builder = {sites, group_by, {0}};
    bool ok = true;
    for (uint32_t i = 0; ok && i < stack_cnt; i++) {
        uint32_t idx = sites->site_of_stack[i] = site_for(&builder, i);
        ok = idx != SL_IDX_NONE;
        if (ok)
            sites->sites.at[idx].stack_cnt++;
    }
    sl_addr_map_fini(&builder.by_key);
    return ok;
}

/* Lengths for printf, bounded so that a hostile name cannot crowd out the rest. */
static int text_len(sl_str text) {
    return text.len < 900 ? (int)text.len : 900;
}

void sl_site_filter_text(sl_site site, char text[SL_FILTER_TEXT_CAP]) {
    sl_frame frame;
    if (!sl_site_frame(site, &frame)) {
        snprintf(text, SL_FILTER_TEXT_CAP, "%s", sl_site_label(site));
        return;
    }
    sl_str file = sl_strtab_get(&site.trace->strings, frame.file);
    sl_str function = sl_strtab_get(&site.trace->strings, frame.function);
    snprintf(text, SL_FILTER_TEXT_CAP, "%.*s:%" PRIu32 " %.*s", text_len(file), file.ptr,
             frame.line, text_len(function), function.ptr);
}

static void apply_filter(sl_sites *sites, const regex_t *regex) {
    char text[SL_FILTER_TEXT_CAP];
    for (size_t i = 0; i < sites->sites.cnt; i++) {
        sl_site_filter_text(sites->sites.at[i].site, text);
        sites->sites.at[i].is_shown = regexec(regex, text, 0, NULL, 0) == 0;
    }
}

bool sl_sites_has_shown(const sl_sites *sites) {
    for (size_t i = 0; i < sites->sites.cnt; i++)
        if (sites->sites.at[i].is_shown &&
            (sites->sites.at[i].stack_cnt > 0 || i == sites->before_site))
            return true;
    return false;
}

sl_status sl_sites_init(sl_sites *sites, const sl_trace *trace, sl_group_by group_by,
                        const char *filter, sl_error *err) {
    *sites = (sl_sites){.trace = trace};
    if (!build(sites, group_by)) {
        sl_sites_fini(sites);
        return sl_fail_no_memory(err, "the sites");
    }
    if (!filter)
        return SL_OK;
    regex_t regex;
    int code = regcomp(&regex, filter, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char why[160];
        regerror(code, &regex, why, sizeof why);
        sl_sites_fini(sites);
        return sl_fail(err, SL_E_USAGE, "filter '%s' is not a regular expression: %s", filter, why);
    }
    apply_filter(sites, &regex);
    regfree(&regex);
    return SL_OK;
}

void sl_sites_fini(sl_sites *sites) {
    free(sites->classes);
    free(sites->site_of_stack);
    sl_vec_free(&sites->sites);
    *sites = (sl_sites){0};
}

sl_site sl_sites_show(const sl_sites *sites, uint32_t site_idx, uint32_t stack_id) {
    sl_site site = sites->sites.at[site_idx].site;
    if (site.origin == SL_ORIGIN_LINE) {
        site.stack_id = stack_id;
        site.frame_pos = sites->classes[stack_id].frame_pos;
    } else if (stack_id != SL_STACK_EMPTY) {
        site.stack_id = stack_id; /* native frames are worth showing */
    }
    return site;
}

/* ---- holdings ---- */

/* Sums by stack, folded into sites later, so that the largest stack can stand for its site. */
typedef struct stack_sum {
    uint64_t bytes;
    uint64_t blocks;
} stack_sum;

/* One more row than there are stacks: blocks from before the trace that have no stack. */
static stack_sum *sum_by_stack(const sl_sites *sites, const sl_replay *replay, uint32_t event) {
    size_t stack_cnt = sites->trace->stacks.spans.cnt;
    stack_sum *sums = calloc(stack_cnt + 1, sizeof *sums);
    sl_life_ids ids = {0};
    if (!sums || !sl_replay_live_at(replay, event, &ids)) {
        sl_vec_free(&ids);
        free(sums);
        return NULL;
    }
    for (size_t i = 0; i < ids.cnt; i++) {
        const sl_life *life = &replay->lives.at[ids.at[i]];
        bool is_before = (life->flags & SL_LIFE_BASE) && life->stack_id == SL_STACK_EMPTY;
        stack_sum *sum = &sums[is_before ? stack_cnt : life->stack_id];
        sum->bytes += life->requested_bytes;
        sum->blocks++;
    }
    sl_vec_free(&ids);
    return sums;
}

static uint32_t site_of_row(const sl_sites *sites, size_t row) {
    return row == sites->trace->stacks.spans.cnt ? sites->before_site : sites->site_of_stack[row];
}

typedef struct site_sum {
    uint64_t bytes, blocks, best_bytes;
    uint32_t site_idx, best_stack;
} site_sum;

static int compare_sums(const void *a, const void *b) {
    const site_sum *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->site_idx < y->site_idx ? -1 : x->site_idx > y->site_idx;
}

static void fold(const sl_sites *sites, const stack_sum *sums, site_sum *by_site) {
    for (size_t row = 0; row <= sites->trace->stacks.spans.cnt; row++) {
        if (!sums[row].blocks)
            continue;
        uint32_t idx = site_of_row(sites, row);
        site_sum *sum = &by_site[idx];
        sum->site_idx = idx;
        sum->bytes += sums[row].bytes;
        sum->blocks += sums[row].blocks;
        if (sums[row].bytes >= sum->best_bytes) {
            sum->best_bytes = sums[row].bytes;
            sum->best_stack = row < sites->trace->stacks.spans.cnt ? (uint32_t)row : SL_STACK_EMPTY;
        }
    }
}

/* Rows of SL_SITES_MOST; sums are sorted. */
static size_t count_most(const site_sum *sums, size_t used) {
    uint64_t total = 0, rest;
    size_t cnt = 0;
    for (size_t i = 0; i < used; i++)
        total += sums[i].bytes;
    for (rest = total; cnt < used && cnt < SL_SITES_MOST_MAX &&
                       (cnt < SL_SITES_MOST_MIN || sl_sites_rest_is_large(rest, total));
         cnt++)
        rest -= sums[cnt].bytes;
    return cnt;
}

static bool list_sums(const sl_sites *sites, site_sum *by_site, size_t top, sl_arena *arena,
                      sl_holdings *out) {
    size_t site_cnt = sites->sites.cnt;
    for (size_t i = 0; i < site_cnt; i++)
        if (!sites->sites.at[i].is_shown)
            by_site[i] = (site_sum){.site_idx = (uint32_t)i};
    qsort(by_site, site_cnt, sizeof *by_site, compare_sums);
    size_t used = 0;
    while (used < site_cnt && by_site[used].blocks)
        used++;
    top = top == SL_SITES_MOST ? count_most(by_site, used) : top;
    *out = (sl_holdings){.cnt = used < top ? used : top};
    out->at = sl_arena_alloc(arena, (out->cnt + 1) * sizeof *out->at);
    if (!out->at)
        return false;
    for (size_t i = 0; i < used; i++) {
        const site_sum *sum = &by_site[i];
        if (i < out->cnt) {
            out->at[i] = (sl_holding){sl_sites_show(sites, sum->site_idx, sum->best_stack),
                                      sum->bytes, sum->blocks};
            continue;
        }
        if (!out->other_sites++)
            out->other_largest_bytes = sum->bytes;
        out->other_bytes += sum->bytes;
        out->other_blocks += sum->blocks;
    }
    return true;
}

bool sl_sites_holdings(const sl_sites *sites, const sl_replay *replay, uint32_t event, size_t top,
                       sl_arena *arena, sl_holdings *out) {
    stack_sum *sums = sum_by_stack(sites, replay, event);
    site_sum *by_site = calloc(sites->sites.cnt + 1, sizeof *by_site);
    bool ok = sums && by_site;
    if (ok) {
        fold(sites, sums, by_site);
        ok = list_sums(sites, by_site, top, arena, out);
    }
    free(sums);
    free(by_site);
    return ok;
}

bool sl_sites_bytes_at(const sl_sites *sites, const sl_replay *replay, uint32_t event,
                       uint64_t *bytes, uint64_t *blocks) {
    stack_sum *sums = sum_by_stack(sites, replay, event);
    if (!sums)
        return false;
    memset(bytes, 0, sites->sites.cnt * sizeof *bytes);
    if (blocks)
        memset(blocks, 0, sites->sites.cnt * sizeof *blocks);
    for (size_t row = 0; row <= sites->trace->stacks.spans.cnt; row++) {
        bytes[site_of_row(sites, row)] += sums[row].bytes;
        if (blocks)
            blocks[site_of_row(sites, row)] += sums[row].blocks;
    }
    free(sums);
    return true;
}

/* ---- text ---- */

/* The last two parts of a path: enough to know the file, short enough for a line. */
static sl_str short_path(sl_str file) {
    size_t slashes = 0;
    for (size_t i = file.len; i-- > 0;)
        if (file.ptr[i] == '/' && ++slashes == 2)
            return (sl_str){file.ptr + i + 1, file.len - i - 1};
    return file;
}

const char *sl_site_text(sl_site site, sl_arena *arena) {
    sl_frame frame;
    if (!sl_site_frame(site, &frame))
        return sl_site_label(site);
    sl_str file = short_path(sl_strtab_get(&site.trace->strings, frame.file));
    sl_str function = sl_strtab_get(&site.trace->strings, frame.function);
    const char *text = frame.line
                           ? sl_arena_printf(arena, "%.*s:%" PRIu32 " (%.*s)", text_len(file),
                                             file.ptr, frame.line, text_len(function), function.ptr)
                           : sl_arena_printf(arena, "%.*s (%.*s)", text_len(file), file.ptr,
                                             text_len(function), function.ptr);
    return text ? text : "?";
}
