/* SPDX-License-Identifier: MIT */
/* Time to out of memory: when a device will be full if what it holds goes on growing as it does, or nothing when
 * that cannot be said. Pure functions: no clock, no files, no allocation. api/live/live_forecast.h asks them about a
 * recording that is still written; everything that shows a forecast (`run`, `top`, the full-screen program, a
 * node's agent) goes through that.
 *
 * (F1) Memory is out when a request finds no room, so what counts is the highest use between two valleys; but
 *      whether memory grows is asked of the valleys, because noise is freed again.
 * (F2) A forecast needs growth that is steady up to now: valleys that rise throughout a window, do not fall back,
 *      and have not slowed down. Warm-up, sawteeth, periodic evaluation, a cache that has filled and batches of
 *      varying size are none of that.
 * (F3) A line is never extended by more than twice the window it was fitted to, without steps once. A cache that still
 *      fills looks like a leak; it gets a forecast only if it is about to fill the device.
 * (F4) Memory that is only made and hardly ever freed, before any step, is a program that loads its data.
 *
 * Thresholds are at the top of forecast.c and growth_window.c; docs/estimators.md has the formulas, and `make bench-forecast` shows what
 * they do on labelled and on generated runs. */
#ifndef SL_FORECAST_H
#define SL_FORECAST_H

#include "base/core/sl_base.h"
#include "base/core/str.h"

/* What was held during a stretch of time. */
typedef struct sl_forecast_point {
    double time_s; /* its end, after the start of the process; ascending */
    double step;   /* steps begun by then; NAN = there are no steps */
    double low, high;
} sl_forecast_point;

typedef struct sl_forecast_points {
    const sl_forecast_point *at; /* borrowed */
    size_t cnt;
} sl_forecast_points;

/* What can grow on a device. enumerator, outside name, words. */
#define SL_FORECAST_PART_MAP(X)                                            \
    X(TENSORS, "tensors", "tensors")                                       \
    X(LIBRARIES, "libraries", "memory of this process outside of PyTorch") \
    X(OTHERS, "other-processes", "memory of other processes")

typedef enum sl_forecast_part {
#define SL_FORECAST_PART_ENUM(id, name, words) SL_FORECAST_##id,
    SL_FORECAST_PART_MAP(SL_FORECAST_PART_ENUM)
#undef SL_FORECAST_PART_ENUM
        SL_FORECAST_PART_CNT
} sl_forecast_part;

/* Which limit is met first. */
#define SL_FORECAST_LIMIT_MAP(X)                                       \
    X(CARD, "card", "the card is full")                                \
    X(PROCESS, "process-limit", "the limit of the process is reached") \
    X(HOST, "host", "the host's memory is full")

typedef enum sl_forecast_limit {
#define SL_FORECAST_LIMIT_ENUM(id, name, words) SL_FORECAST_LIMIT_##id,
    SL_FORECAST_LIMIT_MAP(SL_FORECAST_LIMIT_ENUM)
#undef SL_FORECAST_LIMIT_ENUM
        SL_FORECAST_LIMIT_CNT
} sl_forecast_limit;

typedef struct sl_forecast_input {
    sl_forecast_points parts[SL_FORECAST_PART_CNT]; /* no points = not measured */
    double now_s;
    bool is_host;
    /* Now: bytes that the device has left for everybody, and what the allocator has reserved and could use again.
     * Unknown room = no forecast. */
    sl_maybe_u64 device_free;
    sl_maybe_u64 reserved;      /* by PyTorch's allocator; unknown = no cache */
    sl_maybe_u64 process_limit; /* of reserved (set_per_process_memory_fraction) */
    sl_maybe_f64 freed_share;   /* freed bytes by allocated bytes, of the process so far (F4) */
} sl_forecast_input;

/* A figure and its range: the true value is between low and high in about nine of ten cases. */
typedef struct sl_forecast_range {
    double value, low, high;
} sl_forecast_range;

typedef struct sl_forecast {
    bool is_expected;          /* memory will be out; else nothing below is set but why_not */
    sl_forecast_range seconds; /* from now on */
    sl_forecast_range steps;   /* the same in steps; value NAN = there are no steps */
    double bytes_per_s;
    sl_maybe_f64 bytes_per_step;
    uint64_t room_bytes;   /* what can still grow before a request fails */
    double window_s;       /* the growth was measured over the last so many seconds */
    sl_forecast_part part; /* what grows the most */
    sl_forecast_limit limit;
    const char *why_not; /* static text, for whoever debugs a silence; NULL when expected */
} sl_forecast;

sl_forecast sl_forecast_make(const sl_forecast_input *input);

const char *sl_forecast_part_name(sl_forecast_part part);
const char *sl_forecast_part_words(sl_forecast_part part);
const char *sl_forecast_limit_name(sl_forecast_limit limit);
const char *sl_forecast_limit_words(sl_forecast_limit limit);

#define SL_FORECAST_TEXT_CAP 320
/* "out of memory in 12 min ± 2 at this rate, because of train.py:41 (+24.0 MiB per step)". `line` may be empty: then
 * what grows. Returns buf; empty when nothing is expected. */
const char *sl_forecast_text(char buf[SL_FORECAST_TEXT_CAP], const sl_forecast *forecast,
                             sl_str line);

/* ---- when to say it ---- */

/* What was said of one device. Zero-initialise. */
typedef struct sl_forecast_said {
    bool is_said;
    double end_s, range_s; /* the forecast that was said: when, and how uncertain */
    double seen_s;         /* when a forecast was there last */
    unsigned seen_cnt;     /* forecasts in a row */
} sl_forecast_said;

/* True when this forecast is news: the first, or one that is clearly worse than the one that was said; the same device
 * had one at the look before, too, because a moment may mislead. Notes it. */
bool sl_forecast_is_news(sl_forecast_said *said, const sl_forecast *forecast, double now_s);

#endif
