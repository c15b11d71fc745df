/* SPDX-License-Identifier: MIT */
#include "whatif/whatif_replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"

typedef struct pass_run {
    const sl_calls *calls;
    const sl_pass_options *options;
    sl_pass *out;
    sl_alloc_model *model;
    const sl_alloc_stats *stats;
    uint64_t recorded_reserved; /* of the trace, up to next_event */
    uint32_t next_event;
    size_t next_free, next_moved; /* of the repair */
    bool is_one_stream;
    bool has_recorded_places;
    bool no_memory;
    bool has_ended; /* the stats are taken */
} pass_run;

/* ---- start ---- */

static sl_alloc_limits limits_of(const sl_pass_options *options) {
    sl_alloc_limits limits = {SL_ALLOC_NO_LIMIT, options->limit_bytes, options->total_bytes};
    uint64_t total = options->total_bytes ? options->total_bytes : options->limit_bytes;
    double fraction = options->settings.fraction;
    if (total != SL_ALLOC_NO_LIMIT && (fraction > 0 || options->settings.gc_threshold > 0))
        limits.process_bytes = (uint64_t)((fraction > 0 ? fraction : 1) * (double)total);
    /* Garbage collection needs a limit of the process: without one it is the size of the card. */
    limits.process_bytes = sl_min_u64(limits.process_bytes, SL_ALLOC_NO_LIMIT);
    if (limits.process_bytes != SL_ALLOC_NO_LIMIT)
        limits.process_bytes = sl_min_u64(limits.process_bytes, options->limit_bytes);
    return limits;
}

static uint32_t group_of(const pass_run *run, uint32_t group) {
    return run->is_one_stream ? run->calls->groups.at[group].one_stream : group;
}

/* (R3). */
static bool keeps_start(const pass_run *run) {
    const sl_alloc_settings *own = &run->options->settings, *then = &run->calls->settings;
    return own->is_expandable == then->is_expandable && !own->is_uncached && !run->is_one_stream;
}

static sl_alloc_result request_start(pass_run *run, const sl_call_segment *segment,
                                     const sl_alloc_piece *piece) {
    if (piece->slot == SL_ALLOC_NONE)
        return SL_ALLOC_DONE;
    uint64_t bytes = run->calls->replay->lives.at[piece->slot].requested_bytes;
    return sl_alloc_request(run->model, group_of(run, segment->group), piece->slot, bytes);
}

/* The run does not know about padding: blocks with only a free in the trace are up to 512 bytes
 * too short. */
static void pad_pieces(const pass_run *run, sl_alloc_piece *pieces, size_t cnt) {
    const sl_alloc_settings *settings = &run->options->settings;
    for (size_t i = 0; i + 1 < cnt; i++) {
        sl_alloc_piece *piece = &pieces[i], *next = &pieces[i + 1];
        if (piece->slot == SL_ALLOC_NONE || next->slot != SL_ALLOC_NONE)
            continue;
        uint64_t bytes = run->calls->replay->lives.at[piece->slot].requested_bytes;
        bytes = sl_round_request(&settings->rounding, bytes + settings->pad_bytes);
        if (bytes <= piece->bytes || bytes - piece->bytes >= next->bytes)
            continue;
        next->addr += bytes - piece->bytes;
        next->bytes -= bytes - piece->bytes;
        piece->bytes = bytes;
    }
}

static bool add_segment(pass_run *run, const sl_call_segment *segment,
                        const sl_alloc_piece *pieces) {
    size_t cnt = segment->piece_cnt;
    sl_alloc_piece *padded = NULL;
    if (run->options->settings.pad_bytes) {
        padded = malloc((cnt + 1) * sizeof *padded);
        if (!padded)
            return false;
        memcpy(padded, pieces, cnt * sizeof *padded);
        pad_pieces(run, padded, cnt);
    }
    bool ok = sl_alloc_model_add_segment(run->model, segment->group, segment->is_large,
                                         segment->is_expandable, padded ? padded : pieces, cnt);
    free(padded);
    return ok;
}

static bool place_start(pass_run *run) {
    const sl_calls *calls = run->calls;
    for (size_t s = 0; s < calls->start.cnt; s++) {
        const sl_call_segment *segment = &calls->start.at[s];
        const sl_alloc_piece *pieces = calls->pieces.at + segment->first_piece;
        if (keeps_start(run)) {
            if (!add_segment(run, segment, pieces))
                return false;
            continue;
        }
        for (size_t i = 0; i < segment->piece_cnt; i++)
            if (request_start(run, segment, &pieces[i]) == SL_ALLOC_NO_MEMORY)
                return false;
    }
    return true;
}

static bool prepare(pass_run *run) {
    const sl_calls *calls = run->calls;
    for (size_t i = 0; i < calls->groups.cnt; i++)
        if (!sl_alloc_model_add_group(run->model, calls->groups.at[i].pool_idx))
            return false;
    return place_start(run);
}

/* ---- as recorded ---- */

/* Advances the trace's own reserved bytes to just before an event. */
static void follow_reserved(pass_run *run, uint32_t until) {
    const sl_events *events = &run->calls->replay->device->events;
    for (; run->next_event < until; run->next_event++) {
        uint32_t i = run->next_event;
        uint64_t bytes = events->size_bytes[i];
        switch (events->kind[i]) {
        case SL_EV_SEGMENT_ALLOC:
        case SL_EV_SEGMENT_MAP: run->recorded_reserved += bytes; break;
        case SL_EV_SEGMENT_FREE:
        case SL_EV_SEGMENT_UNMAP:
            run->recorded_reserved -= sl_min_u64(bytes, run->recorded_reserved);
            break;
        case SL_EV_RESERVED: run->recorded_reserved = bytes; break;
        default: break;
        }
        run->out->recorded_peak = sl_max_u64(run->out->recorded_peak, run->recorded_reserved);
    }
}

static void compare(pass_run *run, const sl_call *call) {
    sl_pass *out = run->out;
    const sl_events *events = &run->calls->replay->device->events;
    bool is_given = !run->has_recorded_places && sl_alloc_hint_was_used(run->model);
    bool is_same = sl_alloc_addr(run->model, call->slot) == events->addr[call->event];
    out->placed_cnt += !is_given;
    out->same_cnt += !is_given && is_same;
    if (!is_same && out->first_wrong_event == SL_EVENT_NEVER)
        out->first_wrong_event = call->event;
    /* In a recording, totals come after the request that changed them. */
    uint32_t until = call->event + 1;
    while (until < run->calls->replay->event_cnt && events->kind[until] == SL_EV_RESERVED)
        until++;
    follow_reserved(run, until);
    out->reserved_cnt++;
    out->same_reserved_cnt += run->stats->reserved_bytes == run->recorded_reserved;
}

/* ---- the repair ---- */

/* Frees what the repaired program frees before this call. */
static bool give_back_early(pass_run *run, uint32_t idx) {
    const sl_repair *repair = run->options->repair;
    for (; run->next_free < repair->frees.cnt && repair->frees.at[run->next_free].call <= idx;
         run->next_free++)
        if (!sl_alloc_give_back(run->model, repair->frees.at[run->next_free].slot))
            return false;
    return true;
}

/* The pool and stream that serve a request. */
static uint32_t group_of_request(pass_run *run, uint32_t idx) {
    const sl_repair *repair = run->options->repair;
    uint32_t group = run->calls->list.at[idx].group;
    if (!repair || run->next_moved >= repair->moved.cnt || repair->moved.at[run->next_moved] != idx)
        return group_of(run, group);
    run->next_moved++;
    return run->calls->groups.at[group].one_stream;
}

/* ---- calls ---- */

static void note_failure(pass_run *run, uint32_t idx) {
    const sl_call *call = &run->calls->list.at[idx];
    sl_pass *out = run->out;
    if (out->has_failed)
        return;
    out->has_failed = true;
    out->fail_call = idx;
    out->fail_event = call->event;
    out->fail_bytes = call->bytes;
    out->fail_active_bytes = run->stats->active_bytes;
    out->fail_reserved_bytes = run->stats->reserved_bytes;
}

/* False when the pass ends here. */
static bool on_request(pass_run *run, uint32_t idx) {
    const sl_call *call = &run->calls->list.at[idx];
    uint64_t peak = run->stats->reserved_peak;
    if (run->options->is_recorded && !run->has_recorded_places)
        sl_alloc_hint(run->model, run->calls->replay->device->events.addr[call->event]);
    sl_alloc_result result =
        sl_alloc_request(run->model, group_of_request(run, idx), call->slot, call->bytes);
    run->no_memory = result == SL_ALLOC_NO_MEMORY;
    if (result == SL_ALLOC_OOM)
        note_failure(run, idx);
    if (result != SL_ALLOC_DONE)
        return result == SL_ALLOC_OOM && run->options->is_recorded;
    run->out->request_cnt++;
    if (run->stats->reserved_peak > peak)
        run->out->peak_event = call->event;
    if (run->options->is_recorded)
        compare(run, call);
    return true;
}

static sl_alloc_result serve(pass_run *run, const sl_call *call, uint32_t slot) {
    sl_alloc_result result =
        sl_alloc_request(run->model, group_of(run, call->group), slot, call->bytes);
    run->no_memory |= result == SL_ALLOC_NO_MEMORY;
    return result;
}

/* How many more times the last request could be served if all of its blocks were kept. */
static void serve_often(pass_run *run, const sl_call *call) {
    uint32_t cnt = 0;
    while (cnt < SL_MORE_MAX && serve(run, call, run->calls->slot_cnt + 1 + cnt) == SL_ALLOC_DONE)
        cnt++;
    run->out->oom_more_cnt = cnt;
}

/* (R4). */
static bool on_failed(pass_run *run, uint32_t idx) {
    const sl_call *call = &run->calls->list.at[idx];
    uint32_t slot = run->calls->slot_cnt;
    if (run->options->is_recorded)
        return true;
    run->out->oom_cnt++;
    if (serve(run, call, slot) != SL_ALLOC_DONE) {
        note_failure(run, idx);
        return false;
    }
    run->out->oom_served_cnt++;
    run->out->stats = *run->stats;
    if (idx > run->calls->last_request) {
        serve_often(run, call);
        run->has_ended = true;
        return false;
    }
    run->no_memory |= !sl_alloc_give_back(run->model, slot);
    return !run->no_memory;
}

static bool on_call(pass_run *run, uint32_t idx) {
    const sl_call *call = &run->calls->list.at[idx];
    bool is_recorded = run->options->is_recorded;
    bool early =
        run->options->frees_early || run->options->settings.frees_early || run->is_one_stream;
    bool ok = true;
    switch ((sl_call_kind)call->kind) {
    case SL_CALL_REQUEST: return on_request(run, idx);
    case SL_CALL_FAILED: return on_failed(run, idx);
    case SL_CALL_FREE: ok = sl_alloc_give_back(run->model, call->slot); break;
    case SL_CALL_DROP:
        ok = early ? sl_alloc_give_back(run->model, call->slot)
                   : is_recorded || sl_alloc_drop(run->model, call->slot);
        break;
    case SL_CALL_RELEASE:
        if (is_recorded &&
            !sl_alloc_release_range(
                run->model, run->calls->replay->device->events.addr[call->event], call->bytes))
            run->out->not_released_cnt++;
        break;
    case SL_CALL_EMPTY: ok = is_recorded || sl_alloc_empty_cache(run->model); break;
    case SL_CALL_UNUSED: sl_alloc_pool_is_unused(run->model, call->group); break;
    }
    run->no_memory = !ok;
    return ok;
}

static bool step_to(pass_run *run, uint32_t idx) {
    run->no_memory = run->options->repair && !give_back_early(run, idx);
    return !run->no_memory && on_call(run, idx);
}

static void tell(const pass_run *run, uint32_t event, uint64_t reserved) {
    if (run->options->watch)
        run->options->watch(run->options->watch_arg, event, reserved);
}

sl_status sl_pass_run(const sl_calls *calls, const sl_pass_options *options, sl_pass *out,
                      sl_error *err) {
    sl_alloc_limits limits = limits_of(options);
    sl_alloc_places places = {.seed = options->seed};
    *out = (sl_pass){.peak_event = SL_EVENT_BEFORE,
                     .fail_event = SL_EVENT_NEVER,
                     .first_wrong_event = SL_EVENT_NEVER};
    pass_run run = {.calls = calls,
                    .options = options,
                    .out = out,
                    .is_one_stream = options->is_one_stream || options->settings.is_one_stream,
                    .recorded_reserved = calls->replay->start.reserved_bytes};
    if (options->is_recorded)
        limits.process_bytes = limits.card_bytes = SL_ALLOC_NO_LIMIT;
    run.has_recorded_places = calls->places.cnt && !options->settings.is_expandable;
    if (run.has_recorded_places && options->seed == 0) {
        places.recorded = calls->places.at;
        places.recorded_cnt = calls->places.cnt;
    }
    out->recorded_peak = run.recorded_reserved;
    SL_TRY(sl_alloc_model_new(&options->settings, &limits, &places, &run.model, err));
    run.stats = sl_alloc_model_stats(run.model);
    run.no_memory = !prepare(&run);
    tell(&run, SL_EVENT_BEFORE, run.stats->reserved_bytes);
    for (size_t i = 0; !run.no_memory && i < calls->list.cnt; i++) {
        bool goes_on = step_to(&run, (uint32_t)i);
        if (goes_on || run.has_ended)
            tell(&run, calls->list.at[i].event,
                 run.has_ended ? out->stats.reserved_bytes : run.stats->reserved_bytes);
        if (!goes_on)
            break;
    }
    if (options->is_recorded)
        follow_reserved(&run, calls->replay->event_cnt);
    if (!run.has_ended)
        out->stats = *run.stats;
    sl_alloc_model_free(run.model);
    return run.no_memory ? sl_fail_no_memory(err, "a replay of %zu calls", calls->list.cnt) : SL_OK;
}
