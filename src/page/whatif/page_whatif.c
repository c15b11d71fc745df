/* SPDX-License-Identifier: MIT */
/* What other allocator settings would have reserved: the curves of the replays with fewer
 * points, and the table. The sentences are those of `stormlog whatif`. */
#include "export/whatif/whatif_words.h"
#include "page/page_meta.h"

/* About one bin per two pixels of a common screen; 8 different curves take some 5 KB. */
#define BINS_MAX  600
/* Each lane has a table of some 5 KB; with more devices only the first ones have a table. */
#define LANES_MAX 16

static void put_curves(sl_page_lane *lane) {
    const sl_whatif_curves *curves = lane->curves;
    for (uint32_t i = 0; i < curves->bin_cnt; i++)
        sl_page_put(&lane->columns, SL_PAGE_WHATIF_EVENT, sl_whatif_curve_event(curves, i));
    for (size_t c = 0; c < curves->list.cnt; c++)
        for (uint32_t i = 0; i < curves->bin_cnt; i++) {
            uint64_t bytes = curves->list.at[c].bytes[i];
            sl_page_put(&lane->columns, SL_PAGE_WHATIF_RESERVED,
                        bytes == SL_WHATIF_ENDED ? 0 : (int64_t)bytes + 1);
        }
}

bool sl_page_add_whatif(sl_page_lane *lane) {
    if (lane->event_cnt == 0 || lane->number >= LANES_MAX)
        return true;
    if (sl_whatif_of(lane->of, &lane->whatif, NULL) < 0)
        return false;
    if (lane->whatif->state != SL_WHATIF_ANSWERED)
        return true;
    if (sl_whatif_curves_new(lane->whatif->answer, BINS_MAX, &lane->curves, NULL) < 0)
        return false;
    put_curves(lane);
    return true;
}

/* ---- the JSON part ---- */

typedef void say_fn(char buf[SL_WORDS_CAP], const sl_whatif *whatif);

static const struct {
    const char *key;
    say_fn *say;
} sentences[] = {
    {"proof", sl_whatif_say_proof},     {"limit", sl_whatif_say_limit},
    {"best", sl_whatif_say_best},       {"paste", sl_whatif_say_paste},
    {"floor", sl_whatif_say_floor},     {"caveat", sl_whatif_say_caveat},
    {"failure", sl_whatif_say_failure}, {"remedy", sl_whatif_say_remedy},
};

static void row_json(const sl_page_lane *lane, size_t idx, sl_json_out *json) {
    const sl_whatif *answer = lane->whatif->answer;
    const sl_whatif_row *row = &answer->rows.at[idx];
    const sl_alloc_stats *stats = &row->pass.stats;
    uint32_t curve = lane->curves->curve_of_row[idx];
    char text[SL_WORDS_CAP];
    sl_json_begin_object(json);
    sl_whatif_say_settings(text, row);
    sl_json_key_cstr(json, "name", text);
    sl_json_key_bool(json, "is_bound", row->kind == SL_WHATIF_BOUND);
    sl_json_key_bool(json, "fits", !row->pass.has_failed);
    sl_json_key_u64(json, "peak_bytes", stats->reserved_peak);
    sl_json_key_u64(json, "waste_bytes", stats->waste_peak);
    sl_json_key_u64(json, "retries", stats->retries);
    sl_json_key_u64(json, "driver_calls", stats->driver_allocs + stats->driver_frees);
    sl_json_key_maybe_u64(json, "curve", (sl_maybe_u64){curve, curve != SL_IDX_NONE});
    sl_whatif_say_spread(text, row);
    sl_json_key_cstr(json, "range", text);
    sl_whatif_say_first_failure(text, answer, row);
    sl_json_key_cstr(json, "failure", text);
    sl_json_end_object(json);
}

static void curves_json(const sl_whatif_curves *curves, sl_json_out *json) {
    sl_json_key(json, "curves");
    sl_json_begin_array(json);
    for (size_t i = 0; i < curves->list.cnt; i++) {
        sl_json_begin_object(json);
        sl_json_key_u64(json, "row", curves->list.at[i].row);
        sl_json_key_u64(json, "also", curves->list.at[i].also_cnt);
        sl_json_key_u64(json, "peak_bytes", curves->list.at[i].peak_bytes);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

void sl_page_whatif_json(const sl_page_lane *lane, sl_json_out *json) {
    char text[SL_WORDS_CAP];
    sl_json_key(json, "whatif");
    if (!lane->curves) {
        sl_json_null(json);
        return;
    }
    const sl_whatif *answer = lane->whatif->answer;
    sl_json_begin_object(json);
    sl_json_key(json, "says");
    sl_json_begin_object(json);
    for (size_t i = 0; i < SL_COUNT_OF(sentences); i++) {
        sentences[i].say(text, answer);
        sl_json_key_cstr(json, sentences[i].key, text);
    }
    sl_json_end_object(json);
    sl_json_key_maybe_u64(json, "best_row", (sl_maybe_u64){answer->best, answer->best != 0});
    sl_json_key_u64(json, "floor_bytes", answer->floor_bytes);
    sl_json_key_maybe_u64(
        json, "limit_bytes",
        (sl_maybe_u64){answer->limit_bytes, answer->limit_bytes != SL_ALLOC_NO_LIMIT});
    curves_json(lane->curves, json);
    sl_json_key(json, "rows");
    sl_json_begin_array(json);
    for (size_t i = 0; i < answer->rows.cnt; i++)
        row_json(lane, i, json);
    sl_json_end_array(json);
    sl_json_end_object(json);
}

void sl_page_whatif_absent(const sl_page_lane *lane, sl_json_out *json) {
    char text[SL_WORDS_CAP] = "Other allocator settings were tried for the first devices only; "
                              "stormlog whatif tries them for each.";
    bool is_host = lane->device->device == SL_DEVICE_HOST;
    if (lane->event_cnt == 0 || lane->is_sampled || is_host || lane->curves)
        return;
    if (lane->whatif && lane->whatif->state == SL_WHATIF_OFF)
        return; /* the user switched it off */
    if (lane->whatif)
        snprintf(text, sizeof text,
                 "What other allocator settings would have reserved is not shown: %s.",
                 lane->whatif->why);
    sl_json_key_cstr(json, "whatif", text);
}
