/* SPDX-License-Identifier: MIT */
/* A part of a device's history, split by line or by tag. As on the page, a column shows the moment
 * of its highest value, so its parts add up to a value that was really reached. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/report/report_words.h"
#include "run/lines/site_bands.h"
#include "tui/facts/run_facts.h"

#define NAME_COLUMNS 40

typedef struct walk_state {
    const sl_replay *replay;
    sl_site_bands bands; /* owned; by line */
    uint8_t band_of_tag[SL_TAG_LIMIT];
    uint64_t live[SL_BANDS_MAX + 1];
    uint64_t tag_sums[SL_TAG_LIMIT];
    size_t next_lost;
    sl_replay_walk totals;
    sl_tui_timeline *to;
    int64_t zero_us;
} walk_state;

static size_t band_of(const walk_state *w, const sl_life *life) {
    if (w->to->split == SL_TUI_BY_LINE)
        return w->bands.band_of_site[sl_sites_of(w->bands.grouped, life)];
    return w->band_of_tag[sl_replay_tag(w->replay, life)];
}

static void end_lost(walk_state *w, uint32_t event) {
    for (; w->next_lost < w->replay->lost.cnt; w->next_lost++) {
        const sl_life *life = &w->replay->lives.at[w->replay->lost.at[w->next_lost]];
        if (life->end_event != event)
            return;
        w->live[band_of(w, life)] -= life->requested_bytes;
    }
}

static void apply(walk_state *w, uint32_t event) {
    end_lost(w, event);
    uint32_t idx = w->replay->life_of_event[event];
    if (idx == SL_IDX_NONE)
        return;
    const sl_life *life = &w->replay->lives.at[idx];
    if (life->begin_event == event)
        w->live[band_of(w, life)] += life->requested_bytes;
    else if (life->end_event == event)
        w->live[band_of(w, life)] -= life->requested_bytes;
}

static double band_sum(const sl_tui_timeline *to, size_t column) {
    double sum = 0;
    for (size_t b = 0; b < to->band_cnt; b++)
        sum += to->bands[b][column];
    return sum;
}

static void note_column(walk_state *w, size_t column) {
    sl_tui_timeline *to = w->to;
    bool is_first = isnan(to->bands[0][column]);
    if (is_first || (double)w->totals.totals.requested_bytes > band_sum(to, column))
        for (size_t b = 0; b < to->band_cnt; b++)
            to->bands[b][column] = (double)w->live[b];
    double reserved = (double)w->totals.totals.reserved_bytes;
    if (w->replay->reserved_known && !(to->reserved[column] >= reserved))
        to->reserved[column] = reserved;
}

/* Columns without an event repeat the last value. */
static void fill_until(walk_state *w, size_t *next, size_t column) {
    for (; *next <= column && *next < w->to->cnt; ++*next)
        note_column(w, *next);
}

static void walk_all(walk_state *w) {
    size_t next = 0;
    for (size_t i = 0; i < w->replay->base_cnt; i++)
        w->live[band_of(w, &w->replay->lives.at[i])] += w->replay->lives.at[i].requested_bytes;
    for (sl_replay_walk_init(&w->totals, w->replay); w->totals.next < w->replay->event_cnt;) {
        uint32_t event = w->totals.next;
        double at = sl_tui_timeline_column(w->to, sl_replay_time(w->replay, event) - w->zero_us);
        if (at >= (double)w->to->cnt)
            break;
        if (at >= 0)
            fill_until(w, &next, (size_t)at);
        sl_replay_walk_next(&w->totals);
        apply(w, event);
        if (at >= 0)
            note_column(w, (size_t)at);
    }
    fill_until(w, &next, w->to->cnt - 1);
}

static bool make_bands(sl_tui_timeline *to, size_t band_cnt, size_t columns) {
    to->band_cnt = band_cnt;
    to->cnt = columns;
    to->reserved = sl_arena_alloc(&to->arena, columns * sizeof(double));
    for (size_t b = 0; b < band_cnt; b++)
        if (!(to->bands[b] = sl_arena_alloc(&to->arena, columns * sizeof(double))))
            return false;
    for (size_t i = 0; to->reserved && i < columns; i++) {
        to->reserved[i] = NAN;
        for (size_t b = 0; b < band_cnt; b++)
            to->bands[b][i] = NAN;
    }
    return to->reserved != NULL;
}

static bool name_lines(walk_state *w) {
    char text[SL_WORDS_CAP];
    for (size_t b = 0; b < w->bands.cnt; b++) {
        sl_words_site(text, w->bands.sites[b], NAME_COLUMNS);
        w->to->names[b] = sl_arena_copy(&w->to->arena, text, strlen(text));
        if (!w->to->names[b])
            return false;
    }
    w->to->names[w->bands.cnt] = "everything else";
    return true;
}

/* Tags that ever hold something, in their own order, the unknown one last. */
static size_t name_tags(walk_state *w) {
    size_t cnt = 0;
    for (size_t i = 0; i < w->replay->lives.cnt; i++)
        w->tag_sums[sl_replay_tag(w->replay, &w->replay->lives.at[i])] += 1;
    for (size_t t = 1; t < SL_TAG_LIMIT && cnt + 1 < SL_TUI_BANDS_MAX; t++)
        if (w->tag_sums[t]) {
            w->band_of_tag[t] = (uint8_t)cnt;
            w->to->names[cnt++] = sl_tag_name((sl_tag)t);
        }
    for (size_t t = 0; t < SL_TAG_LIMIT; t++)
        if (t == SL_TAG_UNKNOWN || !w->tag_sums[t])
            w->band_of_tag[t] = (uint8_t)cnt;
    w->to->names[cnt] = sl_tag_name(SL_TAG_UNKNOWN);
    return cnt + 1;
}

static void note_steps(walk_state *w, const sl_run_device *device) {
    const sl_steps *steps;
    if (sl_run_steps(device, &steps, NULL) < 0)
        return;
    for (size_t i = 0; i < steps->borders.cnt; i++) {
        int64_t at = sl_replay_time(w->replay, steps->borders.at[i]) - w->zero_us;
        if (at >= w->to->from_us && at <= w->to->to_us && !sl_vec_push(&w->to->steps, at))
            return;
    }
}

static sl_status fill(walk_state *w, const sl_run_device *device, size_t columns, sl_error *err) {
    const sl_sites *lines;
    size_t cnt = 0;
    bool has_room = true;
    if (w->to->split == SL_TUI_BY_LINE) {
        SL_TRY(sl_run_lines(device->input, &lines, err));
        has_room = sl_site_bands_init(&w->bands, lines, w->replay, SL_BANDS_BY_HIGHEST,
                                      SL_TUI_BANDS_MAX - 1);
        cnt = w->bands.cnt + 1;
        has_room = has_room && name_lines(w);
    } else {
        cnt = name_tags(w);
    }
    has_room = has_room && make_bands(w->to, cnt, columns);
    if (has_room) {
        walk_all(w);
        note_steps(w, device);
    }
    sl_site_bands_fini(&w->bands);
    return has_room ? SL_OK : sl_fail_no_memory(err, "the timeline");
}

/* The longest times without an event: each is longer than this part of what is shown, else nothing is gained. */
#define SILENCE_PART 10

static void note_silence(sl_tui_timeline *to, int64_t from_us, int64_t to_us) {
    if (from_us < to->from_us)
        from_us = to->from_us;
    if (to_us > to->to_us)
        to_us = to->to_us;
    if (to_us - from_us > (to->to_us - to->from_us) / SILENCE_PART &&
        to->silence_cnt < SL_TUI_SILENCES_MAX)
        to->silences[to->silence_cnt++] = (sl_tui_silence){from_us, to_us};
}

static void find_silences(walk_state *w) {
    int64_t last = 0;
    if (!w->to->has_time)
        return;
    for (uint32_t i = 0; i < w->replay->event_cnt; i++) {
        int64_t now = sl_replay_time(w->replay, i) - w->zero_us;
        if (now - last > 1)
            note_silence(w->to, last, now);
        last = now;
    }
    note_silence(w->to, last, w->to->end_us);
}

static sl_status start(walk_state *w, const sl_run_device *device, int64_t from_us, int64_t to_us,
                       size_t columns, sl_error *err) {
    sl_span span;
    if (!device || sl_run_is_sampled(device->input) || !sl_run_span(device->input, device, &span)) {
        w->to->problem = "A timeline needs events; samples of counters are in the tab Live.";
        return SL_OK;
    }
    SL_TRY(sl_run_replay(device, &w->replay, err));
    if (w->replay->event_cnt == 0) {
        w->to->problem = "No events were recorded on this device.";
        return SL_OK;
    }
    w->to->has_time = device->input->trace->has_time;
    w->to->end_us = span.last_us - span.first_us;
    bool is_all = to_us <= from_us;
    w->to->from_us = is_all ? 0 : from_us;
    w->to->to_us = is_all ? w->to->end_us : to_us;
    w->zero_us = span.first_us;
    if (!w->to->keeps_silences)
        find_silences(w);
    sl_tui_timeline_set_axis(w->to);
    return fill(w, device, columns, err);
}

sl_status sl_timeline_facts(const sl_tui_inputs *inputs, const sl_tui_source *source, size_t device,
                            const sl_timeline_question *question, sl_tui_timeline **out,
                            sl_error *err) {
    sl_tui_timeline *to = calloc(1, sizeof *to);
    walk_state w = {.to = to};
    if (!to)
        return sl_fail_no_memory(err, "the timeline");
    to->device = device;
    to->split = question->split;
    to->keeps_silences = question->keeps_silences;
    to->cnt = question->columns ? question->columns : 1;
    sl_status status = start(&w, sl_run_facts_device(inputs, source, device), question->from_us,
                             question->to_us, to->cnt, err);
    if (status < 0)
        sl_tui_timeline_free(to);
    else
        *out = to;
    return status < 0 ? status : SL_OK;
}
