/* SPDX-License-Identifier: MIT */
/* A picture that is being drawn: shapes and text in pixels, the origin at the top left. The only
 * module that uses cairo. The first failure is kept and reported when the canvas is closed. One
 * thread. */
#ifndef SL_PLOT_CANVAS_H
#define SL_PLOT_CANVAS_H

#include <stdio.h>

#include "base/core/status.h"

typedef struct sl_canvas sl_canvas;

typedef struct sl_point {
    double x, y;
} sl_point;

typedef struct sl_box {
    double x, y, w, h;
} sl_box;

typedef struct sl_paint {
    uint32_t rgb;
    double alpha;
} sl_paint;

typedef enum sl_text_align { SL_ALIGN_LEFT, SL_ALIGN_CENTER, SL_ALIGN_RIGHT } sl_text_align;

typedef struct sl_text_style {
    double size;
    bool is_bold;
    sl_text_align align;
    sl_paint paint;
} sl_text_style;

typedef struct sl_stroke {
    sl_paint paint;
    double width;
    double dash; /* length of a dash and of the gap after it; 0 = solid */
} sl_stroke;

/* Begins an SVG (or else a PNG) of these dimensions. The stream must outlive the canvas. */
sl_status sl_canvas_open(sl_canvas **out, double width, double height, bool is_svg, FILE *to,
                         sl_error *err);
/* Writes what is not written yet. Frees the canvas even when it fails. */
sl_status sl_canvas_close(sl_canvas *canvas, sl_error *err);

void sl_canvas_rect(sl_canvas *canvas, sl_box box, sl_paint paint);
void sl_canvas_dot(sl_canvas *canvas, sl_point center, double radius, sl_paint paint);
void sl_canvas_area(sl_canvas *canvas, const sl_point *points, size_t cnt, sl_paint paint);
void sl_canvas_line(sl_canvas *canvas, const sl_point *points, size_t cnt, sl_stroke stroke);
void sl_canvas_segment(sl_canvas *canvas, sl_point from, sl_point to, sl_stroke stroke);

/* Until the clip ends, only what is inside the box is drawn. */
void sl_canvas_clip(sl_canvas *canvas, sl_box box);
void sl_canvas_end_clip(sl_canvas *canvas);

/* One line of text with its baseline at `at`. What is not printable UTF-8 is shown as '?'. */
void sl_canvas_text(sl_canvas *canvas, sl_point at, const char *text, sl_text_style style);
double sl_canvas_text_width(sl_canvas *canvas, const char *text, sl_text_style style);

/* The same, cut at the end with an ellipsis where it is wider than `width`. */
void sl_canvas_text_fit(sl_canvas *canvas, sl_point at, const char *text, double width,
                        sl_text_style style);

/* Bytes of the first line when the text is broken between words at this width; at least one
 * word. */
size_t sl_canvas_break(sl_canvas *canvas, const char *text, double width, sl_text_style style);

#endif
