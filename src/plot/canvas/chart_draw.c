/* SPDX-License-Identifier: MIT */
/* Drawing: a panel's rectangle, the range of its data, and one function per kind of panel. */
#include <math.h>
#include <stdlib.h>

#include "export/formats/exporter.h"
#include "export/report/xml_out.h"
#include "plot/canvas/chart.h"
#include "plot/canvas/chart_pen.h"
#include "sl_config.h"

#define TITLE_SPACE   36
#define MARGIN_LEFT   70
#define MARGIN_RIGHT  20
#define MARGIN_TOP    34
#define MARGIN_BOTTOM 48
#define TICK_CNT      5

/* These colours can be told apart in print and by people who cannot distinguish red from green. */
static const uint32_t colors[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                  0xe69f00, 0x56b4e9, 0x000000, 0x999933};
#define COLOR(i)   (colors[(i) % SL_COUNT_OF(colors)])
#define INK        0x333333
#define GRID       0xdddddd
#define NOTE_COLOR 0xdc143c

typedef struct frame {
    sl_box box; /* the drawing area */
    double x_min, x_max, y_min, y_max;
} frame;

/* 0 at `low`, 1 at `high`. Computed with halves, because the difference of two doubles may
 * overflow to infinity. */
static double share_of(double value, double low, double high) {
    return (value / 2 - low / 2) / (high / 2 - low / 2);
}

static double place_x(const frame *f, double x) {
    return f->box.x + share_of(x, f->x_min, f->x_max) * f->box.w;
}

static double place_y(const frame *f, double y) {
    return f->box.y + f->box.h - share_of(y, f->y_min, f->y_max) * f->box.h;
}

static void widen(double value, double *low, double *high) {
    if (!isfinite(value))
        return;
    *low = value < *low ? value : *low;
    *high = value > *high ? value : *high;
}

/* Makes the range non-empty, so that nothing is divided by 0. */
static void settle(double *low, double *high) {
    if (!(*low <= *high))
        *low = 0, *high = 1;
    if (*low == *high)
        *high = *low + 1;
}

static double x_of(const sl_chart_series *s, size_t i) {
    return s->x ? s->x[i] : (double)i;
}

static void find_range(const sl_chart_panel *panel, frame *f) {
    f->x_min = f->y_min = INFINITY;
    f->x_max = f->y_max = -INFINITY;
    /* Sizes and times begin at 0: a cut axis makes noise look like growth. */
    widen(0, &f->y_min, &f->y_max);
    for (size_t i = 0; i < panel->series.cnt; i++) {
        const sl_chart_series *s = &panel->series.at[i];
        for (size_t j = 0; j < s->cnt; j++) {
            widen(x_of(s, j), &f->x_min, &f->x_max);
            widen(s->y[j], &f->y_min, &f->y_max);
        }
    }
    for (size_t i = 0; i < panel->notes.cnt; i++)
        widen(panel->notes.at[i].x, &f->x_min, &f->x_max);
    settle(&f->x_min, &f->x_max);
    settle(&f->y_min, &f->y_max);
}

/* ---- pieces ---- */

static void put_text(const sl_pen *pen, double x, double y, sl_text_align align, const char *text) {
    pen->ops->text(pen->to, (sl_point){x, y}, text, (sl_text_style){12, false, align, {INK, 1}});
}

static void put_number(const sl_pen *pen, double x, double y, sl_text_align align, double value) {
    char text[32];
    snprintf(text, sizeof text, "%.4g", value);
    put_text(pen, x, y, align, text);
}

static void put_segment(const sl_pen *pen, sl_point from, sl_point to, uint32_t rgb, double dash) {
    const sl_point points[] = {from, to};
    pen->ops->line(pen->to, points, 2, (sl_stroke){{rgb, 1}, 1, dash});
}

static void put_axes(const sl_chart_panel *panel, const frame *f, bool has_x, const sl_pen *pen) {
    double left = f->box.x, right = left + f->box.w, bottom = f->box.y + f->box.h;
    for (int i = 0; i <= TICK_CNT; i++) {
        double share = (double)i / TICK_CNT;
        double y = bottom - share * f->box.h;
        put_segment(pen, (sl_point){left, y}, (sl_point){right, y}, i ? GRID : INK, 0);
        put_number(pen, left - 6, y + 4, SL_ALIGN_RIGHT, f->y_min * (1 - share) + f->y_max * share);
        if (has_x)
            put_number(pen, left + share * f->box.w, bottom + 16, SL_ALIGN_CENTER,
                       f->x_min * (1 - share) + f->x_max * share);
    }
    put_segment(pen, (sl_point){left, f->box.y}, (sl_point){left, bottom}, INK, 0);
    put_text(pen, left + f->box.w / 2, bottom + 36, SL_ALIGN_CENTER, panel->x_label);
    put_text(pen, left - 6, f->box.y - 12, SL_ALIGN_RIGHT, panel->y_label);
}

static void put_legend(const sl_chart_panel *panel, const frame *f, const sl_pen *pen) {
    for (size_t i = 0; i < panel->series.cnt; i++) {
        double y = f->box.y + 14 + 15 * (double)i;
        pen->ops->rect(pen->to, (sl_box){f->box.x + 8, y - 9, 10, 10}, COLOR(i));
        put_text(pen, f->box.x + 22, y, SL_ALIGN_LEFT, panel->series.at[i].name);
    }
}

static void put_notes(const sl_chart_panel *panel, const frame *f, const sl_pen *pen) {
    for (size_t i = 0; i < panel->notes.cnt; i++) {
        const sl_chart_note *note = &panel->notes.at[i];
        double x = place_x(f, note->x);
        if (note->is_point) {
            double y = place_y(f, note->y);
            pen->ops->dot(pen->to, (sl_point){x, y}, 6, NOTE_COLOR);
            put_text(pen, x + 9, y - 7, SL_ALIGN_LEFT, note->text);
        } else {
            put_segment(pen, (sl_point){x, f->box.y}, (sl_point){x, f->box.y + f->box.h}, INK, 6);
            put_text(pen, x + 5, f->box.y + 12, SL_ALIGN_LEFT, note->text);
        }
    }
}

/* ---- kinds ---- */

/* False when memory ran out. */
static bool draw_series(const sl_chart_series *s, const frame *f, uint32_t rgb, const sl_pen *pen) {
    sl_point *points = calloc(s->cnt + 1, sizeof *points);
    size_t cnt = 0;
    if (!points)
        return false;
    for (size_t i = 0; i < s->cnt; i++)
        if (isfinite(s->y[i]) && isfinite(x_of(s, i)))
            points[cnt++] = (sl_point){place_x(f, x_of(s, i)), place_y(f, s->y[i])};
    pen->ops->line(pen->to, points, cnt, (sl_stroke){{rgb, 1}, 1.5, 0});
    free(points);
    return true;
}

static bool draw_lines(const sl_chart_panel *panel, const frame *f, const sl_pen *pen) {
    put_axes(panel, f, true, pen);
    for (size_t i = 0; i < panel->series.cnt; i++)
        if (!draw_series(&panel->series.at[i], f, COLOR(i), pen))
            return false;
    put_legend(panel, f, pen);
    put_notes(panel, f, pen);
    return true;
}

static bool draw_points(const sl_chart_panel *panel, const frame *f, const sl_pen *pen) {
    put_axes(panel, f, true, pen);
    for (size_t i = 0; i < panel->series.cnt; i++) {
        const sl_chart_series *s = &panel->series.at[i];
        for (size_t j = 0; j < s->cnt; j++)
            if (isfinite(s->y[j]) && isfinite(x_of(s, j)))
                pen->ops->dot(pen->to, (sl_point){place_x(f, x_of(s, j)), place_y(f, s->y[j])}, 3.5,
                              COLOR(i));
    }
    put_notes(panel, f, pen);
    return true;
}

static bool draw_bars(const sl_chart_panel *panel, const frame *f, const sl_pen *pen) {
    put_axes(panel, f, false, pen);
    const sl_chart_series *s = panel->series.cnt ? &panel->series.at[0] : NULL;
    double step = s && s->cnt ? f->box.w / (double)s->cnt : 0;
    for (size_t i = 0; s && i < s->cnt; i++) {
        double top = isfinite(s->y[i]) ? place_y(f, s->y[i]) : place_y(f, 0);
        double zero = place_y(f, 0), x = f->box.x + step * (double)i;
        pen->ops->rect(
            pen->to,
            (sl_box){x + step * 0.1, top < zero ? top : zero, step * 0.8, fabs(zero - top)},
            COLOR(0));
        if (i < panel->labels.cnt)
            put_text(pen, x + step / 2, f->box.y + f->box.h + 16, SL_ALIGN_CENTER,
                     panel->labels.at[i]);
    }
    return true;
}

/* From white at the column's lowest to blue at its highest value. */
static void put_cell(const sl_chart_series *s, size_t row, sl_box cell, const sl_pen *pen) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < s->cnt; i++)
        widen(s->y[i], &low, &high);
    settle(&low, &high);
    double share = isfinite(s->y[row]) ? share_of(s->y[row], low, high) : 0;
    uint32_t other = (uint32_t)(255 - 160 * share);
    pen->ops->rect(pen->to, (sl_box){cell.x, cell.y, cell.w - 1, cell.h - 1},
                   other << 16 | other << 8 | 0xff);
    put_number(pen, cell.x + cell.w / 2, cell.y + cell.h / 2 + 4, SL_ALIGN_CENTER, s->y[row]);
}

static bool draw_cells(const sl_chart_panel *panel, const frame *f, const sl_pen *pen) {
    size_t rows = panel->labels.cnt, columns = panel->series.cnt;
    sl_box cell = {0, 0, f->box.w / (double)(columns + 1), rows ? f->box.h / (double)rows : 0};
    for (size_t row = 0; row < rows; row++) {
        cell.y = f->box.y + cell.h * (double)row;
        put_text(pen, f->box.x, cell.y + cell.h / 2 + 4, SL_ALIGN_LEFT, panel->labels.at[row]);
        for (size_t column = 0; column < columns; column++) {
            cell.x = f->box.x + cell.w * (double)(column + 1);
            if (row < panel->series.at[column].cnt)
                put_cell(&panel->series.at[column], row, cell, pen);
        }
    }
    for (size_t column = 0; column < columns; column++)
        put_text(pen, f->box.x + cell.w * ((double)column + 1.5), f->box.y + f->box.h + 16,
                 SL_ALIGN_CENTER, panel->series.at[column].name);
    return true;
}

static bool (*const drawers[SL_CHART_KIND_CNT])(const sl_chart_panel *, const frame *,
                                                const sl_pen *) = {
    [SL_CHART_LINES] = draw_lines,
    [SL_CHART_POINTS] = draw_points,
    [SL_CHART_BARS] = draw_bars,
    [SL_CHART_CELLS] = draw_cells,
};

/* ---- the whole ---- */

static bool draw_panel(const sl_chart *chart, size_t idx, const sl_pen *pen) {
    const sl_chart_panel *panel = &chart->panels.at[idx];
    int rows = ((int)chart->panels.cnt + chart->columns - 1) / chart->columns;
    double width = (double)chart->width / chart->columns;
    double height = (double)(chart->height - TITLE_SPACE) / rows;
    frame f = {.box = {width * (double)((int)idx % chart->columns) + MARGIN_LEFT,
                       TITLE_SPACE + height * (double)((int)idx / chart->columns) + MARGIN_TOP,
                       width - MARGIN_LEFT - MARGIN_RIGHT, height - MARGIN_TOP - MARGIN_BOTTOM}};
    find_range(panel, &f);
    pen->ops->text(pen->to, (sl_point){f.box.x, f.box.y - 12}, panel->title,
                   (sl_text_style){12, true, SL_ALIGN_LEFT, {INK, 1}});
    return drawers[panel->kind](panel, &f, pen);
}

static sl_status draw(const sl_chart *chart, const sl_pen *pen, sl_error *err) {
    pen->ops->rect(pen->to, (sl_box){0, 0, chart->width, chart->height}, 0xffffff);
    pen->ops->text(pen->to, (sl_point){chart->width / 2.0, 24}, chart->title,
                   (sl_text_style){16, false, SL_ALIGN_CENTER, {INK, 1}});
    for (size_t i = 0; i < chart->panels.cnt; i++)
        if (!draw_panel(chart, i, pen))
            return sl_fail_no_memory(err, "a line");
    return SL_OK;
}

#if HAVE_CAIRO
static sl_status write_png(const sl_chart *chart, FILE *to, sl_error *err) {
    sl_canvas *canvas;
    SL_TRY(sl_canvas_open(&canvas, chart->width, chart->height, false, to, err));
    const sl_pen pen = {&sl_pen_canvas, canvas};
    sl_status status = draw(chart, &pen, err);
    sl_status closed = sl_canvas_close(canvas, status < 0 ? NULL : err);
    return status < 0 ? status : closed;
}
#else
static sl_status write_png(const sl_chart *chart, FILE *to, sl_error *err) {
    SL_UNUSED(chart);
    SL_UNUSED(to);
    return sl_fail(err, SL_E_UNSUPPORTED,
                   "this build lacks cairo, which draws .png; write .svg instead");
}
#endif

static sl_status write_svg(const sl_chart *chart, FILE *to, sl_error *err) {
    const sl_pen pen = {&sl_pen_svg, to};
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n",
            chart->width, chart->height, chart->width, chart->height);
    SL_TRY(draw(chart, &pen, err));
    fputs("</svg>\n", to);
    return sl_export_finish(to, err);
}

static sl_status write_page(const sl_chart *chart, FILE *to, sl_error *err) {
    fputs("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>", to);
    sl_xml_text(to, chart->title);
    fputs("</title></head>\n<body>\n", to);
    SL_TRY(write_svg(chart, to, err));
    fputs("</body></html>\n", to);
    return sl_export_finish(to, err);
}

sl_status sl_chart_write(const sl_chart *chart, sl_chart_form form, FILE *to, sl_error *err) {
    static sl_status (*const writers[SL_CHART_FORM_CNT])(const sl_chart *, FILE *, sl_error *) = {
        [SL_CHART_SVG] = write_svg,
        [SL_CHART_PAGE] = write_page,
        [SL_CHART_PNG] = write_png,
    };
    return writers[form](chart, to, err);
}
