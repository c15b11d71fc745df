/* SPDX-License-Identifier: MIT */
/* What a chart is drawn with: SVG text, which needs no library, or a canvas, for pixels. */
#ifndef SL_CHART_PEN_H
#define SL_CHART_PEN_H

#include <stdio.h>

#include "export/plot_canvas.h"

typedef struct sl_pen {
    FILE *svg;         /* borrowed; used when there is no canvas */
    sl_canvas *canvas; /* borrowed; NULL = SVG */
} sl_pen;

void sl_pen_rect(const sl_pen *pen, sl_box box, uint32_t rgb);
void sl_pen_dot(const sl_pen *pen, sl_point center, double radius, uint32_t rgb);
void sl_pen_line(const sl_pen *pen, const sl_point *points, size_t cnt, sl_stroke stroke);

/* Alignment, boldness, size and colour are taken from the style. */
void sl_pen_text(const sl_pen *pen, sl_point at, const char *text, sl_text_style style);

#endif
