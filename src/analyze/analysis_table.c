/* SPDX-License-Identifier: MIT */
/* The list of analyses and the order in which they run: later ones use what earlier ones left in
 * the context (the cause of an out-of-memory error may be a leak). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/an_context.h"
#include "analyze/samples/an_telemetry.h"
#include "analyze/thresholds.h"
#include "run/lines/live_split.h"

typedef struct analysis_row {
    sl_analysis_info info;
    sl_analysis_fn *run;
} analysis_row;

static const analysis_row analysis_rows[] = {
    {{"history", "whether the input holds the whole story"}, sl_find_history},
    {{"leak", "sites whose live memory keeps growing, step over step"}, sl_find_leak},
    {{"spike", "a step whose peak is far above the usual one"}, sl_find_spike},
    {{"fragmentation", "reserved memory that cannot serve requests"}, sl_find_fragmentation},
    {{"retry", "the allocator emptied its cache to go on"}, sl_find_retry},
    {{"pending-free", "dropped blocks that wait for another stream"}, sl_find_pending},
    {{"inefficient", "last step's blocks that are still held at the peak"}, sl_find_inefficient},
    {{"oom", "a failed request: who holds the memory, and why it failed"}, sl_find_oom},
};

const sl_analysis_info *sl_analysis_at(size_t i) {
    return i < SL_COUNT_OF(analysis_rows) ? &analysis_rows[i].info : NULL;
}

/* ---- the window ---- */

static void set_window(sl_an *an) {
    const sl_analysis_options *options = an->options;
    an->to = an->replay->event_cnt;
    if (options->has_since) {
        int64_t since = sl_replay_absolute_time(an->replay, options->since_us);
        uint32_t event =
            since == INT64_MIN ? SL_EVENT_BEFORE : sl_replay_event_at(an->replay, since - 1);
        an->from = event == SL_EVENT_BEFORE ? 0 : event + 1;
    }
    if (options->has_until) {
        uint32_t event =
            sl_replay_event_at(an->replay, sl_replay_absolute_time(an->replay, options->until_us));
        an->to = event == SL_EVENT_BEFORE ? 0 : event + 1;
    }
    an->from = an->from < an->to ? an->from : an->to;
    an->last_oom = SL_IDX_NONE;
    for (uint32_t i = an->from; i < an->to; i++)
        if (an->device->events.kind[i] == SL_EV_OOM)
            an->last_oom = i;
}

/* ---- the numbers of a device ---- */

typedef struct window_peaks {
    sl_replay_totals first, last;
    sl_replay_peak requested, active, allocated, reserved;
    uint64_t allocs, frees;
} window_peaks;

static void raise_peak(sl_replay_peak *peak, uint64_t bytes, uint32_t event) {
    if (bytes > peak->bytes || (bytes == peak->bytes && peak->event == SL_EVENT_NEVER))
        *peak = (sl_replay_peak){bytes, event};
}

static void count_event(window_peaks *peaks, uint8_t kind) {
    peaks->allocs += kind == SL_EV_ALLOC;
    peaks->frees += kind == SL_EV_FREE || kind == SL_EV_FREE_COMPLETED;
}

/* A whole trace was measured by the replay; a part of it is walked again. */
static window_peaks measure_window(const sl_an *an) {
    const sl_replay *replay = an->replay;
    if (an->from == 0 && an->to == replay->event_cnt)
        return (window_peaks){replay->start,          replay->end,
                              replay->peak_requested, replay->peak_active,
                              replay->peak_allocated, replay->peak_reserved,
                              replay->allocs,         replay->frees};
    window_peaks peaks = {0};
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, replay);
    while (walk.next < an->from && sl_replay_walk_next(&walk)) {
    }
    peaks.first = walk.totals;
    uint32_t event = SL_EVENT_BEFORE;
    do {
        raise_peak(&peaks.requested, walk.totals.requested_bytes, event);
        raise_peak(&peaks.active, walk.totals.active_bytes, event);
        raise_peak(&peaks.allocated, walk.totals.allocated_bytes, event);
        raise_peak(&peaks.reserved, walk.totals.reserved_bytes, event);
        event = walk.next;
        if (event >= an->to)
            break;
        count_event(&peaks, replay->device->events.kind[event]);
    } while (sl_replay_walk_next(&walk));
    peaks.last = walk.totals;
    return peaks;
}

static sl_maybe_u64 when(bool known, uint64_t value) {
    return known ? sl_known_u64(value) : (sl_maybe_u64){0};
}

/* Bytes at the peak that no Python line accounts for. */
static uint64_t stackless_bytes(const sl_holdings *peak) {
    uint64_t sum = 0;
    for (size_t i = 0; i < peak->cnt; i++)
        sum += peak->at[i].site.origin == SL_ORIGIN_BACKWARD ? peak->at[i].bytes : 0;
    return sum;
}

static bool fill_device(sl_an *an) {
    const sl_replay *replay = an->replay;
    window_peaks peaks = measure_window(an);
    bool is_rounded = replay->geometry_known || replay->event_cnt;
    bool is_whole = an->from == 0 && an->to == replay->event_cnt;
    size_t top = an->options->top ? an->options->top : SL_T_TOP_DEFAULT;
    sl_maybe_u64 capacity = an->device->capacity_bytes;
    sl_device_report d = {
        .trace = an->trace,
        .device = an->device->device,
        .has_history = replay->has_history,
        .events = is_whole ? an->device->events.cnt : an->to - an->from,
        .allocs = peaks.allocs,
        .frees = peaks.frees,
        .segments = when(an->device->has_end_state, an->device->segments.cnt),
        .base_bytes = peaks.first.requested_bytes,
        .live_requested_bytes = peaks.last.requested_bytes,
        .live_bytes = when(is_rounded, peaks.last.active_bytes),
        .allocated_bytes = when(is_rounded, peaks.last.allocated_bytes),
        .peak_requested_bytes = peaks.requested.bytes,
        .peak_bytes = when(is_rounded, peaks.active.bytes),
        .peak_allocated_bytes = when(is_rounded, peaks.allocated.bytes),
        .peak_time_us = sl_replay_time(replay, peaks.requested.event),
        .reserved_bytes = when(replay->reserved_known, peaks.last.reserved_bytes),
        .peak_reserved_bytes = when(replay->reserved_known, peaks.reserved.bytes),
        .capacity_bytes = capacity.known ? capacity : an->options->capacity_bytes,
        .first_time_us = sl_replay_time(replay, an->from),
        .last_time_us = sl_replay_time(replay, sl_an_end(an)),
        .identity_holds = replay->identity_holds,
        .identity_residue = replay->identity_residue,
        .unmatched_frees = replay->unmatched_frees,
        .lost_frees = replay->lost_frees,
        .step_us = an->steps.median_us,
        .steps = when(an->steps.borders.cnt > 0, an->steps.ended_cnt),
        .steps_marked = an->steps.is_marked,
    };
    sl_arena *arena = &an->report->arena;
    if (!sl_sites_holdings(an->sites, replay, sl_an_end(an), top, arena, &d.top_live) ||
        !sl_sites_holdings(an->sites, replay, peaks.requested.event, top, arena, &d.top_peak) ||
        !sl_live_split_by_tag(replay, NULL, sl_an_end(an), &d.live_by_tag) ||
        !sl_live_split_by_tag(replay, NULL, peaks.requested.event, &d.peak_by_tag))
        return false;
    d.stackless_bytes = stackless_bytes(&d.top_peak);
    an->device_idx = an->report->devices.cnt;
    return sl_vec_push(&an->report->devices, d);
}

static void explain_steps(sl_an *an) {
    const sl_steps *steps = &an->steps;
    if (!steps->borders.cnt) {
        sl_an_reason(an, "steps: device %d: none are marked and no allocation recurs regularly",
                     an->device->device);
        return;
    }
    const char *how = steps->is_marked                   ? "marked by the program"
                      : steps->beat_stack == SL_IDX_NONE ? "found by a size that recurs"
                                                         : "found by a call that recurs";
    const char *where = "";
    if (steps->beat_stack != SL_IDX_NONE)
        where =
            sl_an_text(an, " at %s (variation %.2f)",
                       sl_site_text(sl_user_site(an->trace, steps->beat_stack), &an->report->arena),
                       steps->beat_cv);
    sl_an_reason(an, "steps: device %d: %zu, %s%s", an->device->device, steps->ended_cnt, how,
                 where);
}

/* ---- running ---- */

static sl_status analyze_device(sl_an *an, sl_error *err) {
    SL_TRY(sl_replay_new(an->trace, an->device, &an->replay, err));
    set_window(an);
    bool ok = sl_steps_find(&an->steps, an->replay, an->sites->classes, an->from, an->to) &&
              fill_device(an);
    if (ok)
        explain_steps(an);
    ok = ok && sl_an_ledger(an);
    for (size_t i = 0; ok && i < SL_COUNT_OF(analysis_rows); i++)
        ok = analysis_rows[i].run(an);
    return ok ? SL_OK : sl_fail(err, SL_E_NOMEM, "out of memory while analysing");
}

static sl_status analyze_trace(const sl_trace *trace, const sl_analysis_options *options,
                               sl_report *report, sl_error *err) {
    sl_report_input input = {.trace = trace};
    for (size_t i = 0; i < trace->devices.cnt; i++) {
        input.events += trace->devices.at[i]->events.cnt;
        input.dropped_events.value += trace->devices.at[i]->dropped_events;
    }
    if (trace->telemetry)
        input.events = trace->telemetry->records.cnt;
    input.dropped_events.known = trace->source == SL_SOURCE_SLOG || input.dropped_events.value > 0;
    if (!sl_vec_push(&report->inputs, input))
        return sl_fail(err, SL_E_NOMEM, "out of memory");
    if (trace->telemetry)
        return sl__telemetry_analyze(trace, options, report, err);
    sl_sites sites;
    SL_TRY(sl_sites_init(&sites, trace, options->group_by, options->filter, err));
    sl_status status = SL_OK;
    for (size_t i = 0; i < trace->devices.cnt && status == SL_OK; i++) {
        if (options->has_device && trace->devices.at[i]->device != options->device)
            continue;
        sl_an an = {.trace = trace,
                    .device = trace->devices.at[i],
                    .options = options,
                    .report = report,
                    .sites = &sites};
        status = analyze_device(&an, err);
        sl_steps_fini(&an.steps);
        sl_replay_free(an.replay);
    }
    sl_sites_fini(&sites);
    return status;
}

static sl_status check_device(const sl_trace *const *traces, size_t cnt, int device,
                              sl_error *err) {
    char list[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < cnt; i++) {
        if (sl_trace_find_device(traces[i], device))
            return SL_OK;
        for (size_t d = 0; d < traces[i]->devices.cnt && used + 16 < sizeof list; d++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", used ? ", " : "",
                                     traces[i]->devices.at[d]->device);
    }
    return sl_fail(err, SL_E_DEVICE, "no device %d in the input; it has %s", device,
                   used ? list : "none");
}

static int compare_findings(const void *a, const void *b) {
    const sl_finding *x = a, *y = b;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (sl_finding_kind_rank(x->kind) != sl_finding_kind_rank(y->kind))
        return sl_finding_kind_rank(x->kind) > sl_finding_kind_rank(y->kind) ? -1 : 1;
    if (x->bytes.value != y->bytes.value)
        return x->bytes.value > y->bytes.value ? -1 : 1;
    return x->device - y->device;
}

/* A remark does not change the verdict: it needs at least a warning. */
static void conclude(sl_report *report) {
    int worst = 0;
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *finding = &report->findings.at[i];
        if (finding->severity > SL_SEV_INFO && sl_finding_kind_rank(finding->kind) > worst)
            worst = sl_finding_kind_rank(finding->kind);
    }
    report->verdict = (sl_verdict)worst;
    if (report->findings.cnt)
        qsort(report->findings.at, report->findings.cnt, sizeof *report->findings.at,
              compare_findings);
}

sl_status sl_analyze(const sl_trace *const *traces, size_t cnt, const sl_analysis_options *options,
                     sl_report **out, sl_error *err) {
    static const sl_analysis_options defaults = {0};
    options = options ? options : &defaults;
    if (options->has_device)
        SL_TRY(check_device(traces, cnt, options->device, err));
    sl_report *report = sl_report_new();
    if (!report)
        return sl_fail(err, SL_E_NOMEM, "out of memory");
    sl_status status = SL_OK;
    for (size_t i = 0; i < cnt && status == SL_OK; i++)
        status = analyze_trace(traces[i], options, report, err);
    if (status != SL_OK) {
        sl_report_free(report);
        return status;
    }
    conclude(report);
    *out = report;
    return SL_OK;
}
