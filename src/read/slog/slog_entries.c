/* SPDX-License-Identifier: MIT */
#include "read/slog/slog_entries.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "base/core/str.h"
#include "log/layout/log_layout.h"
#include "model/addr_map.h"
#include "model/torch/conf_text.h"
#include "read/slog/slog_counters.h"

#define DEVICE_MAX  256
#define PENDING_MAX 64 /* requests whose alloc has not come: one per thread at most */

/* A label as a place: "stream 55c0a3b2e0 pool 0.1". */
typedef struct place {
    bool is_read, is_place;
    uint16_t stream_idx, pool_idx;
} place;

typedef struct pending_request {
    uint64_t addr, bytes;
    int device;
} pending_request;

typedef struct range {
    uint64_t addr, bytes;
    uint16_t stream_idx, pool_idx;
    bool is_large, is_expandable;
} range;

typedef SL_VEC(range) ranges;

struct sl_slog_entries {
    sl_log_reader *log; /* borrowed */
    sl_trace *trace;    /* borrowed */
    place places[SL_LABEL_CAP];
    pending_request pending[PENDING_MAX];
    size_t pending_cnt;
    uint8_t tracking[DEVICE_MAX]; /* by device as one byte: sl_tracking, or NOT_SAID */
    bool is_off;                  /* the tracker was switched off on the way */
    sl_addr_map waiting;          /* blocks freed and not reusable -> index in waits */
    SL_VEC(sl_block) waits;       /* of all devices; size_bytes 0 = reusable by now */
    SL_VEC(int) wait_devices;
};

#define NOT_SAID 255

/* ---- places ---- */

static bool take_number(sl_str *text, unsigned base, uint64_t *number) {
    size_t at = 0;
    for (*number = 0; at < text->len; at++) {
        unsigned char c = (unsigned char)text->ptr[at];
        unsigned digit = c >= '0' && c <= '9'   ? c - (unsigned)'0'
                         : c >= 'a' && c <= 'f' ? c - (unsigned)'a' + 10
                                                : 99;
        if (digit >= base || *number > (UINT64_MAX - digit) / base)
            break;
        *number = *number * base + digit;
    }
    *text = (sl_str){text->ptr + at, text->len - at};
    return at > 0;
}

static bool take_word(sl_str *text, const char *word) {
    size_t len = strlen(word);
    if (text->len < len || memcmp(text->ptr, word, len) != 0)
        return false;
    *text = (sl_str){text->ptr + len, text->len - len};
    return true;
}

static place read_place(const sl_slog_entries *e, uint16_t label) {
    sl_str text = sl_log_get_label(e->log, label);
    place found = {.is_read = true, .pool_idx = SL_POOL_UNKNOWN};
    uint64_t stream, pool[2];
    if (!take_word(&text, "stream ") || !take_number(&text, 16, &stream))
        return found;
    found.is_place = true;
    found.stream_idx = sl_trace_stream(e->trace, stream);
    if (take_word(&text, " pool ") && take_number(&text, 10, &pool[0]) && take_word(&text, ".") &&
        take_number(&text, 10, &pool[1]))
        found.pool_idx = sl_trace_pool(e->trace, (int64_t)pool[0], (int64_t)pool[1]);
    return found;
}

static const place *place_of(sl_slog_entries *e, uint16_t label) {
    static const place nowhere = {.pool_idx = SL_POOL_UNKNOWN};
    if (label == 0 || label >= SL_LABEL_CAP)
        return &nowhere;
    if (!e->places[label].is_read)
        e->places[label] = read_place(e, label);
    return &e->places[label];
}

/* ---- requests ---- */

static void note_request(sl_slog_entries *e, const sl_log_record *r) {
    if (e->pending_cnt == PENDING_MAX)
        memmove(&e->pending[0], &e->pending[1], --e->pending_cnt * sizeof e->pending[0]);
    e->pending[e->pending_cnt++] = (pending_request){r->addr, r->size, r->device};
}

/* The bytes asked for, at most those of the block; its own size without a request. */
static uint64_t take_request(sl_slog_entries *e, const sl_log_record *r) {
    for (size_t i = e->pending_cnt; i-- > 0;) {
        if (e->pending[i].addr != r->addr || e->pending[i].device != r->device)
            continue;
        uint64_t bytes = e->pending[i].bytes;
        e->pending[i] = e->pending[--e->pending_cnt];
        return sl_min_u64(bytes, r->size);
    }
    return r->size;
}

/* ---- frees that wait ---- */

static uint64_t wait_key(const sl_log_record *r) {
    return r->addr ^ (uint64_t)(uint8_t)r->device << 56;
}

static bool add_wait(sl_slog_entries *e, const sl_log_record *r) {
    sl_block block = {.addr = r->addr,
                      .size_bytes = r->size,
                      .requested_bytes = r->size,
                      .segment_idx = SL_IDX_NONE,
                      .state = SL_BLOCK_PENDING_FREE};
    return e->waits.cnt < SL_ADDR_NONE - 1 &&
           sl_addr_map_put(&e->waiting, wait_key(r), (uint32_t)e->waits.cnt) &&
           sl_vec_push(&e->waits, block) && sl_vec_push(&e->wait_devices, r->device);
}

static void end_wait(sl_slog_entries *e, const sl_log_record *r, sl_event *event) {
    uint32_t i = sl_addr_map_remove(&e->waiting, wait_key(r));
    if (i == SL_ADDR_NONE)
        return;
    event->size_bytes = e->waits.at[i].size_bytes; /* of the block; the entry has what was asked */
    e->waits.at[i].size_bytes = 0;
}

static bool add_waits(const sl_slog_entries *e, sl_device_trace *device) {
    size_t before = device->blocks.cnt;
    for (size_t i = 0; i < e->waits.cnt; i++)
        if (e->wait_devices.at[i] == device->device && e->waits.at[i].size_bytes &&
            !sl_vec_push(&device->blocks, e->waits.at[i]))
            return false;
    if (device->blocks.cnt > before)
        qsort(device->blocks.at, device->blocks.cnt, sizeof device->blocks.at[0],
              sl_block_compare_addr);
    return true;
}

/* ---- events ---- */

bool sl_slog_entries_fill(sl_slog_entries *e, const sl_log_record *r, sl_event *event) {
    switch (r->kind) {
    case SL_EV_REQUEST: note_request(e, r); return true;
    case SL_EV_REUSABLE:
        event->kind = SL_EV_FREE_COMPLETED;
        end_wait(e, r, event);
        break;
    case SL_EV_FREE:
        if (!(r->flags & SL_RECORD_DELAYED))
            return true;
        event->kind = SL_EV_FREE_REQUESTED;
        return add_wait(e, r);
    case SL_EV_ALLOC:
    case SL_EV_SEGMENT_ALLOC:
    case SL_EV_SEGMENT_FREE:
    case SL_EV_SEGMENT_MAP:
    case SL_EV_SEGMENT_UNMAP: break;
    default: return true;
    }
    const place *at = place_of(e, r->label);
    event->stream_idx = at->stream_idx;
    event->pool_idx = at->pool_idx;
    return true;
}

bool sl_slog_entries_pushed(sl_slog_entries *e, const sl_log_record *r, sl_device_trace *device) {
    if (r->kind != SL_EV_ALLOC || !place_of(e, r->label)->is_place)
        return true;
    return sl_events_set_requested(&device->events, take_request(e, r));
}

/* ---- segments ---- */

static int by_addr(const void *a, const void *b) {
    return SL_ORDER(((const range *)a)->addr, ((const range *)b)->addr);
}

/* The first range that ends after addr. */
static size_t find_range(const ranges *all, uint64_t addr) {
    size_t low = 0, high = all->cnt;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (all->at[mid].addr + all->at[mid].bytes <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool put_range(ranges *all, size_t at, range more) {
    if (more.bytes == 0)
        return true;
    if (!sl_vec_reserve(all, 1))
        return false;
    memmove(all->at + at + 1, all->at + at, (all->cnt++ - at) * sizeof all->at[0]);
    all->at[at] = more;
    return true;
}

/* Takes [addr, end) out of whatever covers it. */
static bool cut_range(ranges *all, uint64_t addr, uint64_t end) {
    for (size_t at; at = find_range(all, addr), at < all->cnt && all->at[at].addr < end;) {
        range left = all->at[at], right = left;
        left.bytes = addr > left.addr ? addr - left.addr : 0;
        right.bytes = right.addr + right.bytes > end ? right.addr + right.bytes - end : 0;
        right.addr = end;
        memmove(all->at + at, all->at + at + 1, (--all->cnt - at) * sizeof all->at[0]);
        if (!put_range(all, at, right) || !put_range(all, at, left))
            return false;
    }
    return true;
}

#define SMALL_SEGMENT ((uint64_t)2 << 20)

static bool apply_event(ranges *all, const sl_event *event) {
    bool is_map = event->kind == SL_EV_SEGMENT_MAP;
    uint64_t end = event->addr + event->size_bytes;
    if (!sl_event_is_segment(event->kind) || event->size_bytes == 0 || end < event->addr)
        return true;
    if (!cut_range(all, event->addr, end))
        return false;
    if (!is_map && event->kind != SL_EV_SEGMENT_ALLOC)
        return true;
    return put_range(all, find_range(all, event->addr),
                     (range){event->addr, event->size_bytes, event->stream_idx, event->pool_idx,
                             event->size_bytes != SMALL_SEGMENT, is_map});
}

static bool ranges_of_events(const sl_device_trace *device, ranges *all) {
    for (size_t i = 0; i < device->events.cnt; i++) {
        sl_event event = sl_events_get(&device->events, i);
        if (!apply_event(all, &event))
            return false;
    }
    return true;
}

/* Of a recording whose oldest events are gone. Ranges of expandable segments are not in the live table. */
static bool ranges_of_tables(sl_slog_entries *e, const sl_log_tables *tables, int device,
                             ranges *all) {
    for (size_t i = 0; i < tables->blocks.cnt; i++) {
        const sl_log_block *b = &tables->blocks.at[i];
        if (b->device != device || b->domain != SL_DOMAIN_SEGMENT || b->size == 0 ||
            b->addr + b->size < b->addr)
            continue;
        const place *at = place_of(e, b->label);
        range one = {b->addr, b->size, at->stream_idx, at->pool_idx, b->size != SMALL_SEGMENT,
                     false};
        if (!sl_vec_push(all, one))
            return false;
    }
    if (all->cnt > 1)
        qsort(all->at, all->cnt, sizeof all->at[0], by_addr);
    return true;
}

/* Ranges that were mapped one after the other are one segment. */
static void join_ranges(ranges *all) {
    size_t kept = 0;
    for (size_t i = 0; i < all->cnt; i++) {
        range *last = kept ? &all->at[kept - 1] : NULL;
        const range *next = &all->at[i];
        if (last && last->is_expandable && next->is_expandable &&
            last->addr + last->bytes == next->addr && last->stream_idx == next->stream_idx &&
            last->pool_idx == next->pool_idx && last->is_large == next->is_large)
            last->bytes += next->bytes;
        else
            all->at[kept++] = *next;
    }
    all->cnt = kept;
}

/* ---- the end state ---- */

typedef struct tiler {
    sl_device_trace *device;
    SL_VEC(sl_block) blocks; /* with the free ones between them */
    size_t next;             /* of the device's blocks */
} tiler;

static bool add_tile(tiler *t, sl_segment *segment, sl_block block) {
    block.segment_idx = (uint32_t)t->device->segments.cnt;
    segment->block_cnt++;
    segment->allocated_bytes += block.state == SL_BLOCK_ALLOCATED ? block.size_bytes : 0;
    segment->active_bytes += block.state != SL_BLOCK_INACTIVE ? block.size_bytes : 0;
    segment->requested_bytes += block.state != SL_BLOCK_INACTIVE ? block.requested_bytes : 0;
    return sl_vec_push(&t->blocks, block);
}

static bool add_gap(tiler *t, sl_segment *segment, uint64_t from, uint64_t to) {
    return from >= to || add_tile(t, segment, (sl_block){.addr = from, .size_bytes = to - from});
}

/* False when memory ran out; *fits is false when a block lies across the segment's border. */
static bool add_segment(tiler *t, const range *from, bool *fits) {
    sl_segment segment = {.addr = from->addr,
                          .total_bytes = from->bytes,
                          .first_block = (uint32_t)t->blocks.cnt,
                          .stream_idx = from->stream_idx,
                          .pool_idx = from->pool_idx,
                          .is_large = from->is_large,
                          .is_expandable = from->is_expandable};
    uint64_t at = from->addr, end = from->addr + from->bytes;
    bool ok = true;
    for (; ok && t->next < t->device->blocks.cnt; t->next++) {
        const sl_block *block = &t->device->blocks.at[t->next];
        if (block->addr >= end)
            break;
        *fits = *fits && block->addr >= at && block->size_bytes <= end - block->addr;
        if (!*fits)
            return true;
        ok = add_gap(t, &segment, at, block->addr) && add_tile(t, &segment, *block);
        at = block->addr + block->size_bytes;
    }
    return ok && add_gap(t, &segment, at, end) && sl_vec_push(&t->device->segments, segment);
}

/* The live blocks and the free ones between them, segment by segment. */
static bool tile(sl_device_trace *device, const ranges *all, bool *fits) {
    tiler t = {.device = device};
    bool ok = true;
    *fits = true;
    for (size_t i = 0; i < all->cnt && ok && *fits; i++)
        ok = add_segment(&t, &all->at[i], fits);
    *fits = *fits && t.next == device->blocks.cnt;
    if (ok && *fits) {
        sl_vec_free(&device->blocks);
        memcpy(&device->blocks, &t.blocks, sizeof device->blocks);
        return true;
    }
    device->segments.cnt = 0;
    sl_vec_free(&t.blocks);
    return ok;
}

static bool is_not_segment(const sl_events *events, size_t i) {
    return !sl_event_is_segment(events->kind[i]);
}

static bool has_kind(const sl_events *events, sl_event_kind kind) {
    return events->cnt && memchr(events->kind, (int)kind, events->cnt);
}

/* Whether every segment of the device is known at every moment that the events cover. */
static bool is_whole(const sl_slog_entries *e, const sl_device_trace *device, uint64_t lost_cnt) {
    bool is_mapped = has_kind(&device->events, SL_EV_SEGMENT_MAP) ||
                     has_kind(&device->events, SL_EV_SEGMENT_UNMAP);
    return e->tracking[(uint8_t)device->device] == SL_TRACKING_WHOLE && !e->is_off &&
           !(lost_cnt && (is_mapped || !device->has_end_state));
}

static bool finish_device(sl_slog_entries *e, sl_device_trace *device, const sl_log_tables *tables,
                          uint64_t lost_cnt) {
    ranges all = {0};
    bool fits = is_whole(e, device, lost_cnt), ok = !device->has_end_state || add_waits(e, device);
    if (ok && fits && device->has_end_state) {
        ok = lost_cnt ? ranges_of_tables(e, tables, device->device, &all)
                      : ranges_of_events(device, &all);
        join_ranges(&all);
        ok = ok && tile(device, &all, &fits);
    }
    if (ok && !fits)
        device->end_cnt = sl_events_filter(&device->events, is_not_segment, device->end_cnt);
    sl_vec_free(&all);
    return ok;
}

/* ---- settings ---- */

/* The device's first block; INT64_MAX without one. */
static int64_t first_alloc_us(const sl_device_trace *device) {
    const sl_events *events = &device->events;
    const uint8_t *at = events->cnt ? memchr(events->kind, (int)SL_EV_ALLOC, events->cnt) : NULL;
    return device->device >= 0 && at ? events->time_us[at - events->kind] : INT64_MAX;
}

/* What a text leaves of the settings before it, and itself. */
static uint32_t add_conf(sl_trace *trace, uint32_t before, uint32_t text) {
    char merged[2048];
    sl_str rest = sl_strtab_get(&trace->strings, before);
    sl_str now = sl_strtab_get(&trace->strings, text);
    size_t len = sl_min_u64(now.len, sizeof merged);
    sl_conf_item item, other;
    memcpy(merged, now.ptr, len);
    while (sl_conf_next(&rest, &item)) {
        if (sl_conf_is_reset(item.key) || sl_conf_find(now, item.key, &other) ||
            item.whole.len + 1 > sizeof merged - len)
            continue;
        if (len)
            merged[len++] = ',';
        memcpy(merged + len, item.whole.ptr, item.whole.len);
        len += item.whole.len;
    }
    return sl_strtab_intern(&trace->strings, merged, len);
}

static bool is_expandable(const sl_trace *trace, uint32_t conf) {
    sl_conf_item item;
    return sl_conf_find(sl_strtab_get(&trace->strings, conf), SL_STR("expandable_segments"),
                        &item) &&
           item.whole.len > 4 && memcmp(item.whole.ptr + item.whole.len - 4, "True", 4) == 0;
}

/* Those with which the first block was made. Segments, where they are known, show what is in effect: torch 2.9 does
 * not read expandable_segments from PYTORCH_ALLOC_CONF. */
static bool choose_settings(sl_slog_entries *e) {
    sl_trace *trace = e->trace;
    int64_t first_us = INT64_MAX;
    uint32_t conf = 0;
    bool has_mapped = false, has_taken = false;
    for (size_t i = 0; i < trace->devices.cnt; i++) {
        const sl_events *events = &trace->devices.at[i]->events;
        int64_t us = first_alloc_us(trace->devices.at[i]);
        first_us = us < first_us ? us : first_us;
        has_mapped |= has_kind(events, SL_EV_SEGMENT_MAP);
        has_taken |= has_kind(events, SL_EV_SEGMENT_ALLOC);
    }
    for (size_t i = 0; i < trace->settings_changes.cnt; i++) {
        const sl_settings_change *change = &trace->settings_changes.at[i];
        if (i == 0 || change->time_us <= first_us)
            conf = add_conf(trace, conf, change->text);
        if (conf == SL_STR_NONE)
            return false;
    }
    if (!trace->settings_changes.cnt)
        return true;
    trace->settings.conf = conf;
    trace->settings.expandable_known = true;
    trace->settings.is_expandable = has_mapped || (!has_taken && is_expandable(trace, conf));
    return true;
}

bool sl_slog_entries_finish(sl_slog_entries *e, const sl_log_tables *tables, uint64_t lost_cnt) {
    for (size_t i = 0; i < e->trace->devices.cnt; i++)
        if (!finish_device(e, e->trace->devices.at[i], tables, lost_cnt))
            return false;
    return choose_settings(e);
}

/* ---- marks ---- */

static void take_tracking(sl_slog_entries *e, const sl_log_mark_info *mark) {
    uint8_t *state = &e->tracking[mark->step >> 8 & 255], found = (uint8_t)mark->step;
    if (found == SL_TRACKING_OFF) {
        sl_str why = sl_log_get_string(e->log, mark->name);
        if (!e->is_off)
            sl_trace_note(e->trace,
                          "no requested sizes, streams and segments of PyTorch's allocator: %.*s",
                          (int)sl_min_u64(why.len, 200), why.ptr);
        e->is_off = true;
    } else {
        *state = *state == NOT_SAID || found < *state ? found : *state;
    }
}

static bool take_settings(sl_slog_entries *e, const sl_log_mark_info *mark) {
    sl_str text = sl_log_get_string(e->log, mark->name);
    sl_settings_change change = {sl_slog_time_us(e->log, mark->time_ns),
                                 sl_strtab_intern(&e->trace->strings, text.ptr, text.len),
                                 mark->step == SL_SETTINGS_PROGRAM};
    return change.text != SL_STR_NONE && sl_vec_push(&e->trace->settings_changes, change);
}

static sl_status take_marks(sl_slog_entries *e, sl_error *err) {
    sl_log_marks marks;
    bool has_room = true;
    SL_TRY(sl_log_load_names(e->log, err));
    SL_TRY(sl_log_load_marks(e->log, &marks, err));
    for (size_t i = 0; i < marks.cnt && has_room; i++) {
        if (marks.at[i].kind == SL_EV_TRACKING)
            take_tracking(e, &marks.at[i]);
        if (marks.at[i].kind == SL_EV_SETTINGS)
            has_room = take_settings(e, &marks.at[i]);
    }
    sl_vec_free(&marks);
    return has_room ? SL_OK : sl_fail_no_memory(err, "a trace");
}

sl_status sl_slog_entries_new(sl_log_reader *log, sl_trace *trace, sl_slog_entries **out,
                              sl_error *err) {
    sl_slog_entries *e = calloc(1, sizeof *e);
    if (!e)
        return sl_fail_no_memory(err, "a trace");
    e->log = log;
    e->trace = trace;
    memset(e->tracking, NOT_SAID, sizeof e->tracking);
    *out = e;
    return take_marks(e, err);
}

void sl_slog_entries_free(sl_slog_entries *e) {
    if (!e)
        return;
    sl_addr_map_fini(&e->waiting);
    sl_vec_free(&e->waits);
    sl_vec_free(&e->wait_devices);
    free(e);
}
