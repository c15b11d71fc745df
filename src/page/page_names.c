/* SPDX-License-Identifier: MIT */
#include "page/page_names.h"

#include <string.h>

#include "base/text/utf8.h"

void sl_page_names_fini(sl_page_names *names) {
    sl_vec_free(&names->is_user);
    sl_vec_free(&names->site_of);
    sl_stacks_fini(&names->stacks);
    sl_strtab_fini(&names->strings);
}

bool sl_page_source_init(sl_page_source *source, sl_page_names *names, const sl_sites *lines) {
    const sl_trace *trace = lines->trace;
    *source = (sl_page_source){.names = names, .trace = trace, .lines = lines};
    source->frame_map = calloc(trace->stacks.frames.cnt + 1, sizeof *source->frame_map);
    source->site_map = calloc(trace->stacks.spans.cnt + 1, sizeof *source->site_map);
    source->stack_map = calloc(trace->stacks.spans.cnt + 1, sizeof *source->stack_map);
    return source->frame_map && source->site_map && source->stack_map;
}

void sl_page_source_fini(sl_page_source *source) {
    free(source->frame_map);
    free(source->site_map);
    free(source->stack_map);
    *source = (sl_page_source){0};
}

static uint32_t intern_text(sl_page_names *names, sl_str text) {
    uint32_t id = sl_strtab_intern(&names->strings, text.ptr, text.len);
    if (id != SL_STR_NONE)
        return id;
    names->has_failed = true;
    return 0;
}

static uint32_t intern_frame(sl_page_names *names, sl_frame frame, bool is_user) {
    uint32_t id = sl_stacks_intern_frame(&names->stacks, frame);
    if (id == SL_STACK_NONE ||
        (id == names->is_user.cnt && !sl_vec_push(&names->is_user, (uint8_t)is_user))) {
        names->has_failed = true;
        return 0;
    }
    return id;
}

static uint32_t intern_stack(sl_page_names *names, const uint32_t *frames, size_t depth,
                             uint32_t site_frame) {
    uint32_t id = sl_stacks_intern(&names->stacks, frames, depth);
    if (id == SL_STACK_NONE ||
        (id == names->site_of.cnt && !sl_vec_push(&names->site_of, site_frame))) {
        names->has_failed = true;
        return 0;
    }
    return id;
}

uint32_t sl_page_words(sl_page_names *names, const char *words) {
    sl_str text = {words, strlen(words)};
    return intern_frame(names, (sl_frame){.function = intern_text(names, text)}, true);
}

/* String 0 is the empty string and stack 0 the empty stack, as in a trace. */
void sl_page_names_init(sl_page_names *names) {
    *names = (sl_page_names){0};
    if (sl_strtab_intern(&names->strings, "", 0) != 0)
        names->has_failed = true;
    (void)intern_stack(names, NULL, 0, sl_page_words(names, "(stack not recorded)"));
}

/* Adds frame number `id` of the trace's table to the page. */
static uint32_t import_frame(sl_page_source *source, uint32_t id) {
    if (source->frame_map[id] > 0)
        return source->frame_map[id] - 1;
    const sl_strtab *from = &source->trace->strings;
    sl_frame frame = source->trace->stacks.frames.at[id];
    sl_frame copy = {intern_text(source->names, sl_strtab_get(from, frame.function)),
                     intern_text(source->names, sl_strtab_get(from, frame.file)), frame.line};
    bool is_user = sl_frame_is_users(source->trace, frame);
    uint32_t made = intern_frame(source->names, copy, is_user);
    source->frame_map[id] = made + 1;
    return made;
}

uint32_t sl_page_site_frame(sl_page_source *source, sl_site site) {
    const char *words = sl_site_label(site);
    if (words)
        return sl_page_words(source->names, words);
    const sl_stacks *stacks = &source->trace->stacks;
    size_t at = stacks->spans.at[site.stack_id].first + site.frame_pos;
    return import_frame(source, stacks->frame_ids.at[at]);
}

uint32_t sl_page_site(sl_page_source *source, uint32_t stack_id) {
    uint32_t *known = &source->site_map[stack_id];
    if (*known == 0)
        *known = sl_page_site_frame(source, sl_sites_of_stack(source->lines, stack_id)) + 1;
    return *known - 1;
}

uint32_t sl_page_folded(sl_page_names *names, uint32_t site_frame) {
    return intern_stack(names, &site_frame, 1, site_frame);
}

static uint32_t import_stack(sl_page_source *source, uint32_t stack_id) {
    uint32_t site = sl_page_site(source, stack_id);
    sl_stack_span span = source->trace->stacks.spans.at[stack_id];
    if (span.depth == 0)
        return sl_page_folded(source->names, site);
    uint32_t *frames = malloc(span.depth * sizeof *frames);
    if (!frames) {
        source->names->has_failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < span.depth; i++)
        frames[i] = import_frame(source, source->trace->stacks.frame_ids.at[span.first + i]);
    uint32_t made = intern_stack(source->names, frames, span.depth, site);
    free(frames);
    return made;
}

uint32_t sl_page_stack(sl_page_source *source, uint32_t stack_id) {
    uint32_t *known = &source->stack_map[stack_id];
    if (*known == 0)
        *known = import_stack(source, stack_id) + 1;
    return *known - 1;
}

static void write_frames(const sl_page_names *names, sl_page_columns *columns) {
    for (size_t i = 0; i < names->stacks.frames.cnt; i++) {
        sl_frame frame = names->stacks.frames.at[i];
        sl_page_put(columns, SL_PAGE_NAMES_FRAME_FILE, frame.file);
        sl_page_put(columns, SL_PAGE_NAMES_FRAME_FUNCTION, frame.function);
        sl_page_put(columns, SL_PAGE_NAMES_FRAME_LINE, frame.line);
        sl_page_put(columns, SL_PAGE_NAMES_FRAME_USER, names->is_user.at[i]);
    }
}

static void write_stacks(const sl_page_names *names, sl_page_columns *columns) {
    const sl_stacks *stacks = &names->stacks;
    for (size_t i = 0; i < stacks->spans.cnt; i++) {
        sl_page_put(columns, SL_PAGE_NAMES_STACK_DEPTH, stacks->spans.at[i].depth);
        sl_page_put(columns, SL_PAGE_NAMES_STACK_SITE, names->site_of.at[i]);
        for (uint32_t f = 0; f < stacks->spans.at[i].depth; f++)
            sl_page_put(columns, SL_PAGE_NAMES_STACK_FRAME,
                        stacks->frame_ids.at[stacks->spans.at[i].first + f]);
    }
}

/* The page shows names as they are, so what is not safe to show is replaced here. */
static void put_name(sl_page_columns *columns, sl_str name) {
    size_t before = columns->at[SL_PAGE_NAMES_TEXT].cnt;
    for (size_t at = 0; at < name.len;) {
        size_t from = at;
        sl_utf8_char next = sl_utf8_next(name.ptr + at, name.len - at);
        while (next.is_safe && (at += next.len) < name.len)
            next = sl_utf8_next(name.ptr + at, name.len - at);
        sl_page_put_bytes(columns, SL_PAGE_NAMES_TEXT, (sl_str){name.ptr + from, at - from});
        if (at >= name.len)
            break;
        sl_page_put_bytes(columns, SL_PAGE_NAMES_TEXT, SL_STR("\xef\xbf\xbd"));
        at += next.len;
    }
    sl_page_put(columns, SL_PAGE_NAMES_LENGTH,
                (int64_t)(columns->at[SL_PAGE_NAMES_TEXT].cnt - before));
}

void sl_page_names_write(const sl_page_names *names, sl_page_columns *columns) {
    for (size_t i = 0; i < names->strings.strings.cnt; i++) {
        put_name(columns, names->strings.strings.at[i]);
    }
    write_frames(names, columns);
    write_stacks(names, columns);
    columns->has_failed |= names->has_failed;
}
