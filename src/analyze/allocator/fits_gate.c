/* SPDX-License-Identifier: MIT */
/* Gates that say where: whether a run fits a card, by replay (no card is needed), and which request
 * first went above a limit of the reserved bytes. */
#include <inttypes.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/text/human.h"
#include "whatif/whatif.h"

/* ---- one device ---- */

/* Of several devices the worst one is reported; this is the order. */
typedef enum fit_state { FIT_YES, FIT_REFUSED, FIT_NO } fit_state;

typedef struct fit {
    fit_state state;
    sl_maybe_u64 need_bytes; /* the smallest card, with the recorded settings */
    const char *text;        /* in the result's arena */
} fit;

typedef struct fit_job {
    const sl_run_device *device;
    uint64_t card_bytes;
    unsigned thread_cnt;
    sl_arena *arena;
} fit_job;

static const char *say_place(sl_arena *arena, const sl_run_device *device, uint32_t event) {
    const sl_steps *steps;
    sl_error ignored = SL_ERROR_INIT;
    const sl_events *events = &device->events->events;
    sl_site site = sl_user_site(device->input->trace,
                                event < events->cnt ? events->stack_id[event] : SL_STACK_EMPTY);
    const char *place = sl_site_text(site, arena);
    if (sl_run_steps(device, &steps, &ignored) < 0 || steps->borders.cnt < 2)
        return place;
    const char *whole =
        sl_arena_printf(arena, "%s, step %" PRIu64, place, sl_steps_number_at(steps, event));
    return whole ? whole : place;
}

/* With the recorded settings, or the sweep. */
static sl_status ask(const fit_job *job, uint64_t card, bool is_sweep, sl_whatif **out,
                     sl_error *err) {
    sl_alloc_settings defaults; /* a second row where others were recorded: fewer than the sweep */
    sl_alloc_settings_init(&defaults);
    const sl_whatif_options options = {.settings = &defaults,
                                       .setting_cnt = is_sweep ? 0 : 1,
                                       .card_bytes = sl_known_u64(card),
                                       .thread_cnt = job->thread_cnt,
                                       .wants_cards = !is_sweep};
    return sl_whatif_new(job->device, &options, out, err);
}

static bool fits(const sl_whatif_row *row) {
    return !row->pass.has_failed && row->failed_cnt == 0;
}

/* ", expandable_segments:True would fit": the one that reserves least. */
static sl_status find_remedy(const fit_job *job, uint64_t card, const char **words, sl_error *err) {
    sl_whatif *sweep;
    const sl_whatif_row *best = NULL;
    char text[SL_SETTINGS_TEXT_CAP];
    SL_TRY(ask(job, card, true, &sweep, err));
    for (size_t i = 1; i < sweep->rows.cnt; i++) {
        const sl_whatif_row *row = &sweep->rows.at[i];
        if (row->kind == SL_WHATIF_SETTING && fits(row) &&
            (!best || row->peak_high < best->peak_high))
            best = row;
    }
    if (best)
        sl_alloc_settings_text(text, &best->settings);
    *words = best ? sl_arena_printf(job->arena, "it would fit with %s",
                                    *text ? text : "the default settings")
                  : "no allocator setting makes it fit";
    sl_whatif_free(sweep);
    return *words ? SL_OK : sl_fail_no_memory(err, "the checks");
}

static sl_status say_failure(const fit_job *job, const sl_whatif *answer, fit *out, sl_error *err) {
    const sl_whatif_row *row = &answer->rows.at[0];
    char bytes[SL_HUMAN_CAP], active[SL_HUMAN_CAP], reserved[SL_HUMAN_CAP], card[SL_HUMAN_CAP];
    const char *remedy;
    SL_TRY(find_remedy(job, answer->limit_bytes, &remedy, err));
    sl_human_bytes(card, answer->limit_bytes);
    if (!row->pass.has_failed)
        out->text =
            sl_arena_printf(job->arena,
                            "with a limit of %s it fails in %u of %u replays: it depends on "
                            "where the driver places segments; %s",
                            card, row->failed_cnt, row->pass_cnt, remedy);
    else
        out->text =
            sl_arena_printf(job->arena,
                            "with a limit of %s a request of %s at %s fails first, with %s in use "
                            "and %s reserved; %s",
                            card, sl_human_bytes(bytes, row->pass.fail_bytes),
                            say_place(job->arena, job->device, row->pass.fail_event),
                            sl_human_bytes(active, row->pass.fail_active_bytes),
                            sl_human_bytes(reserved, row->pass.fail_reserved_bytes), remedy);
    out->state = FIT_NO;
    return SL_OK;
}

static sl_status judge(const fit_job *job, const sl_whatif *answer, fit *out, sl_error *err) {
    char need[SL_HUMAN_CAP], card[SL_HUMAN_CAP];
    if (answer->refusal[0]) {
        *out = (fit){.state = FIT_REFUSED,
                     .text = sl_arena_printf(job->arena, "cannot be proven: %s", answer->refusal)};
        return SL_OK;
    }
    out->need_bytes = answer->rows.at[0].card_bytes;
    if (!fits(&answer->rows.at[0]))
        return say_failure(job, answer, out, err);
    out->state = FIT_YES;
    out->text = sl_arena_printf(
        job->arena, "every request is served; at least %s are needed, the limit is %s",
        sl_human_bytes(need, out->need_bytes.value), sl_human_bytes(card, answer->limit_bytes));
    return SL_OK;
}

/* A replay that is off by some percent must fit with as much to spare. */
static uint64_t less_error(const sl_whatif *answer, uint64_t card) {
    if (answer->refusal[0] || answer->proof.is_exact)
        return card;
    return (uint64_t)((double)card / (1 + answer->proof.error));
}

static sl_status try_device(const fit_job *job, fit *out, sl_error *err) {
    sl_whatif *answer = NULL;
    SL_TRY(ask(job, job->card_bytes, false, &answer, err));
    uint64_t card = less_error(answer, job->card_bytes);
    if (card < job->card_bytes) {
        sl_whatif_free(answer);
        SL_TRY(ask(job, card, false, &answer, err));
    }
    sl_status status = judge(job, answer, out, err);
    sl_whatif_free(answer);
    if (status == SL_OK && !out->text)
        status = sl_fail_no_memory(err, "the checks");
    return status;
}

/* ---- all devices ---- */

/* Cards whose history the input has; host memory has another allocator. */
static bool is_card(const sl_run_device *device, const int *only) {
    if (only)
        return device->events->device == *only;
    return device->events->device != SL_DEVICE_HOST && device->events->events.cnt > 1;
}

static sl_status try_card(const fit_job *job, bool is_several, fit *out, sl_error *err) {
    sl_error here = SL_ERROR_INIT;
    sl_status status = try_device(job, out, &here);
    if (status == SL_E_USAGE) /* nothing to replay, or another allocator */
        *out = (fit){.state = FIT_REFUSED,
                     .text = sl_arena_printf(job->arena, "cannot be proven: %s", here.text)};
    else if (status < 0) {
        *err = here;
        return status;
    }
    if (is_several && out->text)
        out->text =
            sl_arena_printf(job->arena, "%s, device %d: %s", job->device->input->trace->path,
                            job->device->events->device, out->text);
    return out->text ? SL_OK : sl_fail_no_memory(err, "the checks");
}

static bool is_worse(const fit *a, const fit *b) {
    if (a->state != b->state)
        return a->state > b->state;
    return a->need_bytes.value > b->need_bytes.value;
}

static sl_status try_run(const sl_run *run, const int *only, uint64_t bytes, sl_arena *arena,
                         fit *worst, sl_error *err) {
    size_t cnt = 0, tried = 0;
    for (size_t i = 0; i < run->input_cnt; i++)
        for (size_t d = 0; d < run->inputs[i].device_cnt; d++)
            cnt += is_card(&run->inputs[i].devices[d], only);
    for (size_t i = 0; i < run->input_cnt; i++)
        for (size_t d = 0; d < run->inputs[i].device_cnt; d++) {
            const sl_run_device *device = &run->inputs[i].devices[d];
            fit_job job = {device, bytes, run->effort.thread_cnt ? run->effort.thread_cnt : 1,
                           arena};
            fit one = {0};
            if (!is_card(device, only))
                continue;
            SL_TRY(try_card(&job, cnt > 1, &one, err));
            if (tried++ == 0 || is_worse(&one, worst))
                *worst = one;
        }
    if (cnt == 0)
        *worst = (fit){.state = FIT_REFUSED,
                       .text = "cannot be proven: the input has no history of a card to replay"};
    return SL_OK;
}

sl_status sl_check_fits(const sl_run *run, const int *only, uint64_t bytes, sl_check_result *result,
                        sl_error *err) {
    fit worst = {0};
    SL_TRY(try_run(run, only, bytes, &result->arena, &worst, err));
    sl_gate_row row = {.name = "fits",
                       .passed = worst.state == FIT_YES,
                       .is_refused = worst.state == FIT_REFUSED,
                       .limit = sl_known_f64((double)bytes),
                       .text = worst.text};
    if (worst.need_bytes.known)
        row.actual = sl_known_f64((double)worst.need_bytes.value);
    result->passed = result->passed && row.passed;
    return sl_vec_push(&result->rows, row) ? SL_OK : sl_fail_no_memory(err, "the checks");
}

/* ---- the reserved bytes ---- */

typedef struct crossing {
    uint32_t event; /* the request */
    uint64_t bytes; /* that it added to what was reserved */
} crossing;

/* The first event after which more was reserved; false when there is none, or it was before the trace. */
static bool find_crossing(const sl_replay *replay, double limit, crossing *found) {
    const uint8_t *kinds = replay->device->events.kind;
    sl_replay_walk walk;
    sl_replay_walk_init(&walk, replay);
    uint64_t before = walk.totals.reserved_bytes;
    for (uint32_t event = 0; (double)before <= limit && sl_replay_walk_next(&walk);
         event = walk.next, before = walk.totals.reserved_bytes) {
        if ((double)walk.totals.reserved_bytes <= limit)
            continue;
        /* A recording's totals follow the request that changed them. */
        while (event > 0 && kinds[event] == SL_EV_RESERVED)
            event--;
        *found = (crossing){event, walk.totals.reserved_bytes - before};
        return true;
    }
    return false;
}

static sl_status add_crossing(const sl_run_device *device, sl_arena *arena, sl_gate_row *row,
                              bool *is_found, sl_error *err) {
    const sl_replay *replay;
    char bytes[SL_HUMAN_CAP];
    crossing found;
    SL_TRY(sl_run_replay(device, &replay, err));
    if (!replay->reserved_known || !find_crossing(replay, row->limit.value, &found))
        return SL_OK;
    *is_found = true;
    row->text =
        sl_arena_printf(arena, "%s; first exceeded when %s more were reserved at %s", row->text,
                        sl_human_bytes(bytes, found.bytes), say_place(arena, device, found.event));
    return row->text ? SL_OK : sl_fail_no_memory(err, "the checks");
}

sl_status sl_check_say_crossing(const sl_run *run, const int *only, sl_check_result *result,
                                sl_error *err) {
    sl_gate_row *row = NULL;
    bool is_found = false;
    for (size_t i = 0; i < result->rows.cnt; i++)
        if (strcmp(result->rows.at[i].name, "max-reserved") == 0)
            row = &result->rows.at[i];
    if (!row || row->passed || !row->actual.known)
        return SL_OK;
    for (size_t i = 0; i < run->input_cnt; i++)
        for (size_t d = 0; d < run->inputs[i].device_cnt && !is_found; d++)
            if (!only || run->inputs[i].devices[d].events->device == *only)
                SL_TRY(
                    add_crossing(&run->inputs[i].devices[d], &result->arena, row, &is_found, err));
    return SL_OK;
}
