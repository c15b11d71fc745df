/* SPDX-License-Identifier: MIT */
/* The merge as JSON: docs/schemas/ranks-1.json. */
#include <math.h>
#include <string.h>

#include "ranks/fleet_format.h"
#include "ranks/fleet_impl.h"
#include "run/process_tree.h"

/* Ranks and events that are listed; the counts are always whole. */
#define ROWS_MAX   16384u
#define EVENTS_MAX 1024u

static void put_maybe_i32(sl_json_out *json, const char *key, sl_maybe_i32 value) {
    sl_json_key(json, key);
    if (value.known)
        sl_json_i64(json, value.value);
    else
        sl_json_null(json);
}

static void put_text(sl_json_out *json, const char *key, const char *text) {
    sl_json_key_cstr(json, key, text && text[0] ? text : NULL);
}

static void put_event(sl_json_out *json, sl_fleet *fleet, const sl_fleet_event *e) {
    bool is_memory = e->fault <= SL_RANK_FAULT_PEAK;
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "fault", sl_rank_fault_name(e->fault));
    sl_json_key_i64(json, "rank", e->rank);
    sl_json_key_maybe_u64(json, "step", (sl_maybe_u64){e->step, e->has_step});
    sl_json_key_maybe_u64(json, "step_to", (sl_maybe_u64){e->step_to, e->has_step});
    sl_json_key(json, "time_ns");
    if (e->has_time)
        sl_json_i64(json, e->time_ns);
    else
        sl_json_null(json);
    sl_json_key_f64(json, "confidence", e->confidence);
    put_text(json, "line", e->line);
    sl_json_key_maybe_f64(json, "line_share", (sl_maybe_f64){e->line_share, e->line_share > 0});
    sl_json_key_maybe_u64(json, "bytes", (sl_maybe_u64){(uint64_t)e->bytes, e->bytes > 0});
    sl_json_key_maybe_f64(json, "bytes_per_step",
                          (sl_maybe_f64){e->per_step, is_memory && e->per_step > 0});
    sl_json_key_maybe_f64(json, "seconds",
                          (sl_maybe_f64){e->per_step, !is_memory && e->per_step > 0});
    sl_json_key_cstr(json, "text", sl_fleet_event_text(&fleet->arena, fleet, e));
    sl_json_end_object(json);
}

static void put_row(sl_json_out *json, const sl_fleet_row *row) {
    const sl_rank_summary *s = row->of;
    sl_json_begin_object(json);
    sl_json_key_i64(json, "rank", row->rank);
    put_maybe_i32(json, "local_rank", s->local_rank);
    put_text(json, "host", s->host);
    sl_json_key_maybe_u64(json, "pid", (sl_maybe_u64){s->pid, s->pid > 0});
    sl_json_key_cstr(json, "path", s->path);
    sl_json_key_bool(json, "rank_is_guessed", s->is_rank_guessed);
    sl_json_key_u64(json, "events", s->event_cnt);
    sl_json_key_maybe_u64(json, "steps", (sl_maybe_u64){s->step_cnt, s->has_steps});
    sl_json_key_maybe_u64(json, "last_step", (sl_maybe_u64){s->last_step, s->has_steps});
    sl_json_key_maybe_u64(json, "peak_bytes", s->peak_bytes);
    sl_json_key_maybe_u64(json, "last_bytes", s->last_bytes);
    sl_json_key_maybe_f64(json, "clock_offset_seconds",
                          (sl_maybe_f64){(double)row->offset_ns / 1e9, row->has_offset});
    sl_json_key_maybe_f64(json, "clock_drift_ppm", (sl_maybe_f64){row->drift_ppm, row->has_offset});
    sl_json_key_maybe_f64(json, "clock_spread_seconds",
                          (sl_maybe_f64){(double)row->spread_ns / 1e9, row->has_offset});
    sl_json_key_maybe_f64(json, "step_seconds",
                          (sl_maybe_f64){row->step_ns / 1e9, row->step_ns > 0});
    sl_json_key_maybe_u64(json, "group", (sl_maybe_u64){row->group, row->group != SL_IDX_NONE});
    put_text(json, "ended", s->source == SL_SOURCE_SLOG ? sl_process_end_name(s->end) : NULL);
    put_maybe_i32(json, "exit_status", s->exit_status);
    put_text(json, "largest_line", s->line_cnt ? s->lines[0].text : NULL);
    sl_json_key_maybe_u64(json, "last_step_bytes", sl__rank_last_step_bytes(s));
    sl_json_end_object(json);
}

static void put_groups(sl_json_out *json, const sl_fleet *fleet) {
    sl_json_key(json, "groups");
    sl_json_begin_array(json);
    for (size_t g = 0; g < fleet->groups.cnt; g++) {
        const sl_fleet_group *group = &fleet->groups.at[g];
        sl_json_begin_object(json);
        sl_json_key(json, "ranks");
        sl_json_begin_array(json);
        for (size_t i = 0; i < group->ranks.cnt; i++)
            sl_json_i64(json, group->ranks.at[i]);
        sl_json_end_array(json);
        sl_json_key_i64(json, "level_bytes", group->level_bytes);
        sl_json_key_i64(json, "peak_bytes", group->peak_bytes);
        sl_json_key_f64(json, "bytes_per_step", group->slope);
        put_text(json, "largest_line", group->line);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void put_nccl(sl_json_out *json, const sl_fleet *fleet) {
    sl_json_key(json, "nccl");
    sl_json_begin_array(json);
    for (size_t i = 0; i < fleet->nccl.cnt; i++) {
        const sl_fleet_nccl *n = &fleet->nccl.at[i];
        sl_json_begin_object(json);
        sl_json_key_cstr(json, "line", n->line);
        sl_json_key_u64(json, "ranks", n->rank_cnt);
        sl_json_key_u64(json, "least_bytes", n->least_bytes);
        sl_json_key_u64(json, "most_bytes", n->most_bytes);
        sl_json_key_u64(json, "total_bytes", n->total_bytes);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void put_lists(sl_json_out *json, sl_fleet *fleet) {
    sl_json_key(json, "chain");
    sl_json_begin_array(json);
    for (size_t i = 0; i < fleet->events.cnt && i < EVENTS_MAX; i++)
        put_event(json, fleet, &fleet->events.at[i]);
    sl_json_end_array(json);
    sl_json_key(json, "followers");
    sl_json_begin_object(json);
    sl_json_key_u64(json, "ranks", fleet->followers);
    sl_json_key_maybe_f64(json, "after_seconds",
                          (sl_maybe_f64){(double)fleet->follow_ns / 1e9, fleet->followers > 0});
    sl_json_end_object(json);
    sl_json_key(json, "ranks");
    sl_json_begin_array(json);
    for (size_t i = 0; i < fleet->rows.cnt && i < ROWS_MAX; i++)
        put_row(json, &fleet->rows.at[i]);
    sl_json_end_array(json);
    put_groups(json, fleet);
    put_nccl(json, fleet);
    sl_json_key(json, "merge_notes");
    sl_json_begin_array(json);
    for (size_t i = 0; i < fleet->notes.cnt; i++)
        sl_json_cstr(json, fleet->notes.at[i]);
    sl_json_end_array(json);
}

void sl_fleet_json(sl_json_out *json, sl_fleet *fleet) {
    sl_json_key_cstr(json, "schema", SL_RANKS_SCHEMA);
    sl_json_key_cstr(json, "aligned_by", fleet->is_by_step ? "step" : "first reading");
    sl_json_key_u64(json, "ranks_read", fleet->rows.cnt);
    sl_json_key_u64(json, "ranks_expected", (uint64_t)fleet->world_size);
    sl_json_key_u64(json, "ranks_missing", fleet->missing.cnt);
    sl_json_key_u64(json, "events", fleet->event_cnt);
    sl_json_key_u64(json, "steps_per_bin", UINT64_C(1) << fleet->shift);
    sl_json_key_maybe_f64(json, "step_seconds",
                          (sl_maybe_f64){fleet->step_ns / 1e9, fleet->step_ns > 0});
    sl_json_key_f64(json, "common_bytes_per_step", fleet->common_slope);
    sl_json_key_cstr(json, "sentence", sl_fleet_sentence(fleet));
    sl_json_key(json, "first_cause");
    if (fleet->has_cause)
        put_event(json, fleet, &fleet->cause);
    else
        sl_json_null(json);
    put_lists(json, fleet);
}
