/* SPDX-License-Identifier: MIT */
/* The schema is described in docs/whatif.md. */
#include "base/text/json_out.h"
#include "export/whatif/whatif_format.h"

static void key_settings(sl_json_out *json, const sl_alloc_settings *settings) {
    char text[SL_SETTINGS_TEXT_CAP];
    sl_alloc_settings_text(text, settings);
    sl_json_key_cstr(json, "settings", text);
}

static void key_peak(sl_json_out *json, uint64_t peak, uint64_t low, uint64_t high) {
    bool is_known = peak != 0;
    sl_json_key_maybe_u64(json, "reserved_peak_bytes", (sl_maybe_u64){peak, is_known});
    sl_json_key_maybe_u64(json, "reserved_peak_low_bytes", (sl_maybe_u64){low, is_known});
    sl_json_key_maybe_u64(json, "reserved_peak_high_bytes", (sl_maybe_u64){high, is_known});
}

static void key_recordings(sl_json_out *json, const sl_batch *batch) {
    sl_json_key(json, "recordings");
    sl_json_begin_array(json);
    for (size_t i = 0; i < batch->recording_cnt; i++) {
        const sl_batch_recording *recording = &batch->recordings[i];
        const sl_calls *calls = recording->whatif->calls;
        sl_json_begin_object(json);
        sl_json_key_u64(json, "size", recording->size);
        sl_json_key_cstr(json, "path", calls->replay->trace->path);
        sl_json_key_i64(json, "device", calls->replay->device->device);
        sl_json_key_u64(json, "requests", recording->side.requests.cnt);
        sl_json_key_f64(json, "share", recording->whatif->proof.share);
        sl_json_key_u64(json, "recorded_peak_bytes", recording->recorded_peak);
        sl_json_key_maybe_u64(json, "check_peak_bytes",
                              (sl_maybe_u64){recording->check_peak, recording->check_peak != 0});
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void key_laws(sl_json_out *json, const sl_batch *batch) {
    static const char *const names[] = {
#define SL_BATCH_LAW_NAME(name, json_name, text) json_name,
        SL_BATCH_LAW_MAP(SL_BATCH_LAW_NAME)
#undef SL_BATCH_LAW_NAME
    };
    sl_json_key(json, "laws");
    sl_json_begin_array(json);
    for (size_t i = 0; i < SL_BATCH_LAW_CNT; i++) {
        sl_json_begin_object(json);
        sl_json_key_cstr(json, "law", names[i]);
        sl_json_key_u64(json, "requests", batch->law_cnt[i]);
        sl_json_key_u64(json, "bytes", batch->law_bytes[i]);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void key_rows(sl_json_out *json, const sl_batch *batch) {
    static const char *const verdicts[] = {NULL, "fits", "may_fit", "does_not_fit"};
    sl_json_key(json, "sizes");
    sl_json_begin_array(json);
    for (size_t i = 0; !batch->refusal[0] && i < batch->rows.cnt; i++) {
        const sl_batch_row *row = &batch->rows.at[i];
        sl_json_begin_object(json);
        sl_json_key_u64(json, "size", row->size);
        key_settings(json, &row->settings);
        key_peak(json, row->peak, row->low, row->high);
        sl_json_key_u64(json, "active_peak_bytes", row->active_peak);
        sl_json_key_cstr(json, "verdict", verdicts[row->verdict]);
        sl_json_key_bool(json, "poor", row->is_poor);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

static void key_largest(sl_json_out *json, const sl_batch *batch) {
    sl_json_key(json, "largest");
    sl_json_begin_array(json);
    for (size_t i = 0; !batch->refusal[0] && i < batch->largest.cnt; i++) {
        const sl_batch_largest *largest = &batch->largest.at[i];
        sl_json_begin_object(json);
        key_settings(json, &largest->settings);
        sl_json_key_maybe_u64(json, "size", (sl_maybe_u64){largest->size, largest->size != 0});
        sl_json_key_bool(json, "capped", largest->is_capped);
        key_peak(json, largest->peak, largest->low, largest->high);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

sl_status sl_batch_write_json(const sl_batch *batch, bool has_color, FILE *to, sl_error *err) {
    sl_json_out json;
    (void)has_color;
    sl_json_init(&json, to, 1);
    sl_json_begin_object(&json);
    sl_json_key_cstr(&json, "schema", SL_WHATIF_SCHEMA);
    sl_json_key(&json, "answers");
    sl_json_begin_array(&json);
    sl_json_end_array(&json);
    sl_json_key(&json, "batch");
    sl_json_begin_object(&json);
    sl_json_key_cstr(&json, "refusal", batch->refusal[0] ? batch->refusal : NULL);
    key_recordings(&json, batch);
    sl_json_key_u64(&json, "requests", batch->request_cnt);
    sl_json_key_u64(&json, "requests_aligned", batch->aligned_cnt);
    key_laws(&json, batch);
    sl_json_key_f64(&json, "check_error", batch->check_error);
    sl_json_key_maybe_u64(&json, "card_bytes", batch->card_bytes);
    sl_json_key_u64(&json, "placements", batch->placement_cnt);
    key_rows(&json, batch);
    key_largest(&json, batch);
    sl_json_end_object(&json);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}
