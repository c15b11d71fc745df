/* SPDX-License-Identifier: MIT */
/* Live bytes over time, stacked by line of code, with curves of the reserved bytes and of the
 * card's bytes in use; and with the peak, failed requests, alerts, steps and the slope of a
 * leak. */
#include <math.h>
#include <stdlib.h>

#include "base/core/order.h"
#include "base/text/human.h"
#include "model/counter_series.h"
#include "plot/canvas/plot_columns.h"
#include "plot/plot_alerts.h"
#include "plot/plot_samples.h"

#define LABELS_LEFT  64.0
#define AXIS_BELOW   42.0
#define LEGEND_WIDTH 270.0
#define LEGEND_GAP   24.0
#define HEADROOM     1.15 /* for two rows of notes above the highest curve */
#define CAPACITY_FAR 1.6  /* times the curve; a larger card is not drawn: it would flatten it */
#define USED_FAR     3.0  /* the same for the card's bytes in use */

/* In use, reserved, lowest, growth; then the bands; then everything else. */
#define LEGEND_ROWS (4 + SL_BANDS_MAX + 1)

typedef struct timeline {
    sl_plot *plot;
    const sl_plot_input *input;
    sl_site_bands bands;
    sl_plot_columns columns;
    sl_time_axis time;
    sl_byte_axis bytes;
    sl_point *points;    /* owned; room for both edges of a band */
    sl_legend_row *rows; /* owned; LEGEND_ROWS of them */
    sl_maybe_u64 limit_bytes;
    const sl_counter_series *used; /* of the card; NULL = unknown, or far above everything else */
} timeline;

static double peak_bytes(const timeline *line) {
    const sl_replay *replay = line->input->replay;
    uint64_t reserved = replay->reserved_known ? replay->peak_reserved.bytes : 0;
    uint64_t live = replay->peak_requested.bytes;
    return (double)sl_max_u64(reserved, live);
}

/* The size of the card, or the process's share of it; unknown when it is far above the curve. */
static sl_maybe_u64 find_limit(const timeline *line) {
    const sl_oom_report *oom =
        &line->plot->report->inputs.at[line->input->device->input->number].oom;
    sl_maybe_u64 limit = line->input->replay->device->capacity_bytes;
    if (oom->present && oom->device == line->input->replay->device->device &&
        oom->limit_bytes.known)
        limit = oom->limit_bytes;
    limit.known = limit.known && (double)limit.value < CAPACITY_FAR * peak_bytes(line);
    return limit;
}

static uint64_t highest_used(const sl_counter_series *used) {
    uint64_t high = 0;
    for (size_t i = 0; used && i < used->readings.cnt; i++)
        high = sl_max_u64(used->readings.at[i].max, high);
    return high;
}

static const sl_counter_series *find_used(const timeline *line) {
    const sl_counter_series *used = sl_series_find(
        line->input->trace, line->input->replay->device->device, SL_SERIES_DEVICE_USED);
    uint64_t high = highest_used(used);
    return high > 0 && (double)high < USED_FAR * peak_bytes(line) ? used : NULL;
}

static double column_x(const timeline *line, size_t column) {
    return line->time.box.x + (double)column + 0.5;
}

static double stacked(const sl_plot_column *column, size_t band_cnt) {
    double sum = 0;
    for (size_t i = 0; i < band_cnt; i++)
        sum += (double)column->bands[i];
    return sum;
}

static uint32_t band_color(const timeline *line, size_t band) {
    return band < line->bands.cnt ? sl_plot_series_color(line->plot, band)
                                  : line->plot->theme->other;
}

static void draw_band(timeline *line, size_t band) {
    size_t cnt = line->columns.cnt;
    for (size_t i = 0; i < cnt; i++) {
        const sl_plot_column *column = &line->columns.at[i];
        double bottom = stacked(column, band);
        double top = bottom + (double)column->bands[band];
        line->points[i] = (sl_point){column_x(line, i), sl_byte_axis_y(&line->bytes, top)};
        line->points[2 * cnt - 1 - i] =
            (sl_point){column_x(line, i), sl_byte_axis_y(&line->bytes, bottom)};
    }
    sl_canvas_area(line->plot->canvas, line->points, 2 * cnt,
                   (sl_paint){band_color(line, band), 0.85});
}

static void draw_curve(timeline *line, bool is_reserved, sl_stroke stroke) {
    for (size_t i = 0; i < line->columns.cnt; i++) {
        const sl_plot_column *column = &line->columns.at[i];
        double value = (double)(is_reserved ? column->max_reserved : column->min_bytes);
        line->points[i] = (sl_point){column_x(line, i), sl_byte_axis_y(&line->bytes, value)};
    }
    sl_canvas_line(line->plot->canvas, line->points, line->columns.cnt, stroke);
}

/* The highest reading in each column; a reading is valid until the next one. */
static void draw_used(timeline *line, sl_stroke stroke) {
    const sl_counter_series *used = line->used;
    size_t cnt = 0;
    for (size_t i = 0; i < used->readings.cnt && cnt + 2 <= 2 * line->columns.cnt; i++) {
        const sl_reading *r = &used->readings.at[i];
        bool has_next = i + 1 < used->readings.cnt;
        double y = sl_byte_axis_y(&line->bytes, (double)r->max);
        double from = floor(sl_time_axis_x(&line->time, r->from_us)) + 0.5;
        double to = floor(sl_time_axis_x(&line->time,
                                         has_next ? used->readings.at[i + 1].from_us : r->to_us)) +
                    0.5;
        /* At most two points per column. */
        if (cnt > 0 && line->points[cnt - 1].x >= to) {
            line->points[cnt - 1].y = fmin(line->points[cnt - 1].y, y);
            continue;
        }
        line->points[cnt++] = (sl_point){from, y};
        if (to > from)
            line->points[cnt++] = (sl_point){to, y};
    }
    sl_canvas_line(line->plot->canvas, line->points, cnt, stroke);
}

static sl_stroke used_stroke(const timeline *line) {
    return (sl_stroke){sl_solid(line->plot->theme->series[6]), 1.5, 0};
}

static sl_stroke reserved_stroke(const timeline *line) {
    return (sl_stroke){sl_solid(line->plot->theme->muted), 1.5, 0};
}

static sl_stroke lowest_stroke(const timeline *line) {
    return (sl_stroke){sl_solid(line->plot->theme->text), 1.2, 0};
}

static sl_stroke leak_stroke(const timeline *line) {
    return (sl_stroke){sl_solid(line->plot->theme->alarm), 2, 6};
}

/* ---- notes ---- */

/* A note beside a point, on the side where there is room. */
static void put_note(timeline *line, sl_point at, const char *text, uint32_t rgb) {
    sl_text_style style = sl_plot_normal(line->plot);
    double width = sl_canvas_text_width(line->plot->canvas, text, style);
    bool is_left = at.x + 14 + width > line->time.box.x + line->time.box.w;
    style.paint = sl_solid(rgb);
    style.align = is_left ? SL_ALIGN_RIGHT : SL_ALIGN_LEFT;
    at.x += is_left ? -10 : 10;
    sl_plot_note(line->plot, at, text, style);
}

static void draw_peak(timeline *line) {
    const sl_replay *replay = line->input->replay;
    sl_point at = {
        sl_time_axis_x(&line->time, sl_replay_time(replay, replay->peak_requested.event)),
        sl_byte_axis_y(&line->bytes, (double)replay->peak_requested.bytes)};
    char text[64], human[SL_HUMAN_CAP];
    snprintf(text, sizeof text, "peak %s", sl_human_bytes(human, replay->peak_requested.bytes));
    sl_canvas_dot(line->plot->canvas, at, 5, sl_solid(line->plot->theme->background));
    sl_canvas_dot(line->plot->canvas, at, 3.5, sl_solid(line->plot->theme->text));
    put_note(line, (sl_point){at.x, at.y - 8}, text, line->plot->theme->text);
}

/* Draws every failed request as a line and labels the last one. */
static void draw_ooms(timeline *line) {
    const sl_events *events = &line->input->replay->device->events;
    uint32_t rgb = line->plot->theme->alarm;
    const sl_box *box = &line->time.box;
    size_t last = SIZE_MAX;
    double last_x = -2;
    for (size_t i = 0; i < events->cnt; i++) {
        if (events->kind[i] != SL_EV_OOM)
            continue;
        double x = floor(sl_time_axis_x(&line->time, events->time_us[i])) + 0.5;
        if (x - last_x >= 1)
            sl_canvas_segment(line->plot->canvas, (sl_point){x, box->y},
                              (sl_point){x, box->y + box->h}, (sl_stroke){sl_solid(rgb), 1.5, 0});
        last = i, last_x = x;
    }
    if (last == SIZE_MAX)
        return;
    char text[80], human[SL_HUMAN_CAP];
    snprintf(text, sizeof text, "out of memory: %s requested",
             sl_human_bytes(human, events->size_bytes[last]));
    put_note(line, (sl_point){last_x, box->y + 12}, text, rgb);
}

static void draw_limit(timeline *line) {
    if (!line->limit_bytes.known)
        return;
    const sl_box *box = &line->time.box;
    double y = floor(sl_byte_axis_y(&line->bytes, (double)line->limit_bytes.value)) + 0.5;
    char text[64], human[SL_HUMAN_CAP];
    snprintf(text, sizeof text, "limit %s", sl_human_bytes(human, line->limit_bytes.value));
    sl_canvas_segment(line->plot->canvas, (sl_point){box->x, y}, (sl_point){box->x + box->w, y},
                      (sl_stroke){sl_solid(line->plot->theme->warning), 1.2, 4});
    sl_text_style style = sl_plot_small(line->plot);
    style.paint = sl_solid(line->plot->theme->warning);
    sl_plot_note(line->plot, (sl_point){box->x + 8, y - 4}, text, style);
}

static const sl_finding *find_leak(const timeline *line) {
    const sl_report *report = line->plot->report;
    for (size_t i = 0; i < report->findings.cnt; i++) {
        const sl_finding *finding = &report->findings.at[i];
        if (finding->kind == SL_FINDING_LEAK && finding->bytes_per_second.known &&
            finding->device == line->input->replay->device->device)
            return finding;
    }
    return NULL;
}

static size_t column_of(const timeline *line, int64_t time_us) {
    size_t column = (size_t)(sl_time_axis_x(&line->time, time_us) - line->time.box.x);
    return column < line->columns.cnt ? column : line->columns.cnt - 1;
}

static void name_leak(timeline *line, const sl_finding *leak, sl_point middle) {
    char text[SL_WORDS_CAP], human[SL_HUMAN_CAP];
    sl_legend_row row = {0};
    sl_text_style style = sl_plot_normal(line->plot);
    bool is_by_step = leak->bytes_per_step.known;
    double rate = is_by_step ? leak->bytes_per_step.value : leak->bytes_per_second.value;
    sl_plot_name_site(&row, leak->site);
    snprintf(text, sizeof text, "leak: %s %s at %s", sl_human_bytes_delta(human, (int64_t)rate),
             is_by_step ? "per step" : "per second", row.name);
    style.paint = sl_solid(line->plot->theme->alarm);
    style.is_bold = true;
    style.align = SL_ALIGN_RIGHT;
    double width = sl_canvas_text_width(line->plot->canvas, text, style);
    double left = line->time.box.x + width + 10;
    if (left > line->time.box.x + line->time.box.w)
        return; /* no room for the text; the title has it too */
    sl_plot_note(line->plot, (sl_point){fmax(middle.x - 14, left), middle.y - 8}, text, style);
}

/* From the lowest live bytes where the leak begins, with the measured slope. */
static void draw_leak(timeline *line) {
    const sl_finding *leak = find_leak(line);
    if (!leak || leak->last_time_us <= leak->first_time_us || leak->bytes_per_second.value <= 0)
        return;
    double seconds = (double)(leak->last_time_us - leak->first_time_us) / 1e6;
    double from = (double)line->columns.at[column_of(line, leak->first_time_us)].min_bytes;
    double to = from + leak->bytes_per_second.value * seconds;
    sl_point a = {sl_time_axis_x(&line->time, leak->first_time_us),
                  sl_byte_axis_y(&line->bytes, from)};
    sl_point b = {sl_time_axis_x(&line->time, leak->last_time_us),
                  sl_byte_axis_y(&line->bytes, to)};
    sl_canvas_segment(line->plot->canvas, a, b,
                      (sl_stroke){sl_solid(line->plot->theme->background), 4, 0});
    sl_canvas_segment(line->plot->canvas, a, b, leak_stroke(line));
    name_leak(line, leak, (sl_point){(a.x + b.x) / 2, (a.y + b.y) / 2});
}

/* ---- legend ---- */

static void add_line_row(sl_legend_row *row, const char *name, sl_stroke stroke) {
    *row = (sl_legend_row){.rgb = stroke.paint.rgb, .is_line = true, .dash = stroke.dash};
    snprintf(row->name, sizeof row->name, "%s", name);
}

static void set_value(sl_legend_row *row, uint64_t bytes) {
    char human[SL_HUMAN_CAP];
    snprintf(row->value, sizeof row->value, "%s", sl_human_bytes(human, bytes));
}

static const sl_plot_column *highest_column(const timeline *line) {
    const sl_plot_column *highest = &line->columns.at[0];
    for (size_t i = 1; i < line->columns.cnt; i++)
        if (line->columns.at[i].max_bytes > highest->max_bytes)
            highest = &line->columns.at[i];
    return highest;
}

/* The highest bytes of a band in any column. */
static uint64_t highest_of_band(const timeline *line, size_t band) {
    uint64_t high = 0;
    for (size_t i = 0; i < line->columns.cnt; i++)
        high = sl_max_u64(line->columns.at[i].bands[band], high);
    return high;
}

/* A site that holds nothing at the peak is shown for what it held at another moment. */
static bool add_band_row(const timeline *line, size_t band, uint64_t at_peak, sl_legend_row *row) {
    uint64_t high = highest_of_band(line, band);
    char human[SL_HUMAN_CAP];
    if (high == 0)
        return false;
    row->rgb = band_color(line, band);
    if (band < line->bands.cnt)
        sl_plot_name_site(row, line->bands.sites[band]);
    else
        sl_plot_name_rest(row, line->bands.rest_cnt, line->bands.rest_largest_bytes);
    if (at_peak > 0)
        set_value(row, at_peak);
    else
        snprintf(row->value, sizeof row->value, "up to %s", sl_human_bytes(human, high));
    return true;
}

static void draw_legend(timeline *line, sl_box box) {
    const sl_plot_column *peak = highest_column(line);
    sl_legend_row *rows = line->rows;
    size_t cnt = 0;
    if (line->used) {
        add_line_row(&rows[cnt], "in use on the card, highest", used_stroke(line));
        set_value(&rows[cnt++], highest_used(line->used));
    }
    if (line->input->replay->reserved_known) {
        add_line_row(&rows[cnt], "reserved, highest", reserved_stroke(line));
        set_value(&rows[cnt++], line->input->replay->peak_reserved.bytes);
    }
    add_line_row(&rows[cnt++], "lowest live in a pixel", lowest_stroke(line));
    if (find_leak(line))
        add_line_row(&rows[cnt++], "measured growth", leak_stroke(line));
    for (size_t i = 0; i <= line->bands.cnt; i++)
        cnt += add_band_row(line, i, peak->bands[i], &rows[cnt]);
    sl_text_style head = sl_plot_small(line->plot);
    head.align = SL_ALIGN_RIGHT;
    sl_canvas_text(line->plot->canvas, (sl_point){box.x + box.w, box.y + 6}, "at the peak", head);
    sl_plot_legend(line->plot, (sl_box){box.x, box.y + 16, box.w, box.h - 16}, rows, cnt);
}

/* ---- all of it ---- */

static void draw_all(timeline *line, sl_box legend) {
    sl_canvas *canvas = line->plot->canvas;
    sl_byte_axis_draw(line->plot, &line->bytes);
    sl_canvas_clip(canvas, line->time.box);
    for (size_t band = 0; band <= line->bands.cnt; band++)
        draw_band(line, band);
    draw_curve(line, false, lowest_stroke(line));
    if (line->input->replay->reserved_known)
        draw_curve(line, true, reserved_stroke(line));
    if (line->used)
        draw_used(line, used_stroke(line));
    sl_canvas_end_clip(canvas);
    sl_time_axis_draw(line->plot, &line->time);
    sl_step_ruler_draw(line->plot, &line->time, line->input);
    draw_limit(line);
    draw_leak(line);
    sl_plot_alerts_draw(line->plot, &line->time, line->input);
    draw_ooms(line);
    draw_peak(line);
    if (legend.w > 0)
        draw_legend(line, legend);
}

static sl_status draw_timeline(timeline *line, sl_error *err) {
    char subtitle[SL_WORDS_CAP];
    sl_plot_describe(subtitle, line->plot, line->input);
    sl_words_append(subtitle, line->input->trace->has_time ? "" : ", by event");
    sl_box box = sl_plot_begin(line->plot, subtitle), legend = box;
    bool has_legend = box.w > 2 * LEGEND_WIDTH;
    double right = has_legend ? LEGEND_WIDTH + LEGEND_GAP : 8;
    box = (sl_box){box.x + LABELS_LEFT, box.y, floor(box.w - LABELS_LEFT - right),
                   box.h - AXIS_BELOW};
    legend.x = box.x + box.w + LEGEND_GAP;
    legend.w = has_legend ? LEGEND_WIDTH : 0;
    line->limit_bytes = find_limit(line);
    line->used = find_used(line);
    double highest = fmax(peak_bytes(line), (double)highest_used(line->used));
    if (line->limit_bytes.known && (double)line->limit_bytes.value > highest)
        highest = (double)line->limit_bytes.value;
    line->bytes = sl_byte_axis_make(box, highest * HEADROOM);
    line->time = sl_time_axis_make(box, line->input->replay);
    if (!sl_plot_columns_init(&line->columns, &line->time, &line->bands) ||
        !(line->points = calloc(2 * line->columns.cnt, sizeof *line->points)) ||
        !(line->rows = calloc(LEGEND_ROWS, sizeof *line->rows)))
        return sl_fail_no_memory(err, "the columns of the picture");
    draw_all(line, legend);
    return SL_OK;
}

sl_status sl_plot_timeline(sl_plot *plot, sl_error *err) {
    timeline line = {.plot = plot, .input = &plot->inputs[0]};
    if (sl_run_is_sampled(line.input->device->input))
        return sl_plot_sampled_timeline(plot, err);
    if (!line.input->replay->has_history)
        return sl_fail(err, SL_E_FORMAT,
                       "'%s' has a final state but no history, so there is no timeline; --kind "
                       "sites or flame shows the state",
                       line.input->trace->path);
    sl_status status = SL_OK;
    size_t top = plot->options->top;
    if (sl_site_bands_init_most(&line.bands, line.input->lines, line.input->replay,
                                SL_BANDS_BY_HIGHEST, top ? top : SL_PLOT_TOP,
                                top ? top : SL_BANDS_MAX))
        status = draw_timeline(&line, err);
    else
        status = sl_fail_no_memory(err, "the sites of the picture");
    free(line.rows);
    free(line.points);
    sl_plot_columns_fini(&line.columns);
    sl_site_bands_fini(&line.bands);
    return status;
}
