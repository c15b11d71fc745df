/* SPDX-License-Identifier: MIT */
#include "plot/canvas/plot_axis.h"

#include <math.h>

#include "base/text/human.h"

/* ---- bytes ---- */

#define BYTE_TICKS 7.0

sl_byte_axis sl_byte_axis_make(sl_box box, double max_bytes) {
    double max = max_bytes > 1 ? max_bytes : 1;
    return (sl_byte_axis){box, max, sl_human_tick_step(max, BYTE_TICKS)};
}

double sl_byte_axis_y(const sl_byte_axis *axis, double bytes) {
    double share = bytes / axis->max_bytes;
    return axis->box.y + axis->box.h * (1 - (share < 1 ? share : 1));
}

void sl_byte_axis_draw(sl_plot *plot, const sl_byte_axis *axis) {
    sl_text_style style = sl_plot_small(plot);
    style.align = SL_ALIGN_RIGHT;
    for (double bytes = 0; bytes <= axis->max_bytes; bytes += axis->step_bytes) {
        double y = floor(sl_byte_axis_y(axis, bytes)) + 0.5;
        char text[32];
        sl_canvas_segment(plot->canvas, (sl_point){axis->box.x, y},
                          (sl_point){axis->box.x + axis->box.w, y},
                          (sl_stroke){sl_solid(plot->theme->grid), 1, 0});
        sl_canvas_text(plot->canvas, (sl_point){axis->box.x - 8, y + 4},
                       bytes > 0 ? sl_human_tick(text, bytes) : "0", style);
    }
}

/* ---- time ---- */

#define GAP_SHARE   0.10 /* an idle time longer than this share of the recording is cut short */
#define GAP_PIXELS  26.0
#define TICK_BESIDE 20.0 /* pixels to the right of the plot that are always empty */
#define TICK_ROOM   90.0 /* pixels that a label needs */
#define TICKS_MAX   500  /* after years of idle time a step may be too small to change the sum */

/* Steps of a second and more; below a second they are 1, 2 and 5 times a power of ten. */
static const double long_steps_s[] = {1,   2,   5,    10,   20,   30,    60,    120,  300,
                                      600, 900, 1800, 3600, 7200, 21600, 43200, 86400};

static double time_step_us(double wanted_us, bool has_time) {
    double power = pow(10, floor(log10(wanted_us > 1 ? wanted_us : 1)));
    static const double factors[] = {1, 2, 5, 10};
    for (size_t i = 0; has_time && wanted_us > 5e5 && i < SL_COUNT_OF(long_steps_s); i++)
        if (long_steps_s[i] * 1e6 >= wanted_us)
            return long_steps_s[i] * 1e6;
    for (size_t i = 0; i < SL_COUNT_OF(factors); i++)
        if (factors[i] * power >= wanted_us)
            return factors[i] * power;
    return 10 * power;
}

static void time_text(char buf[SL_HUMAN_CAP], double us, double step_us, bool has_time) {
    if (!has_time)
        sl_human_count(buf, (uint64_t)us);
    else if (us <= 0)
        snprintf(buf, SL_HUMAN_CAP, "0");
    else if (step_us < 1e3)
        snprintf(buf, SL_HUMAN_CAP, "%.6g ms", us / 1e3);
    else if (step_us < 1e6 && us < 1e6)
        snprintf(buf, SL_HUMAN_CAP, "%.5g ms", us / 1e3);
    else if (us < 120e6 || step_us < 60e6)
        snprintf(buf, SL_HUMAN_CAP, "%.6g s", us / 1e6);
    else if (us < 7200e6 || step_us < 3600e6)
        snprintf(buf, SL_HUMAN_CAP, "%.6g min", us / 60e6);
    else
        snprintf(buf, SL_HUMAN_CAP, "%.6g h", us / 3600e6);
}

static void find_gaps(sl_time_axis *axis, const sl_replay *replay) {
    for (uint32_t i = 1; i < replay->event_cnt && axis->gap_cnt < SL_GAPS_MAX; i++) {
        double from = sl_replay_span_us(replay, 0, i - 1), to = sl_replay_span_us(replay, 0, i);
        if (to - from > axis->span_us * GAP_SHARE)
            axis->gaps[axis->gap_cnt++] = (sl_time_gap){from, to};
    }
}

static double gaps_us(const sl_time_axis *axis) {
    double sum = 0;
    for (size_t i = 0; i < axis->gap_cnt; i++)
        sum += axis->gaps[i].to_us - axis->gaps[i].from_us;
    return sum;
}

static void set_scale(sl_time_axis *axis) {
    double busy_us = axis->span_us - gaps_us(axis);
    double pixels = axis->box.w - GAP_PIXELS * (double)axis->gap_cnt;
    axis->scale = busy_us > 0 && pixels > 0 ? pixels / busy_us : 0;
}

sl_time_axis sl_time_axis_make(sl_box box, const sl_replay *replay) {
    sl_time_axis axis = sl_time_axis_plain(
        box, replay->event_cnt ? sl_replay_span_us(replay, 0, replay->event_cnt - 1) : 0,
        replay->trace->has_time);
    axis.first_us = sl_replay_time(replay, 0);
    if (axis.has_time && replay->event_cnt > 2) {
        find_gaps(&axis, replay);
        set_scale(&axis);
    }
    return axis;
}

sl_time_axis sl_time_axis_plain(sl_box box, double span_us, bool has_time) {
    sl_time_axis axis = {.box = box, .span_us = span_us > 0 ? span_us : 1, .has_time = has_time};
    set_scale(&axis);
    return axis;
}

static double x_of(const sl_time_axis *axis, double us) {
    double busy_us = us, pixels = 0;
    for (size_t i = 0; i < axis->gap_cnt; i++) {
        const sl_time_gap *gap = &axis->gaps[i];
        double inside = (us < gap->to_us ? us : gap->to_us) - gap->from_us;
        if (inside <= 0)
            break;
        busy_us -= inside;
        pixels += GAP_PIXELS * inside / (gap->to_us - gap->from_us);
    }
    double x = axis->box.x + pixels + busy_us * axis->scale;
    return fmin(fmax(x, axis->box.x), axis->box.x + axis->box.w);
}

double sl_time_axis_x(const sl_time_axis *axis, int64_t time_us) {
    /* Unsigned, because the difference of two times of a hostile input may not fit a signed
     * number. */
    uint64_t delta = (uint64_t)time_us - (uint64_t)axis->first_us;
    return x_of(axis, time_us < axis->first_us ? 0 : (double)delta);
}

static void draw_gap(sl_plot *plot, const sl_time_axis *axis, const sl_time_gap *gap) {
    double x = x_of(axis, gap->from_us), bottom = axis->box.y + axis->box.h;
    char text[SL_HUMAN_CAP + 8], human[SL_HUMAN_CAP];
    sl_text_style style = sl_plot_small(plot);
    style.align = SL_ALIGN_CENTER;
    sl_canvas_rect(plot->canvas, (sl_box){x, axis->box.y, GAP_PIXELS, axis->box.h},
                   (sl_paint){plot->theme->background, 0.45});
    for (int i = 0; i < 2; i++) {
        double edge = floor(x + i * GAP_PIXELS) + 0.5;
        sl_canvas_segment(plot->canvas, (sl_point){edge, axis->box.y}, (sl_point){edge, bottom},
                          (sl_stroke){sl_solid(plot->theme->muted), 1, 3});
    }
    snprintf(text, sizeof text, "%s idle",
             sl_human_duration_us(human, (int64_t)(gap->to_us - gap->from_us)));
    double half = sl_canvas_text_width(plot->canvas, text, style) / 2;
    double center = fmax(x + GAP_PIXELS / 2, axis->box.x + half + 4);
    center = fmin(center, axis->box.x + axis->box.w - half - 4);
    sl_plot_note(plot, (sl_point){center, axis->box.y + 28}, text, style);
}

/* A tick inside a gap is skipped, and so is one whose label would touch the label before it. */
static bool is_in_gap(const sl_time_axis *axis, double us, double *behind) {
    for (size_t i = 0; i < axis->gap_cnt; i++)
        if (us > axis->gaps[i].from_us && us < axis->gaps[i].to_us) {
            *behind = axis->gaps[i].to_us;
            return true;
        }
    return false;
}

static void draw_tick(sl_plot *plot, const sl_time_axis *axis, double x, const char *text) {
    double bottom = axis->box.y + axis->box.h;
    sl_text_style style = sl_plot_small(plot);
    style.align = SL_ALIGN_CENTER;
    sl_canvas_segment(plot->canvas, (sl_point){floor(x) + 0.5, bottom},
                      (sl_point){floor(x) + 0.5, bottom + 4},
                      (sl_stroke){sl_solid(plot->theme->muted), 1, 0});
    /* The last label may be wider than the room between the plot and the legend or the edge. */
    double half = sl_canvas_text_width(plot->canvas, text, style) / 2;
    double center = fmin(x, axis->box.x + axis->box.w + TICK_BESIDE - half);
    sl_canvas_text(plot->canvas, (sl_point){center, bottom + 17}, text, style);
}

void sl_time_axis_draw(sl_plot *plot, const sl_time_axis *axis) {
    double step =
        time_step_us(axis->scale > 0 ? TICK_ROOM / axis->scale : axis->span_us, axis->has_time);
    double last_x = -TICK_ROOM, behind = 0;
    double us = 0;
    for (int i = 0; i < TICKS_MAX && us <= axis->span_us; i++, us += step) {
        char text[SL_HUMAN_CAP];
        if (is_in_gap(axis, us, &behind)) {
            us = floor(behind / step) * step;
            continue;
        }
        double x = x_of(axis, us);
        if (x - last_x < TICK_ROOM * 0.6)
            continue;
        time_text(text, us, step, axis->has_time);
        draw_tick(plot, axis, x, text);
        last_x = x;
    }
    for (size_t i = 0; i < axis->gap_cnt; i++)
        draw_gap(plot, axis, &axis->gaps[i]);
}

/* ---- steps ---- */

#define STEP_ROOM  40.0 /* pixels between numbers */
#define STEP_BELOW 26.0 /* under the plot: below the times */

static size_t step_stride(const sl_time_axis *axis, const sl_plot_input *input) {
    const sl_steps *steps = input->steps;
    const int64_t *times = input->replay->device->events.time_us;
    double width = sl_time_axis_x(axis, times[steps->borders.at[steps->borders.cnt - 1]]) -
                   sl_time_axis_x(axis, times[steps->borders.at[0]]);
    double each = width / (double)(steps->borders.cnt > 1 ? steps->borders.cnt - 1 : 1);
    static const size_t factors[] = {1, 2, 5};
    for (size_t power = 1;; power *= 10)
        for (size_t i = 0; i < SL_COUNT_OF(factors); i++)
            if (each * (double)(factors[i] * power) >= STEP_ROOM ||
                factors[i] * power >= steps->borders.cnt)
                return factors[i] * power;
}

void sl_step_ruler_draw(sl_plot *plot, const sl_time_axis *axis, const sl_plot_input *input) {
    const sl_steps *steps = input->steps;
    const int64_t *times = input->replay->device->events.time_us;
    double y = axis->box.y + axis->box.h + STEP_BELOW, last_x = -STEP_ROOM;
    sl_text_style style = sl_plot_small(plot), right = style;
    if (steps->borders.cnt == 0 || !sl_plot_steps(plot, input).known)
        return;
    style.align = SL_ALIGN_CENTER, right.align = SL_ALIGN_RIGHT;
    sl_canvas_text(plot->canvas, (sl_point){axis->box.x - 8, y + 10}, "step", right);
    size_t stride = step_stride(axis, input);
    for (size_t i = 0; i < steps->borders.cnt; i += stride) {
        double x = sl_time_axis_x(axis, times[steps->borders.at[i]]);
        char text[SL_HUMAN_CAP];
        if (x - last_x < STEP_ROOM * 0.7)
            continue;
        sl_canvas_segment(plot->canvas, (sl_point){floor(x) + 0.5, y - 4},
                          (sl_point){floor(x) + 0.5, y},
                          (sl_stroke){sl_solid(plot->theme->muted), 1, 0});
        sl_canvas_text(plot->canvas, (sl_point){x, y + 10},
                       sl_human_count(text, sl_steps_number_at(steps, steps->borders.at[i])),
                       style);
        last_x = x;
    }
}
