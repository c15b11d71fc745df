/* SPDX-License-Identifier: MIT */
#include "tui/facts/run_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "api/recording_files.h"
#include "base/core/str.h"
#include "export/report/ledger_out.h"
#include "export/report/report_words.h"
#include "model/counter_series.h"
#include "read/core/source.h"
#include "telemetry/telemetry.h"

/* ---- reading ---- */

typedef struct load_work {
    const sl_tui_read_options *options;
    sl_tui_inputs *inputs;
    sl_tui_source *source;
    bool has_one_path; /* the only one that was given */
} load_work;

static void show_first(void *ctx, sl_trace *trace);

static sl_status load_one(const load_work *work, const char *path, bool is_only, sl_error *err) {
    sl_trace *trace;
    const sl_tui_read_options *options = work->options;
    sl_load_options how = {
        .progress = options->progress, .progress_ctx = options->ctx, .stop = options->stop};
    if (is_only && options->first)
        how.on_end_state = show_first, how.on_end_state_ctx = (void *)work;
    SL_TRY(sl_trace_load(path, &how, &trace, err));
    trace->code = options->code;
    if (sl_vec_push(&work->inputs->traces, trace))
        return SL_OK;
    sl_trace_free(trace);
    return sl_fail_no_memory(err, "the inputs");
}

/* Between two parts of the work: not begun when nobody wants the result any more. */
static sl_status check_wanted(const sl_tui_read_options *options, sl_error *err) {
    bool is_stopped = options->stop && *options->stop;
    return is_stopped ? sl_fail(err, SL_E_SYSTEM, "reading was stopped") : SL_OK;
}

/* Files of a folder that cannot be read become notes. */
static sl_status load_path(const load_work *work, const char *path, sl_error *err) {
    sl_recordings list = {0};
    sl_tui_source *source = work->source;
    size_t before = work->inputs->traces.cnt;
    sl_status status = sl_recordings_list(&list, path, SL_FIND_INPUTS, err);
    for (size_t i = 0; status >= 0 && i < list.paths.cnt; i++) {
        bool is_only = work->has_one_path && list.paths.cnt == 1;
        status = check_wanted(work->options, err);
        if (status < 0)
            break;
        sl_status one = load_one(work, list.paths.at[i], is_only, err);
        if (one < 0 && list.is_folder && one != SL_E_NOMEM)
            sl_vec_push(&source->notes, sl_arena_printf(&source->arena, "%s; left out", err->text));
        else
            status = one;
    }
    if (status >= 0 && work->inputs->traces.cnt == before)
        status =
            err->code < 0 ? err->code : sl_fail(err, SL_E_OPEN, "nothing to read in '%s'", path);
    sl_recordings_fini(&list);
    return status;
}

void sl_tui_inputs_fini(sl_tui_inputs *inputs) {
    sl_run_free(inputs->run);
    inputs->run = NULL;
    for (size_t i = 0; i < inputs->traces.cnt; i++)
        sl_trace_free(inputs->traces.at[i]);
    sl_vec_free(&inputs->traces);
}

/* ---- processes ---- */

static const char *keep(sl_tui_source *source, const char *text) {
    const char *copy = sl_arena_copy(&source->arena, text, strlen(text));
    source->has_failed |= !copy;
    return copy ? copy : "";
}

static void judge_process(sl_tui_source *source, sl_tui_process *process, const sl_trace *trace,
                          const sl_report *report, size_t number) {
    char text[SL_WORDS_CAP];
    const sl_report_input *found = &report->inputs.at[number];
    sl_words_input_verdict(text, report, found);
    process->verdict = keep(source, text);
    process->verdict_rank = (int)found->verdict;
    process->events = found->events;
    process->oom_cnt = found->oom.present ? found->oom.count : 0;
    for (size_t i = 0; i < report->devices.cnt; i++) {
        const sl_device_report *device = &report->devices.at[i];
        if (device->trace != trace || !device->steps.known || process->steps.known)
            continue;
        process->steps = device->steps;
        if (device->step_us.known && device->step_us.value > 0)
            process->steps_per_s = sl_known_f64(1e6 / device->step_us.value);
    }
}

/* In place of how the process ended, where the input does not say. */
static const char *const kind_words[] = {
    [SL_SOURCE_SLOG] = "recording",
    [SL_SOURCE_TORCH_SNAPSHOT] = "PyTorch snapshot",
    [SL_SOURCE_TELEMETRY] = "telemetry",
    [SL_SOURCE_OOM_BUNDLE] = "bundle of a failed request",
};

/* Without a report it is not judged yet. */
static void add_process(sl_tui_source *source, const sl_run_input *input, const sl_report *report) {
    char label[SL_PROCESS_LABEL_CAP];
    const sl_trace *trace = input->trace;
    sl_span span = {0};
    sl_run_span(input, NULL, &span);
    sl_tui_process process = {
        .path = keep(source, trace->path),
        .label =
            keep(source, trace->process.is_known ? sl_process_label(label, trace, &input->place)
                                                 : sl_base_name(trace->path)),
        .command = keep(source, trace->process.is_known ? trace->process.command : ""),
        .host = keep(source, trace->process.is_known ? trace->process.host : ""),
        .ending = trace->process.is_known ? sl_process_end_words(input->place.end)
                                          : kind_words[trace->source],
        .is_live = trace->is_live,
        .is_sampled = sl_run_is_sampled(input),
        .length_us = trace->has_time ? span.last_us - span.first_us : 0,
    };
    if (trace->process.is_known)
        process.pid = sl_known_u64(trace->process.pid);
    if (trace->process.is_known && trace->process.rank.known)
        process.rank = sl_known_u64((uint64_t)trace->process.rank.value);
    if (report)
        judge_process(source, &process, trace, report, input->number);
    source->has_failed |= !sl_vec_push(&source->processes, process);
}

static void add_alerts(sl_tui_source *source, const sl_run_input *input) {
    char text[SL_WORDS_CAP];
    sl_span span = {0};
    sl_run_span(input, NULL, &span);
    for (size_t i = input->trace->alerts.cnt; i-- > 0;) {
        const sl_alert *alert = &input->trace->alerts.at[i];
        sl_alert_words(text, input->trace, alert);
        sl_tui_alert row = {alert->time_us - span.first_us, keep(source, text), input->number};
        source->has_failed |= !sl_vec_push(&source->alerts, row);
    }
}

/* ---- curves ---- */

static bool make_curves(sl_tui_source *source, sl_tui_device *to) {
    for (size_t k = 0; k < SL_TUI_CURVE_CNT; k++) {
        to->curves[k] = sl_arena_alloc(&source->arena, SL_TUI_POINTS * sizeof(double));
        if (!to->curves[k])
            return false;
        for (size_t i = 0; i < SL_TUI_POINTS; i++)
            to->curves[k][i] = NAN;
    }
    return to->has_curves = true;
}

static void fill_used(const sl_trace *trace, const sl_span *span, sl_tui_device *to) {
    const sl_counter_series *series = sl_series_find(trace, to->number, SL_SERIES_DEVICE_USED);
    double step = (double)(span->last_us - span->first_us + 1) / SL_TUI_POINTS;
    for (size_t i = 0; series && i < SL_TUI_POINTS; i++) {
        uint64_t low, high;
        int64_t from = span->first_us + (int64_t)(step * (double)i);
        if (sl_series_range(series, from, from + (int64_t)step, &low, &high))
            to->curves[SL_TUI_USED][i] = (double)high;
    }
    to->now[SL_TUI_USED] = sl_series_last(series);
}

static void fill_figures(const sl_replay *replay, sl_tui_device *to) {
    to->now[SL_TUI_ALLOCATED] = sl_known_u64(replay->end.allocated_bytes);
    if (replay->reserved_known)
        to->now[SL_TUI_RESERVED] = sl_known_u64(replay->end.reserved_bytes);
    if (!replay->has_history)
        return;
    to->peak[SL_TUI_ALLOCATED] = sl_known_u64(replay->peak_allocated.bytes);
    if (replay->reserved_known)
        to->peak[SL_TUI_RESERVED] = sl_known_u64(replay->peak_reserved.bytes);
}

static void fill_events(const sl_run_device *device, const sl_replay *replay, const sl_span *span,
                        sl_tui_device *to) {
    sl_curve_bin *bins = calloc(SL_TUI_POINTS, sizeof *bins);
    if (!bins)
        return;
    sl_replay_curve(replay, span->first_us, span->last_us, bins, SL_TUI_POINTS);
    for (size_t i = 0; i < SL_TUI_POINTS; i++) {
        to->curves[SL_TUI_ALLOCATED][i] = (double)bins[i].max_allocated;
        if (replay->reserved_known)
            to->curves[SL_TUI_RESERVED][i] = (double)bins[i].max_reserved;
    }
    free(bins);
    fill_used(device->input->trace, span, to);
}

static void raise(double *curve, size_t at, int64_t value) {
    if (value >= 0 && (isnan(curve[at]) || (double)value > curve[at]))
        curve[at] = (double)value;
}

static void fill_samples(const sl_run_device *device, const sl_span *span, sl_tui_device *to) {
    const sl_telemetry *set = device->input->trace->telemetry;
    double step = (double)(span->last_us - span->first_us + 1) / SL_TUI_POINTS;
    for (size_t i = 0; set && i < set->records.cnt; i++) {
        const sl_tm_record *record = &set->records.at[i];
        if (!sl_run_has_sample(device, record))
            continue;
        double at = (double)(record->timestamp_ns / 1000 - span->first_us) / step;
        size_t column = at < 0 ? 0 : at >= SL_TUI_POINTS ? SL_TUI_POINTS - 1 : (size_t)at;
        raise(to->curves[SL_TUI_ALLOCATED], column, record->allocated_bytes);
        raise(to->curves[SL_TUI_RESERVED], column, record->reserved_bytes);
        raise(to->curves[SL_TUI_USED], column, record->used_bytes);
        to->now[SL_TUI_ALLOCATED] = sl_known_u64((uint64_t)record->allocated_bytes);
        to->now[SL_TUI_RESERVED] = sl_known_u64((uint64_t)record->reserved_bytes);
        to->now[SL_TUI_USED] = sl_known_u64((uint64_t)record->used_bytes);
    }
    for (size_t k = 0; k < SL_TUI_CURVE_CNT; k++) /* a sample's value holds until the next one */
        for (size_t i = 1; i < SL_TUI_POINTS; i++)
            if (isnan(to->curves[k][i]))
                to->curves[k][i] = to->curves[k][i - 1];
}

static void find_peaks(sl_tui_device *to) {
    for (size_t k = 0; to->has_curves && k < SL_TUI_CURVE_CNT; k++) {
        double most = NAN;
        for (size_t i = 0; i < SL_TUI_POINTS; i++)
            most = fmax(most, to->curves[k][i]);
        if (!to->peak[k].known && !isnan(most))
            to->peak[k] = sl_known_u64((uint64_t)most);
    }
}

/* ---- devices ---- */

static const char *device_label(sl_tui_source *source, const sl_run_device *device) {
    char text[SL_WORDS_CAP];
    sl_maybe_u64 rank = {(uint64_t)device->rank, device->has_rank};
    sl_words_ranked_device(text, device->events->device, rank);
    if (source->processes.cnt > 1)
        return sl_arena_printf(&source->arena, "%s, %s", text,
                               source->processes.at[device->input->number].label);
    return keep(source, text);
}

static const sl_device_report *find_report(const sl_report *report, const sl_run_device *device) {
    for (size_t i = 0; report && i < report->devices.cnt; i++) {
        const sl_device_report *at = &report->devices.at[i];
        if (at->trace == device->input->trace && at->device == device->events->device &&
            (!device->has_rank || (at->rank.known && (int)at->rank.value == device->rank)))
            return at;
    }
    return NULL;
}

static void keep_ledger(sl_tui_source *source, const sl_run_device *device, sl_tui_device *to) {
    const sl_ledger *ledger;
    if (sl_run_ledger(device, &ledger, NULL) < 0 || ledger->moment_cnt == 0)
        return;
    bool is_kept =
        sl_ledger_keep(ledger, ledger->moment_cnt - 1, &source->arena, &to->ledger) &&
        sl_ledger_keep(ledger, sl_ledger_fullest(ledger), &source->arena, &to->ledger_fullest);
    source->has_failed |= !is_kept;
}

/* A snapshot without a history has no span, but blocks; a device that was never used has neither. */
static bool is_shown(const sl_run_device *device, sl_span *span, bool *has_span) {
    *has_span = sl_run_span(device->input, device, span);
    return *has_span || device->events->blocks.cnt > 0;
}

static void add_device(sl_tui_source *source, const sl_run_device *device,
                       const sl_report *report) {
    sl_span span = {0};
    bool has_span;
    const sl_replay *replay;
    const sl_device_report *found = find_report(report, device);
    sl_tui_device to = {.process = device->input->number,
                        .number = device->events->device,
                        .has_time = device->input->trace->has_time,
                        .label = device_label(source, device)};
    if (!to.label || !is_shown(device, &span, &has_span) || (has_span && !make_curves(source, &to)))
        return;
    to.to_us = span.last_us - span.first_us;
    if (found)
        to.capacity = found->capacity_bytes;
    if (found)
        to.stackless_bytes = found->stackless_bytes;
    if (sl_run_is_sampled(device->input)) {
        fill_samples(device, &span, &to);
    } else if (sl_run_replay(device, &replay, NULL) == SL_OK) {
        fill_figures(replay, &to);
        if (has_span)
            fill_events(device, replay, &span, &to);
        keep_ledger(source, device, &to);
        sl__site_facts(device, source, &to);
    }
    if (!to.capacity.known && to.ledger.card_total.known)
        to.capacity = to.ledger.card_total;
    find_peaks(&to);
    source->has_failed |= !sl_vec_push(&source->devices, to);
}

static void fill_source(sl_tui_source *source, const sl_tui_inputs *inputs,
                        const sl_report *report) {
    for (size_t i = 0; i < inputs->run->input_cnt; i++)
        add_process(source, &inputs->run->inputs[i], report);
    for (size_t i = 0; i < inputs->run->input_cnt; i++) {
        const sl_run_input *input = &inputs->run->inputs[i];
        add_alerts(source, input);
        for (size_t d = 0; d < input->device_cnt; d++)
            add_device(source, &input->devices[d], report);
        for (size_t n = 0; n < input->trace->notes.cnt; n++)
            source->has_failed |=
                !sl_vec_push(&source->notes, keep(source, input->trace->notes.at[n].text));
    }
    if (!report)
        return;
    sl__finding_facts(report, source);
    sl__rank_facts(inputs, source);
    source->is_whole = true;
}

static void show_first(void *ctx, sl_trace *trace) {
    const load_work *work = ctx;
    sl_tui_inputs inputs = {0};
    sl_tui_source *source = calloc(1, sizeof *source);
    const sl_trace *const traces[] = {trace};
    trace->code = work->options->code;
    if (source && sl_run_new(traces, 1, &inputs.run, NULL) >= 0) {
        source->name = keep(source, work->source->name);
        source->is_early = true;
        fill_source(source, &inputs, NULL);
    }
    sl_run_free(inputs.run);
    if (source && source->devices.cnt && !source->has_failed)
        work->options->first(work->options->ctx, source);
    else
        sl_tui_source_free(source);
}

sl_status sl_run_facts_read(const char *const *paths, size_t cnt,
                            const sl_tui_read_options *options, sl_tui_inputs *inputs,
                            sl_tui_source **out, sl_error *err) {
    sl_error local = SL_ERROR_INIT;
    sl_report *report = NULL;
    sl_status status = SL_OK;
    sl_tui_source *source = calloc(1, sizeof *source);
    *out = source;
    *inputs = (sl_tui_inputs){0};
    err = err ? err : &local;
    if (!source)
        return sl_fail_no_memory(err, "the facts");
    source->name = cnt > 1 ? sl_arena_printf(&source->arena, "%s and %zu more", paths[0], cnt - 1)
                   : cnt   ? keep(source, paths[0])
                           : "";
    source->name = source->name ? source->name : "";
    load_work work = {options, inputs, source, cnt == 1};
    for (size_t i = 0; status >= 0 && i < cnt; i++)
        status = load_path(&work, paths[i], err);
    if (status >= 0)
        status = check_wanted(options, err);
    if (status >= 0)
        status = sl_run_new((const sl_trace *const *)inputs->traces.at, inputs->traces.cnt,
                            &inputs->run, err);
    if (status >= 0)
        status = sl_analyze(inputs->run, NULL, &report, err);
    if (status >= 0)
        fill_source(source, inputs, report);
    sl_report_free(report);
    if (status >= 0 && source->has_failed)
        status = sl_fail_no_memory(err, "the facts");
    return status < 0 ? status : SL_OK;
}

const sl_run_device *sl_run_facts_device(const sl_tui_inputs *inputs, const sl_tui_source *source,
                                         size_t device) {
    size_t at = 0;
    sl_span span;
    bool has_span;
    for (size_t i = 0; inputs->run && i < inputs->run->input_cnt; i++)
        for (size_t d = 0; d < inputs->run->inputs[i].device_cnt; d++) {
            const sl_run_device *found = &inputs->run->inputs[i].devices[d];
            if (!is_shown(found, &span, &has_span))
                continue; /* it is not in the source either */
            if (at++ == device && device < source->devices.cnt)
                return found;
        }
    return NULL;
}
