/* SPDX-License-Identifier: MIT */
#include "run/step_sites.h"

#include <string.h>

static const char *const part_names[] = {
#define SL_STEP_PART_NAME(name, text) text,
    SL_STEP_PART_MAP(SL_STEP_PART_NAME)
#undef SL_STEP_PART_NAME
};

const char *sl_step_part_name(sl_step_part_kind kind) {
    return part_names[kind];
}

/* The totals run ahead to find the peak of a part; the sites follow and stop there. */
typedef struct part_walk {
    const sl_replay *replay;
    const sl_sites *sites;
    sl_replay_walk ahead;
    sl_life_changes changes;
    uint32_t next; /* event that the sites take next */
    sl_step_site *at;
    size_t cnt;
} part_walk;

static sl_step_site *site_of(part_walk *walk, const sl_life *life) {
    return &walk->at[sl_sites_of(walk->sites, life)];
}

static sl_status walk_init(part_walk *walk, const sl_replay *replay, const sl_sites *sites,
                           sl_error *err) {
    *walk = (part_walk){.replay = replay,
                        .sites = sites,
                        .changes = {.replay = replay},
                        .at = calloc(sites->sites.cnt + 1, sizeof *walk->at),
                        .cnt = sites->sites.cnt};
    if (!walk->at)
        return sl_fail_no_memory(err, "the sites");
    sl_replay_walk_init(&walk->ahead, replay);
    for (size_t i = 0; i < replay->base_cnt; i++) {
        sl_step_site *site = site_of(walk, &replay->lives.at[i]);
        site->live_bytes += replay->lives.at[i].requested_bytes;
        site->live_blocks++;
    }
    return SL_OK;
}

static void take_event(part_walk *walk, uint32_t event) {
    bool begins;
    sl_life_changes_at(&walk->changes, event);
    for (const sl_life *life; (life = sl_life_changes_next(&walk->changes, &begins)) != NULL;) {
        sl_step_site *site = site_of(walk, life);
        if (begins) {
            site->live_bytes += life->requested_bytes;
            site->live_blocks++;
            site->allocated_bytes += life->requested_bytes;
            site->allocations++;
        } else {
            site->live_bytes -= life->requested_bytes;
            site->live_blocks--;
        }
    }
}

/* The event after the one that brought the part's highest moment; `from` if it begins with it. */
static uint32_t find_peak(part_walk *walk, uint32_t from, uint32_t to) {
    uint64_t highest = walk->ahead.totals.requested_bytes;
    uint32_t peak = from;
    while (walk->ahead.next < to && sl_replay_walk_next(&walk->ahead))
        if (walk->ahead.totals.requested_bytes > highest) {
            highest = walk->ahead.totals.requested_bytes;
            peak = walk->ahead.next;
        }
    return peak;
}

static void keep_peak(part_walk *walk) {
    for (size_t i = 0; i < walk->cnt; i++) {
        walk->at[i].peak_bytes = walk->at[i].live_bytes;
        walk->at[i].peak_blocks = walk->at[i].live_blocks;
    }
}

/* Fills the sites with the part [from, to), which begins where the one before ended. */
static void walk_part(part_walk *walk, uint32_t from, uint32_t to) {
    uint32_t peak = find_peak(walk, from, to);
    for (size_t i = 0; i < walk->cnt; i++)
        walk->at[i].allocated_bytes = walk->at[i].allocations = 0;
    for (walk->next = from; walk->next < peak; walk->next++)
        take_event(walk, walk->next);
    keep_peak(walk);
    for (; walk->next < to; walk->next++)
        take_event(walk, walk->next);
}

typedef struct part_sink {
    sl_step_part_fn take;
    void *self;
} part_sink;

/* Where events are lost, nothing is known about a step that has none. */
static bool is_known_empty(const part_walk *walk, sl_step_part_kind kind) {
    return kind == SL_STEP_PART_RUN ||
           (kind == SL_STEP_PART_STEP && walk->replay->device->dropped_events == 0);
}

static sl_status give_part(part_walk *walk, sl_step_part *part, uint32_t to, const part_sink *sink,
                           sl_error *err) {
    part->from = walk->next;
    part->to = to < walk->next ? walk->next : to;
    if (part->from == part->to && !is_known_empty(walk, part->kind))
        return SL_OK;
    walk_part(walk, part->from, part->to);
    part->start_us = sl_replay_time(walk->replay, part->from);
    part->end_us = sl_replay_time(walk->replay, part->to > part->from ? part->to - 1 : part->from);
    part->has_history = walk->replay->has_history;
    part->sites = walk->at;
    part->site_cnt = walk->cnt;
    return sink->take(sink->self, part, err);
}

static sl_status give_steps(part_walk *walk, const sl_steps *steps, const part_sink *sink,
                            sl_error *err) {
    sl_step_part part = {.kind = SL_STEP_PART_BEFORE};
    SL_TRY(give_part(walk, &part, sl_steps_range(steps, walk->replay, 0).from, sink, err));
    part.kind = SL_STEP_PART_STEP;
    for (size_t i = 0; i < steps->ended_cnt; i++) {
        part.step = sl_steps_number(steps, i);
        SL_TRY(give_part(walk, &part, sl_steps_range(steps, walk->replay, i).to, sink, err));
    }
    part.kind = SL_STEP_PART_AFTER;
    return give_part(walk, &part, walk->replay->event_cnt, sink, err);
}

sl_status sl_step_sites_walk(const sl_run_device *device, const sl_sites *sites,
                             sl_step_part_fn take, void *self, sl_error *err) {
    const sl_replay *replay;
    const sl_steps *steps;
    const part_sink sink = {take, self};
    part_walk walk;
    SL_TRY(sl_run_replay(device, &replay, err));
    SL_TRY(sl_run_steps(device, &steps, err));
    SL_TRY(walk_init(&walk, replay, sites, err));
    sl_step_part whole = {.kind = SL_STEP_PART_RUN};
    sl_status status = steps->ended_cnt ? give_steps(&walk, steps, &sink, err)
                                        : give_part(&walk, &whole, replay->event_cnt, &sink, err);
    free(walk.at);
    return status;
}
