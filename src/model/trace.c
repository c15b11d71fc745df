/* SPDX-License-Identifier: MIT */
#include "model/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/order.h"
#include "telemetry/telemetry.h"

#define SHARED_LAST_IDX ((uint16_t)(UINT16_MAX - 1))

sl_trace *sl_trace_new(const char *path, sl_source_kind source) {
    sl_trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return NULL;
    trace->source = source;
    trace->path = sl_arena_copy(&trace->arena, path, strlen(path));
    bool ok = trace->path && sl_strtab_intern(&trace->strings, "", 0) == 0 &&
              sl_stacks_intern(&trace->stacks, NULL, 0) == SL_STACK_EMPTY &&
              sl_vec_push(&trace->pools, ((sl_pool){0, 0}));
    if (!ok) {
        sl_trace_free(trace);
        return NULL;
    }
    return trace;
}

static void free_device(sl_device_trace *device) {
    sl_events_fini(&device->events);
    sl_vec_free(&device->segments);
    sl_vec_free(&device->blocks);
    free(device);
}

void sl_trace_free(sl_trace *trace) {
    if (!trace)
        return;
    for (size_t i = 0; i < trace->devices.cnt; i++)
        free_device(trace->devices.at[i]);
    sl_vec_free(&trace->devices);
    sl_vec_free(&trace->streams);
    sl_vec_free(&trace->pools);
    sl_vec_free(&trace->marks);
    for (size_t i = 0; i < trace->counters.cnt; i++)
        sl_vec_free(&trace->counters.at[i].readings);
    sl_vec_free(&trace->counters);
    sl_vec_free(&trace->alerts);
    sl_vec_free(&trace->notes);
    sl_vec_free(&trace->settings_changes);
    sl_telemetry_free(trace->telemetry);
    sl_stacks_fini(&trace->stacks);
    sl_strtab_fini(&trace->strings);
    sl_arena_fini(&trace->arena);
    free(trace);
}

const sl_device_trace *sl_trace_find_device(const sl_trace *trace, int device) {
    for (size_t i = 0; i < trace->devices.cnt; i++)
        if (trace->devices.at[i]->device == device)
            return trace->devices.at[i];
    return NULL;
}

sl_device_trace *sl_trace_device(sl_trace *trace, int device) {
    size_t at = 0;
    while (at < trace->devices.cnt && trace->devices.at[at]->device < device)
        at++;
    if (at < trace->devices.cnt && trace->devices.at[at]->device == device)
        return trace->devices.at[at];
    sl_device_trace *made = calloc(1, sizeof *made);
    if (!made || !sl_vec_push(&trace->devices, made)) {
        free(made);
        return NULL;
    }
    made->device = device;
    memmove(trace->devices.at + at + 1, trace->devices.at + at,
            (trace->devices.cnt - 1 - at) * sizeof *trace->devices.at);
    trace->devices.at[at] = made;
    return made;
}

/* Streams and pools are few, so a backward linear search wins: the newest is the likeliest. */
uint16_t sl_trace_stream(sl_trace *trace, uint64_t handle) {
    for (size_t i = trace->streams.cnt; i-- > 0;)
        if (trace->streams.at[i] == handle)
            return (uint16_t)i;
    if (trace->streams.cnt >= SHARED_LAST_IDX || !sl_vec_push(&trace->streams, handle))
        return SHARED_LAST_IDX;
    return (uint16_t)(trace->streams.cnt - 1);
}

uint16_t sl_trace_pool(sl_trace *trace, int64_t capture_id, int64_t user_id) {
    for (size_t i = trace->pools.cnt; i-- > 0;)
        if (trace->pools.at[i].capture_id == capture_id && trace->pools.at[i].user_id == user_id)
            return (uint16_t)i;
    if (trace->pools.cnt >= SHARED_LAST_IDX ||
        !sl_vec_push(&trace->pools, ((sl_pool){capture_id, user_id})))
        return SHARED_LAST_IDX;
    return (uint16_t)(trace->pools.cnt - 1);
}

void sl_trace_note(sl_trace *trace, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *copy = sl_arena_copy(&trace->arena, text, strlen(text));
    if (copy)
        (void)sl_vec_push(&trace->notes, ((sl_note){copy}));
}

/* The columns, once: growth, release and sorting loop over this table. */
typedef struct column {
    size_t offset; /* of the pointer within sl_events */
    size_t elem_size;
    bool is_optional; /* not there until it is asked for */
} column;

static const column columns[] = {
    {offsetof(sl_events, time_us), sizeof(int64_t), false},
    {offsetof(sl_events, addr), sizeof(uint64_t), false},
    {offsetof(sl_events, size_bytes), sizeof(uint64_t), false},
    {offsetof(sl_events, stack_id), sizeof(uint32_t), false},
    {offsetof(sl_events, stream_idx), sizeof(uint16_t), false},
    {offsetof(sl_events, pool_idx), sizeof(uint16_t), false},
    {offsetof(sl_events, kind), sizeof(uint8_t), false},
    {offsetof(sl_events, tag), sizeof(uint8_t), false},
    {offsetof(sl_events, requested_bytes), sizeof(uint64_t), true},
};

static void **column_at(sl_events *events, size_t i) {
    return (void **)((char *)events + columns[i].offset);
}

static bool is_there(sl_events *events, size_t i) {
    return !columns[i].is_optional || *column_at(events, i);
}

bool sl_events_reserve(sl_events *events, size_t more) {
    size_t want;
    if (sl_add_overflows(events->cnt, more, &want))
        return false;
    if (want <= events->cap)
        return true;
    size_t cap = events->cap;
    for (size_t i = 0; i < SL_COUNT_OF(columns); i++) {
        if (!is_there(events, i))
            continue;
        cap = events->cap;
        if (!sl_vec_grow(column_at(events, i), &cap, events->cnt, more, columns[i].elem_size))
            return false;
    }
    events->cap = cap;
    return true;
}

bool sl_events_push(sl_events *events, const sl_event *event) {
    if (SL_UNLIKELY(events->cnt == events->cap) && !sl_events_reserve(events, 1))
        return false;
    size_t i = events->cnt++;
    events->time_us[i] = event->time_us;
    events->addr[i] = event->addr;
    events->size_bytes[i] = event->size_bytes;
    events->stack_id[i] = event->stack_id;
    events->stream_idx[i] = event->stream_idx;
    events->pool_idx[i] = event->pool_idx;
    events->kind[i] = (uint8_t)event->kind;
    events->tag[i] = (uint8_t)event->tag;
    if (events->requested_bytes)
        events->requested_bytes[i] = event->size_bytes;
    return true;
}

bool sl_events_set_requested(sl_events *events, uint64_t bytes) {
    if (!events->requested_bytes) {
        events->requested_bytes = malloc(events->cap * sizeof *events->requested_bytes);
        if (!events->requested_bytes)
            return false;
        memcpy(events->requested_bytes, events->size_bytes,
               events->cnt * sizeof *events->size_bytes);
    }
    events->requested_bytes[events->cnt - 1] = bytes;
    return true;
}

size_t sl_events_filter(sl_events *events, bool (*keeps)(const sl_events *events, size_t i),
                        size_t before) {
    size_t kept = 0, kept_before = 0;
    for (size_t i = 0; i < events->cnt; i++) {
        if (!keeps(events, i))
            continue;
        for (size_t k = 0; k < SL_COUNT_OF(columns) && kept != i; k++)
            if (is_there(events, k))
                memcpy((char *)*column_at(events, k) + kept * columns[k].elem_size,
                       (char *)*column_at(events, k) + i * columns[k].elem_size,
                       columns[k].elem_size);
        kept++;
        kept_before += i < before;
    }
    events->cnt = kept;
    return kept_before;
}

sl_event sl_events_get(const sl_events *events, size_t i) {
    return (sl_event){events->time_us[i],
                      events->addr[i],
                      events->size_bytes[i],
                      events->stack_id[i],
                      events->stream_idx[i],
                      events->pool_idx[i],
                      (sl_event_kind)events->kind[i],
                      (sl_tag)events->tag[i]};
}

int sl_block_compare_addr(const void *a, const void *b) {
    return SL_ORDER(((const sl_block *)a)->addr, ((const sl_block *)b)->addr);
}

int sl_mark_compare_time(const void *a, const void *b) {
    return SL_ORDER(((const sl_mark *)a)->time_us, ((const sl_mark *)b)->time_us);
}

int sl_alert_compare_time(const void *a, const void *b) {
    return SL_ORDER(((const sl_alert *)a)->time_us, ((const sl_alert *)b)->time_us);
}

static int64_t count_disorder(const sl_events *events) {
    int64_t disorder = 0;
    for (size_t i = 1; i < events->cnt; i++)
        disorder += events->time_us[i] < events->time_us[i - 1];
    return disorder;
}

/* Two neighbouring stretches of `from` become one; of equal times the earlier event stays first. */
static void merge(const int64_t *time_us, const size_t *from, size_t at, size_t mid, size_t end,
                  size_t *to) {
    size_t left = at, right = mid;
    while (at < end) {
        bool is_left = right == end || (left < mid && time_us[from[left]] <= time_us[from[right]]);
        to[at++] = is_left ? from[left++] : from[right++];
    }
}

/* Merges neighbours until one stretch is left; `starts` has run_cnt + 1 entries. Returns the one of
 * the two that has the result. */
static size_t *merge_all(const sl_events *events, size_t *starts, size_t run_cnt, size_t *from,
                         size_t *to) {
    while (run_cnt > 1) {
        size_t made = 0;
        for (size_t r = 0; r < run_cnt; r += 2) {
            size_t first = starts[r], mid = starts[r + 1];
            merge(events->time_us, from, first, mid, r + 2 > run_cnt ? mid : starts[r + 2], to);
            starts[made++] = first;
        }
        starts[made] = events->cnt;
        run_cnt = made;
        size_t *merged = to;
        to = from, from = merged;
    }
    return from;
}

/* The indexes of the events in order of time; NULL when memory ran out. Inputs are in order but for
 * a few events, often one, and a merge of the stretches in order takes one pass for that. */
static size_t *find_order(const sl_events *events, size_t run_cnt) {
    size_t cnt = events->cnt, made = 0;
    size_t *starts = malloc((run_cnt + 1) * sizeof *starts);
    size_t *from = malloc(cnt * sizeof *from), *to = malloc(cnt * sizeof *to), *order = NULL;
    if (starts && from && to) {
        for (size_t i = 0; i < cnt; i++) {
            from[i] = i;
            if (i == 0 || events->time_us[i] < events->time_us[i - 1])
                starts[made++] = i;
        }
        starts[made] = cnt;
        order = merge_all(events, starts, run_cnt, from, to);
    }
    free(starts);
    if (from != order)
        free(from);
    if (to != order)
        free(to);
    return order;
}

static bool permute(void *column_data, size_t elem_size, const size_t *order, size_t cnt) {
    char *copy = malloc(cnt * elem_size);
    if (!copy)
        return false;
    memcpy(copy, column_data, cnt * elem_size);
    for (size_t i = 0, len; i < cnt; i += len) {
        for (len = 1; i + len < cnt && order[i + len] == order[i] + len;)
            len++;
        memcpy((char *)column_data + i * elem_size, copy + order[i] * elem_size, len * elem_size);
    }
    free(copy);
    return true;
}

int64_t sl_events_sort(sl_events *events) {
    int64_t disorder = count_disorder(events);
    if (disorder == 0)
        return 0;
    size_t *order = find_order(events, (size_t)disorder + 1);
    bool ok = order;
    for (size_t i = 0; i < SL_COUNT_OF(columns) && ok; i++)
        ok = !is_there(events, i) ||
             permute(*column_at(events, i), columns[i].elem_size, order, events->cnt);
    free(order);
    return ok ? disorder : -1;
}

size_t sl_events_count_until(const sl_events *events, int64_t time_us) {
    size_t cnt = events->cnt;
    while (cnt > 0 && events->time_us[cnt - 1] > time_us)
        cnt--;
    return cnt;
}

void sl_events_drop_first(sl_events *events, size_t cnt) {
    cnt = cnt < events->cnt ? cnt : events->cnt;
    if (cnt == 0)
        return;
    events->cnt -= cnt;
    for (size_t i = 0; i < SL_COUNT_OF(columns); i++) {
        if (!is_there(events, i))
            continue;
        char *column_data = *column_at(events, i);
        memmove(column_data, column_data + cnt * columns[i].elem_size,
                events->cnt * columns[i].elem_size);
    }
}

void sl_events_fini(sl_events *events) {
    for (size_t i = 0; i < SL_COUNT_OF(columns); i++)
        free(*column_at(events, i));
    *events = (sl_events){0};
}
