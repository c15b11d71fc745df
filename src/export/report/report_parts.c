/* SPDX-License-Identifier: MIT */
#include "export/report/report_parts.h"

void sl_key_notes_json(sl_json_out *json, const sl_trace *trace) {
    sl_json_key(json, "notes");
    sl_json_begin_array(json);
    for (size_t i = 0; i < trace->notes.cnt; i++)
        sl_json_cstr(json, trace->notes.at[i].text);
    sl_json_end_array(json);
}

void sl_fragmentation_json(sl_json_out *json, const sl_fragmentation *fragmentation) {
    sl_json_begin_object(json);
    sl_json_key_maybe_u64(json, "inactive_bytes", fragmentation->inactive_bytes);
    sl_json_key_maybe_u64(json, "largest_free_bytes", fragmentation->largest_free_bytes);
    sl_json_key_maybe_f64(json, "ratio", fragmentation->ratio);
    sl_json_key_maybe_u64(json, "private_pool_bytes", fragmentation->private_pool_bytes);
    sl_json_key_maybe_u64(json, "rounding_bytes", fragmentation->rounding_bytes);
    sl_json_key_maybe_u64(json, "releasable_bytes", fragmentation->releasable_bytes);
    sl_json_end_object(json);
}

static void key_evidence(sl_json_out *json, const sl_finding *finding) {
    sl_json_key(json, "evidence");
    sl_json_begin_array(json);
    for (size_t i = 0; i < finding->evidence_cnt; i++) {
        const sl_evidence *evidence = &finding->evidence[i];
        sl_json_begin_object(json);
        sl_json_key_cstr(json, "name", evidence->name);
        sl_json_key_f64(json, "value", evidence->value);
        sl_json_key_cstr(json, "unit", evidence->unit);
        sl_json_key_cstr(json, "relation", evidence->relation);
        sl_json_key_f64(json, "threshold", evidence->threshold);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void key_trial(sl_json_out *json, const sl_trial *trial) {
    sl_json_key(json, "whatif");
    if (trial->result == SL_TRIAL_NONE) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "result", sl_trial_result_name(trial->result));
    sl_json_key_cstr(json, "settings", trial->settings);
    sl_json_key_maybe_u64(json, "reserved_peak_bytes", trial->reserved_peak_bytes);
    sl_json_key_maybe_u64(json, "recorded_peak_bytes", trial->recorded_peak_bytes);
    sl_json_end_object(json);
}

void sl_finding_kind_json(sl_json_out *json, const sl_finding *finding) {
    sl_json_key_cstr(json, "kind", sl_finding_kind_name(finding->kind));
    sl_json_key_cstr(json, "subkind", finding->subkind);
    sl_json_key_cstr(json, "severity", sl_severity_name(finding->severity));
    sl_json_key_f64(json, "confidence", finding->confidence);
    sl_json_key_i64(json, "device", finding->device);
    sl_json_key_maybe_u64(json, "rank", finding->rank);
}

void sl_finding_figures_json(sl_json_out *json, const sl_finding *finding, int64_t zero_us) {
    sl_json_key_maybe_u64(json, "bytes", finding->bytes);
    sl_json_key_maybe_u64(json, "blocks", finding->blocks);
    sl_json_key_maybe_f64(json, "bytes_per_second", finding->bytes_per_second);
    sl_json_key_maybe_f64(json, "bytes_per_step", finding->bytes_per_step);
    sl_json_key_maybe_f64(json, "r_squared", finding->r_squared);
    sl_json_key_maybe_f64(json, "growth_share", finding->growth_share);
    sl_json_key_i64(json, "first_time_us", finding->first_time_us - zero_us);
    sl_json_key_i64(json, "last_time_us", finding->last_time_us - zero_us);
    sl_json_key_cstr(json, "title", finding->title);
    sl_json_key_cstr(json, "explanation", finding->explanation);
    sl_json_key_cstr(json, "advice", finding->advice);
    key_trial(json, &finding->trial);
    key_evidence(json, finding);
}
