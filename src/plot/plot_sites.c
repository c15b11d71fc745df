/* SPDX-License-Identifier: MIT */
/* The sites with the most bytes, as bars: what each held at the peak, and what it holds at the
 * end. */
#include <math.h>
#include <stdlib.h>

#include "base/text/human.h"
#include "plot/canvas/plot_axis.h"
#include "run/lines/site_bands.h"

#define NAMES_WIDTH  300.0 /* at most, and at most this part of the picture */
#define NAMES_SHARE  0.4
#define VALUES_WIDTH 90.0
#define ROW_MAX      52.0
#define ROW_MIN      36.0
#define KEY_HEIGHT   26.0

typedef struct site_chart {
    sl_plot *plot;
    const sl_plot_input *input;
    sl_site_bands bands;
    uint64_t at_peak[SL_BANDS_MAX + 1], at_end[SL_BANDS_MAX + 1];
    sl_box box; /* of the bars */
    double names_width;
    double max_bytes;
} site_chart;

static void read_bands(site_chart *chart) {
    uint32_t peak = chart->input->replay->peak_requested.event;
    sl_band_walk walk;
    sl_band_walk_init(&walk, &chart->bands);
    for (size_t i = 0; peak == SL_EVENT_BEFORE && i <= chart->bands.cnt; i++)
        chart->at_peak[i] = walk.live[i];
    for (uint32_t event = 0; sl_band_walk_next(&walk); event++)
        for (size_t i = 0; event == peak && i <= chart->bands.cnt; i++)
            chart->at_peak[i] = walk.live[i];
    for (size_t i = 0; i <= chart->bands.cnt; i++) {
        chart->at_end[i] = walk.live[i];
        chart->max_bytes = fmax(chart->max_bytes, (double)chart->at_peak[i]);
        chart->max_bytes = fmax(chart->max_bytes, (double)chart->at_end[i]);
    }
}

static void draw_bar(site_chart *chart, double y, double height, uint64_t bytes, sl_paint paint) {
    double width = chart->box.w * (double)bytes / chart->max_bytes;
    char human[SL_HUMAN_CAP];
    sl_text_style style = sl_plot_small(chart->plot);
    sl_canvas_rect(chart->plot->canvas, (sl_box){chart->box.x, y, width, height}, paint);
    sl_canvas_text(chart->plot->canvas, (sl_point){chart->box.x + width + 6, y + height / 2 + 4},
                   sl_human_bytes(human, bytes), style);
}

static void draw_name(site_chart *chart, size_t band, double middle) {
    sl_legend_row row = {0};
    if (band < chart->bands.cnt)
        sl_plot_name_site(&row, chart->bands.sites[band]);
    else
        sl_plot_name_rest(&row, chart->bands.rest_cnt, chart->bands.rest_largest_bytes);
    double x = chart->box.x - chart->names_width, width = chart->names_width - 14;
    double y = row.detail[0] ? middle - 2 : middle + 4;
    sl_canvas_text_fit(chart->plot->canvas, (sl_point){x, y}, row.name, width,
                       sl_plot_normal(chart->plot));
    sl_canvas_text_fit(chart->plot->canvas, (sl_point){x, middle + 12}, row.detail, width,
                       sl_plot_small(chart->plot));
}

static sl_paint end_paint(const site_chart *chart) {
    return sl_solid(chart->plot->theme->series[0]);
}

static sl_paint peak_paint(const site_chart *chart) {
    return (sl_paint){chart->plot->theme->series[0], 0.38};
}

static void draw_keys(site_chart *chart, double y) {
    static const char *const names[] = {"at the peak", "at the end"};
    double x = chart->box.x;
    for (int i = 0; i < 2; i++) {
        sl_text_style style = sl_plot_normal(chart->plot);
        sl_canvas_rect(chart->plot->canvas, (sl_box){x, y - 9, 10, 10},
                       i ? end_paint(chart) : peak_paint(chart));
        sl_canvas_text(chart->plot->canvas, (sl_point){x + 16, y}, names[i], style);
        x += 16 + sl_canvas_text_width(chart->plot->canvas, names[i], style) + 24;
    }
}

static void draw_rows(site_chart *chart, double row) {
    size_t cnt = chart->bands.cnt + (chart->at_peak[chart->bands.cnt] ? 1 : 0);
    double y = chart->box.y, bar = (row - 10) / 2;
    for (size_t i = 0; i < cnt; i++, y += row) {
        draw_name(chart, i, y + row / 2 - 3);
        draw_bar(chart, y + 2, bar, chart->at_peak[i], peak_paint(chart));
        draw_bar(chart, y + 3 + bar, bar, chart->at_end[i], end_paint(chart));
    }
}

sl_status sl_plot_sites(sl_plot *plot, sl_error *err) {
    site_chart chart = {.plot = plot, .input = &plot->inputs[0]};
    char subtitle[SL_WORDS_CAP];
    sl_plot_describe(subtitle, plot, chart.input);
    sl_box box = sl_plot_begin(plot, subtitle);
    size_t room = (size_t)fmax((box.h - KEY_HEIGHT) / ROW_MIN, 2) - 1;
    size_t least = plot->options->top ? plot->options->top : SL_PLOT_TOP;
    size_t most = plot->options->top ? least : room;
    if (!sl_site_bands_init_most(&chart.bands, chart.input->lines, chart.input->replay,
                                 SL_BANDS_BY_PEAK, least < room ? least : room,
                                 most < room ? most : room)) {
        sl_site_bands_fini(&chart.bands);
        return sl_fail_no_memory(err, "the sites of the picture");
    }
    read_bands(&chart);
    chart.max_bytes = fmax(chart.max_bytes, 1);
    chart.names_width = fmin(NAMES_WIDTH, NAMES_SHARE * box.w);
    chart.box = (sl_box){box.x + chart.names_width, box.y + KEY_HEIGHT,
                         fmax(box.w - chart.names_width - VALUES_WIDTH, 20), box.h - KEY_HEIGHT};
    draw_keys(&chart, box.y + 10);
    draw_rows(&chart, fmin(ROW_MAX, chart.box.h / (double)(chart.bands.cnt + 1)));
    sl_site_bands_fini(&chart.bands);
    return SL_OK;
}
