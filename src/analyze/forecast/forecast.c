/* SPDX-License-Identifier: MIT */
#include "analyze/forecast/forecast.h"

#include <math.h>

#include "analyze/forecast/growth_window.h"

/* (F3): a window of steps knows more than one of seconds. */
#define REACH         2.0
#define REACH_BY_TIME 1.0
/* (F4) */
#define LEAST_FREED   0.25

/* What grows together towards one limit. */
typedef struct approach {
    sl_forecast_range room;           /* bytes; low = the least */
    double rate, rate_low, rate_high; /* bytes per second */
} approach;

static void add_rate(approach *to, const sl_growth *g) {
    to->rate += g->slope.slope / g->seconds_per_x;
    to->rate_low += g->slope.low / g->seconds_per_x / g->seconds_apart;
    to->rate_high += g->slope.high / g->seconds_per_x * g->seconds_apart;
}

static sl_forecast_range time_of(const approach *a) {
    return (sl_forecast_range){fmax(0, a->room.value) / a->rate,
                               fmax(0, a->room.low) / a->rate_high,
                               fmax(0, a->room.high) / a->rate_low};
}

/* Room above the highest use of the tensors, with `limit` for all of the allocator's memory. What is reserved beyond
 * the tensors' peak may be in pieces that nothing fits into: the least room leaves it out. */
static sl_forecast_range room_below(double limit, const sl_growth *tensors, double now_high,
                                    double waste) {
    sl_forecast_range level =
        tensors->is_growing ? tensors->level : (sl_forecast_range){now_high, now_high, now_high};
    return (sl_forecast_range){limit - level.value - waste / 2, limit - level.high - waste,
                               limit - level.low};
}

static double newest_high(sl_forecast_points points) {
    double high = 0;
    for (size_t i = points.cnt; i-- > 0 && points.cnt - i <= SL_FORECAST_GROUPS;)
        high = fmax(high, points.at[i].high);
    return high;
}

/* Takes this limit if it is met before those that were considered already. `g` grows the most towards it. */
static void consider(sl_forecast *best, const approach *a, sl_forecast_limit limit,
                     const sl_growth *g, sl_forecast_part part) {
    sl_forecast_range seconds = time_of(a);
    double reach_s = (g->by_step ? REACH : REACH_BY_TIME) * g->window_s;
    double group_s = g->window_s / SL_FORECAST_GROUPS; /* no time is known better than this */
    if (!(seconds.value <= reach_s)) {
        if (!best->is_expected)
            best->why_not = "too far ahead for the growth that was seen";
        return;
    }
    if (best->is_expected && best->seconds.value <= seconds.value)
        return;
    *best = (sl_forecast){
        .is_expected = true,
        .seconds = {seconds.value, fmax(0, seconds.low - group_s), seconds.high + group_s},
        .steps = {NAN, NAN, NAN},
        .bytes_per_s = a->rate,
        .room_bytes = (uint64_t)fmax(0, a->room.value),
        .window_s = g->window_s,
        .part = part,
        .limit = limit};
    if (!g->by_step)
        return;
    best->steps = (sl_forecast_range){best->seconds.value / g->seconds_per_x,
                                      best->seconds.low / g->seconds_per_x,
                                      best->seconds.high / g->seconds_per_x};
    best->bytes_per_step = sl_known_f64(a->rate * g->seconds_per_x);
}

/* All parts together fill the device. */
static void consider_device(sl_forecast *best, const sl_forecast_input *input,
                            const sl_growth g[SL_FORECAST_PART_CNT], sl_forecast_range room) {
    approach a = {.room = room};
    size_t most = SL_FORECAST_PART_CNT;
    double most_rate = 0;
    for (size_t i = 0; i < SL_FORECAST_PART_CNT; i++) {
        if (!g[i].is_growing)
            continue;
        add_rate(&a, &g[i]);
        if (g[i].slope.slope / g[i].seconds_per_x > most_rate) {
            most = i;
            most_rate = g[i].slope.slope / g[i].seconds_per_x;
        }
    }
    if (most < SL_FORECAST_PART_CNT)
        consider(best, &a, input->is_host ? SL_FORECAST_LIMIT_HOST : SL_FORECAST_LIMIT_CARD,
                 &g[most], (sl_forecast_part)most);
}

static void find_limits(sl_forecast *best, const sl_forecast_input *input,
                        const sl_growth g[SL_FORECAST_PART_CNT]) {
    const sl_growth *tensors = &g[SL_FORECAST_TENSORS];
    double high = newest_high(input->parts[SL_FORECAST_TENSORS]);
    double reserved = input->reserved.known ? (double)input->reserved.value : high;
    double waste = fmax(0, reserved - fmax(high, tensors->is_growing ? tensors->level.value : 0));
    if (input->device_free.known)
        consider_device(
            best, input, g,
            room_below((double)input->device_free.value + reserved, tensors, high, waste));
    if (input->process_limit.known && tensors->is_growing) {
        approach a = {.room = room_below((double)input->process_limit.value, tensors, high, waste)};
        add_rate(&a, tensors);
        consider(best, &a, SL_FORECAST_LIMIT_PROCESS, tensors, SL_FORECAST_TENSORS);
    }
}

sl_forecast sl_forecast_make(const sl_forecast_input *input) {
    sl_growth g[SL_FORECAST_PART_CNT];
    sl_forecast best = {.steps = {NAN, NAN, NAN}};
    bool has_any = false;
    for (size_t i = 0; i < SL_FORECAST_PART_CNT; i++)
        g[i] = sl__growth_find(input->parts[i]);
    sl_growth *tensors = &g[SL_FORECAST_TENSORS];
    if (tensors->is_growing && !tensors->by_step && input->freed_share.known &&
        input->freed_share.value < LEAST_FREED)
        *tensors = (sl_growth){.why_not = "memory is only made, not freed: data is loaded"};
    for (size_t i = 0; i < SL_FORECAST_PART_CNT; i++)
        has_any |= g[i].is_growing;
    best.why_not = has_any ? "the limit is not known" : tensors->why_not;
    if (has_any)
        find_limits(&best, input, g);
    return best;
}
