/* SPDX-License-Identifier: MIT */
/* The live bytes of one line over time: its blocks, in the order of their events. */
#include <math.h>

#include "run/lines/sites.h"
#include "tui/facts/run_facts.h"

/* As far as it is filled; a column shows the highest value in it. */
typedef struct follow_fill {
    sl_tui_follow *to;
    size_t column;
} follow_fill;

static void move_to(follow_fill *fill, int64_t us) {
    sl_tui_follow *to = fill->to;
    double at = (double)(us - to->from_us) / (double)(to->to_us - to->from_us + 1) * SL_TUI_POINTS;
    size_t column = at <= 0 ? 0 : at >= SL_TUI_POINTS ? SL_TUI_POINTS - 1 : (size_t)at;
    while (fill->column < column)
        to->values[++fill->column] = (double)to->now;
}

static void note(follow_fill *fill, uint64_t bytes) {
    sl_tui_follow *to = fill->to;
    to->now = bytes;
    to->peak = bytes > to->peak ? bytes : to->peak;
    to->values[fill->column] = fmax(to->values[fill->column], (double)bytes);
}

static void walk(follow_fill *fill, const sl_replay *replay, const sl_sites *sites, uint32_t site,
                 int64_t zero_us) {
    uint64_t live = 0;
    for (size_t i = 0; i < replay->base_cnt; i++)
        if (sl_sites_of(sites, &replay->lives.at[i]) == site)
            live += replay->lives.at[i].requested_bytes;
    note(fill, live);
    for (uint32_t event = 0; event < replay->event_cnt; event++) {
        uint32_t idx = replay->life_of_event[event];
        if (idx == SL_IDX_NONE || sl_sites_of(sites, &replay->lives.at[idx]) != site)
            continue;
        const sl_life *life = &replay->lives.at[idx];
        if (life->begin_event == event)
            live += life->requested_bytes;
        else if (life->end_event == event)
            live -= life->requested_bytes;
        move_to(fill, sl_replay_time(replay, event) - zero_us);
        note(fill, live);
    }
    move_to(fill, fill->to->to_us);
}

bool sl_follow_facts(const sl_tui_inputs *inputs, const sl_tui_source *source, size_t device,
                     uint32_t site, sl_tui_follow *out) {
    const sl_run_device *from = sl_run_facts_device(inputs, source, device);
    const sl_replay *replay;
    const sl_sites *sites;
    sl_span span;
    if (!from || sl_run_is_sampled(from->input) || !sl_run_span(from->input, from, &span) ||
        sl_run_replay(from, &replay, NULL) < 0 || sl_run_lines(from->input, &sites, NULL) < 0 ||
        site >= sites->sites.cnt)
        return false;
    *out = (sl_tui_follow){.to_us = span.last_us - span.first_us,
                           .has_time = from->input->trace->has_time,
                           .cnt = SL_TUI_POINTS};
    walk(&(follow_fill){.to = out}, replay, sites, site, span.first_us);
    return true;
}

void sl_follow_add(sl_tui_follow *follow, int64_t us, uint64_t bytes) {
    if (follow->cnt == 0)
        follow->from_us = us;
    if (follow->cnt == SL_TUI_POINTS) { /* every second one is enough for the older half */
        for (size_t i = 0; i < SL_TUI_POINTS / 2; i++)
            follow->values[i] = fmax(follow->values[2 * i], follow->values[2 * i + 1]);
        follow->cnt = SL_TUI_POINTS / 2;
    }
    follow->values[follow->cnt++] = (double)bytes;
    follow->to_us = us;
    follow->has_time = true;
    follow->now = bytes;
    follow->peak = bytes > follow->peak ? bytes : follow->peak;
}
