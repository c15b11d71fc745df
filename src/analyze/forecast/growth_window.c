/* SPDX-License-Identifier: MIT */
#include "analyze/forecast/growth_window.h"

#include <math.h>
#include <string.h>

#include "base/stats/sample_stats.h"

/* Parts of a window; at least so many of them must have a reading. Tests of the trend are quadratic in this. */
#define GROUPS          SL_FORECAST_GROUPS
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
/* Without steps, the same of the last eighth: below, it has ended. */
#define LEAST_NOW       0.25
/* Growth of the window by the noise of its valleys. */
#define LEAST_SIGNAL    4.0
/* Growth of the window by the largest fall before it: a sawtooth must exceed its earlier teeth. */
#define LEAST_OVER_FALL 1.5
/* The range of a rate is at least this share of it, to either side. */
#define LEAST_RANGE     0.08
/* Slope of the peaks by that of the valleys from which on they count: a buffer that is copied into a larger one takes
 * twice its size for a moment. */
#define PEAKS_FASTER    1.2
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
static const char *find_objection(const window *w, bool by_step, double earlier_fall) {
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
    size_t eighth = w->cnt - w->cnt / 8 - 1;
    if (!by_step && w->low[w->cnt - 1] - w->low[eighth] <
                        LEAST_NOW * trend.slope * (double)(w->cnt - 1 - eighth))
        return "the growth has ended";
    if (sl_theil_sen(w->high, w->cnt) < LEAST_LATE * trend.slope)
        return "the peaks do not grow with the valleys";
    if (grown < LEAST_OVER_FALL * earlier_fall)
        return "earlier growth of that size was freed again";
    return NULL;
}

/* The largest fall of the valleys after the warm-up and before the window. */
static double fall_before(sl_forecast_points points, bool by_step, double warm, double from) {
    static _Thread_local window w;
    fill_window(&w, points, by_step, warm, from, GROUPS);
    return w.cnt > 2 ? sl_trend_of(w.low, w.cnt).largest_fall : 0;
}

/* Highest use above the line of the valleys, at the end of the window. */
static void find_level(sl_growth *g, const window *w) {
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

static part_slopes split_slopes(const double *x, const double *y, size_t cnt) {
    double slopes[PARTS], mean = 0, all = 0, within = 0;
    part_slopes to = {0};
    for (size_t i = 0; i < PARTS; i++) {
        size_t from = i * cnt / PARTS, len = (i + 1) * cnt / PARTS - from;
        len += from + len < cnt ? 1 : 0; /* up to the next part's first */
        slopes[i] = sl_theil_sen_range(x + from, y + from, len, RANGE_Z).slope;
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
static sl_slope_range slope_now(const double *x, const double *y, size_t cnt) {
    sl_slope_range all = sl_theil_sen_range(x, y, cnt, RANGE_Z);
    part_slopes parts = split_slopes(x, y, cnt);
    double change = parts.late - parts.early;
    bool is_changing = fabs(change) > CHANGE_T * parts.half_error;
    double slope = is_changing ? parts.late + change / 2 : all.slope;
    slope = fmax(slope, all.slope / 4);
    double range = fmax((all.high - all.low) / 2, RANGE_T * parts.error);
    range = fmax(range, is_changing ? fabs(change) : 0);
    range = fmax(range, LEAST_RANGE * slope);
    return (sl_slope_range){slope, fmax(slope - range, slope / 4), slope + range};
}

static void find_slope(sl_growth *g, const window *w) {
    g->slope = slope_now(w->x, w->low, w->cnt);
    sl_slope_range peaks = slope_now(w->high_x, w->high, w->cnt);
    if (peaks.low > PEAKS_FASTER * g->slope.slope)
        g->slope = peaks;
}

/* The length of a step now, and how much it has changed since the first half of the window. */
static void find_pace(sl_growth *g, const window *w) {
    g->window_s = w->to_s - w->from_s;
    g->seconds_per_x = g->seconds_apart = 1;
    if (!g->by_step)
        return;
    double early = (w->middle_s - w->from_s) / (w->middle_x - w->from_x);
    double late = (w->to_s - w->middle_s) / (w->to_x - w->middle_x);
    g->seconds_per_x = late > 0 ? late : g->window_s / (w->to_x - w->from_x);
    g->seconds_apart = early > 0 && late > 0 ? fmax(early / late, late / early) : 1;
}

static void take_window(sl_growth *g, const window *w) {
    g->is_growing = true;
    g->why_not = NULL;
    find_pace(g, w);
    find_slope(g, w);
    find_level(g, w);
}

static size_t count_groups(double length, bool by_step) {
    double cnt = by_step ? floor(length / STEPS_PER_GROUP) : GROUPS;
    return cnt < GROUPS ? (size_t)cnt : GROUPS;
}

/* Before the first step a program loads what it needs. */
static sl_forecast_points after_start(sl_forecast_points points) {
    for (size_t i = 0; i < points.cnt; i++)
        if (!isnan(points.at[i].step))
            return (sl_forecast_points){points.at + i, points.cnt - i};
    return points;
}

sl_growth sl__growth_find(sl_forecast_points all) {
    sl_forecast_points points = after_start(all);
    sl_growth g = {.why_not = "too few readings"};
    if (points.cnt < GROUPS_LEAST)
        return g;
    g.by_step = has_steps(points);
    double first = x_of(&points.at[0], g.by_step);
    double to = x_of(&points.at[points.cnt - 1], g.by_step);
    double warm = first + WARM_SHARE * (to - first), length = to - warm;
    for (unsigned i = 0; i < WINDOWS; i++, length /= 2) {
        static _Thread_local window w; /* with all windows on it, the stack's budget would not do */
        if (length < (g.by_step ? STEPS_LEAST : SECONDS_LEAST))
            break;
        fill_window(&w, points, g.by_step, to - length, to, count_groups(length, g.by_step));
        double fall = i ? fall_before(points, g.by_step, warm, to - length) : 0;
        const char *why_not = find_objection(&w, g.by_step, fall);
        if (i == 0 || !why_not)
            g.why_not = why_not;
        if (!why_not) {
            take_window(&g, &w);
            break;
        }
    }
    return g;
}
