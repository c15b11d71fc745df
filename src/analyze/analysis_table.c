/* SPDX-License-Identifier: MIT */
/* The list of analyses and the order in which they run: later ones use what earlier ones left in
 * the context (the cause of an out-of-memory error may be a leak). */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/an_context.h"
#include "analyze/samples/an_telemetry.h"
#include "analyze/thresholds.h"
#include "run/lines/live_split.h"
#include "telemetry/telemetry.h"

typedef struct analysis_row {
    sl_analysis_info info;
    sl_analysis_fn *run;
} analysis_row;

static const analysis_row analysis_rows[] = {
    {{"history", "whether the input is complete"}, sl_find_history},
    {{"leak", "sites whose live memory keeps growing, step over step"}, sl_find_leak},
    {{"build-up", "blocks allocated in a row before any step, all still live"}, sl_find_build_up},
    {{"spike", "a step whose peak is far above the usual one"}, sl_find_spike},
    {{"fragmentation", "reserved memory that cannot serve requests"}, sl_find_fragmentation},
    {{"retry", "the allocator had to flush its cache to serve a request"}, sl_find_retry},
    {{"pending-free", "freed blocks that wait for another stream"}, sl_find_pending},
    {{"inefficient", "the previous step's blocks that are still live at the peak"},
     sl_find_inefficient},
    {{"settings", "allocator settings that are set but not in effect"}, sl_find_settings},
    {{"oom", "a failed request: what holds the memory, and why it failed"}, sl_find_oom},
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

/* The whole work was measured by the replay; a part of it is walked again. */
static window_peaks measure_window(const sl_an *an) {
    const sl_replay *replay = an->replay;
    if (sl_an_is_whole(an))
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
        uint8_t kind = replay->device->events.kind[event];
        peaks.allocs += kind == SL_EV_ALLOC;
        peaks.frees += kind == SL_EV_FREE || kind == SL_EV_FREE_COMPLETED;
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
    size_t top = an->options->top ? an->options->top : SL_SITES_MOST;
    sl_maybe_u64 capacity = an->device->capacity_bytes;
    sl_device_report d = {
        .trace = an->trace,
        .device = an->device->device,
        .has_history = replay->has_history,
        .events = an->to - an->from,
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
        .step_us = an->steps->median_us,
        .steps = when(an->steps->borders.cnt > 0, an->steps->ended_cnt),
        .steps_marked = an->steps->is_marked,
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
    const sl_steps *steps = an->steps;
    if (!steps->borders.cnt) {
        sl_an_reason(an, "steps: device %d: none is marked, and %s", an->device->device,
                     steps->rows.cnt ? "the calls that recur only allocate and free nothing"
                                     : "no allocation recurs regularly");
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

/* Steps of the whole work are the run's; a part of it has its own, which *own holds. */
static sl_status find_steps(sl_an *an, sl_steps *own, sl_error *err) {
    if (sl_an_is_whole(an))
        return sl_run_steps(an->of, &an->steps, err);
    an->steps = own;
    return sl_steps_find(own, an->replay, an->sites->classes, an->from, an->to)
               ? SL_OK
               : sl_fail_no_memory(err, "the steps");
}

/* ---- the order of things ---- */

static uint64_t count_events(const sl_run_input *input) {
    uint64_t cnt = 0;
    if (sl_run_is_sampled(input))
        return input->trace->telemetry->records.cnt;
    for (size_t i = 0; i < input->device_cnt; i++)
        cnt += input->devices[i].events->events.cnt;
    return cnt;
}

/* The replay is one part, each analysis another. */
#define DEVICE_PARTS (SL_COUNT_OF(analysis_rows) + 1)

/* Says how far the run is, when this many parts of the device are done. */
static void tell(const sl_an *an, size_t part) {
    const sl_run_input *input = an->of->input;
    uint64_t done = 0, total = 0;
    if (!an->options->progress)
        return;
    for (size_t i = 0; i < input->run->input_cnt; i++) {
        done += i < input->number ? count_events(&input->run->inputs[i]) : 0;
        total += count_events(&input->run->inputs[i]);
    }
    for (const sl_run_device *d = input->devices; d < an->of; d++)
        done += d->events->events.cnt;
    done += an->of->events->events.cnt / DEVICE_PARTS * part;
    an->options->progress(an->options->progress_ctx, done, total);
}

static sl_status run_analyses(sl_an *an, sl_error *err) {
    const sl_ledger *ledger;
    SL_TRY(sl_run_ledger(an->of, &ledger, err));
    bool ok = fill_device(an);
    if (ok)
        explain_steps(an);
    ok = ok && sl_an_ledger(an, ledger);
    for (size_t i = 0; ok && i < SL_COUNT_OF(analysis_rows); i++) {
        tell(an, i + 1);
        ok = analysis_rows[i].run(an);
    }
    return ok ? SL_OK : sl_fail_no_memory(err, "the findings");
}

static sl_status analyze_device(const sl_run_device *device, const sl_analysis_options *options,
                                sl_report *report, sl_error *err) {
    sl_an an = {.of = device,
                .trace = device->input->trace,
                .device = device->events,
                .options = options,
                .report = report};
    sl_steps own = {0};
    tell(&an, 0);
    SL_TRY(sl_run_sites(device->input, options->group_by, options->filter, &an.sites, err));
    SL_TRY(sl_run_replay(device, &an.replay, err));
    set_window(&an);
    sl_status status = find_steps(&an, &own, err);
    if (status == SL_OK)
        status = run_analyses(&an, err);
    sl_steps_fini(&own);
    return status;
}

static sl_status analyze_input(const sl_run_input *input, const sl_analysis_options *options,
                               sl_report *report, sl_error *err) {
    sl_report_input row = {
        .trace = input->trace, .events = count_events(input), .place = input->place};
    for (size_t i = 0; i < input->device_cnt; i++)
        row.dropped_events.value += input->devices[i].events->dropped_events;
    row.dropped_events.known =
        input->trace->source == SL_SOURCE_SLOG || row.dropped_events.value > 0;
    if (!sl_vec_push(&report->inputs, row))
        return sl_fail_no_memory(err, "the report");
    if (sl_run_is_sampled(input))
        return sl__telemetry_analyze(input->trace, options, report, err);
    for (size_t i = 0; i < input->device_cnt; i++)
        if (!options->has_device || input->devices[i].events->device == options->device)
            SL_TRY(analyze_device(&input->devices[i], options, report, err));
    return SL_OK;
}

static sl_status check_device(const sl_run *run, int device, sl_error *err) {
    char list[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < run->input_cnt; i++) {
        const sl_run_input *input = &run->inputs[i];
        if (sl_run_find_device(input, device))
            return SL_OK;
        for (size_t d = 0; d < input->device_cnt && used + 16 < sizeof list; d++)
            if (d == 0 || input->devices[d].events != input->devices[d - 1].events)
                used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", used ? ", " : "",
                                         input->devices[d].events->device);
    }
    return sl_fail(err, SL_E_DEVICE, "no device %d in the input; it has %s", device,
                   used ? list : "none");
}

static int compare_findings(const void *a, const void *b) {
    const sl_finding *x = a, *y = b;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (x->decides != y->decides)
        return x->decides > y->decides ? -1 : 1;
    if (x->bytes.value != y->bytes.value)
        return x->bytes.value > y->bytes.value ? -1 : 1;
    return x->device - y->device;
}

/* The verdict of one input. Only findings with severity warning or critical change it. */
static sl_verdict judge(const sl_report *report, const sl_trace *trace) {
    sl_verdict worst = SL_VERDICT_HEALTHY;
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *finding = &report->findings.at[i];
        if (finding->trace == trace && finding->severity > SL_SEV_INFO && finding->decides > worst)
            worst = finding->decides;
    }
    return worst;
}

static void conclude(sl_report *report) {
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        sl_report_input *input = &report->inputs.at[i];
        input->verdict = judge(report, input->trace);
        if (input->verdict > report->verdict)
            report->verdict = input->verdict;
        if (input->oom.present && !report->oom.present)
            report->oom = input->oom;
    }
    if (report->findings.cnt)
        qsort(report->findings.at, report->findings.cnt, sizeof *report->findings.at,
              compare_findings);
}

sl_status sl_analyze(const sl_run *run, const sl_analysis_options *options, sl_report **out,
                     sl_error *err) {
    static const sl_analysis_options defaults = {0};
    options = options ? options : &defaults;
    const sl_window window = {options->has_since, options->has_until, options->since_us,
                              options->until_us};
    if (options->has_device)
        SL_TRY(check_device(run, options->device, err));
    SL_TRY(sl_run_check_window(run, &window, err));
    if (options->filter)
        SL_TRY(sl_run_check_filter(run, options->group_by, options->filter, err));
    sl_report *report = sl_report_new();
    if (!report)
        return sl_fail_no_memory(err, "the report");
    sl_status status = SL_OK;
    for (size_t i = 0; i < run->input_cnt && status == SL_OK; i++)
        status = analyze_input(&run->inputs[i], options, report, err);
    if (status != SL_OK) {
        sl_report_free(report);
        return status;
    }
    conclude(report);
    *out = report;
    return SL_OK;
}

sl_status sl_analyze_traces(const sl_trace *const *traces, size_t cnt,
                            const sl_analysis_options *options, sl_report **out, sl_error *err) {
    sl_run *run;
    SL_TRY(sl_run_new(traces, cnt, &run, err));
    sl_status status = sl_analyze(run, options, out, err);
    sl_run_free(run);
    return status;
}
