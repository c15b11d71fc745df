/* SPDX-License-Identifier: MIT */
/* Recordings of stormlog itself -> sl_trace. Events come from the ring, the end state from the live
 * table, the reserved bytes from their curve, so that a ring that has wrapped still gives totals
 * that are right at the end. A running recording is read as it stands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text/human.h"
#include "log/read/log_reader.h"
#include "read/core/source.h"
#include "read/slog/slog_counters.h"
#include "read/slog/slog_entries.h"
#include "read/slog/slog_facts.h"
#include "read/slog/slog_process.h"
#include "read/slog/slog_reserved.h"
#include "read/slog/slog_stack.h"
#include "read/slog/slog_tags.h"

typedef struct slog_load {
    sl_log_reader *log;
    sl_trace *trace;
    sl_log_tables tables;
    sl_slog_tags *tags;       /* owned */
    sl_slog_entries *entries; /* owned */
    sl_slog_libraries libraries;
    uint32_t *stack_ids; /* owned; by id of the log, SL_STACK_NONE = not mapped yet */
    uint32_t stack_cnt;
    uint64_t lost;
    uint64_t torn;
} slog_load;

/* ---- names ---- */

static uint32_t take_string(const slog_load *l, uint32_t id) {
    sl_str text = sl_log_get_string(l->log, id);
    return sl_strtab_intern(&l->trace->strings, text.ptr, text.len);
}

/* A live log may have grown since; its newer stacks are mapped when they are met. */
static uint32_t take_stack(slog_load *l, uint32_t stack) {
    if (stack == 0)
        return SL_STACK_EMPTY;
    if (stack >= l->stack_cnt) {
        uint32_t cnt = sl_log_stack_cnt(l->log);
        uint32_t *grown = realloc(l->stack_ids, (size_t)cnt * sizeof *grown);
        if (!grown || stack >= cnt) {
            l->stack_ids = grown ? grown : l->stack_ids;
            return grown ? SL_STACK_EMPTY : SL_STACK_NONE;
        }
        memset(grown + l->stack_cnt, 0xff, (size_t)(cnt - l->stack_cnt) * sizeof *grown);
        l->stack_ids = grown;
        l->stack_cnt = cnt;
    }
    if (l->stack_ids[stack] == SL_STACK_NONE)
        l->stack_ids[stack] = sl_slog_take_stack(l->log, l->trace, stack);
    return l->stack_ids[stack];
}

/* ---- events ---- */

/* (T5). An interpreter that is started again after its end goes on working: the last mark holds. */
static void mark_end(slog_load *l, const sl_log_record *r) {
    l->trace->end =
        (sl_work_end){.is_marked = true, .time_us = sl_slog_time_us(l->log, r->time_ns)};
    for (size_t i = 0; i < l->trace->devices.cnt; i++)
        l->trace->devices.at[i]->end_cnt = l->trace->devices.at[i]->events.cnt;
}

static sl_status add_event(slog_load *l, const sl_log_record *r, sl_error *err) {
    if (!sl_slog_libraries_add(&l->libraries, l->log, l->trace, r))
        return sl_fail_no_memory(err, "a trace");
    sl_event event = {.time_us = sl_slog_time_us(l->log, r->time_ns),
                      .addr = r->addr,
                      .size_bytes = r->size,
                      .pool_idx = SL_POOL_UNKNOWN,
                      .kind = (sl_event_kind)r->kind};
    if (!sl_slog_entries_fill(l->entries, r, &event))
        return sl_fail_no_memory(err, "a trace");
    if (!sl_event_row_of(event.kind)->is_in_trace) {
        l->trace->unknown_actions += r->kind >= SL_EV_LIMIT;
        if (r->kind == SL_EV_WORK_END)
            mark_end(l, r);
        return sl_slog_tags_add(l->tags, r, NULL) ? SL_OK : sl_fail_no_memory(err, "a trace");
    }
    sl_device_trace *device = sl_trace_device(l->trace, r->device);
    event.stack_id = take_stack(l, r->stack);
    l->trace->has_event_stacks |= event.stack_id != SL_STACK_EMPTY;
    if (!device || event.stack_id == SL_STACK_NONE || !sl_events_push(&device->events, &event) ||
        !sl_slog_entries_pushed(l->entries, r, device) || !sl_slog_tags_add(l->tags, r, device))
        return sl_fail_no_memory(err, "a trace");
    return SL_OK;
}

static sl_status add_events(slog_load *l, sl_log_cursor *cursor, sl_error *err) {
    sl_log_record record;
    for (;;) {
        int got = sl_log_cursor_next(cursor, &record, err);
        if (got == 0)
            break;
        if (got == SL_E_LAPPED)
            continue;
        if (got < 0)
            return (sl_status)got;
        SL_TRY(add_event(l, &record, err));
    }
    l->lost = sl_log_cursor_lost(cursor);
    l->torn = sl_log_cursor_torn(cursor);
    return SL_OK;
}

/* (T1). The cursor merges what each thread wrote in order; only a damaged recording has disorder. */
static sl_status sort_events(slog_load *l, sl_error *err) {
    char times[SL_HUMAN_CAP];
    for (size_t i = 0; i < l->trace->devices.cnt; i++) {
        int64_t moved = sl_events_sort(&l->trace->devices.at[i]->events);
        if (moved < 0)
            return sl_fail_no_memory(err, "a trace");
        if (moved > 0)
            sl_trace_note(l->trace,
                          "device %d: the recording is damaged: time went backwards %s; the events "
                          "were sorted by time",
                          l->trace->devices.at[i]->device, sl_human_times(times, (uint64_t)moved));
    }
    return SL_OK;
}

static sl_status load_events(slog_load *l, sl_error *err) {
    sl_log_cursor *cursor;
    SL_TRY(sl_slog_tags_new(l->trace, l->log, &l->tags, err));
    SL_TRY(sl_slog_entries_new(l->log, l->trace, &l->entries, err));
    SL_TRY(sl_log_cursor_new(l->log, &cursor, err));
    sl_status status = add_events(l, cursor, err);
    sl_log_cursor_free(cursor);
    sl_slog_tags_finish(l->tags);
    return status;
}

/* ---- the cards ---- */

static sl_status find_capacities(slog_load *l, sl_error *err) {
    sl_log_counters counters;
    SL_TRY(sl_log_load_counters(l->log, &counters, err));
    for (size_t i = 0; i < counters.cnt; i++) {
        const sl_log_counter_info *c = &counters.at[i];
        sl_device_trace *device = (sl_device_trace *)sl_trace_find_device(l->trace, c->device);
        if (device && c->kind == SL_COUNTER_DEVICE_TOTAL && c->is_available && c->last > 0)
            device->capacity_bytes = sl_known_u64(c->last);
    }
    sl_vec_free(&counters);
    return SL_OK;
}

/* ---- end state ---- */

static sl_status add_block(slog_load *l, const sl_log_block *b, sl_error *err) {
    sl_device_trace *device = sl_trace_device(l->trace, b->device);
    sl_block block = {.addr = b->addr,
                      .size_bytes = b->size,
                      .requested_bytes = b->size,
                      .stack_id = take_stack(l, sl_slog_site_stack(&l->tables, b->site)),
                      .segment_idx = SL_IDX_NONE,
                      .state = SL_BLOCK_ALLOCATED};
    if (!device || block.stack_id == SL_STACK_NONE)
        return sl_fail_no_memory(err, "a trace");
    if (b->domain == SL_DOMAIN_BLOCK)
        block.tag = (uint8_t)sl_slog_tags_block(l->tags, &l->tables, b);
    if (!sl_vec_push(&device->blocks, block))
        return sl_fail_no_memory(err, "a trace");
    return SL_OK;
}

/* Where no allocator reports to the recorder (JAX, CuPy, a program in C), what the libraries took
 * from the driver is all there is to replay. The totals cover the whole run, the ring may not. */
static bool is_driver_only(const slog_load *l, int device) {
    bool has_driver = false;
    for (size_t i = 0; i < l->tables.sites.cnt; i++) {
        if (l->tables.sites.at[i].device != device)
            continue;
        if (l->tables.sites.at[i].domain == SL_DOMAIN_BLOCK)
            return false;
        has_driver |= l->tables.sites.at[i].domain == SL_DOMAIN_DRIVER;
    }
    return has_driver;
}

static void promote_driver_events(slog_load *l) {
    for (size_t i = 0; i < l->trace->devices.cnt; i++) {
        sl_device_trace *device = l->trace->devices.at[i];
        if (!is_driver_only(l, device->device))
            continue;
        for (size_t k = 0; k < device->events.cnt; k++) {
            uint8_t *kind = &device->events.kind[k];
            *kind = *kind == SL_EV_DRIVER_ALLOC  ? SL_EV_ALLOC
                    : *kind == SL_EV_DRIVER_FREE ? SL_EV_FREE
                                                 : *kind;
        }
        sl_trace_note(l->trace,
                      "device %d: no allocator reports here, so each allocation is one that a "
                      "library made with the driver",
                      device->device);
    }
}

/* A running writer's table and events are of different moments; without losses the events alone
 * say it all. */
static bool has_end_state(const slog_load *l) {
    if (sl_log_state(l->log)->health[SL_HEALTH_LIVE_OVERFLOW] > 0)
        return false;
    return sl_log_get_ending(l->log) != SL_LOG_LIVE || l->lost > 0;
}

static sl_status add_blocks(slog_load *l, int device, sl_error *err) {
    uint8_t domain = is_driver_only(l, device) ? SL_DOMAIN_DRIVER : SL_DOMAIN_BLOCK;
    for (size_t i = 0; i < l->tables.blocks.cnt; i++) {
        const sl_log_block *block = &l->tables.blocks.at[i];
        if (block->device == device && block->domain == domain)
            SL_TRY(add_block(l, block, err));
    }
    return SL_OK;
}

static sl_status load_end_state(slog_load *l, sl_error *err) {
    SL_TRY(sl_log_load_tables(l->log, &l->tables, err));
    if (!has_end_state(l))
        return SL_OK;
    /* Blocks of a device whose events the ring no longer holds need a place too. */
    for (size_t i = 0; i < l->tables.blocks.cnt; i++)
        if (!sl_trace_device(l->trace, l->tables.blocks.at[i].device))
            return sl_fail_no_memory(err, "a trace");
    sl_slog_tags_see_tables(l->tags, &l->tables);
    for (size_t i = 0; i < l->trace->devices.cnt; i++) {
        sl_device_trace *device = l->trace->devices.at[i];
        SL_TRY(add_blocks(l, device->device, err));
        device->has_end_state = true;
        if (device->blocks.cnt > 1)
            qsort(device->blocks.at, device->blocks.cnt, sizeof device->blocks.at[0],
                  sl_block_compare_addr);
    }
    return SL_OK;
}

/* ---- marks, out of memory ---- */

static sl_mark_kind mark_kind(uint8_t kind) {
    switch (kind) {
    case SL_EV_STEP: return SL_MARK_STEP;
    case SL_EV_MARK_BEGIN: return SL_MARK_BEGIN;
    case SL_EV_MARK_END: return SL_MARK_END;
    default: return SL_MARK_POINT;
    }
}

/* For a mark that has left the ring: all that is in the ring came after it. */
static void mark_end_by_list(const slog_load *l, const sl_log_mark_info *m) {
    l->trace->end =
        (sl_work_end){.is_marked = true, .time_us = sl_slog_time_us(l->log, m->time_ns)};
    for (size_t i = 0; i < l->trace->devices.cnt; i++) {
        sl_device_trace *device = l->trace->devices.at[i];
        device->end_cnt = 0;
        while (device->end_cnt < device->events.cnt &&
               device->events.time_us[device->end_cnt] < l->trace->end.time_us)
            device->end_cnt++;
    }
}

static sl_status load_marks(slog_load *l, sl_error *err) {
    sl_log_marks marks;
    bool has_room = true;
    SL_TRY(sl_log_load_marks(l->log, &marks, err));
    for (size_t i = 0; i < marks.cnt && has_room; i++) {
        const sl_log_mark_info *m = &marks.at[i];
        if (m->kind == SL_EV_SETTINGS || m->kind == SL_EV_TRACKING)
            continue;
        if (m->kind == SL_EV_WORK_END) {
            if (!l->trace->end.is_marked)
                mark_end_by_list(l, m);
            continue;
        }
        sl_mark mark = {sl_slog_time_us(l->log, m->time_ns), take_string(l, m->name),
                        SL_DEVICE_HOST, m->step, mark_kind(m->kind)};
        has_room = mark.name != SL_STR_NONE && sl_vec_push(&l->trace->marks, mark);
    }
    sl_vec_free(&marks);
    l->trace->end.is_unmarked_exit =
        !l->trace->end.is_marked && sl_log_get_ending(l->log) == SL_LOG_CLOSED;
    /* Threads take their numbers and their times in different orders. */
    if (has_room && l->trace->marks.cnt > 1)
        qsort(l->trace->marks.at, l->trace->marks.cnt, sizeof l->trace->marks.at[0],
              sl_mark_compare_time);
    return has_room ? SL_OK : sl_fail_no_memory(err, "a trace");
}

static sl_status load_ooms(slog_load *l, sl_error *err) {
    sl_log_ooms ooms;
    SL_TRY(sl_log_load_ooms(l->log, &ooms, err));
    sl_status status = SL_OK;
    for (size_t i = 0; i < ooms.cnt; i++) {
        const sl_fmt_oom *oom = &ooms.at[i];
        sl_str text = sl_log_get_string(l->log, (uint32_t)oom->message);
        sl_device_trace *device =
            (sl_device_trace *)sl_trace_find_device(l->trace, (int32_t)(uint32_t)oom->device_word);
        if (device && oom->device_total != UINT64_MAX)
            device->capacity_bytes = sl_known_u64(oom->device_total);
        if (text.len == 0)
            continue;
        l->trace->oom_message = sl_arena_copy(&l->trace->arena, text.ptr, text.len);
        if (!l->trace->oom_message)
            status = sl_fail_no_memory(err, "a trace");
    }
    sl_vec_free(&ooms);
    return status;
}

/* ---- what the user should know ---- */

static sl_device_trace *busiest_device(const sl_trace *trace) {
    sl_device_trace *best = NULL;
    for (size_t i = 0; i < trace->devices.cnt; i++)
        if (!best || trace->devices.at[i]->events.cnt > best->events.cnt)
            best = trace->devices.at[i];
    return best;
}

static void add_notes(slog_load *l) {
    const sl_fmt_state *state = sl_log_state(l->log);
    uint64_t dropped = state->health[SL_HEALTH_DROPPED];
    sl_device_trace *device = busiest_device(l->trace);
    if (device) /* which device the lost ones belonged to is lost with them */
        device->dropped_events = l->lost + dropped;
    if (l->lost > 0)
        sl_trace_note(l->trace,
                      "the ring overflowed: the oldest %llu event%s overwritten; totals and live "
                      "blocks are complete",
                      (unsigned long long)l->lost, l->lost == 1 ? " was" : "s were");
    if (l->tables.intents.cnt > 0)
        sl_trace_note(l->trace, "the recording ended during %zu event%s, counted as done",
                      l->tables.intents.cnt, sl_plural(l->tables.intents.cnt));
    if (l->trace->process.end == SL_PROCESS_END_KILLED)
        sl_trace_note(l->trace, SL_NOTE_KILLED);
    if (l->torn > 0)
        sl_trace_note(l->trace, "skipped %llu damaged record%s", (unsigned long long)l->torn,
                      sl_plural(l->torn));
    for (int i = 0; i < SL_HEALTH_LIMIT; i++)
        if (sl_health_is_loss((sl_health_kind)i) && state->health[i] > 0)
            sl_trace_note(l->trace, "%s: %llu %s", sl_health_name((sl_health_kind)i),
                          (unsigned long long)state->health[i],
                          sl_health_meaning((sl_health_kind)i));
}

/* ---- who it is ---- */

#define COMMAND_SHOWN 200

/* "python3 train.py, process 3029 on trainer, rank 1, started 2026-11-15 02:41:20 UTC"; lost when
 * memory ran out. */
static void note_identity(slog_load *l) {
    const sl_fmt_header *h = sl_log_header(l->log);
    int32_t rank = (int32_t)(uint32_t)sl_log_state(l->log)->rank_word;
    time_t start = (time_t)(h->start_wall_ns / 1000000000u);
    struct tm utc;
    char when[40] = "", ranks[48] = "", text[600];
    if (gmtime_r(&start, &utc))
        strftime(when, sizeof when, ", started %Y-%m-%d %H:%M:%S UTC", &utc);
    if (rank >= 0 && l->trace->process.is_loader_worker)
        snprintf(ranks, sizeof ranks, ", DataLoader worker of rank %d", rank);
    else if (rank >= 0)
        snprintf(ranks, sizeof ranks, ", rank %d", rank);
    else if (l->trace->process.is_loader_worker)
        snprintf(ranks, sizeof ranks, ", DataLoader worker");
    int len = snprintf(text, sizeof text, "%.*s%sprocess %u on %.127s%s%.127s%s%s", COMMAND_SHOWN,
                       h->cmdline, h->cmdline[0] ? ", " : "", h->pid,
                       h->host[0] ? h->host : "an unnamed host", h->job[0] ? ", job " : "", h->job,
                       ranks, when);
    l->trace->identity = sl_arena_copy(&l->trace->arena, text, (size_t)len);
}

/* ---- the source ---- */

static sl_status load_all(slog_load *l, sl_error *err) {
    l->trace->has_time = true;
    l->trace->is_live = sl_log_get_ending(l->log) == SL_LOG_LIVE;
    SL_TRY(load_events(l, err));
    SL_TRY(load_end_state(l, err));
    if (!sl_slog_entries_finish(l->entries, &l->tables, l->lost))
        return sl_fail_no_memory(err, "a trace");
    SL_TRY(sort_events(l, err)); /* tags are found by the events' positions until here */
    promote_driver_events(l);
    SL_TRY(find_capacities(l, err));
    SL_TRY(sl_slog_load_curves(l->log, l->trace, err));
    SL_TRY(sl_slog_libraries_finish(&l->libraries, l->log, l->trace, &l->tables, l->lost, err));
    SL_TRY(sl_slog_add_reserved(l->log, l->trace, err));
    SL_TRY(sl_slog_load_alerts(l->log, l->trace, err));
    SL_TRY(load_marks(l, err));
    SL_TRY(load_ooms(l, err));
    SL_TRY(sl_slog_load_process(l->log, l->trace, err));
    add_notes(l);
    note_identity(l);
    return SL_OK;
}

static sl_status open_input(const sl_source_input *input, sl_log_reader **log, sl_error *err) {
    /* A pipe cannot be opened a second time, nor read at any place: its bytes are taken as they
     * come. */
    if (input->in->fd >= 0 && input->in->total > 0)
        return sl_log_open(input->path, log, err);
    return sl_log_open_stream(input->in, log, err);
}

static sl_status load(const sl_source_input *input, sl_trace *trace, sl_error *err) {
    slog_load l = {.trace = trace};
    sl_status status = open_input(input, &l.log, err);
    if (status >= 0)
        status = load_all(&l, err);
    sl_slog_tags_free(l.tags);
    sl_slog_entries_free(l.entries);
    sl_log_tables_fini(&l.tables);
    sl_slog_libraries_fini(&l.libraries);
    free(l.stack_ids);
    sl_log_reader_close(l.log);
    return status;
}

static int probe(const unsigned char *head, size_t len, const char *path) {
    SL_UNUSED(path);
    return len >= SL_FORMAT_MAGIC_BYTES && memcmp(head, SL_FORMAT_MAGIC, SL_FORMAT_MAGIC_BYTES) == 0
               ? 100
               : 0;
}

const sl_source_ops sl_source_slog = {
    .name = "slog",
    .kind = SL_SOURCE_SLOG,
    .probe = probe,
    .load = load,
};
