/* SPDX-License-Identifier: MIT */
#include "api/live/live_failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/live_line.h"
#include "base/core/order.h"
#include "base/text/human.h"
#include "model/counter_series.h"

/* Share of the card that others must hold to be the cause, as in analyze/thresholds.h. */
#define OTHERS_SHARE 10

/* A stretch of addresses: a segment, or a block in it. */
typedef struct stretch {
    uint64_t addr, size;
} stretch;

typedef SL_VEC(stretch) stretches;

typedef struct pieces {
    uint64_t unused, largest; /* in segments, but in no block */
    uint64_t
        empty; /* whole segments of it, which go back to the driver when a request does not fit */
} pieces;

static int compare_stretches(const void *a, const void *b) {
    const stretch *l = a, *r = b;
    return (l->addr > r->addr) - (l->addr < r->addr);
}

static bool list_domain(const sl_log_tables *tables, int device, uint8_t domain, stretches *list) {
    for (size_t i = 0; i < tables->blocks.cnt; i++) {
        const sl_log_block *block = &tables->blocks.at[i];
        stretch row = {block->addr, block->size};
        if (block->device == device && block->domain == domain && !sl_vec_push(list, row))
            return false;
    }
    if (list->cnt)
        qsort(list->at, list->cnt, sizeof *list->at, compare_stretches);
    return true;
}

static void add_piece(pieces *to, uint64_t from, uint64_t end) {
    if (end <= from)
        return;
    to->unused += end - from;
    to->largest = sl_max_u64(to->largest, end - from);
}

/* Gaps between the blocks of each segment. */
static void measure(const stretches *segments, const stretches *blocks, pieces *to) {
    size_t b = 0;
    for (size_t i = 0; i < segments->cnt; i++) {
        uint64_t at = segments->at[i].addr, end = at + segments->at[i].size;
        bool is_empty = true;
        while (b < blocks->cnt && blocks->at[b].addr < at)
            b++;
        for (; b < blocks->cnt && blocks->at[b].addr < end; b++) {
            add_piece(to, at, blocks->at[b].addr);
            at = sl_max_u64(at, blocks->at[b].addr + blocks->at[b].size);
            is_empty = false;
        }
        add_piece(to, at, end);
        to->empty += is_empty ? segments->at[i].size : 0;
    }
}

/* False when memory ran out; *is_known when the log has the segments. */
static bool find_pieces(const sl_log_tables *tables, int device, pieces *to, bool *is_known) {
    stretches segments = {0}, blocks = {0};
    bool has_room = list_domain(tables, device, SL_DOMAIN_SEGMENT, &segments) &&
                    list_domain(tables, device, SL_DOMAIN_BLOCK, &blocks);
    *to = (pieces){0};
    *is_known = segments.cnt > 0;
    if (has_room)
        measure(&segments, &blocks, to);
    sl_vec_free(&segments);
    sl_vec_free(&blocks);
    return has_room;
}

/* The largest request that is made again and again: what is made once, such as weights, has been served. */
static const sl_log_site *largest_request(const sl_log_tables *tables, int device,
                                          uint64_t *bytes) {
    const sl_log_site *best = NULL;
    *bytes = 0;
    for (size_t i = 0; i < tables->sites.cnt; i++) {
        const sl_log_site *site = &tables->sites.at[i];
        if (site->device != device || site->domain != SL_DOMAIN_BLOCK || site->alloc_cnt < 2 ||
            site->alloc_bytes / site->alloc_cnt <= *bytes)
            continue;
        best = site;
        *bytes = site->alloc_bytes / site->alloc_cnt;
    }
    return best;
}

static void name_line(const sl_log_reader *reader, const sl_log_site *site, char *to) {
    sl_fmt_frame frame = {0};
    if (sl_live_line_find(reader, site->stack, &frame))
        sl_live_line_name(reader, &frame, to, SL_LIVE_PLACE_CAP);
}

static sl_failure_cause cause_of(const sl_live_failure *f, int device, sl_maybe_u64 total,
                                 bool is_limited) {
    uint64_t wanted = sl_max_u64(f->request_bytes, f->largest_bytes + 1);
    if (device == SL_DEVICE_HOST)
        return SL_FAILURE_HOST;
    if (!is_limited && f->others_bytes.known && total.known &&
        f->others_bytes.value >= total.value / OTHERS_SHARE && f->others_bytes.value >= wanted)
        return SL_FAILURE_OTHERS;
    if (f->cached_bytes.known && f->piece_bytes.known && f->cached_bytes.value >= wanted)
        return SL_FAILURE_FRAGMENTATION;
    return is_limited ? SL_FAILURE_LIMIT : SL_FAILURE_CARD;
}

/* What the driver would still give: what nobody has, up to the limit of the process. */
static uint64_t new_segment_room(uint64_t free_bytes, uint64_t empty, sl_maybe_u64 limit,
                                 sl_maybe_u64 reserved, bool *is_limited) {
    uint64_t room = free_bytes + empty;
    *is_limited = false;
    if (!limit.known || !reserved.known)
        return room;
    uint64_t held = reserved.value > empty ? reserved.value - empty : 0;
    uint64_t allowed = limit.value > held ? limit.value - held : 0;
    *is_limited = allowed < room;
    return sl_min_u64(room, allowed);
}

sl_status sl_live_failure_find(sl_log_reader *reader, const sl_log_counters *counters,
                               const sl_log_tables *tables, int device, sl_live_failure *out,
                               sl_error *err) {
    pieces space;
    bool has_pieces, is_limited;
    *out = (sl_live_failure){0};
    sl_maybe_u64 free_now = sl_live_device_free(reader, counters, device);
    const sl_log_site *site = largest_request(tables, device, &out->request_bytes);
    if (!free_now.known || !site)
        return SL_OK;
    if (!find_pieces(tables, device, &space, &has_pieces))
        return sl_fail_no_memory(err, "the segments");
    sl_maybe_u64 reserved = sl_live_counter(reader, counters, device, SL_SERIES_RESERVED);
    sl_maybe_u64 total = sl_live_counter(reader, counters, device, SL_SERIES_DEVICE_TOTAL);
    uint64_t room =
        new_segment_room(free_now.value, space.empty,
                         sl_live_process_limit(reader, counters, device), reserved, &is_limited);
    out->is_known = true;
    out->free_bytes = free_now.value;
    out->cached_bytes = (sl_maybe_u64){space.unused, has_pieces};
    out->piece_bytes = (sl_maybe_u64){space.largest, has_pieces};
    out->others_bytes = sl_live_counter(reader, counters, device, SL_SERIES_OTHER_PROCESSES);
    out->largest_bytes = sl_max_u64(room, space.largest);
    out->cause = cause_of(out, device, total, is_limited);
    name_line(reader, site, out->line);
    return SL_OK;
}

const char *sl_failure_cause_name(sl_failure_cause cause) {
    static const char *const names[] = {
#define SL_FAILURE_CAUSE_NAME(id, name, why, room) name,
        SL_FAILURE_CAUSE_MAP(SL_FAILURE_CAUSE_NAME)
#undef SL_FAILURE_CAUSE_NAME
    };
    return names[cause];
}

typedef struct cause_words {
    const char *why, *room;
} cause_words;

static const cause_words *words_of(sl_failure_cause cause) {
    static const cause_words rows[] = {
#define SL_FAILURE_CAUSE_WORDS(id, name, why, room) {why, room},
        SL_FAILURE_CAUSE_MAP(SL_FAILURE_CAUSE_WORDS)
#undef SL_FAILURE_CAUSE_WORDS
    };
    return &rows[cause];
}

const char *sl_live_failure_text(char buf[SL_FAILURE_TEXT_CAP], const sl_live_failure *f) {
    char request[SL_HUMAN_CAP], largest[SL_HUMAN_CAP], cached[SL_HUMAN_CAP], piece[64] = "";
    *buf = '\0';
    if (!f->is_known)
        return buf;
    sl_human_bytes(request, f->request_bytes);
    sl_human_bytes(largest, f->largest_bytes);
    if (f->cause == SL_FAILURE_FRAGMENTATION)
        snprintf(piece, sizeof piece, ", %s is cached",
                 sl_human_bytes(cached, f->cached_bytes.value));
    const char *line = f->line[0] ? f->line : "an unknown line";
    if (sl_live_failure_is_near(f))
        snprintf(buf, SL_FAILURE_TEXT_CAP, "if it failed now: %s: %s; it asks for %s, %s fits%s",
                 line, words_of(f->cause)->why, request, largest, piece);
    else
        snprintf(buf, SL_FAILURE_TEXT_CAP, "largest request: %s asks for %s, %s fits %s%s", line,
                 request, largest, words_of(f->cause)->room, piece);
    return buf;
}
