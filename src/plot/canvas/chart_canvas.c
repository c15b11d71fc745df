/* SPDX-License-Identifier: MIT */
/* The pen that draws a chart on a canvas, as pixels. */
#include "plot/canvas/chart_pen.h"

static void canvas_rect(void *to, sl_box box, uint32_t rgb) {
    sl_canvas_rect(to, box, (sl_paint){rgb, 1});
}

static void canvas_dot(void *to, sl_point center, double radius, uint32_t rgb) {
    sl_canvas_dot(to, center, radius, (sl_paint){rgb, 1});
}

static void canvas_line(void *to, const sl_point *points, size_t cnt, sl_stroke stroke) {
    sl_canvas_line(to, points, cnt, stroke);
}

static void canvas_text(void *to, sl_point at, const char *text, sl_text_style style) {
    sl_canvas_text(to, at, text, style);
}

const sl_pen_ops sl_pen_canvas = {canvas_rect, canvas_dot, canvas_line, canvas_text};
