/* SPDX-License-Identifier: MIT */
/* Several ranks side by side: from samples that name them, or from the recordings of their processes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/an_ranks.h"
#include "base/core/order.h"
#include "base/text/human.h"
#include "ranks/fleet.h"
#include "telemetry/telemetry.h"
#include "tui/facts/run_facts.h"

/* Missing ranks that are listed one by one. */
#define MISSING_MAX 256

static sl_tui_rank *find_rank(sl_tui_source *source, int number) {
    for (size_t i = 0; i < source->ranks.cnt; i++)
        if (source->ranks.at[i].number == number)
            return &source->ranks.at[i];
    return NULL;
}

static double *device_heat(const sl_tui_source *source, const sl_tui_inputs *inputs, int rank) {
    for (size_t i = 0; i < source->devices.cnt; i++) {
        const sl_run_device *device = sl_run_facts_device(inputs, source, i);
        if (device && device->has_rank && device->rank == rank)
            return source->devices.at[i].curves[SL_TUI_USED];
    }
    return NULL;
}

static void say_suspect(sl_tui_source *source, const sl_ranks *ranks) {
    char lead[SL_HUMAN_CAP], grown[SL_HUMAN_CAP];
    if (ranks->suspects.cnt == 0)
        return;
    const sl_rank_suspect *first = &ranks->suspects.at[0];
    source->rank_verdict = sl_arena_printf(
        &source->arena, "rank %d diverged first, %s before the others (+%s); confidence %s",
        first->rank, sl_human_duration_us(lead, first->lead_ns / 1000),
        sl_human_bytes(grown,
                       (uint64_t)(first->peak_delta_bytes > 0 ? first->peak_delta_bytes : 0)),
        sl_rank_confidence_name(first->confidence));
}

static void add_sampled(sl_tui_source *source, const sl_tui_inputs *inputs,
                        const sl_telemetry *set) {
    sl_ranks *ranks;
    if (!sl_ranks_are_several(set) || sl_ranks_new(set, &ranks, NULL) < 0)
        return;
    for (size_t i = 0; i < ranks->rows.cnt; i++) {
        const sl_rank_row *row = &ranks->rows.at[i];
        sl_tui_rank rank = {.number = row->rank,
                            .ending = "",
                            .samples = row->sample_cnt,
                            .first = sl_known_u64((uint64_t)row->first_used_bytes),
                            .last = sl_known_u64((uint64_t)row->last_used_bytes),
                            .peak = sl_known_u64((uint64_t)row->peak_used_bytes),
                            .heat = device_heat(source, inputs, row->rank)};
        for (size_t s = 0; s < ranks->suspects.cnt; s++)
            if (ranks->suspects.at[s].rank == row->rank)
                rank.lead_s = sl_known_f64((double)ranks->suspects.at[s].lead_ns / 1e9);
        source->has_failed |= !sl_vec_push(&source->ranks, rank);
    }
    source->world_size = ranks->world_size;
    say_suspect(source, ranks);
    sl_ranks_free(ranks);
}

static void add_recorded(sl_tui_source *source, const sl_run_input *input) {
    const sl_process *process = &input->trace->process;
    if (input->place.role != SL_PROCESS_RANK || find_rank(source, (int)process->rank.value))
        return;
    sl_tui_rank rank = {.number = (int)process->rank.value,
                        .ending = sl_process_end_words(input->place.end),
                        .samples = source->processes.at[input->number].events};
    for (size_t i = 0; i < source->devices.cnt; i++) {
        const sl_tui_device *device = &source->devices.at[i];
        if (device->process != input->number ||
            (rank.peak.known && device->peak[SL_TUI_ALLOCATED].value <= rank.peak.value))
            continue;
        rank.peak = device->peak[SL_TUI_ALLOCATED];
        rank.last = device->now[SL_TUI_ALLOCATED];
        rank.heat = device->curves[SL_TUI_ALLOCATED];
    }
    source->has_failed |= !sl_vec_push(&source->ranks, rank);
    if (process->world_size.known && (int)process->world_size.value > source->world_size)
        source->world_size = (int)process->world_size.value;
}

/* What `stormlog ranks` says of the recordings: the first cause over the table, what happened to a rank beside it. */
static void say_merge(sl_tui_source *source, const char *const *paths, size_t cnt) {
    sl_fleet *fleet;
    if (cnt < 2 || sl_fleet_read(paths, cnt, NULL, &fleet, NULL) < 0)
        return;
    const char *sentence = sl_fleet_sentence(fleet);
    if (fleet->has_cause || fleet->common_slope > 0)
        source->rank_verdict = sl_arena_copy(&source->arena, sentence, strlen(sentence));
    for (size_t i = fleet->events.cnt; i-- > 0;) { /* the first event of a rank is written last */
        const sl_fleet_event *event = &fleet->events.at[i];
        sl_tui_rank *rank = find_rank(source, event->rank);
        const char *text = sl_fleet_event_text(&fleet->arena, fleet, event);
        const char *kept = sl_arena_copy(&source->arena, text, strlen(text));
        if (rank && kept)
            rank->ending = kept;
    }
    sl_fleet_free(fleet);
}

static void merge_recorded(const sl_tui_inputs *inputs, sl_tui_source *source) {
    SL_VEC(const char *) paths = {0};
    for (size_t i = 0; i < inputs->run->input_cnt; i++) {
        const sl_run_input *input = &inputs->run->inputs[i];
        if (!input->trace->telemetry && input->place.role == SL_PROCESS_RANK)
            source->has_failed |= !sl_vec_push(&paths, input->trace->path);
    }
    say_merge(source, paths.at, paths.cnt);
    sl_vec_free(&paths);
}

static int compare_ranks(const void *a, const void *b) {
    const sl_tui_rank *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

void sl__rank_facts(const sl_tui_inputs *inputs, sl_tui_source *source) {
    for (size_t i = 0; i < inputs->run->input_cnt; i++) {
        const sl_run_input *input = &inputs->run->inputs[i];
        if (input->trace->telemetry)
            add_sampled(source, inputs, input->trace->telemetry);
        else
            add_recorded(source, input);
    }
    merge_recorded(inputs, source);
    size_t present = source->ranks.cnt, missing = 0;
    for (int i = 0; present && i < source->world_size && missing < MISSING_MAX; i++)
        if (!find_rank(source, i)) {
            missing++;
            source->has_failed |=
                !sl_vec_push(&source->ranks,
                             ((sl_tui_rank){.number = i, .is_missing = true, .ending = "missing"}));
        }
    if (source->ranks.cnt)
        qsort(source->ranks.at, source->ranks.cnt, sizeof *source->ranks.at, compare_ranks);
}
