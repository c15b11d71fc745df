/* SPDX-License-Identifier: MIT */
/* The rows of the answer: which settings are tried, and their passes. */
#include <math.h>

#include "base/core/order.h"
#include "base/core/str.h"
#include "whatif/whatif_impl.h"

#define MIB          ((uint64_t)1 << 20)
#define LONG_TRACE   500000 /* calls: only the recorded and the best row get a smallest card */
#define MEDIUM_TRACE 100000 /* calls: smallest cards are found to 1/64 of the range */

/* What a setting needs to have any effect; without it the setting is skipped. */
typedef enum sweep_need { NEEDS_LIMIT = 1, NEEDS_STREAMS = 2, NEEDS_DROPS = 4 } sweep_need;

static const struct sweep_row {
    const char *conf;
    sl_whatif_kind kind;
    unsigned needs; /* sweep_need */
} sweep[] = {
    {"", SL_WHATIF_SETTING, 0},
    {"expandable_segments:True", SL_WHATIF_SETTING, 0},
    {"max_split_size_mb:32", SL_WHATIF_SETTING, 0},
    {"max_split_size_mb:64", SL_WHATIF_SETTING, 0},
    {"max_split_size_mb:128", SL_WHATIF_SETTING, 0},
    {"max_split_size_mb:256", SL_WHATIF_SETTING, 0},
    {"max_split_size_mb:512", SL_WHATIF_SETTING, 0},
    {"max_split_size_mb:128,max_non_split_rounding_mb:128", SL_WHATIF_SETTING, 0},
    {"roundup_power2_divisions:2", SL_WHATIF_SETTING, 0},
    {"roundup_power2_divisions:4", SL_WHATIF_SETTING, 0},
    {"roundup_power2_divisions:8", SL_WHATIF_SETTING, 0},
    {"roundup_power2_divisions:16", SL_WHATIF_SETTING, 0},
    {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", SL_WHATIF_SETTING, 0},
    {"expandable_segments:True,roundup_power2_divisions:8", SL_WHATIF_SETTING, 0},
    {"garbage_collection_threshold:0.6", SL_WHATIF_SETTING, NEEDS_LIMIT},
    {"garbage_collection_threshold:0.8", SL_WHATIF_SETTING, NEEDS_LIMIT},
    {"max_split_size_mb:128,garbage_collection_threshold:0.8", SL_WHATIF_SETTING, NEEDS_LIMIT},
    {"per_process_memory_fraction:0.9", SL_WHATIF_SETTING, NEEDS_LIMIT},
    {"one_stream:True", SL_WHATIF_BOUND, NEEDS_STREAMS},
    {"no_record_stream:True", SL_WHATIF_BOUND, NEEDS_DROPS},
    {"no_caching:True", SL_WHATIF_BOUND, 0},
};

static bool has_row(const sl_whatif *whatif, const sl_alloc_settings *settings) {
    for (size_t i = 0; i < whatif->rows.cnt; i++)
        if (sl_alloc_settings_equal(&whatif->rows.at[i].settings, settings))
            return true;
    return false;
}

static sl_status add_row(sl_whatif *whatif, const sl_alloc_settings *settings, sl_whatif_kind kind,
                         sl_error *err) {
    sl_whatif_row row = {.settings = *settings, .kind = kind};
    row.settings.pad_bytes = whatif->calls->settings.pad_bytes;
    if (has_row(whatif, &row.settings))
        return SL_OK;
    return sl_vec_push(&whatif->rows, row) ? SL_OK : sl_fail_no_memory(err, "the answer");
}

static sl_status add_sweep(sl_whatif *whatif, sl_error *err) {
    unsigned has = (whatif->limit_bytes != SL_ALLOC_NO_LIMIT ? NEEDS_LIMIT : 0u) |
                   (sl__whatif_has_streams(whatif) ? NEEDS_STREAMS : 0u) |
                   (sl__whatif_has_waits(whatif) ? NEEDS_DROPS : 0u);
    for (size_t i = 0; i < SL_COUNT_OF(sweep); i++) {
        sl_alloc_settings settings;
        if (sweep[i].needs & ~has)
            continue;
        sl_alloc_settings_init(&settings);
        SL_TRY(sl_alloc_settings_parse(&settings, sl_str_of(sweep[i].conf), err));
        SL_TRY(add_row(whatif, &settings, sweep[i].kind, err));
    }
    return SL_OK;
}

sl_status sl__whatif_add_rows(sl_whatif *whatif, const sl_whatif_options *options, sl_error *err) {
    SL_TRY(add_row(whatif, &whatif->calls->settings, SL_WHATIF_RECORDED, err));
    if (options->setting_cnt == 0)
        return add_sweep(whatif, err);
    for (size_t i = 0; i < options->setting_cnt; i++) {
        const sl_alloc_settings *own = &options->settings[i];
        SL_TRY(add_row(whatif, own,
                       own->is_uncached || own->is_one_stream || own->frees_early
                           ? SL_WHATIF_BOUND
                           : SL_WHATIF_SETTING,
                       err));
    }
    return SL_OK;
}

/* ---- one row ---- */

static void widen(sl_whatif_row *row, const sl_pass *pass) {
    row->peak_low = sl_min_u64(row->peak_low, pass->stats.reserved_peak);
    row->peak_high = sl_max_u64(row->peak_high, pass->stats.reserved_peak);
    row->failed_cnt += pass->has_failed;
    row->pass_cnt++;
}

static sl_status run_row(const sl_whatif *whatif, sl_whatif_row *row, sl_error *err) {
    sl_pass_options options = sl_whatif_pass(whatif, &row->settings);
    sl_pass pass;
    SL_TRY(sl_pass_run(whatif->calls, &options, &row->pass, err));
    row->peak_low = row->peak_high = row->pass.stats.reserved_peak;
    row->failed_cnt = row->pass.has_failed;
    row->pass_cnt = 1;
    if (row->settings.is_uncached)
        return SL_OK;
    for (unsigned i = 1; i <= whatif->placement_cnt; i++) {
        options.seed = i * 0x9e3779b97f4a7c15u;
        SL_TRY(sl_pass_run(whatif->calls, &options, &pass, err));
        widen(row, &pass);
    }
    row->place_range = row->peak_high - row->peak_low;
    if (!sl__whatif_has_waits(whatif) || row->settings.is_one_stream || row->settings.frees_early)
        return SL_OK;
    options.seed = 0;
    options.frees_early = true;
    SL_TRY(sl_pass_run(whatif->calls, &options, &pass, err));
    widen(row, &pass);
    return SL_OK;
}

/* (C5): whether the row fits under the highest limit that the trace allows. */
static sl_status try_high_limit(const sl_whatif *whatif, sl_whatif_row *row, sl_error *err) {
    sl_pass_options options = sl_whatif_pass(whatif, &row->settings);
    sl_pass pass;
    if (!row->pass.has_failed || whatif->limit_is_given)
        return SL_OK;
    options.limit_bytes = whatif->calls->limit_below_bytes - 1;
    SL_TRY(sl_pass_run(whatif->calls, &options, &pass, err));
    row->may_fit = !pass.has_failed;
    return SL_OK;
}

/* ---- the smallest card ---- */

static sl_status fits(const sl_whatif *whatif, const sl_whatif_row *row, uint64_t card, bool *yes,
                      sl_error *err) {
    sl_pass_options options = sl_whatif_pass(whatif, &row->settings);
    sl_pass pass;
    options.limit_bytes = card;
    options.total_bytes = 0;
    SL_TRY(sl_pass_run(whatif->calls, &options, &pass, err));
    *yes = !pass.has_failed;
    return SL_OK;
}

/* A card that is certainly large enough: what a replay without a limit reserves. */
static sl_status find_enough(const sl_whatif *whatif, const sl_whatif_row *row, uint64_t *mib,
                             sl_error *err) {
    sl_pass_options options = sl_whatif_pass(whatif, &row->settings);
    sl_pass pass = row->pass;
    options.limit_bytes = SL_ALLOC_NO_LIMIT;
    options.total_bytes = 0;
    if (whatif->limit_bytes != SL_ALLOC_NO_LIMIT)
        SL_TRY(sl_pass_run(whatif->calls, &options, &pass, err));
    double fraction = row->settings.fraction > 0 ? row->settings.fraction : 1;
    *mib = (uint64_t)ceil((double)pass.stats.reserved_peak / fraction / (double)MIB);
    return SL_OK;
}

static bool is_long(const sl_whatif *whatif) {
    return whatif->calls->list.cnt > LONG_TRACE;
}

/* Bisection in MiB between the floor and what is large enough. Each step is a whole replay, so a
 * longer trace gets a coarser result. Most settings need all that they reserve, which the first
 * step shows. */
static sl_status find_card(const sl_whatif *whatif, sl_whatif_row *row, sl_error *err) {
    uint64_t low = whatif->floor_bytes / MIB, high;
    SL_TRY(find_enough(whatif, row, &high, err));
    uint64_t range = high > low ? high - low : 0;
    uint64_t exact = whatif->calls->list.cnt > MEDIUM_TRACE ? sl_max_u64(1, range / 64) : 1;
    uint64_t mid = high - exact;
    while (high > low && high - low > exact) {
        bool yes;
        SL_TRY(fits(whatif, row, mid * MIB, &yes, err));
        *(yes ? &high : &low) = mid;
        mid = low + (high - low) / 2;
    }
    row->card_bytes = sl_known_u64(high * MIB);
    return SL_OK;
}

/* In a long trace only the recorded and the best row get a smallest card. */
sl_status sl__whatif_find_best_card(sl_whatif *whatif, sl_error *err) {
    sl_whatif_row *best = &whatif->rows.at[whatif->best];
    return best->card_bytes.known ? SL_OK : find_card(whatif, best, err);
}

/* ---- all of them ---- */

typedef struct row_job {
    sl_whatif *whatif;
    bool wants_cards;
} row_job;

static sl_status finish_row(void *with, size_t i, sl_error *err) {
    const row_job *job = with;
    sl_whatif_row *row = &job->whatif->rows.at[i];
    SL_TRY(run_row(job->whatif, row, err));
    SL_TRY(try_high_limit(job->whatif, row, err));
    if (job->wants_cards && (i == 0 || !is_long(job->whatif)))
        SL_TRY(find_card(job->whatif, row, err));
    return SL_OK;
}

static unsigned placements_for(const sl_whatif *whatif, const sl_whatif_options *options) {
    if (options->placement_cnt)
        return options->placement_cnt;
    size_t affordable = 1600000 / (whatif->calls->list.cnt + 1);
    return affordable > 16 ? 16 : (unsigned)affordable;
}

sl_status sl__whatif_run_rows(sl_whatif *whatif, const sl_whatif_options *options, sl_error *err) {
    row_job job = {.whatif = whatif, .wants_cards = options->wants_cards};
    whatif->placement_cnt = placements_for(whatif, options);
    return sl__whatif_in_threads(whatif->rows.cnt, options->thread_cnt, finish_row, &job, err);
}
