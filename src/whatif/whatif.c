/* SPDX-License-Identifier: MIT */
#include "whatif/whatif.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/order.h"
#include "whatif/whatif_impl.h"

#define NPU_PAD_BYTES 32

sl_pass_options sl_whatif_pass(const sl_whatif *whatif, const sl_alloc_settings *settings) {
    sl_maybe_u64 capacity = whatif->calls->replay->device->capacity_bytes;
    return (sl_pass_options){.settings = *settings,
                             .limit_bytes = whatif->limit_bytes,
                             .total_bytes = whatif->limit_is_given ? whatif->limit_bytes
                                                                   : sl_u64_or_0(capacity),
                             .frees_early = whatif->program.no_record_stream,
                             .is_one_stream = whatif->program.is_one_stream};
}

/* ---- the proof (W1) ---- */

static sl_status replay_recorded(const sl_calls *calls, const sl_alloc_settings *settings,
                                 sl_pass *pass, sl_error *err) {
    sl_pass_options options = {
        .settings = *settings, .limit_bytes = SL_ALLOC_NO_LIMIT, .is_recorded = true};
    return sl_pass_run(calls, &options, pass, err);
}

static double share_of(const sl_pass *pass) {
    return pass->placed_cnt ? (double)pass->same_cnt / (double)pass->placed_cnt : 0;
}

/* Tries other settings if the recorded ones do not explain the addresses: torch_npu's padding,
 * and expandable segments if the trace has no events of segments. */
static sl_status guess_settings(sl_whatif *whatif, sl_error *err) {
    sl_calls *calls = whatif->calls;
    for (unsigned i = 1; i < 4 && share_of(&whatif->proof.pass) < SL_WHATIF_GOOD; i++) {
        sl_alloc_settings other = calls->settings;
        sl_pass pass;
        if ((i & 2) && calls->has_segments)
            continue;
        other.pad_bytes = i & 1 ? NPU_PAD_BYTES : 0;
        other.is_expandable ^= (i & 2) != 0;
        SL_TRY(replay_recorded(calls, &other, &pass, err));
        if (share_of(&pass) < SL_WHATIF_GOOD)
            continue;
        calls->settings = other;
        whatif->proof.pass = pass;
        whatif->proof.is_guessed = true;
    }
    return SL_OK;
}

static void refuse(sl_whatif *whatif) {
    const sl_whatif_proof *proof = &whatif->proof;
    const char *why = proof->pass.placed_cnt == 0
                          ? "there is no allocation whose address could be compared"
                      : !whatif->calls->has_segments
                          ? "another allocator made it, or the recording, which has no segments "
                            "and streams, does "
                            "not say enough; take a snapshot with torch.cuda.memory._dump_snapshot"
                      : whatif->calls->start_bytes
                          ? "the trace begins in the middle of a run, or another allocator made it"
                          : "another allocator than PyTorch's made it, or events are missing";
    snprintf(whatif->refusal, sizeof whatif->refusal,
             "only %.1f %% of the addresses came out the same, %.0f %% are needed: %s",
             100 * proof->share, 100 * SL_WHATIF_GOOD, why);
}

static sl_status prove(sl_whatif *whatif, sl_error *err) {
    sl_whatif_proof *proof = &whatif->proof;
    SL_TRY(replay_recorded(whatif->calls, &whatif->calls->settings, &proof->pass, err));
    SL_TRY(guess_settings(whatif, err));
    const sl_pass *pass = &proof->pass;
    proof->share = share_of(pass);
    proof->is_exact = proof->share >= SL_WHATIF_EXACT;
    proof->is_good = proof->share >= SL_WHATIF_GOOD;
    proof->has_same_curve =
        whatif->calls->has_segments && pass->same_reserved_cnt == pass->reserved_cnt;
    proof->has_same_peak = pass->recorded_peak == pass->stats.reserved_peak;
    if (pass->recorded_peak)
        proof->error = fabs((double)pass->stats.reserved_peak / (double)pass->recorded_peak - 1.0);
    if (!proof->is_good)
        refuse(whatif);
    return SL_OK;
}

/* ---- the floor (W4) ---- */

static uint64_t rounded_life(const sl_life *life) {
    static const sl_rounding plain = {.max_split_bytes = UINT64_MAX};
    uint64_t bytes = sl_min_u64(life->requested_bytes, SL_ALLOC_BYTES_MAX);
    return sl_round_request(&plain, bytes);
}

static void note_floor(sl_whatif *whatif, uint64_t bytes, uint32_t event) {
    if (bytes <= whatif->floor_bytes)
        return;
    whatif->floor_bytes = bytes;
    whatif->floor_event = event;
}

/* Computed by slots, because a changed program frees at points where the trace has no event. A
 * block that only waits for another stream is not counted: a flush waits for it too. */
static sl_status find_floor(sl_whatif *whatif, sl_error *err) {
    const sl_replay *replay = whatif->calls->replay;
    uint64_t now = 0, *of_slot = calloc((size_t)whatif->calls->slot_cnt + 1, sizeof *of_slot);
    if (!of_slot)
        return sl_fail_no_memory(err, "the answer");
    /* The blocks from before the trace that the passes place; they have the first slots. */
    for (size_t i = 0; i < whatif->calls->pieces.cnt; i++) {
        uint32_t slot = whatif->calls->pieces.at[i].slot;
        if (slot != SL_ALLOC_NONE && of_slot[slot] == 0)
            now += of_slot[slot] = rounded_life(&replay->lives.at[slot]);
    }
    whatif->floor_bytes = now;
    whatif->floor_event = SL_EVENT_BEFORE;
    for (size_t i = 0; i < whatif->calls->list.cnt; i++) {
        const sl_call *call = &whatif->calls->list.at[i];
        uint64_t *slot = &of_slot[call->slot];
        bool is_free = call->kind == SL_CALL_FREE || call->kind == SL_CALL_DROP;
        if (call->kind != SL_CALL_REQUEST && !is_free)
            continue;
        now -= *slot;
        *slot = call->kind == SL_CALL_REQUEST
                    ? rounded_life(&replay->lives.at[replay->life_of_event[call->event]])
                    : 0;
        now += *slot;
        note_floor(whatif, now, call->event);
    }
    free(of_slot);
    return SL_OK;
}

static void find_limit(sl_whatif *whatif, const sl_whatif_options *options) {
    whatif->limit_is_given = options->card_bytes.known;
    whatif->limit_bytes = options->card_bytes.known          ? options->card_bytes.value
                          : whatif->calls->limit_bytes.known ? whatif->calls->limit_bytes.value
                                                             : SL_ALLOC_NO_LIMIT;
}

/* ---- the best row (W2) ---- */

static bool is_better(const sl_whatif_row *row, const sl_whatif_row *than) {
    if (row->pass.has_failed != than->pass.has_failed)
        return !row->pass.has_failed;
    if (row->pass.has_failed)
        return row->pass.request_cnt > than->pass.request_cnt;
    if (row->peak_high != than->peak_high)
        return row->peak_high < than->peak_high;
    return row->pass.stats.driver_allocs < than->pass.stats.driver_allocs;
}

static void find_best(sl_whatif *whatif) {
    const sl_whatif_row *recorded = &whatif->rows.at[0];
    size_t best = 0;
    for (size_t i = 1; i < whatif->rows.cnt; i++)
        if (whatif->rows.at[i].kind == SL_WHATIF_SETTING &&
            is_better(&whatif->rows.at[i], &whatif->rows.at[best]))
            best = i;
    const sl_whatif_row *row = &whatif->rows.at[best];
    double margin = whatif->proof.is_exact ? 0 : whatif->proof.error;
    bool saves = (double)row->peak_high * (1 + margin) < (double)recorded->peak_low * (1 - margin);
    bool helps = recorded->pass.has_failed && is_better(row, recorded);
    /* If all settings fail, one of them is better only if the memory in use would fit. */
    bool can_fit = whatif->floor_bytes <= whatif->limit_bytes;
    whatif->best = (saves && !row->pass.has_failed) || (helps && can_fit) ? best : 0;
}

/* ---- another program (W5) ---- */

static sl_status remove_lines(sl_whatif *whatif, const sl_whatif_options *options, sl_error *err) {
    const sl_sites *sites;
    whatif->without = options->without;
    if (!options->without)
        return SL_OK;
    SL_TRY(
        sl_run_sites(whatif->calls->device->input, SL_GROUP_LINE, options->without, &sites, err));
    return sl_calls_remove(whatif->calls, sites, &whatif->removed, err);
}

static sl_status add_frees(sl_repair *repair, const sl_repairs *repairs,
                           const sl_whatif_options *options, sl_error *err) {
    const sl_sites *shown = NULL;
    const sl_run_input *input = repairs->calls->device->input;
    if (repairs->step_cnt == 0)
        return sl_fail(err, SL_E_USAGE,
                       "'%s' has no steps, so when a block should be free is not known; mark them "
                       "in the program (stormlog.step()), or leave lines out with --without",
                       input->trace->path);
    if (options->freed)
        SL_TRY(sl_run_sites(input, SL_GROUP_LINE, options->freed, &shown, err));
    bool ok = (!options->freed || sl_repair_add_shown(repair, repairs, shown)) &&
              (!options->frees_late || sl_repair_add_late(repair, repairs));
    return ok ? SL_OK : sl_fail_no_memory(err, "the frees of another program");
}

static sl_status free_early(sl_whatif *whatif, const sl_whatif_options *options, sl_error *err) {
    sl_repairs repairs;
    sl_repair repair = {0};
    if (!options->freed && !options->frees_late)
        return SL_OK;
    SL_TRY(sl_repairs_init(&repairs, whatif->calls, err));
    sl_status status = add_frees(&repair, &repairs, options, err);
    if (status == SL_OK)
        status = sl_calls_apply(whatif->calls, &repair, &whatif->program.freed_cnt, err);
    sl_repair_fini(&repair);
    sl_repairs_fini(&repairs);
    return status;
}

static sl_status change_program(sl_whatif *whatif, const sl_whatif_options *options,
                                sl_error *err) {
    whatif->program = (sl_whatif_program){
        .is_changed = options->without || options->freed || options->frees_late ||
                      options->no_record_stream || options->is_one_stream,
        .freed = options->freed,
        .frees_late = options->frees_late,
        .no_record_stream = options->no_record_stream,
        .is_one_stream = options->is_one_stream,
    };
    SL_TRY(remove_lines(whatif, options, err));
    return free_early(whatif, options, err);
}

static sl_status answer(sl_whatif *whatif, const sl_run_device *device,
                        const sl_whatif_options *options, sl_error *err) {
    SL_TRY(sl_calls_new(device, &whatif->calls, err));
    if (whatif->calls->request_cnt == 0)
        return sl_fail(
            err, SL_E_USAGE,
            "'%s' has no allocations of device %d to replay; a snapshot with a history or "
            "a recording is needed",
            device->input->trace->path, device->events->device);
    find_limit(whatif, options);
    SL_TRY(prove(whatif, err));
    SL_TRY(change_program(whatif, options, err));
    SL_TRY(find_floor(whatif, err));
    if (whatif->refusal[0])
        return SL_OK;
    SL_TRY(sl__whatif_add_rows(whatif, options, err));
    SL_TRY(sl__whatif_run_rows(whatif, options, err));
    find_best(whatif);
    if (options->wants_cards)
        SL_TRY(sl__whatif_find_best_card(whatif, err));
    if (options->wants_lines)
        SL_TRY(sl__whatif_find_lines(whatif, options, err));
    return sl__whatif_find_failure(whatif, err);
}

sl_status sl_whatif_new(const sl_run_device *device, const sl_whatif_options *options,
                        sl_whatif **out, sl_error *err) {
    sl_whatif *whatif = calloc(1, sizeof *whatif);
    if (!whatif)
        return sl_fail_no_memory(err, "the answer");
    sl_status status = answer(whatif, device, options, err);
    if (status < 0) {
        sl_whatif_free(whatif);
        return status;
    }
    *out = whatif;
    return SL_OK;
}

void sl_whatif_free(sl_whatif *whatif) {
    if (!whatif)
        return;
    sl_calls_free(whatif->calls);
    sl_vec_free(&whatif->rows);
    sl_vec_free(&whatif->lines.at);
    sl_vec_free(&whatif->lines.all);
    sl_arena_fini(&whatif->arena);
    free(whatif);
}
