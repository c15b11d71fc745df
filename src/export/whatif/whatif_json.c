/* SPDX-License-Identifier: MIT */
/* The schema is described in docs/whatif.md. */
#include "base/text/json_out.h"
#include "export/report/site_json.h"
#include "export/whatif/whatif_format.h"
#include "export/whatif/whatif_words.h"

static void key_settings(sl_json_out *json, const sl_alloc_settings *settings) {
    char text[SL_SETTINGS_TEXT_CAP];
    sl_alloc_settings_text(text, settings);
    sl_json_key_cstr(json, "settings", text);
}

static void key_event(sl_json_out *json, const sl_whatif *whatif, uint32_t event) {
    if (event >= whatif->calls->replay->event_cnt) {
        sl_json_key(json, "event");
        sl_json_null(json);
        return;
    }
    sl_json_key_u64(json, "event", event);
    sl_json_key_i64(json, "time_us", whatif->calls->replay->device->events.time_us[event]);
    sl_json_key_maybe_u64(json, "step", sl_whatif_step(whatif, event));
    sl_json_key(json, "site");
    sl_site_json(json, sl_whatif_site(whatif, event));
}

static void key_limit(sl_json_out *json, const sl_whatif *whatif) {
    bool has = whatif->limit_bytes != SL_ALLOC_NO_LIMIT;
    sl_json_key_maybe_u64(json, "limit_bytes", (sl_maybe_u64){whatif->limit_bytes, has});
    sl_json_key_maybe_u64(
        json, "limit_below_bytes",
        (sl_maybe_u64){whatif->calls->limit_below_bytes, has && !whatif->limit_is_given});
    sl_json_key_cstr(json, "limit_source",
                     !has                     ? NULL
                     : whatif->limit_is_given ? "option"
                                              : "trace");
}

static void key_proof(sl_json_out *json, const sl_whatif *whatif) {
    const sl_whatif_proof *proof = &whatif->proof;
    sl_json_key(json, "proof");
    sl_json_begin_object(json);
    key_settings(json, &whatif->calls->settings);
    sl_json_key_bool(json, "settings_guessed", proof->is_guessed);
    sl_json_key_u64(json, "addresses", proof->pass.placed_cnt);
    sl_json_key_u64(json, "addresses_same", proof->pass.same_cnt);
    sl_json_key_f64(json, "share", proof->share);
    sl_json_key_bool(json, "curve_same", proof->has_same_curve);
    sl_json_key_bool(json, "peak_same", proof->has_same_peak);
    sl_json_key_u64(json, "reserved_peak_bytes", proof->pass.stats.reserved_peak);
    sl_json_key_u64(json, "recorded_peak_bytes", proof->pass.recorded_peak);
    sl_json_key_f64(json, "error", proof->is_exact ? 0 : proof->error);
    sl_json_key_bool(json, "exact", proof->is_exact);
    sl_json_end_object(json);
}

static void key_row_failure(sl_json_out *json, const sl_whatif *whatif, const sl_pass *pass) {
    sl_json_key(json, "first_failure");
    if (!pass->has_failed) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_u64(json, "bytes", pass->fail_bytes);
    sl_json_key_u64(json, "active_bytes", pass->fail_active_bytes);
    sl_json_key_u64(json, "reserved_bytes", pass->fail_reserved_bytes);
    key_event(json, whatif, pass->fail_event);
    sl_json_end_object(json);
}

static void write_row(sl_json_out *json, const sl_whatif *whatif, const sl_whatif_row *row) {
    static const char *const kinds[] = {"recorded", "setting", "bound"};
    const sl_alloc_stats *stats = &row->pass.stats;
    sl_json_begin_object(json);
    key_settings(json, &row->settings);
    sl_json_key_cstr(json, "kind", kinds[row->kind]);
    sl_json_key_bool(json, "fits", !row->pass.has_failed);
    sl_json_key_bool(json, "may_fit", !row->pass.has_failed || row->may_fit);
    sl_json_key_u64(json, "reserved_peak_bytes", stats->reserved_peak);
    sl_json_key_u64(json, "reserved_peak_low_bytes", row->peak_low);
    sl_json_key_u64(json, "reserved_peak_high_bytes", row->peak_high);
    sl_json_key_u64(json, "replays", row->pass_cnt);
    sl_json_key_u64(json, "replays_failed", row->failed_cnt);
    sl_json_key_u64(json, "active_peak_bytes", stats->active_peak);
    sl_json_key_u64(json, "waste_peak_bytes", stats->waste_peak);
    sl_json_key_u64(json, "flushes", stats->flushes);
    sl_json_key_u64(json, "retries", stats->retries);
    sl_json_key_u64(json, "collections", stats->collections);
    sl_json_key_u64(json, "driver_allocs", stats->driver_allocs);
    sl_json_key_u64(json, "driver_frees", stats->driver_frees);
    sl_json_key_u64(json, "requests_served", row->pass.request_cnt);
    sl_json_key_u64(json, "failed_requests_served", row->pass.oom_served_cnt);
    sl_json_key_u64(json, "failed_request_more", row->pass.oom_more_cnt);
    sl_json_key_maybe_u64(json, "smallest_card_bytes", row->card_bytes);
    key_row_failure(json, whatif, &row->pass);
    sl_json_end_object(json);
}

static void key_rows(sl_json_out *json, const sl_whatif *whatif) {
    sl_json_key(json, "rows");
    sl_json_begin_array(json);
    for (size_t i = 0; i < whatif->rows.cnt; i++)
        write_row(json, whatif, &whatif->rows.at[i]);
    sl_json_end_array(json);
}

static void key_best(sl_json_out *json, const sl_whatif *whatif) {
    char text[SL_WORDS_CAP];
    sl_json_key(json, "best");
    if (whatif->rows.cnt == 0 || whatif->best == 0) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_u64(json, "row", whatif->best);
    sl_whatif_say_paste(text, whatif);
    sl_json_key_cstr(json, "paste", text);
    sl_json_key_i64(json, "saves_bytes",
                    (int64_t)(whatif->rows.at[0].pass.stats.reserved_peak -
                              whatif->rows.at[whatif->best].pass.stats.reserved_peak));
    sl_json_end_object(json);
}

static void key_failure(sl_json_out *json, const sl_whatif *whatif) {
    const sl_whatif_failure *failure = &whatif->failure;
    sl_json_key(json, "failure");
    if (!failure->is_known) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_u64(json, "bytes", failure->bytes);
    key_event(json, whatif, failure->event);
    sl_json_key_u64(json, "active_bytes", failure->active_bytes);
    sl_json_key_u64(json, "must_go_bytes", failure->missing_bytes);
    sl_json_key_maybe_f64(json, "growth_bytes_per_step", failure->step_growth);
    sl_json_key(json, "holders");
    sl_json_begin_array(json);
    for (size_t i = 0; i < failure->holdings.cnt; i++) {
        sl_json_begin_object(json);
        sl_json_key(json, "site");
        sl_site_json(json, failure->holdings.at[i].site);
        sl_json_key_u64(json, "bytes", failure->holdings.at[i].bytes);
        sl_json_key_u64(json, "blocks", failure->holdings.at[i].blocks);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
    sl_json_end_object(json);
}

static void key_program(sl_json_out *json, const sl_whatif_program *program) {
    sl_json_key(json, "program");
    if (!program->is_changed) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "free", program->freed);
    sl_json_key_bool(json, "early", program->frees_late);
    sl_json_key_u64(json, "blocks_freed_earlier", program->freed_cnt);
    sl_json_key_bool(json, "no_record_stream", program->no_record_stream);
    sl_json_key_bool(json, "one_stream", program->is_one_stream);
    sl_json_end_object(json);
}

/* All lines at once have no site. */
static void write_line(sl_json_out *json, const sl_whatif_lines *lines, const sl_whatif_line *line,
                       bool is_all) {
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "repair", sl_whatif_repair_name(line->kind));
    if (!is_all) {
        bool has_steps = line->kind == SL_REPAIR_LEAK || line->kind == SL_REPAIR_EARLY;
        sl_json_key(json, "site");
        sl_site_json(json, line->site);
        sl_json_key_u64(json, "bytes", line->bytes);
        sl_json_key_u64(json, "blocks", line->blocks);
        sl_json_key_maybe_f64(json, "steps_late", (sl_maybe_f64){line->step_mean, has_steps});
    }
    sl_json_key_u64(json, "reserved_peak_bytes", line->peak);
    sl_json_key_u64(json, "saves_bytes", line->saves);
    sl_json_key(json, "fits");
    if (lines->has_limit)
        sl_json_bool(json, line->fits);
    else
        sl_json_null(json);
    sl_json_end_object(json);
}

static void key_lines(sl_json_out *json, const sl_whatif_lines *lines) {
    sl_json_key(json, "lines");
    if (!lines->is_known) {
        sl_json_null(json);
        return;
    }
    sl_json_begin_object(json);
    sl_json_key_u64(json, "reserved_peak_bytes", lines->peak);
    sl_json_key_u64(json, "candidates", lines->candidate_cnt);
    sl_json_key_u64(json, "replayed", lines->tried_cnt);
    sl_json_key(json, "best");
    sl_json_begin_array(json);
    for (size_t i = 0; i < lines->at.cnt; i++)
        write_line(json, lines, &lines->at.at[i], false);
    sl_json_end_array(json);
    sl_json_key(json, "all");
    sl_json_begin_array(json);
    for (size_t i = 0; i < lines->all.cnt; i++)
        write_line(json, lines, &lines->all.at[i], true);
    sl_json_end_array(json);
    sl_json_end_object(json);
}

static void write_answer(sl_json_out *json, const sl_whatif *whatif) {
    const sl_calls *calls = whatif->calls;
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "path", calls->replay->trace->path);
    sl_json_key_i64(json, "device", calls->replay->device->device);
    sl_json_key_u64(json, "events", calls->replay->event_cnt);
    sl_json_key_u64(json, "requests", calls->request_cnt);
    key_proof(json, whatif);
    sl_json_key_cstr(json, "refusal", whatif->refusal[0] ? whatif->refusal : NULL);
    sl_json_key_cstr(json, "without", whatif->without);
    sl_json_key_u64(json, "without_requests", whatif->removed.request_cnt);
    sl_json_key_u64(json, "without_peak_bytes", whatif->removed.peak_bytes);
    key_program(json, &whatif->program);
    key_limit(json, whatif);
    sl_json_key_u64(json, "floor_bytes", whatif->floor_bytes);
    sl_json_key_u64(json, "start_bytes", calls->start_bytes);
    sl_json_key_u64(json, "placements", whatif->placement_cnt);
    key_rows(json, whatif);
    key_best(json, whatif);
    key_failure(json, whatif);
    key_lines(json, &whatif->lines);
    sl_json_end_object(json);
}

sl_status sl_whatif_write_json(const sl_whatif_list *list, FILE *to, sl_error *err) {
    sl_json_out json;
    sl_json_init(&json, to, 1);
    sl_json_begin_object(&json);
    sl_json_key_cstr(&json, "schema", SL_WHATIF_SCHEMA);
    sl_json_key(&json, "answers");
    sl_json_begin_array(&json);
    for (size_t i = 0; i < list->cnt; i++)
        write_answer(&json, list->at[i]);
    sl_json_end_array(&json);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}
