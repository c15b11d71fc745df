/* SPDX-License-Identifier: MIT */
/* What a chart is drawn with: SVG text, which needs no library, or a canvas, for pixels. */
#ifndef SL_CHART_PEN_H
#define SL_CHART_PEN_H

#include "plot/canvas/plot_canvas.h"

/* The four drawing operations; `to` is that of the pen. */
typedef struct sl_pen_ops {
    void (*rect)(void *to, sl_box box, uint32_t rgb);
    void (*dot)(void *to, sl_point center, double radius, uint32_t rgb);
    void (*line)(void *to, const sl_point *points, size_t cnt, sl_stroke stroke);
    void (*text)(void *to, sl_point at, const char *text, sl_text_style style);
} sl_pen_ops;

typedef struct sl_pen {
    const sl_pen_ops *ops;
    void *to; /* borrowed: the stream or the canvas */
} sl_pen;

extern const sl_pen_ops sl_pen_svg;    /* on a FILE */
extern const sl_pen_ops sl_pen_canvas; /* on an sl_canvas; only in builds with cairo */

#endif
