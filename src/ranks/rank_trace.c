/* SPDX-License-Identifier: MIT */
/* The summary of a snapshot, a bundle or a trace, and of the samples of a rank. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "ranks/rank_summary.h"
#include "read/core/source.h"
#include "read/core/source_bundle.h"
#include "run/run.h"
#include "telemetry/telemetry.h"

const char *sl__rank_keep(sl_rank_summary *out, const char *text) {
    const char *kept = text ? sl_arena_copy(&out->arena, text, strlen(text)) : NULL;
    return kept ? kept : "";
}

void sl__rank_take_process(sl_rank_summary *out, const sl_process *p) {
    out->pid = p->pid;
    out->parent_pid = p->parent_pid;
    out->host = sl__rank_keep(out, p->host);
    out->job = sl__rank_keep(out, p->job);
    out->rank = p->rank;
    out->local_rank = p->local_rank;
    out->world_size = p->world_size;
    out->end = p->end;
    out->exit_status = p->exit_status;
}

/* ---- the rank in a path ---- */

/* Digits after "rank", "rank_" or "rank-"; not of "local_rank3" and "frank3". */
static bool rank_in_name(const char *name, size_t len, int32_t *rank) {
    for (size_t i = 0; i + 4 < len; i++) {
        bool is_inside = i > 0 && isalnum((unsigned char)name[i - 1]);
        bool is_local = i >= 6 && strncasecmp(name + i - 6, "local", 5) == 0;
        if (is_inside || is_local || strncasecmp(name + i, "rank", 4) != 0)
            continue;
        size_t at = i + 4;
        at += at < len && (name[at] == '_' || name[at] == '-');
        int64_t value = 0;
        size_t digits = 0;
        for (; at + digits < len && isdigit((unsigned char)name[at + digits]) && digits < 8;
             digits++)
            value = value * 10 + (name[at + digits] - '0');
        if (digits) {
            *rank = (int32_t)value;
            return true;
        }
    }
    return false;
}

bool sl_rank_of_path(const char *path, int32_t *rank) {
    for (const char *end = path + strlen(path); end > path;) {
        const char *from = end;
        while (from > path && from[-1] != '/')
            from--;
        if (rank_in_name(from, (size_t)(end - from), rank))
            return true;
        end = from > path ? from - 1 : path;
    }
    return false;
}

/* ---- a trace ---- */

static const sl_run_device *fullest_device(const sl_run_input *input, const sl_replay **replay,
                                           sl_error *err) {
    const sl_run_device *best = NULL;
    for (size_t i = 0; i < input->device_cnt; i++) {
        const sl_replay *found;
        if (sl_run_replay(&input->devices[i], &found, err) < 0)
            return NULL;
        bool is_card = input->devices[i].events->device >= 0;
        bool beats_host = best && is_card && best->events->device < 0;
        if (!best || beats_host || found->peak_allocated.bytes > (*replay)->peak_allocated.bytes)
            best = &input->devices[i], *replay = found;
    }
    return best;
}

/* One bin per step, marked or found, else per second. */
static bool take_bins(sl_rank_summary *out, const sl_replay *replay, const sl_steps *steps) {
    sl_replay_walk walk;
    size_t step = 0;
    int64_t peak = SL_BIN_NONE, first_us = sl_replay_time(replay, 0);
    bool has_room = true;
    out->has_steps = steps->borders.cnt > 2;
    sl_replay_walk_init(&walk, replay);
    while (has_room && sl_replay_walk_next(&walk)) {
        uint32_t event = walk.next - 1;
        int64_t time_us = sl_replay_time(replay, event);
        sl_rank_bin bin = {(int64_t)walk.totals.allocated_bytes, SL_BIN_NONE, time_us * 1000};
        bin.peak = peak = sl_max_i64(peak, bin.bytes);
        bool is_last = walk.next == replay->event_cnt;
        if (!out->has_steps) {
            has_room =
                sl_rank_curve_add(&out->curve, (uint64_t)(time_us - first_us) / 1000000, &bin);
            peak = SL_BIN_NONE;
        } else if (step + 1 < steps->borders.cnt && event + 1 == steps->borders.at[step + 1]) {
            out->last_step = sl_steps_number_at(steps, event);
            has_room = sl_rank_curve_add(&out->curve, out->last_step, &bin);
            peak = SL_BIN_NONE;
            out->last_step_ns = bin.time_ns;
            step++;
        }
        if (is_last)
            out->last_bytes = sl_known_u64(walk.totals.allocated_bytes);
    }
    out->first_step = out->has_steps ? sl_steps_number(steps, 0) : 0;
    out->step_cnt = step;
    return has_room;
}

static sl_status take_held(sl_rank_summary *out, const sl_run_input *input, const sl_replay *replay,
                           sl_error *err) {
    const sl_sites *sites;
    sl_holdings held;
    sl_arena arena = SL_ARENA_INIT;
    SL_TRY(sl_run_lines(input, &sites, err));
    bool has_room = sl_sites_holdings(sites, replay, replay->peak_requested.event, SL_RANK_LINES,
                                      &arena, &held);
    for (size_t i = 0; has_room && i < held.cnt && i < SL_RANK_LINES; i++) {
        sl_rank_line line = {.text = sl_site_text(held.at[i].site, &arena),
                             .peak_bytes = held.at[i].bytes,
                             .live_bytes = held.at[i].bytes,
                             .alloc_cnt = held.at[i].blocks};
        sl__rank_add_line(&out->arena, out->lines, &out->line_cnt, &line);
    }
    sl_arena_fini(&arena);
    return has_room ? SL_OK : sl_fail_no_memory(err, "the lines of a rank");
}

static void take_failures(sl_rank_summary *out, const sl_run_input *input, const sl_replay *replay,
                          const sl_steps *steps) {
    const sl_events *events = &replay->device->events;
    for (uint32_t i = 0; i < replay->event_cnt; i++) {
        if (events->kind[i] != SL_EV_OOM)
            continue;
        out->failure_total++;
        if (out->failure_cnt == SL_RANK_FAILURES)
            continue;
        sl_arena arena = SL_ARENA_INIT;
        const char *line = sl_site_text(sl_user_site(input->trace, events->stack_id[i]), &arena);
        out->failures[out->failure_cnt++] =
            (sl_rank_failure){events->time_us[i] * 1000, sl_steps_number_at(steps, i),
                              events->size_bytes[i], sl__rank_keep(out, line)};
        sl_arena_fini(&arena);
    }
}

static void take_identity(sl_rank_summary *out, const sl_trace *trace) {
    const sl_process *p = &trace->process;
    out->source = trace->source;
    if (p->is_known)
        sl__rank_take_process(out, p);
}

static sl_status summarize(sl_rank_summary *out, const sl_run *run, sl_error *err) {
    const sl_run_input *input = &run->inputs[0];
    const sl_replay *replay = NULL;
    const sl_steps *steps;
    sl_span span;
    take_identity(out, input->trace);
    const sl_run_device *device = fullest_device(input, &replay, err);
    if (!device)
        return input->device_cnt ? SL_E_NOMEM : SL_OK;
    SL_TRY(sl_run_steps(device, &steps, err));
    out->event_cnt = replay->event_cnt;
    out->peak_bytes = sl_known_u64(replay->peak_allocated.bytes);
    out->last_bytes = sl_known_u64(replay->end.allocated_bytes);
    out->capacity_bytes = device->events->capacity_bytes;
    if (input->trace->has_time && replay->event_cnt && !take_bins(out, replay, steps))
        return sl_fail_no_memory(err, "the steps of a rank");
    if (sl_run_span(input, NULL, &span))
        out->start_ns = span.first_us * 1000, out->end_ns = span.exit_us * 1000;
    SL_TRY(take_held(out, input, replay, err));
    take_failures(out, input, replay, steps);
    return SL_OK;
}

sl_status sl_rank_summary_trace(sl_rank_summary *summary, const char *path, sl_error *err) {
    static const sl_load_options none;
    sl_trace *trace = NULL;
    sl_run *run = NULL;
    summary->last_step_ns = SL_BIN_NONE;
    summary->host = summary->job = "";
    sl_status status = sl_bundle_is(path) ? sl_bundle_load(path, &none, &trace, err)
                                          : sl_trace_load(path, NULL, &trace, err);
    if (status == SL_OK)
        status = sl_run_new((const sl_trace *const *)&trace, 1, &run, err);
    if (status == SL_OK)
        status = summarize(summary, run, err);
    sl_run_free(run);
    sl_trace_free(trace);
    return status;
}

/* ---- samples ---- */

sl_status sl_rank_summary_samples(sl_rank_summary *out, const sl_telemetry *set,
                                  const uint32_t *records, size_t cnt, int64_t unit_ns,
                                  sl_error *err) {
    const sl_tm_record *first = &set->records.at[records[0]];
    out->source = SL_SOURCE_TELEMETRY;
    out->last_step_ns = SL_BIN_NONE;
    out->rank = (sl_maybe_i32){first->rank, true};
    out->local_rank = (sl_maybe_i32){first->local_rank, true};
    out->world_size = (sl_maybe_i32){first->world_size, true};
    out->pid = first->pid > 0 ? (uint32_t)first->pid : 0;
    out->host = sl__rank_keep(out, sl_tm_text(set, first->host).ptr);
    out->job = sl__rank_keep(out, sl_tm_text(set, first->job_id).ptr);
    out->start_ns = first->timestamp_ns;
    out->event_cnt = cnt;
    for (size_t i = 0; i < cnt; i++) {
        const sl_tm_record *r = &set->records.at[records[i]];
        int64_t since =
            r->timestamp_ns > first->timestamp_ns ? r->timestamp_ns - first->timestamp_ns : 0;
        sl_rank_bin bin = {r->used_bytes, r->used_bytes, r->timestamp_ns};
        if (!sl_rank_curve_add(&out->curve, (uint64_t)((since + unit_ns / 2) / unit_ns), &bin))
            return sl_fail_no_memory(err, "the samples of a rank");
        out->peak_bytes = sl_known_u64(sl_max_u64(out->peak_bytes.value, (uint64_t)r->used_bytes));
        out->last_bytes = sl_known_u64((uint64_t)r->used_bytes);
        out->end_ns = r->timestamp_ns;
        if (r->total_bytes > 0)
            out->capacity_bytes = sl_known_u64((uint64_t)r->total_bytes);
    }
    return SL_OK;
}

void sl_rank_summary_fini(sl_rank_summary *summary) {
    sl_rank_curve_free(&summary->curve);
    sl_arena_fini(&summary->arena);
}
