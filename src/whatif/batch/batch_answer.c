/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/order.h"
#include "whatif/batch/batch.h"

/* ---- one size ---- */

static sl_pass_options pass_options(const sl_batch *batch, const sl_alloc_settings *settings,
                                    bool is_limited) {
    uint64_t card = sl_u64_or_0(batch->card_bytes);
    return (sl_pass_options){.settings = *settings,
                             .limit_bytes = is_limited ? card : SL_ALLOC_NO_LIMIT,
                             .total_bytes = card};
}

/* The recording with the nearest size, by ratio; the larger one of two equally near. */
static size_t nearest_to(const sl_batch *batch, uint64_t size) {
    size_t best = 0;
    for (size_t i = 1; i < batch->recording_cnt; i++) {
        double off = fabs(log((double)size / (double)batch->recordings[i].size));
        double than = fabs(log((double)size / (double)batch->recordings[best].size));
        best = off <= than ? i : best;
    }
    return best;
}

static void take_peak(sl_batch_row *row, uint64_t peak) {
    row->low = sl_min_u64(row->low, peak);
    row->high = sl_max_u64(row->high, peak);
}

/* (B2) for the calls of one recording; `sums` are those of likely, low and high bytes. */
static sl_status replay_base(sl_batch *batch, size_t base, bool is_nearest, sl_batch_row *row,
                             double sums[3], sl_error *err) {
    sl_pass_options options = pass_options(batch, &row->settings, false);
    const sl_calls *calls = batch->recordings[base].scaled;
    sl_pass pass;
    for (sl_batch_bytes which = SL_BATCH_LIKELY; which <= SL_BATCH_HIGH; which++) {
        sums[which] = sl__batch_rescale(batch, base, row->size, which);
        options.seed = 0;
        SL_TRY(sl_pass_run(calls, &options, &pass, err));
        take_peak(row, pass.stats.reserved_peak);
        if (is_nearest && which == SL_BATCH_LIKELY) {
            row->peak = pass.stats.reserved_peak;
            row->active_peak = pass.stats.active_peak;
        }
        for (unsigned i = 1; is_nearest && i <= batch->placement_cnt; i++) {
            options.seed = i * 0x9e3779b97f4a7c15u;
            SL_TRY(sl_pass_run(calls, &options, &pass, err));
            take_peak(row, pass.stats.reserved_peak);
        }
    }
    return SL_OK;
}

/* (B5). */
static sl_status judge(sl_batch *batch, size_t base, sl_batch_row *row, sl_error *err) {
    sl_pass_options options = pass_options(batch, &row->settings, true);
    sl_pass pass;
    row->verdict = SL_BATCH_NO_CARD;
    if (!batch->card_bytes.known)
        return SL_OK;
    row->verdict = row->high <= batch->card_bytes.value ? SL_BATCH_FITS : SL_BATCH_MAY_FIT;
    if (row->low <= batch->card_bytes.value)
        return SL_OK;
    sl__batch_rescale(batch, base, row->size, SL_BATCH_LOW);
    SL_TRY(sl_pass_run(batch->recordings[base].scaled, &options, &pass, err));
    row->verdict = pass.has_failed ? SL_BATCH_FAILS : SL_BATCH_MAY_FIT;
    return SL_OK;
}

/* (B3); by at least one large segment, the unit in which the allocator takes memory. */
static void widen(sl_batch_row *row, double doubt) {
    uint64_t step = doubt > 0 ? SL_ALLOC_LARGE_SEGMENT : 0;
    uint64_t less = (uint64_t)((double)row->low * fmin(doubt, 1)) + step;
    row->low -= sl_min_u64(less, row->low);
    row->high += (uint64_t)((double)row->high * doubt) + step;
}

static sl_status predict(sl_batch *batch, uint64_t size, const sl_alloc_settings *settings,
                         sl_batch_row *row, sl_error *err) {
    size_t nearest = nearest_to(batch, size);
    double sums[3], doubt = 0;
    *row = (sl_batch_row){.size = size, .settings = *settings, .low = UINT64_MAX};
    for (size_t i = 0; i < batch->recording_cnt; i++) {
        SL_TRY(replay_base(batch, i, i == nearest, row, sums, err));
        if (i == nearest && sums[SL_BATCH_LIKELY] > 0)
            doubt =
                SL_BATCH_DOUBT * (sums[SL_BATCH_HIGH] - sums[SL_BATCH_LOW]) / sums[SL_BATCH_LIKELY];
    }
    widen(row, doubt);
    row->is_poor = (double)(row->high - row->peak) > SL_BATCH_SPREAD * (double)row->peak;
    return judge(batch, nearest, row, err);
}

/* ---- the check (B4) ---- */

static sl_status check_pair(sl_batch *batch, size_t base, sl_batch_recording *of, sl_error *err) {
    sl_pass_options options = pass_options(batch, &of->whatif->calls->settings, false);
    sl_pass pass;
    sl__batch_rescale(batch, base, of->size, SL_BATCH_LIKELY);
    SL_TRY(sl_pass_run(batch->recordings[base].scaled, &options, &pass, err));
    double error = fabs((double)pass.stats.reserved_peak / (double)of->recorded_peak - 1);
    double than = fabs((double)of->check_peak / (double)of->recorded_peak - 1);
    if (of->check_peak == 0 || error > than)
        of->check_peak = pass.stats.reserved_peak;
    batch->check_error = fmax(batch->check_error, error);
    return SL_OK;
}

static sl_status check(sl_batch *batch, sl_error *err) {
    for (size_t i = 0; i < batch->recording_cnt; i++)
        for (size_t j = 0; j < batch->recording_cnt; j++)
            if (i != j && batch->recordings[j].recorded_peak)
                SL_TRY(check_pair(batch, i, &batch->recordings[j], err));
    return SL_OK;
}

/* ---- rows ---- */

static void count_laws(sl_batch *batch) {
    size_t base = batch->recording_cnt - 1;
    const sl_batch_side *side = &batch->recordings[base].side;
    for (size_t i = 0; i < side->requests.cnt; i++) {
        sl_batch_law law = sl__batch_estimate(batch, base, i, 2 * side->size).law;
        bool has_all = true;
        for (size_t j = 0; j < base; j++)
            has_all = has_all && batch->recordings[base].match[j][i] != SL_BATCH_NONE;
        batch->request_cnt++;
        batch->aligned_cnt += has_all;
        batch->law_cnt[law]++;
        batch->law_bytes[law] += sl_min_u64(side->requests.at[i].bytes, SL_ALLOC_BYTES_MAX);
    }
    double linear = (double)batch->law_bytes[SL_BATCH_LINEAR];
    double square = (double)batch->law_bytes[SL_BATCH_SQUARE];
    batch->growth = linear + square > 0 ? 1 + square / (linear + square) : 1;
}

/* When no requested size has an answer, there is no answer at all. */
static void refuse_poor(sl_batch *batch) {
    for (size_t i = 0; i < batch->rows.cnt; i++)
        if (!batch->rows.at[i].is_poor)
            return;
    if (batch->rows.cnt == 0)
        return;
    const sl_batch_row *row = &batch->rows.at[0];
    snprintf(batch->refusal, sizeof batch->refusal,
             "the fit is poor: %" PRIu64 " would need %.1f to %.1f GiB. %s", row->size,
             (double)row->low / (1u << 30), (double)row->high / (1u << 30),
             batch->recording_cnt < 3 ? "Record a third size, nearer to it"
                                      : "Record a size nearer to it");
}

static sl_status add_rows(sl_batch *batch, const sl_batch_options *options,
                          const sl_alloc_settings *settings, sl_error *err) {
    for (size_t i = 0; i < options->size_cnt; i++) {
        sl_batch_row row;
        SL_TRY(predict(batch, options->sizes[i], settings, &row, err));
        if (!sl_vec_push(&batch->rows, row))
            return sl_fail_no_memory(err, "the answer");
    }
    return SL_OK;
}

/* ---- the largest size (B5) ---- */

static sl_status find_largest(sl_batch *batch, const sl_alloc_settings *settings, sl_error *err) {
    uint64_t recorded = batch->recordings[batch->recording_cnt - 1].size;
    uint64_t low = 0, high = recorded * SL_BATCH_REACH + 1;
    sl_batch_largest largest = {.settings = *settings};
    sl_batch_row row;
    /* The largest size is usually near the recorded ones. */
    uint64_t mid = recorded;
    while (high - low > 1) {
        SL_TRY(predict(batch, mid, settings, &row, err));
        if (row.verdict == SL_BATCH_FITS) {
            low = mid;
            largest.peak = row.peak, largest.low = row.low, largest.high = row.high;
        } else {
            high = mid;
        }
        mid = high > recorded * SL_BATCH_REACH ? sl_min_u64(low * 2, high - 1)
                                               : low + (high - low) / 2;
        mid = sl_max_u64(mid, low + 1);
    }
    largest.size = low;
    largest.is_capped = low == recorded * SL_BATCH_REACH;
    return sl_vec_push(&batch->largest, largest) ? SL_OK : sl_fail_no_memory(err, "the answer");
}

/* ---- all of it ---- */

static int compare_sizes(const void *a, const void *b) {
    const sl_batch_recording *x = a, *y = b;
    return SL_ORDER(x->size, y->size);
}

static sl_status load_recording(sl_batch_recording *recording, const sl_batch_input *input,
                                sl_error *err) {
    sl_alloc_settings defaults;
    sl_alloc_settings_init(&defaults);
    /* Only the proof (W1) is needed: one extra row is the least that can be requested. */
    sl_whatif_options options = {
        .settings = &defaults, .setting_cnt = 1, .thread_cnt = 1, .placement_cnt = 1};
    recording->size = input->size;
    SL_TRY(sl_whatif_new(input->device, &options, &recording->whatif, err));
    recording->recorded_peak = recording->whatif->proof.pass.recorded_peak;
    if (!sl_batch_side_init(&recording->side, recording->whatif->calls, input->size))
        return sl_fail_no_memory(err, "the requests of a recording");
    return SL_OK;
}

static sl_status check_sizes(const sl_batch *batch, const sl_batch_options *options,
                             sl_error *err) {
    uint64_t largest = batch->recordings[batch->recording_cnt - 1].size;
    for (size_t i = 0; i < options->size_cnt; i++)
        if (options->sizes[i] / SL_BATCH_REACH > largest ||
            options->sizes[i] > largest * SL_BATCH_REACH)
            return sl_fail(err, SL_E_USAGE,
                           "%" PRIu64 " is more than %d times the largest recorded size, %" PRIu64
                           ": too far to say",
                           options->sizes[i], SL_BATCH_REACH, largest);
    return SL_OK;
}

/* As many placements as whatif makes for a trace of this length, divided among the kinds of
 * bytes. */
static unsigned placements_for(const sl_batch *batch, const sl_batch_options *options) {
    size_t longest = 1;
    if (options->placement_cnt)
        return options->placement_cnt;
    for (size_t i = 0; i < batch->recording_cnt; i++)
        longest = sl_max_size(longest, batch->recordings[i].whatif->calls->list.cnt);
    return (unsigned)sl_min_size(8, 400000 / longest);
}

static sl_status answer(sl_batch *batch, const sl_batch_options *options, sl_error *err) {
    for (size_t i = 0; i < options->input_cnt; i++) {
        batch->recording_cnt = i + 1;
        SL_TRY(load_recording(&batch->recordings[i], &options->inputs[i], err));
    }
    qsort(batch->recordings, batch->recording_cnt, sizeof *batch->recordings, compare_sizes);
    batch->card_bytes = options->card_bytes;
    batch->placement_cnt = placements_for(batch, options);
    SL_TRY(check_sizes(batch, options, err));
    SL_TRY(sl__batch_compare(batch, err));
    if (batch->refusal[0])
        return SL_OK;
    count_laws(batch);
    SL_TRY(check(batch, err));
    const sl_alloc_settings *recorded =
        &batch->recordings[batch->recording_cnt - 1].whatif->calls->settings;
    size_t setting_cnt = sl_max_size(options->setting_cnt, 1);
    for (size_t i = 0; i < setting_cnt; i++) {
        const sl_alloc_settings *settings = options->setting_cnt ? &options->settings[i] : recorded;
        SL_TRY(add_rows(batch, options, settings, err));
        if (batch->card_bytes.known)
            SL_TRY(find_largest(batch, settings, err));
    }
    refuse_poor(batch);
    return SL_OK;
}

sl_status sl_batch_new(const sl_batch_options *options, sl_batch **out, sl_error *err) {
    sl_batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return sl_fail_no_memory(err, "the answer");
    sl_status status = answer(batch, options, err);
    if (status < 0) {
        sl_batch_free(batch);
        return status;
    }
    *out = batch;
    return SL_OK;
}

void sl_batch_free(sl_batch *batch) {
    if (!batch)
        return;
    for (size_t i = 0; i < batch->recording_cnt; i++) {
        sl_batch_recording *recording = &batch->recordings[i];
        for (size_t j = 0; j < SL_BATCH_RECORDINGS_MAX; j++)
            free(recording->match[j]);
        sl_batch_side_fini(&recording->side);
        sl_calls_free(recording->scaled);
        free(recording->scaled_call);
        sl_whatif_free(recording->whatif);
    }
    sl_vec_free(&batch->rows);
    sl_vec_free(&batch->largest);
    sl_arena_fini(&batch->arena);
    free(batch);
}
