/* SPDX-License-Identifier: MIT */
#include "analyze/forecast/forecast.h"

#include <math.h>
#include <stdio.h>

#include "base/core/order.h"
#include "base/stats/sample_stats.h"
#include "base/stats/series.h"
#include "base/text/human.h"

/* Parts of a window; at least so many of them must have a reading. Tests of the trend are quadratic in this. */
#define GROUPS          40u
#define GROUPS_LEAST    12u
/* A group spans at least so many steps, so that it has seen the program at rest, and a window so many. */
#define STEPS_PER_GROUP 2
#define STEPS_LEAST     16
/* Time without a new step, by the time that has steps, after which the steps are over. */
#define MOST_SILENCE    0.2
/* Without steps: seconds of a window. */
#define SECONDS_LEAST   3.0
/* The first part of a process is its warm-up. */
#define WARM_SHARE      0.1
/* Windows, each half as long as the one before: the longest that shows growth counts. A leak may begin late. */
#define WINDOWS         4u
/* (F2): as in thresholds.h, section leak, valleys. */
#define LEAST_TAU       0.8
#define MOST_P          0.005
#define MOST_FALL       0.1
#define LEAST_THIRD     0.12
/* Growth in the last third, of a straight line's: below, it slows down. */
#define LEAST_LATE      0.6
/* Growth of the window by the noise of its valleys. */
#define LEAST_SIGNAL    4.0
/* Growth of the window by the largest fall before it: a sawtooth must exceed its earlier teeth. */
#define LEAST_OVER_FALL 1.5
/* (F3): a window of steps knows more than one of seconds. */
#define REACH           2.0
#define REACH_BY_TIME   1.0
/* (F4) */
#define LEAST_FREED     0.25
/* The range of a rate is at least this share of it, to either side. */
#define LEAST_RANGE     0.08
/* Parts whose slopes are compared; Student's t for 90 % of their mean, and for a change between the halves. */
#define PARTS           6u
#define RANGE_T         2.02
#define CHANGE_T        3.0
/* Of Sen's interval, for 90 %. */
#define RANGE_Z         1.645

typedef struct window {
    size_t cnt;
    double x[GROUPS], low[GROUPS];       /* valleys; x: steps or seconds */
    double high_x[GROUPS], high[GROUPS]; /* peaks */
    double from, to;
    double from_s, middle_s, to_s; /* times of the first, the middle and the last point */
    double from_x, middle_x, to_x; /* and where they are */
} window;

/* What one part does. */
typedef struct growth {
    bool is_growing;
    bool by_step;
    sl_slope_range slope;    /* bytes per step or second */
    double seconds_per_x;    /* now */
    double seconds_apart;    /* how much that has changed, as a factor */
    sl_forecast_range level; /* highest use now, as the line gives it */
    double window_s, bytes;
    const char *why_not;
} growth;

static double x_of(const sl_forecast_point *point, bool by_step) {
    return by_step ? point->step : point->time_s;
}

/* Steps are the better axis where there are enough of them and they go on. */
static bool has_steps(sl_forecast_points points) {
    size_t first = points.cnt, last = points.cnt - 1;
    while (first > 0 && !isnan(points.at[first - 1].step))
        first--;
    if (points.cnt - first < GROUPS_LEAST)
        return false;
    double steps = points.at[last].step - points.at[first].step;
    double length_s = points.at[last].time_s - points.at[first].time_s;
    while (last > first && points.at[last - 1].step >= points.at[points.cnt - 1].step)
        last--;
    return steps >= STEPS_LEAST &&
           points.at[points.cnt - 1].time_s - points.at[last].time_s <= MOST_SILENCE * length_s;
}

/* A group's valley and its peak, and where they are. */
static void add_point(window *w, size_t group, size_t *last, double x,
                      const sl_forecast_point *point) {
    bool is_first = w->cnt == 0 || *last != group;
    size_t i = is_first ? w->cnt++ : w->cnt - 1;
    *last = group;
    if (is_first || point->low < w->low[i])
        w->low[i] = point->low, w->x[i] = x;
    if (is_first || point->high > w->high[i])
        w->high[i] = point->high, w->high_x[i] = x;
}

/* Puts the points from `from` on into at most `groups` of equal length. The last one is whole only when its time
 * is over, so it takes part only if it is as long as the others. */
static void fill_window(window *w, sl_forecast_points points, bool by_step, double from, double to,
                        size_t groups) {
    size_t last = 0;
    *w = (window){.from = from, .to = to};
    double length = (to - from) / (double)groups;
    for (size_t i = 0; i < points.cnt; i++) {
        double x = x_of(&points.at[i], by_step);
        if (isnan(x) || x <= from || x > to)
            continue;
        if (w->cnt == 0)
            w->from_s = points.at[i].time_s, w->from_x = x;
        w->to_s = points.at[i].time_s, w->to_x = x;
        if (x <= (from + to) / 2)
            w->middle_s = w->to_s, w->middle_x = x;
        size_t group = (size_t)ceil((x - from) / length) - 1;
        group = group < groups ? group : groups - 1;
        add_point(w, group, &last, x, &points.at[i]);
    }
}

static double median_of(const double *values, size_t cnt) {
    double copy[GROUPS];
    memcpy(copy, values, cnt * sizeof *copy);
    return sl_stat_median(copy, cnt);
}

/* Growth between the middles of the first and the last part of the valleys, from `first` on. */
static double rise_of(const double *y, size_t cnt) {
    size_t part = cnt / 6 ? cnt / 6 : 1;
    return median_of(y + cnt - part, part) - median_of(y, part);
}

/* (F2); NULL when the window shows it. */
static const char *find_objection(const window *w, double earlier_fall) {
    size_t third = w->cnt / 3;
    if (w->cnt < GROUPS_LEAST)
        return "too few readings";
    sl_trend trend = sl_trend_of(w->low, w->cnt);
    double grown = rise_of(w->low, w->cnt), line = trend.slope * (double)w->cnt;
    if (trend.slope <= 0 || trend.tau < LEAST_TAU || trend.p > MOST_P)
        return "the valleys do not rise throughout";
    if (grown < LEAST_SIGNAL * trend.noise)
        return "the growth is within the noise";
    if (trend.largest_fall > MOST_FALL * grown)
        return "the valleys fall back";
    for (size_t i = 0; i < 3; i++) {
        size_t from = i * third, cnt = i == 2 ? w->cnt - from : third + 1;
        double rise = w->low[from + cnt - 1] - w->low[from];
        if (rise < LEAST_THIRD * line)
            return "a third of the window does not grow";
    }
    if (sl_theil_sen(w->low + 2 * third, w->cnt - 2 * third) < LEAST_LATE * trend.slope)
        return "the growth slows down";
    if (sl_theil_sen(w->high, w->cnt) < LEAST_LATE * trend.slope)
        return "the peaks do not grow with the valleys";
    if (grown < LEAST_OVER_FALL * earlier_fall)
        return "earlier growth of that size was freed again";
    return NULL;
}

/* The largest fall of the valleys after the warm-up and before the window. */
static double fall_before(sl_forecast_points points, bool by_step, double warm, double from) {
    window w;
    fill_window(&w, points, by_step, warm, from, GROUPS);
    return w.cnt > 2 ? sl_trend_of(w.low, w.cnt).largest_fall : 0;
}

/* Highest use above the line of the valleys, at the end of the window. */
static void find_level(growth *g, const window *w) {
    double above[GROUPS], base[GROUPS];
    size_t quarter = w->cnt - w->cnt / 4, half = w->cnt / 2;
    for (size_t i = 0; i < w->cnt; i++) {
        base[i] = w->low[i] - g->slope.slope * (w->x[i] - w->to);
        above[i] = w->high[i] - g->slope.slope * (w->high_x[i] - w->to);
    }
    double line = median_of(base + quarter, w->cnt - quarter);
    sl_stat_sort(above + half, w->cnt - half);
    g->level.value = fmax(line, sl_stat_quantile(above + half, w->cnt - half, 0.9));
    g->level.low = fmax(line, sl_stat_quantile(above + half, w->cnt - half, 0.5));
    g->level.high = fmax(line, above[w->cnt - 1]);
}

/* Slopes of the parts of a window: how far they are apart shows how sure the slope of all is, also where the
 * deviations from the line depend on each other, which the interval of Theil and Sen does not allow for. */
typedef struct part_slopes {
    double early, late; /* means of the two halves */
    double error;       /* standard error of the mean of all */
    double half_error;  /* of the difference of the halves, from what is within them */
} part_slopes;

static part_slopes split_slopes(const window *w) {
    double slopes[PARTS], mean = 0, all = 0, within = 0;
    part_slopes to = {0};
    for (size_t i = 0; i < PARTS; i++) {
        size_t from = i * w->cnt / PARTS, cnt = (i + 1) * w->cnt / PARTS - from;
        cnt += from + cnt < w->cnt ? 1 : 0; /* up to the next part's first */
        slopes[i] = sl_theil_sen_range(w->x + from, w->low + from, cnt, RANGE_Z).slope;
        *(i < PARTS / 2 ? &to.early : &to.late) += slopes[i] / (PARTS / 2);
        mean += slopes[i] / PARTS;
    }
    for (size_t i = 0; i < PARTS; i++) {
        double half = i < PARTS / 2 ? to.early : to.late;
        all += (slopes[i] - mean) * (slopes[i] - mean);
        within += (slopes[i] - half) * (slopes[i] - half);
    }
    to.error = sqrt(all / (PARTS - 1) / PARTS);
    to.half_error = sqrt(within / (PARTS - 2) * 4 / PARTS);
    return to;
}

/* The slope now. Where the halves of the window differ by more than their own noise, the rate changes, and goes on
 * changing: the line through the middles of the halves gives the rate at the end. */
static void find_slope(growth *g, const window *w) {
    sl_slope_range all = sl_theil_sen_range(w->x, w->low, w->cnt, RANGE_Z);
    part_slopes parts = split_slopes(w);
    double change = parts.late - parts.early;
    bool is_changing = fabs(change) > CHANGE_T * parts.half_error;
    double slope = is_changing ? parts.late + change / 2 : all.slope;
    slope = fmax(slope, all.slope / 4);
    double range = fmax((all.high - all.low) / 2, RANGE_T * parts.error);
    range = fmax(range, is_changing ? fabs(change) : 0);
    range = fmax(range, LEAST_RANGE * slope);
    g->slope = (sl_slope_range){slope, fmax(slope - range, slope / 4), slope + range};
}

/* The length of a step now, and how much it has changed since the first half of the window. */
static void find_pace(growth *g, const window *w) {
    g->window_s = w->to_s - w->from_s;
    g->seconds_per_x = g->seconds_apart = 1;
    if (!g->by_step)
        return;
    double early = (w->middle_s - w->from_s) / (w->middle_x - w->from_x);
    double late = (w->to_s - w->middle_s) / (w->to_x - w->middle_x);
    g->seconds_per_x = late > 0 ? late : g->window_s / (w->to_x - w->from_x);
    g->seconds_apart = early > 0 && late > 0 ? fmax(early / late, late / early) : 1;
}

static void take_window(growth *g, const window *w) {
    g->is_growing = true;
    g->why_not = NULL;
    find_pace(g, w);
    find_slope(g, w);
    find_level(g, w);
    g->bytes = g->slope.slope * (w->to - w->from);
}

static size_t count_groups(double length, bool by_step) {
    double cnt = by_step ? floor(length / STEPS_PER_GROUP) : GROUPS;
    return cnt < GROUPS ? (size_t)cnt : GROUPS;
}

static growth judge(sl_forecast_points points) {
    growth g = {.why_not = "too few readings"};
    if (points.cnt < GROUPS_LEAST)
        return g;
    g.by_step = has_steps(points);
    double first = 0, to = x_of(&points.at[points.cnt - 1], g.by_step);
    for (size_t i = points.cnt; i-- > 0;)
        if (!isnan(x_of(&points.at[i], g.by_step)))
            first = x_of(&points.at[i], g.by_step);
    double warm = first + WARM_SHARE * (to - first), length = to - warm;
    for (unsigned i = 0; i < WINDOWS; i++, length /= 2) {
        window w;
        if (length < (g.by_step ? STEPS_LEAST : SECONDS_LEAST))
            break;
        fill_window(&w, points, g.by_step, to - length, to, count_groups(length, g.by_step));
        const char *why_not =
            find_objection(&w, i ? fall_before(points, g.by_step, warm, to - length) : 0);
        if (i == 0 || !why_not)
            g.why_not = why_not;
        if (!why_not) {
            take_window(&g, &w);
            break;
        }
    }
    return g;
}

/* ---- the limits ---- */

/* What grows together towards one limit. */
typedef struct approach {
    sl_forecast_range room;           /* bytes; low = the least */
    double rate, rate_low, rate_high; /* bytes per second */
} approach;

static void add_rate(approach *to, const growth *g) {
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
static sl_forecast_range room_below(double limit, const growth *tensors, double now_high,
                                    double waste) {
    sl_forecast_range level =
        tensors->is_growing ? tensors->level : (sl_forecast_range){now_high, now_high, now_high};
    return (sl_forecast_range){limit - level.value - waste / 2, limit - level.high - waste,
                               limit - level.low};
}

static double newest_high(sl_forecast_points points) {
    double high = 0;
    for (size_t i = points.cnt; i-- > 0 && points.cnt - i <= GROUPS;)
        high = fmax(high, points.at[i].high);
    return high;
}

static void take_approach(sl_forecast *f, const approach *a, sl_forecast_limit limit) {
    sl_forecast_range seconds = time_of(a);
    if (!(a->rate > 0) || (f->is_expected && f->seconds.value <= seconds.value))
        return;
    f->is_expected = true;
    f->limit = limit;
    f->seconds = seconds;
    /* No time is known better than a group of the window. */
    f->seconds.low = fmax(0, seconds.low - f->window_s / GROUPS);
    f->seconds.high = seconds.high + f->window_s / GROUPS;
    f->bytes_per_s = a->rate;
    f->room_bytes = (uint64_t)fmax(0, a->room.value);
}

static void find_limits(sl_forecast *f, const sl_forecast_input *input,
                        const growth g[SL_FORECAST_PART_CNT]) {
    const growth *tensors = &g[SL_FORECAST_TENSORS];
    double high = newest_high(input->parts[SL_FORECAST_TENSORS]);
    double reserved = input->reserved.known ? (double)input->reserved.value : high;
    double waste = fmax(0, reserved - fmax(high, tensors->is_growing ? tensors->level.value : 0));
    approach device = {0}, process = {0};
    if (input->device_free.known) {
        double limit = (double)input->device_free.value + reserved;
        device.room = room_below(limit, tensors, high, waste);
        for (size_t i = 0; i < SL_FORECAST_PART_CNT; i++)
            if (g[i].is_growing)
                add_rate(&device, &g[i]);
        take_approach(f, &device, input->is_host ? SL_FORECAST_LIMIT_HOST : SL_FORECAST_LIMIT_CARD);
    }
    if (input->process_limit.known && tensors->is_growing) {
        process.room = room_below((double)input->process_limit.value, tensors, high, waste);
        add_rate(&process, tensors);
        take_approach(f, &process, SL_FORECAST_LIMIT_PROCESS);
    }
}

static sl_forecast nothing(const char *why_not) {
    return (sl_forecast){.why_not = why_not, .steps = {NAN, NAN, NAN}};
}

static void add_steps(sl_forecast *f, const growth *g) {
    f->steps = (sl_forecast_range){NAN, NAN, NAN};
    if (!g->by_step || !(g->seconds_per_x > 0))
        return;
    f->steps =
        (sl_forecast_range){f->seconds.value / g->seconds_per_x, f->seconds.low / g->seconds_per_x,
                            f->seconds.high / g->seconds_per_x};
    f->bytes_per_step = sl_known_f64(f->bytes_per_s * g->seconds_per_x);
}

sl_forecast sl_forecast_make(const sl_forecast_input *input) {
    growth g[SL_FORECAST_PART_CNT];
    size_t most = SL_FORECAST_PART_CNT;
    double most_rate = 0;
    for (size_t i = 0; i < SL_FORECAST_PART_CNT; i++) {
        g[i] = judge(input->parts[i]);
        double rate = g[i].is_growing ? g[i].slope.slope / g[i].seconds_per_x : 0;
        if (rate > most_rate) {
            most = i;
            most_rate = rate;
        }
    }
    if (most == SL_FORECAST_PART_CNT)
        return nothing(g[SL_FORECAST_TENSORS].why_not);
    if (most == SL_FORECAST_TENSORS && !g[most].by_step && input->freed_share.known &&
        input->freed_share.value < LEAST_FREED)
        return nothing("memory is only made, not freed: data is loaded");
    sl_forecast f = {.part = (sl_forecast_part)most, .window_s = g[most].window_s};
    find_limits(&f, input, g);
    if (!f.is_expected)
        return nothing("the limit is not known");
    if (f.seconds.value > (g[most].by_step ? REACH : REACH_BY_TIME) * g[most].window_s)
        return nothing("too far ahead for the growth that was seen");
    add_steps(&f, &g[most]);
    return f;
}

/* ---- words ---- */

const char *sl_forecast_part_name(sl_forecast_part part) {
    static const char *const names[] = {
#define SL_FORECAST_PART_NAME(id, name, words) name,
        SL_FORECAST_PART_MAP(SL_FORECAST_PART_NAME)
#undef SL_FORECAST_PART_NAME
    };
    return names[part];
}

const char *sl_forecast_part_words(sl_forecast_part part) {
    static const char *const words_of[] = {
#define SL_FORECAST_PART_WORDS(id, name, words) words,
        SL_FORECAST_PART_MAP(SL_FORECAST_PART_WORDS)
#undef SL_FORECAST_PART_WORDS
    };
    return words_of[part];
}

const char *sl_forecast_limit_name(sl_forecast_limit limit) {
    static const char *const names[] = {
#define SL_FORECAST_LIMIT_NAME(id, name, words) name,
        SL_FORECAST_LIMIT_MAP(SL_FORECAST_LIMIT_NAME)
#undef SL_FORECAST_LIMIT_NAME
    };
    return names[limit];
}

const char *sl_forecast_limit_words(sl_forecast_limit limit) {
    static const char *const words_of[] = {
#define SL_FORECAST_LIMIT_WORDS(id, name, words) words,
        SL_FORECAST_LIMIT_MAP(SL_FORECAST_LIMIT_WORDS)
#undef SL_FORECAST_LIMIT_WORDS
    };
    return words_of[limit];
}

/* "12 min ± 2": one unit for both, and no more digits than the range allows. */
static void put_time(char *buf, size_t cap, const sl_forecast_range *seconds) {
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t u = 0;
    while (u + 1 < SL_COUNT_OF(units) && seconds->value < 2 * units[u].seconds)
        u++;
    double value = seconds->value / units[u].seconds;
    double half = (seconds->high - seconds->low) / 2 / units[u].seconds;
    int digits = half < 0.95 && value < 10 ? 1 : 0;
    snprintf(buf, cap, "%.*f %s ± %.*f", digits, value, units[u].name, digits,
             fmax(half, digits ? 0.1 : 1));
}

const char *sl_forecast_text(char buf[SL_FORECAST_TEXT_CAP], const sl_forecast *f, sl_str line) {
    char time[64], bytes[SL_HUMAN_CAP];
    const char *words = sl_forecast_part_words(f->part);
    *buf = '\0';
    if (!f->is_expected)
        return buf;
    bool has_line = f->part == SL_FORECAST_TENSORS && line.len;
    put_time(time, sizeof time, &f->seconds);
    sl_human_bytes(bytes,
                   (uint64_t)(f->bytes_per_step.known ? f->bytes_per_step.value : f->bytes_per_s));
    snprintf(buf, SL_FORECAST_TEXT_CAP,
             "out of memory in %s at this rate, because of %.*s (+%s per %s)", time,
             has_line ? (int)sl_min_size(line.len, 160) : (int)strlen(words),
             has_line ? line.ptr : words, bytes, f->bytes_per_step.known ? "step" : "second");
    return buf;
}

/* ---- when to say it ---- */

/* A forecast is worse than the one that was said when memory is out this much sooner, by what was left then, and
 * sooner than its range allowed for; and when there was none for so long, the next is a new one. */
#define WORSE_SHARE 0.5
#define OVER_S      120.0

bool sl_forecast_is_news(sl_forecast_said *said, const sl_forecast *f, double now_s) {
    if (!f->is_expected)
        return false;
    double end_s = now_s + f->seconds.value;
    bool is_over = said->is_said && now_s - said->seen_s > OVER_S;
    bool is_worse = said->is_said && end_s < said->end_s - said->range_s &&
                    f->seconds.value < WORSE_SHARE * (said->end_s - now_s);
    said->seen_s = now_s;
    if (said->is_said && !is_over && !is_worse)
        return false;
    *said = (sl_forecast_said){.is_said = true,
                               .end_s = end_s,
                               .range_s = fmax(0, f->seconds.value - f->seconds.low),
                               .seen_s = now_s};
    return true;
}
