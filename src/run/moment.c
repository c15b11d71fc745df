/* SPDX-License-Identifier: MIT */
#include "run/moment.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/core/order.h"
#include "base/text/human.h"
#include "telemetry/telemetry.h"

/* "'run.slog' lasts 612 ms"; times of an input without a clock are positions. */
static const char *say_span(char buf[200], const sl_run_input *input, const sl_span *span) {
    char human[SL_HUMAN_CAP];
    if (input->trace->has_time)
        snprintf(buf, 200, "'%.120s' lasts %s", input->trace->path,
                 sl_human_duration_us(human, span->exit_us - span->first_us));
    else
        snprintf(buf, 200, "'%.120s' has events %" PRId64 " to %" PRId64, input->trace->path,
                 span->first_us, span->exit_us);
    return buf;
}

/* As sl_replay_absolute_time, for every kind of input. */
static int64_t absolute(const sl_span *span, int64_t time_us) {
    int64_t sum;
    if (time_us >= 0 && time_us >= span->first_us)
        return time_us;
    if (__builtin_add_overflow(time_us < 0 ? span->last_us : span->first_us, time_us, &sum))
        return time_us < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static sl_status state_at_time(const sl_run_device *device, int64_t given_us, sl_state *state,
                               sl_error *err) {
    sl_span span;
    char text[200];
    SL_TRY(sl_run_replay(device, &state->replay, err));
    int64_t time_us = sl_replay_absolute_time(state->replay, given_us);
    if (sl_run_span(device->input, device, &span) &&
        (time_us < span.first_us || time_us > span.exit_us))
        return sl_fail(err, SL_E_USAGE, "%s; the moment is outside",
                       say_span(text, device->input, &span));
    state->event = sl_replay_event_at(state->replay, time_us);
    return SL_OK;
}

static sl_status state_at_step(const sl_run_device *device, int64_t number, sl_state *state,
                               sl_error *err) {
    const sl_steps *steps;
    SL_TRY(sl_run_replay(device, &state->replay, err));
    SL_TRY(sl_run_steps(device, &steps, err));
    size_t cnt = steps->ended_cnt;
    if (cnt == 0)
        return sl_fail(err, SL_E_USAGE, "'%s' has no steps on device %d",
                       device->input->trace->path, device->events->device);
    size_t idx = number < 0 ? cnt : sl_steps_find_number(steps, (uint64_t)number);
    if (idx == cnt)
        return sl_fail(err, SL_E_USAGE, "'%s' has steps %" PRIu64 " to %" PRIu64 ", not %" PRId64,
                       device->input->trace->path, sl_steps_number(steps, 0),
                       sl_steps_number(steps, cnt - 1), number);
    uint32_t next = sl_steps_range(steps, state->replay, idx).to;
    state->event = next ? next - 1 : SL_EVENT_BEFORE;
    return SL_OK;
}

sl_status sl_run_state_at(const sl_run_device *device, sl_moment moment, sl_state *state,
                          sl_error *err) {
    switch (moment.kind) {
    case SL_AT_TIME: return state_at_time(device, moment.value, state, err);
    case SL_AT_STEP: return state_at_step(device, moment.value, state, err);
    case SL_AT_EXIT: SL_TRY(sl_run_replay_to_exit(device, &state->replay, err)); break;
    case SL_AT_END:
    case SL_AT_PEAK: SL_TRY(sl_run_replay(device, &state->replay, err)); break;
    }
    state->event = moment.kind == SL_AT_PEAK ? state->replay->peak_requested.event
                                             : sl_replay_end(state->replay);
    return SL_OK;
}

/* ---- samples ---- */

/* Whether a later sample is the better answer; *best is NULL at first. */
static bool is_better(const sl_tm_record *sample, const sl_tm_record *best, sl_moment moment,
                      int64_t until_us) {
    if (sample->timestamp_ns / 1000 > until_us)
        return false;
    if (!best)
        return true;
    return moment.kind == SL_AT_PEAK ? sample->allocated_bytes > best->allocated_bytes
                                     : sample->timestamp_ns >= best->timestamp_ns;
}

sl_status sl_run_sample_at(const sl_run_device *device, sl_moment moment, const sl_tm_record **out,
                           sl_error *err) {
    const sl_telemetry *set = device->input->trace->telemetry;
    sl_span span, own;
    char text[200];
    *out = NULL;
    if (moment.kind == SL_AT_STEP)
        return sl_fail(err, SL_E_USAGE, "'%s' has no steps on device %d",
                       device->input->trace->path, device->events->device);
    if (!sl_run_span(device->input, NULL, &span) || !sl_run_span(device->input, device, &own))
        return SL_OK;
    int64_t until_us = span.last_us;
    if (moment.kind == SL_AT_TIME)
        until_us = absolute(&span, moment.value);
    if (until_us < span.first_us || until_us > span.exit_us)
        return sl_fail(err, SL_E_USAGE, "%s; the moment is outside",
                       say_span(text, device->input, &span));
    until_us = sl_max_i64(until_us, own.first_us); /* ranks do not begin at the same time */
    for (size_t i = 0; i < set->records.cnt; i++)
        if (sl_run_has_sample(device, &set->records.at[i]) &&
            is_better(&set->records.at[i], *out, moment, until_us))
            *out = &set->records.at[i];
    return SL_OK;
}

/* ---- windows ---- */

static bool is_outside(const sl_span *span, const sl_window *window) {
    return (window->has_since && absolute(span, window->since_us) > span->exit_us) ||
           (window->has_until && absolute(span, window->until_us) < span->first_us);
}

sl_status sl_run_check_window(const sl_run *run, const sl_window *window, sl_error *err) {
    const sl_run_input *outside = NULL;
    sl_span span = {0}, its_span = {0};
    for (size_t i = 0; i < run->input_cnt; i++) {
        if (!sl_run_span(&run->inputs[i], NULL, &span))
            continue;
        if (!is_outside(&span, window))
            return SL_OK;
        outside = &run->inputs[i];
        its_span = span;
    }
    char text[200];
    return outside ? sl_fail(err, SL_E_USAGE, "%s; the chosen part is outside",
                             say_span(text, outside, &its_span))
                   : SL_OK;
}
