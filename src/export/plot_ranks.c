/* SPDX-License-Identifier: MIT */
/* Several inputs on one time axis, each from its own beginning: the highest live bytes in each
 * pixel, so that the one that leaves the others is seen. */
#include <math.h>
#include <stdlib.h>

#include "base/human.h"
#include "export/plot_axis.h"

#define LABELS_LEFT  64.0
#define AXIS_BELOW   28.0
#define LEGEND_WIDTH 270.0
#define LEGEND_GAP   24.0
#define HEADROOM     1.06

static double span_of(const sl_replay *replay) {
    return replay->event_cnt ? sl_replay_span_us(replay, 0, replay->event_cnt - 1) : 0;
}

static uint32_t rank_color(const sl_plot *plot, size_t i) {
    return plot->theme->series[i % SL_SERIES_COLORS];
}

static sl_status draw_curve(sl_plot *plot, size_t idx, const sl_time_axis *time,
                            const sl_byte_axis *bytes, sl_error *err) {
    const sl_replay *replay = plot->inputs[idx].replay;
    int64_t first = sl_replay_time(replay, 0);
    size_t cnt = (size_t)fmax(ceil(time->box.w * span_of(replay) / time->span_us), 1);
    sl_curve_bin *bins = calloc(cnt, sizeof *bins);
    sl_point *points = calloc(cnt, sizeof *points);
    if (bins && points) {
        sl_replay_curve(replay, first, sl_replay_time(replay, replay->event_cnt - 1), bins, cnt);
        for (size_t i = 0; i < cnt; i++)
            points[i] = (sl_point){time->box.x + (double)i + 0.5,
                                   sl_byte_axis_y(bytes, (double)bins[i].max_requested)};
        sl_canvas_line(plot->canvas, points, cnt,
                       (sl_stroke){{rank_color(plot, idx), 0.9}, 1.6, 0});
    }
    bool is_done = bins && points;
    free(bins);
    free(points);
    return is_done ? SL_OK : sl_fail(err, SL_E_NOMEM, "out of memory for a curve");
}

static sl_status draw_legend(sl_plot *plot, sl_box box, sl_error *err) {
    sl_legend_row *rows = calloc(plot->input_cnt, sizeof *rows);
    if (!rows)
        return sl_fail(err, SL_E_NOMEM, "out of memory for the legend");
    for (size_t i = 0; i < plot->input_cnt; i++) {
        const sl_plot_input *input = &plot->inputs[i];
        char human[SL_HUMAN_CAP];
        rows[i].rgb = rank_color(plot, i);
        rows[i].is_line = true;
        snprintf(rows[i].name, sizeof rows[i].name, "%.90s", sl_plot_basename(input->trace->path));
        snprintf(rows[i].value, sizeof rows[i].value, "%s",
                 sl_human_bytes(human, input->replay->peak_requested.bytes));
    }
    sl_text_style head = sl_plot_small(plot);
    head.align = SL_ALIGN_RIGHT;
    sl_canvas_text(plot->canvas, (sl_point){box.x + box.w, box.y + 6}, "highest live", head);
    sl_plot_legend(plot, (sl_box){box.x, box.y + 16, box.w, box.h - 16}, rows, plot->input_cnt);
    free(rows);
    return SL_OK;
}

static sl_status check_inputs(const sl_plot *plot, sl_error *err) {
    for (size_t i = 0; i < plot->input_cnt; i++) {
        const sl_plot_input *input = &plot->inputs[i];
        if (!input->replay->has_history)
            return sl_fail(err, SL_E_FORMAT,
                           "'%s' holds one state and no history, so it has no curve",
                           input->trace->path);
        if (input->trace->has_time != plot->inputs[0].trace->has_time)
            return sl_fail(err, SL_E_FORMAT,
                           "'%s' and '%s' have no common axis: only one of them has a clock",
                           plot->inputs[0].trace->path, input->trace->path);
    }
    return SL_OK;
}

sl_status sl_plot_ranks(sl_plot *plot, sl_error *err) {
    char subtitle[SL_WORDS_CAP];
    double span_us = 0, highest = 0;
    SL_TRY(check_inputs(plot, err));
    for (size_t i = 0; i < plot->input_cnt; i++) {
        span_us = fmax(span_us, span_of(plot->inputs[i].replay));
        highest = fmax(highest, (double)plot->inputs[i].replay->peak_requested.bytes);
    }
    snprintf(subtitle, sizeof subtitle,
             "%zu inputs, live bytes (highest in each pixel), each from its own beginning",
             plot->input_cnt);
    sl_box box = sl_plot_begin(plot, subtitle), legend = box;
    bool has_legend = box.w > 2 * LEGEND_WIDTH;
    double right = has_legend ? LEGEND_WIDTH + LEGEND_GAP : 8;
    box = (sl_box){box.x + LABELS_LEFT, box.y, floor(box.w - LABELS_LEFT - right),
                   box.h - AXIS_BELOW};
    legend.x = box.x + box.w + LEGEND_GAP, legend.w = LEGEND_WIDTH;
    sl_byte_axis bytes = sl_byte_axis_make(box, highest * HEADROOM);
    sl_time_axis time = sl_time_axis_plain(box, span_us, plot->inputs[0].trace->has_time);
    sl_byte_axis_draw(plot, &bytes);
    for (size_t i = 0; i < plot->input_cnt; i++)
        SL_TRY(draw_curve(plot, i, &time, &bytes, err));
    sl_time_axis_draw(plot, &time);
    return has_legend ? draw_legend(plot, legend, err) : SL_OK;
}
