/* SPDX-License-Identifier: MIT */
#include "api/live/live_json.h"

static void write_range(sl_json_out *json, const char *const keys[3],
                        const sl_forecast_range *range) {
    sl_json_key_f64(json, keys[0], range->value);
    sl_json_key_f64(json, keys[1], range->low);
    sl_json_key_f64(json, keys[2], range->high);
}

void sl_live_forecast_write(sl_json_out *json, const sl_live_forecast *live) {
    static const char *const seconds[] = {"seconds", "seconds_low", "seconds_high"};
    static const char *const steps[] = {"steps", "steps_low", "steps_high"};
    const sl_forecast *f = &live->forecast;
    char text[SL_FORECAST_TEXT_CAP];
    if (!f->is_expected) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    write_range(json, seconds, &f->seconds);
    write_range(json, steps, &f->steps);
    sl_json_key_f64(json, "bytes_per_second", f->bytes_per_s);
    sl_json_key_maybe_f64(json, "bytes_per_step", f->bytes_per_step);
    sl_json_key_u64(json, "room_bytes", f->room_bytes);
    sl_json_key_f64(json, "window_seconds", f->window_s);
    sl_json_key_cstr(json, "grows", sl_forecast_part_name(f->part));
    sl_json_key_cstr(json, "limit", sl_forecast_limit_name(f->limit));
    sl_json_key_cstr(json, "line", live->line[0] ? live->line : NULL);
    sl_json_key_maybe_u64(json, "line_bytes", live->line_bytes);
    sl_json_key_cstr(json, "text", sl_forecast_text(text, f, sl_str_of(live->line)));
    sl_json_end_object(json);
}

void sl_live_failure_write(sl_json_out *json, const sl_live_failure *failure) {
    char text[SL_FAILURE_TEXT_CAP];
    if (!failure->is_known) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "cause", sl_failure_cause_name(failure->cause));
    sl_json_key_bool(json, "would_fail", sl_live_failure_is_near(failure));
    sl_json_key_cstr(json, "line", failure->line[0] ? failure->line : NULL);
    sl_json_key_u64(json, "request_bytes", failure->request_bytes);
    sl_json_key_u64(json, "largest_bytes", failure->largest_bytes);
    sl_json_key_u64(json, "free_bytes", failure->free_bytes);
    sl_json_key_maybe_u64(json, "cached_bytes", failure->cached_bytes);
    sl_json_key_maybe_u64(json, "largest_piece_bytes", failure->piece_bytes);
    sl_json_key_cstr(json, "text", sl_live_failure_text(text, failure));
    sl_json_end_object(json);
}
