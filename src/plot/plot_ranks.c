/* SPDX-License-Identifier: MIT */
/* Several inputs on one time axis: the highest live bytes in each pixel, so that the first rank
 * to diverge can be seen. The processes of one run share a clock (P1 in run/process_tree.h), and
 * so do ranks that ran at the same time; each other input begins at the left edge. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "base/text/human.h"
#include "base/text/term.h"
#include "plot/plot_samples.h"

#define LABELS_LEFT    64.0
#define AXIS_BELOW     28.0
#define LEGEND_WIDTH   270.0
#define LEGEND_GAP     24.0
#define HEADROOM       1.06
#define LEGEND_COLUMNS 38 /* characters of a path that fit */

/* A curve of events or of samples. */
typedef struct rank_curve {
    sl_samples samples; /* empty for a trace of events */
    int64_t first_us;
    double start_us; /* from the left edge */
    double span_us;
    uint64_t peak_bytes;
} rank_curve;

static bool measure(rank_curve *curve, const sl_plot_input *input) {
    const sl_replay *replay = input->replay;
    if (!sl_samples_collect(&curve->samples, input))
        return false;
    curve->peak_bytes = replay->peak_requested.bytes;
    curve->span_us = replay->event_cnt ? sl_replay_span_us(replay, 0, replay->event_cnt - 1) : 0;
    curve->first_us = replay->event_cnt ? sl_replay_time(replay, 0) : 0;
    if (curve->samples.cnt) {
        curve->span_us = sl_samples_span(&curve->samples);
        curve->first_us = curve->samples.at[0].time_us;
    }
    for (size_t i = 0; i < curve->samples.cnt; i++)
        if (curve->samples.at[i].allocated > curve->peak_bytes)
            curve->peak_bytes = curve->samples.at[i].allocated;
    return true;
}

typedef struct rank_chart {
    sl_plot *plot;
    rank_curve *curves; /* owned; one per input */
    bool is_one_run;
    bool is_one_clock;
    sl_time_axis time;
    sl_byte_axis bytes;
} rank_chart;

static uint32_t rank_color(const sl_plot *plot, size_t i) {
    return sl_plot_series_color(plot, i % (3 * SL_SERIES_COLORS));
}

static bool fill_by_events(const sl_replay *replay, double *values, size_t cnt) {
    sl_curve_bin *bins = calloc(cnt, sizeof *bins);
    if (!bins)
        return false;
    sl_replay_curve(replay, sl_replay_time(replay, 0),
                    sl_replay_time(replay, replay->event_cnt - 1), bins, cnt);
    for (size_t i = 0; i < cnt; i++)
        values[i] = (double)bins[i].max_requested;
    free(bins);
    return true;
}

static bool fill_by_samples(const rank_curve *curve, double *values, size_t cnt) {
    sl_sample *columns = calloc(cnt, sizeof *columns);
    if (!columns)
        return false;
    sl_samples_bin(&curve->samples, curve->span_us > 0 ? curve->span_us : 1, columns, cnt);
    for (size_t i = 0; i < cnt; i++)
        values[i] = (double)columns[i].allocated;
    free(columns);
    return true;
}

static sl_status draw_curve(rank_chart *chart, size_t idx, sl_error *err) {
    const rank_curve *curve = &chart->curves[idx];
    const sl_box *box = &chart->time.box;
    size_t cnt = (size_t)fmax(ceil(box->w * curve->span_us / chart->time.span_us), 1);
    double left = box->x + floor(box->w * curve->start_us / chart->time.span_us);
    double *values = calloc(cnt, sizeof *values);
    sl_point *points = calloc(cnt, sizeof *points);
    bool is_done = values && points;
    if (is_done)
        is_done = curve->samples.cnt ? fill_by_samples(curve, values, cnt)
                                     : fill_by_events(chart->plot->inputs[idx].replay, values, cnt);
    for (size_t i = 0; is_done && i < cnt; i++)
        points[i] = (sl_point){left + (double)i + 0.5, sl_byte_axis_y(&chart->bytes, values[i])};
    if (is_done)
        sl_canvas_line(chart->plot->canvas, points, cnt,
                       (sl_stroke){{rank_color(chart->plot, idx), 0.9}, 1.6, 0});
    free(values);
    free(points);
    return is_done ? SL_OK : sl_fail_no_memory(err, "a curve");
}

/* "rank 2, device 0" if the file holds several ranks or devices, else the name of the file. */
static void name_curve(char *name, size_t cap, const sl_plot_input *input) {
    const sl_run_device *device = input->device;
    if (!device->has_rank)
        snprintf(name, cap, "%.90s", sl_plot_basename(input->trace->path));
    else if (device->events->device < 0)
        snprintf(name, cap, "rank %d, host", device->rank);
    else
        snprintf(name, cap, "rank %d, device %d", device->rank, device->events->device);
}

static bool is_one_file(const sl_plot *plot) {
    for (size_t i = 1; i < plot->input_cnt; i++)
        if (plot->inputs[i].trace != plot->inputs[0].trace)
            return false;
    return true;
}

/* Ranks often write files of the same name into different folders. */
static bool is_name_shared(const sl_plot *plot, size_t idx) {
    const char *name = sl_plot_basename(plot->inputs[idx].trace->path);
    for (size_t i = 0; i < plot->input_cnt; i++)
        if (i != idx && strcmp(sl_plot_basename(plot->inputs[i].trace->path), name) == 0)
            return true;
    return false;
}

/* "main process 4711 (train.py)", with its file below. */
static void name_process(sl_legend_row *row, const sl_run_input *input) {
    char label[SL_PROCESS_LABEL_CAP];
    sl_term_fit_path(row->detail, sizeof row->detail, row->name, LEGEND_COLUMNS);
    snprintf(row->name, sizeof row->name, "%.90s",
             sl_process_label(label, input->trace, &input->place));
}

static sl_status draw_legend(const rank_chart *chart, sl_box box, sl_error *err) {
    sl_plot *plot = chart->plot;
    sl_legend_row *rows = calloc(plot->input_cnt, sizeof *rows);
    if (!rows)
        return sl_fail_no_memory(err, "the legend");
    for (size_t i = 0; i < plot->input_cnt; i++) {
        const sl_plot_input *input = &plot->inputs[i];
        char human[SL_HUMAN_CAP];
        rows[i].rgb = rank_color(plot, i);
        rows[i].is_line = true;
        name_curve(rows[i].name, sizeof rows[i].name, input);
        if (chart->is_one_run)
            name_process(&rows[i], input->device->input);
        else if (!is_one_file(plot) && (input->device->has_rank || is_name_shared(plot, i)))
            sl_term_fit_path(rows[i].detail, sizeof rows[i].detail, input->trace->path,
                             LEGEND_COLUMNS);
        snprintf(rows[i].value, sizeof rows[i].value, "%s",
                 sl_human_bytes(human, chart->curves[i].peak_bytes));
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
        if (!sl_run_is_sampled(input->device->input) && !input->replay->has_history)
            return sl_fail(err, SL_E_FORMAT,
                           "'%s' has a final state but no history, so it has no curve",
                           input->trace->path);
        if (input->trace->has_time != plot->inputs[0].trace->has_time)
            return sl_fail(err, SL_E_FORMAT,
                           "'%s' and '%s' have no common time axis: only one of them has a clock",
                           plot->inputs[0].trace->path, input->trace->path);
    }
    return SL_OK;
}

static sl_status draw_chart(rank_chart *chart, double span_us, double highest, sl_error *err) {
    sl_plot *plot = chart->plot;
    char subtitle[SL_WORDS_CAP];
    const char *what = is_one_file(plot) ? "ranks" : chart->is_one_run ? "processes" : "inputs";
    snprintf(subtitle, sizeof subtitle, "%zu %s, live bytes (highest in each pixel), %s",
             plot->input_cnt, what,
             chart->is_one_clock ? "on one clock" : "each from its own start");
    sl_box box = sl_plot_begin(plot, subtitle), legend = box;
    bool has_legend = box.w > 2 * LEGEND_WIDTH;
    double right = has_legend ? LEGEND_WIDTH + LEGEND_GAP : 8;
    box = (sl_box){box.x + LABELS_LEFT, box.y, floor(box.w - LABELS_LEFT - right),
                   box.h - AXIS_BELOW};
    legend.x = box.x + box.w + LEGEND_GAP, legend.w = LEGEND_WIDTH;
    chart->bytes = sl_byte_axis_make(box, highest * HEADROOM);
    chart->time = sl_time_axis_plain(box, span_us, plot->inputs[0].trace->has_time);
    sl_byte_axis_draw(plot, &chart->bytes);
    for (size_t i = 0; i < plot->input_cnt; i++)
        SL_TRY(draw_curve(chart, i, err));
    sl_time_axis_draw(plot, &chart->time);
    return has_legend ? draw_legend(chart, legend, err) : SL_OK;
}

/* Shifts curves that share a clock to their own start: those of one run, and inputs of which
 * each began before the first one ended. The page does the same (plan_clock in
 * page/page_html.c). */
static void align(rank_chart *chart) {
    int64_t first_us = INT64_MAX, last_start_us = INT64_MIN;
    double first_end_us = HUGE_VAL;
    for (size_t i = 0; i < chart->plot->input_cnt; i++) {
        const rank_curve *curve = &chart->curves[i];
        first_us = sl_min_i64(curve->first_us, first_us);
        last_start_us = sl_max_i64(curve->first_us, last_start_us);
        first_end_us = fmin((double)curve->first_us + curve->span_us, first_end_us);
    }
    chart->is_one_clock = chart->is_one_run || (chart->plot->inputs[0].trace->has_time &&
                                                (double)last_start_us < first_end_us);
    for (size_t i = 0; i < chart->plot->input_cnt && chart->is_one_clock; i++)
        chart->curves[i].start_us = (double)(chart->curves[i].first_us - first_us);
}

static sl_status measure_and_draw(rank_chart *chart, sl_error *err) {
    double span_us = 0, highest = 0;
    for (size_t i = 0; i < chart->plot->input_cnt; i++)
        if (!measure(&chart->curves[i], &chart->plot->inputs[i]))
            return sl_fail_no_memory(err, "a curve");
    chart->is_one_run = sl_run_has_one_clock(chart->plot->inputs[0].device->input->run);
    align(chart);
    for (size_t i = 0; i < chart->plot->input_cnt; i++) {
        span_us = fmax(span_us, chart->curves[i].start_us + chart->curves[i].span_us);
        highest = fmax(highest, (double)chart->curves[i].peak_bytes);
    }
    return draw_chart(chart, span_us, highest, err);
}

sl_status sl_plot_ranks(sl_plot *plot, sl_error *err) {
    rank_chart chart = {.plot = plot};
    SL_TRY(check_inputs(plot, err));
    chart.curves = calloc(plot->input_cnt, sizeof *chart.curves);
    if (!chart.curves)
        return sl_fail_no_memory(err, "the curves");
    sl_status status = measure_and_draw(&chart, err);
    for (size_t i = 0; i < plot->input_cnt; i++)
        sl_vec_free(&chart.curves[i].samples);
    free(chart.curves);
    return status;
}
