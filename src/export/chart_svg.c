/* SPDX-License-Identifier: MIT */
/* Drawing: a panel's rectangle, the range of its data, and one function a kind of panel. */
#include <math.h>
#include <string.h>

#include "export/chart.h"
#include "export/exporter.h"
#include "export/xml_out.h"

#define TITLE_SPACE   36
#define MARGIN_LEFT   70
#define MARGIN_RIGHT  20
#define MARGIN_TOP    30
#define MARGIN_BOTTOM 48
#define TICK_CNT      5

/* Told apart by people who do not see red and green, and in print. */
static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#000000", "#999933"};
#define COLOR(i)   (colors[(i) % SL_COUNT_OF(colors)])
#define NOTE_COLOR "#dc143c"

typedef struct frame {
    double left, top, width, height; /* of the drawing area */
    double x_min, x_max, y_min, y_max;
} frame;

static double place_x(const frame *f, double x) {
    return f->left + (x - f->x_min) / (f->x_max - f->x_min) * f->width;
}

static double place_y(const frame *f, double y) {
    return f->top + f->height - (y - f->y_min) / (f->y_max - f->y_min) * f->height;
}

static void widen(double value, double *low, double *high) {
    if (!isfinite(value))
        return;
    *low = value < *low ? value : *low;
    *high = value > *high ? value : *high;
}

/* A range that is not empty, so that nothing is divided by 0. */
static void settle(double *low, double *high) {
    if (!(*low <= *high))
        *low = 0, *high = 1;
    if (*low == *high)
        *high = *low + 1;
}

static void find_range(const sl_chart_panel *panel, frame *f) {
    f->x_min = f->y_min = INFINITY;
    f->x_max = f->y_max = -INFINITY;
    /* Sizes and times begin at 0: a cut axis makes noise look like growth. */
    widen(0, &f->y_min, &f->y_max);
    for (size_t i = 0; i < panel->series.cnt; i++) {
        const sl_chart_series *s = &panel->series.at[i];
        for (size_t j = 0; j < s->cnt; j++) {
            widen(s->x ? s->x[j] : (double)j, &f->x_min, &f->x_max);
            widen(s->y[j], &f->y_min, &f->y_max);
        }
    }
    for (size_t i = 0; i < panel->notes.cnt; i++)
        widen(panel->notes.at[i].x, &f->x_min, &f->x_max);
    settle(&f->x_min, &f->x_max);
    settle(&f->y_min, &f->y_max);
}

/* ---- pieces ---- */

static void put_text(FILE *to, double x, double y, const char *style, const char *text) {
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
    sl_xml_text(to, text);
    fputs("</text>\n", to);
}

static void put_line(FILE *to, double x1, double y1, double x2, double y2, const char *style) {
    fprintf(to, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2,
            style);
}

static void put_number(FILE *to, double x, double y, const char *style, double value) {
    char text[32];
    snprintf(text, sizeof text, "%.4g", value);
    put_text(to, x, y, style, text);
}

static void put_axes(const sl_chart_panel *panel, const frame *f, bool has_x, FILE *to) {
    double bottom = f->top + f->height;
    for (int i = 0; i <= TICK_CNT; i++) {
        double share = (double)i / TICK_CNT;
        double y = bottom - share * f->height;
        put_line(to, f->left, y, f->left + f->width, y, "stroke=\"#ddd\"");
        put_number(to, f->left - 6, y + 4, "text-anchor=\"end\"",
                   f->y_min + share * (f->y_max - f->y_min));
        if (has_x)
            put_number(to, f->left + share * f->width, bottom + 16, "text-anchor=\"middle\"",
                       f->x_min + share * (f->x_max - f->x_min));
    }
    put_line(to, f->left, bottom, f->left + f->width, bottom, "stroke=\"#333\"");
    put_line(to, f->left, f->top, f->left, bottom, "stroke=\"#333\"");
    put_text(to, f->left + f->width / 2, bottom + 36, "text-anchor=\"middle\"", panel->x_label);
    fprintf(to, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", f->left - 54,
            f->top + f->height / 2);
    put_text(to, 0, 0, "text-anchor=\"middle\"", panel->y_label);
    fputs("</g>\n", to);
}

static void put_legend(const sl_chart_panel *panel, const frame *f, FILE *to) {
    for (size_t i = 0; i < panel->series.cnt; i++) {
        double y = f->top + 14 + 15 * (double)i;
        fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n",
                f->left + 8, y - 9, COLOR(i));
        put_text(to, f->left + 22, y, "", panel->series.at[i].name);
    }
}

static void put_notes(const sl_chart_panel *panel, const frame *f, FILE *to) {
    for (size_t i = 0; i < panel->notes.cnt; i++) {
        const sl_chart_note *note = &panel->notes.at[i];
        double x = place_x(f, note->x);
        if (note->is_point) {
            double y = place_y(f, note->y);
            fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"" NOTE_COLOR "\"/>\n", x,
                    y);
            put_text(to, x + 9, y - 7, "fill=\"" NOTE_COLOR "\"", note->text);
        } else {
            put_line(to, x, f->top, x, f->top + f->height,
                     "stroke=\"#333\" stroke-dasharray=\"6 4\"");
            put_text(to, x + 5, f->top + 12, "", note->text);
        }
    }
}

/* ---- kinds ---- */

static void draw_lines(const sl_chart_panel *panel, const frame *f, FILE *to) {
    put_axes(panel, f, true, to);
    for (size_t i = 0; i < panel->series.cnt; i++) {
        const sl_chart_series *s = &panel->series.at[i];
        fprintf(to, "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"%s\" points=\"",
                COLOR(i));
        for (size_t j = 0; j < s->cnt; j++)
            if (isfinite(s->y[j]))
                fprintf(to, "%.1f,%.1f ", place_x(f, s->x ? s->x[j] : (double)j),
                        place_y(f, s->y[j]));
        fputs("\"/>\n", to);
    }
    put_legend(panel, f, to);
    put_notes(panel, f, to);
}

static void draw_points(const sl_chart_panel *panel, const frame *f, FILE *to) {
    put_axes(panel, f, true, to);
    for (size_t i = 0; i < panel->series.cnt; i++) {
        const sl_chart_series *s = &panel->series.at[i];
        for (size_t j = 0; j < s->cnt; j++)
            if (isfinite(s->y[j]))
                fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n",
                        place_x(f, s->x ? s->x[j] : (double)j), place_y(f, s->y[j]), COLOR(i));
    }
    put_notes(panel, f, to);
}

static void draw_bars(const sl_chart_panel *panel, const frame *f, FILE *to) {
    put_axes(panel, f, false, to);
    if (!panel->series.cnt)
        return;
    const sl_chart_series *s = &panel->series.at[0];
    double step = s->cnt ? f->width / (double)s->cnt : 0;
    for (size_t i = 0; i < s->cnt; i++) {
        double top = place_y(f, s->y[i]), zero = place_y(f, 0);
        double x = f->left + step * (double)i;
        fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                x + step * 0.1, top < zero ? top : zero, step * 0.8, fabs(zero - top), COLOR(0));
        if (i < panel->labels.cnt)
            put_text(to, x + step / 2, f->top + f->height + 16, "text-anchor=\"middle\"",
                     panel->labels.at[i]);
    }
}

/* From white at the column's lowest to blue at its highest value. */
static void put_cell(const sl_chart_series *s, size_t row, const frame *cell, FILE *to) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < s->cnt; i++)
        widen(s->y[i], &low, &high);
    settle(&low, &high);
    double share = (s->y[row] - low) / (high - low);
    int other = (int)(255 - 160 * share);
    fprintf(to,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "fill=\"rgb(%d,%d,255)\" stroke=\"#fff\"/>\n",
            cell->left, cell->top, cell->width, cell->height, other, other);
    put_number(to, cell->left + cell->width / 2, cell->top + cell->height / 2 + 4,
               "text-anchor=\"middle\"", s->y[row]);
}

static void draw_cells(const sl_chart_panel *panel, const frame *f, FILE *to) {
    size_t rows = panel->labels.cnt, columns = panel->series.cnt;
    if (!rows || !columns)
        return;
    frame cell = {.width = f->width / (double)(columns + 1), .height = f->height / (double)rows};
    for (size_t row = 0; row < rows; row++) {
        cell.top = f->top + cell.height * (double)row;
        put_text(to, f->left, cell.top + cell.height / 2 + 4, "", panel->labels.at[row]);
        for (size_t column = 0; column < columns; column++) {
            cell.left = f->left + cell.width * (double)(column + 1);
            if (row < panel->series.at[column].cnt)
                put_cell(&panel->series.at[column], row, &cell, to);
        }
    }
    for (size_t column = 0; column < columns; column++)
        put_text(to, f->left + cell.width * ((double)column + 1.5), f->top + f->height + 16,
                 "text-anchor=\"middle\"", panel->series.at[column].name);
}

static void (*const drawers[SL_CHART_KIND_CNT])(const sl_chart_panel *, const frame *, FILE *) = {
    [SL_CHART_LINES] = draw_lines,
    [SL_CHART_POINTS] = draw_points,
    [SL_CHART_BARS] = draw_bars,
    [SL_CHART_CELLS] = draw_cells,
};

/* ---- the whole ---- */

static void draw_panel(const sl_chart *chart, size_t idx, FILE *to) {
    const sl_chart_panel *panel = &chart->panels.at[idx];
    int rows = ((int)chart->panels.cnt + chart->columns - 1) / chart->columns;
    double width = (double)chart->width / chart->columns;
    double height = (double)(chart->height - TITLE_SPACE) / rows;
    frame f = {.left = width * (double)((int)idx % chart->columns) + MARGIN_LEFT,
               .top = TITLE_SPACE + height * (double)((int)idx / chart->columns) + MARGIN_TOP,
               .width = width - MARGIN_LEFT - MARGIN_RIGHT,
               .height = height - MARGIN_TOP - MARGIN_BOTTOM};
    find_range(panel, &f);
    put_text(to, f.left, f.top - 10, "font-weight=\"bold\"", panel->title);
    drawers[panel->kind](panel, &f, to);
}

sl_status sl_chart_write(const sl_chart *chart, bool is_page, FILE *to, sl_error *err) {
    if (is_page) {
        fputs("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>", to);
        sl_xml_text(to, chart->title);
        fputs("</title></head>\n<body>\n", to);
    }
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            chart->width, chart->height, chart->width, chart->height);
    put_text(to, chart->width / 2.0, 24, "text-anchor=\"middle\" font-size=\"16\"", chart->title);
    for (size_t i = 0; i < chart->panels.cnt; i++)
        draw_panel(chart, i, to);
    fputs("</svg>\n", to);
    if (is_page)
        fputs("</body></html>\n", to);
    return sl_export_finish(to, err);
}
