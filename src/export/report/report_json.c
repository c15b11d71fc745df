/* SPDX-License-Identifier: MIT */
/* The JSON form of a report: docs/report.md. Names are stable: new ones may be added, none is
 * renamed. */
#include "base/text/json_out.h"
#include "export/report/ledger_out.h"
#include "export/report/process_rows.h"
#include "export/report/report_format.h"
#include "export/report/report_parts.h"
#include "export/report/report_words.h"
#include "export/report/site_json.h"
#include "export/report/split_out.h"
#include "stormlog/version.h"

static void key_site(sl_json_out *json, const char *key, sl_site site) {
    sl_json_key(json, key);
    sl_site_json(json, site);
}

static void key_holdings(sl_json_out *json, const char *key, const sl_holdings *holdings,
                         size_t top) {
    sl_json_key(json, key);
    sl_json_begin_array(json);
    for (size_t i = 0; i < holdings->cnt && i < top; i++) {
        sl_json_begin_object(json);
        key_site(json, "site", holdings->at[i].site);
        sl_json_key_u64(json, "bytes", holdings->at[i].bytes);
        sl_json_key_u64(json, "blocks", holdings->at[i].blocks);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void write_oom(sl_json_out *json, const sl_oom_report *oom, size_t top) {
    sl_json_key(json, "oom");
    if (!oom->present) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_i64(json, "device", oom->device);
    sl_json_key(json, "requested_bytes");
    sl_json_maybe_u64(json, (sl_maybe_u64){oom->requested_bytes, oom->requested_bytes > 0});
    sl_json_key_maybe_u64(json, "allocated_bytes", oom->allocated_bytes);
    sl_json_key_maybe_u64(json, "reserved_bytes", oom->reserved_bytes);
    sl_json_key_maybe_u64(json, "device_free_bytes", oom->device_free_bytes);
    sl_json_key_maybe_u64(json, "limit_bytes", oom->limit_bytes);
    sl_json_key_i64(json, "time_us", oom->time_us);
    key_site(json, "site", oom->site);
    sl_json_key_cstr(json, "cause", sl_oom_cause_name(oom->cause));
    sl_json_key_cstr(json, "explanation", oom->explanation);
    key_holdings(json, "holders", &oom->holders, top);
    sl_json_key_u64(json, "count", oom->count);
    sl_json_end_object(json);
}

static void write_inputs(sl_json_out *json, const sl_report *report,
                         const sl_report_wishes *wishes) {
    char headline[SL_WORDS_CAP];
    sl_json_key(json, "inputs");
    sl_json_begin_array(json);
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        const sl_report_input *input = &report->inputs.at[i];
        sl_json_begin_object(json);
        sl_json_key_cstr(json, "path", input->trace->path);
        sl_json_key_cstr(json, "kind", sl_words_source(input->trace->source));
        sl_json_key_u64(json, "events", input->events);
        sl_json_key_u64(json, "device_count", input->trace->devices.cnt);
        sl_json_key_maybe_u64(json, "dropped_events", input->dropped_events);
        sl_json_key(json, "has_clock");
        sl_json_bool(json, input->trace->has_time);
        sl_process_json(json, input);
        sl_json_key_cstr(json, "verdict", sl_verdict_name(input->verdict));
        sl_words_input_verdict(headline, report, input);
        sl_json_key_cstr(json, "headline", headline);
        if (report->inputs.cnt > 1)
            write_oom(json, &input->oom, wishes->top);
        sl_key_notes_json(json, input->trace);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

/* Known only where there is a history. */
static void write_device_peak(sl_json_out *json, const sl_device_report *device) {
    bool is_known = device->has_history;
    sl_maybe_u64 unknown = {0};
    sl_json_key_maybe_u64(json, "peak_requested_bytes",
                          (sl_maybe_u64){device->peak_requested_bytes, is_known});
    sl_json_key_maybe_u64(json, "peak_bytes", is_known ? device->peak_bytes : unknown);
    sl_json_key_maybe_u64(json, "peak_allocated_bytes",
                          is_known ? device->peak_allocated_bytes : unknown);
    sl_json_key_maybe_u64(json, "peak_reserved_bytes",
                          is_known ? device->peak_reserved_bytes : unknown);
    sl_json_key(json, "peak_time_us");
    if (is_known)
        sl_json_i64(json, device->peak_time_us);
    else
        sl_json_null(json);
}

/* The index of a trace in inputs[]; null when it is not there. */
static void key_input(sl_json_out *json, const sl_report *report, const sl_trace *trace) {
    sl_maybe_u64 input = {0};
    for (size_t i = 0; trace && i < report->inputs.cnt; i++)
        if (report->inputs.at[i].trace == trace)
            input = sl_known_u64(i);
    sl_json_key_maybe_u64(json, "input", input);
}

static void write_device_totals(sl_json_out *json, const sl_device_report *device) {
    sl_json_key_i64(json, "device", device->device);
    sl_json_key_maybe_u64(json, "rank", device->rank);
    sl_json_key_u64(json, "events", device->events);
    sl_json_key_u64(json, "allocs", device->allocs);
    sl_json_key_u64(json, "frees", device->frees);
    sl_json_key_maybe_u64(json, "segments", device->segments);
    sl_json_key_u64(json, "base_bytes", device->base_bytes);
    sl_json_key_u64(json, "live_requested_bytes", device->live_requested_bytes);
    sl_json_key_maybe_u64(json, "live_bytes", device->live_bytes);
    sl_json_key_maybe_u64(json, "allocated_bytes", device->allocated_bytes);
    write_device_peak(json, device);
    sl_json_key_maybe_u64(json, "reserved_bytes", device->reserved_bytes);
    sl_json_key_maybe_u64(json, "capacity_bytes", device->capacity_bytes);
    sl_json_key_i64(json, "first_time_us", device->first_time_us);
    sl_json_key_i64(json, "last_time_us", device->last_time_us);
}

static void write_device(sl_json_out *json, const sl_report *report, const sl_device_report *device,
                         size_t top) {
    sl_json_begin_object(json);
    key_input(json, report, device->trace);
    write_device_totals(json, device);
    key_holdings(json, "top_live", &device->top_live, top);
    key_holdings(json, "top_peak", &device->top_peak, top);
    sl_split_json(json, "live_by_tag", "tag", &device->live_by_tag);
    sl_split_json(json, "peak_by_tag", "tag", &device->peak_by_tag);
    sl_json_key(json, "fragmentation");
    sl_fragmentation_json(json, &device->fragmentation);
    sl_json_key(json, "ledger");
    sl_ledger_json(json, &device->ledger, 0);
    sl_json_key(json, "ledger_fullest");
    sl_ledger_json(json, &device->ledger_fullest, 0);
    sl_json_key(json, "has_history");
    sl_json_bool(json, device->has_history);
    sl_json_key(json, "identity_holds");
    sl_json_bool(json, device->identity_holds);
    sl_json_key_i64(json, "identity_residue_bytes", device->identity_residue);
    sl_json_key_u64(json, "unmatched_frees", device->unmatched_frees);
    sl_json_key_u64(json, "lost_frees", device->lost_frees);
    sl_json_key_u64(json, "stackless_bytes", device->stackless_bytes);
    sl_json_key_maybe_u64(json, "steps", device->steps);
    sl_json_key_maybe_f64(json, "step_us", device->step_us);
    sl_json_key(json, "steps_marked");
    sl_json_bool(json, device->steps_marked);
    sl_json_key_bool(json, "leaks_judged", device->leaks_judged);
    sl_json_end_object(json);
}

static void write_finding(sl_json_out *json, const sl_report *report, const sl_finding *finding) {
    sl_json_begin_object(json);
    key_input(json, report, finding->trace);
    sl_finding_kind_json(json, finding);
    key_site(json, "site", finding->site);
    sl_finding_figures_json(json, finding, 0);
    sl_json_end_object(json);
}

static void write_alerts(sl_json_out *json, const sl_report *report) {
    sl_json_key(json, "alerts");
    sl_json_begin_array(json);
    for (size_t i = 0; i < report->inputs.cnt; i++) {
        const sl_trace *trace = report->inputs.at[i].trace;
        for (size_t k = 0; k < trace->alerts.cnt; k++) {
            sl_json_begin_object(json);
            sl_json_key_u64(json, "input", i);
            sl_alert_json(json, trace, &trace->alerts.at[k], 0);
            sl_json_end_object(json);
        }
    }
    sl_json_end_array(json);
}

static void write_lists(sl_json_out *json, const sl_report *report,
                        const sl_report_wishes *wishes) {
    sl_json_key(json, "devices");
    sl_json_begin_array(json);
    for (size_t i = 0; i < report->devices.cnt; i++)
        write_device(json, report, &report->devices.at[i], wishes->top);
    sl_json_end_array(json);
    write_oom(json, &report->oom, wishes->top);
    sl_json_key(json, "findings");
    sl_json_begin_array(json);
    for (size_t i = 0; i < report->findings.cnt; i++)
        write_finding(json, report, &report->findings.at[i]);
    sl_json_end_array(json);
    write_alerts(json, report);
    sl_json_key(json, "reasons");
    sl_json_begin_array(json);
    for (size_t i = 0; i < report->reasons.cnt; i++)
        sl_json_cstr(json, report->reasons.at[i].text);
    sl_json_end_array(json);
}

sl_status sl_report_write_json(const sl_report *report, const sl_report_wishes *wishes, FILE *to,
                               sl_error *err) {
    char headline[SL_WORDS_CAP];
    sl_json_out json;
    sl_words_verdict(headline, report);
    sl_json_init(&json, to, 1);
    sl_json_begin_object(&json);
    sl_json_key_cstr(&json, "schema", SL_REPORT_SCHEMA);
    sl_json_key_cstr(&json, "generator", "stormlog " SL_VERSION_STRING);
    write_inputs(&json, report, wishes);
    sl_json_key_cstr(&json, "verdict", sl_verdict_name(report->verdict));
    sl_json_key_cstr(&json, "headline", headline);
    write_lists(&json, report, wishes);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}
