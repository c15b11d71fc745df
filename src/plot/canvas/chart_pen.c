/* SPDX-License-Identifier: MIT */
#include "plot/canvas/chart_pen.h"

#include <stdio.h>

#include "export/report/xml_out.h"

static void svg_rect(void *to, sl_box box, uint32_t rgb) {
    fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#%06x\"/>\n",
            box.x, box.y, box.w, box.h, (unsigned)rgb);
}

static void svg_dot(void *to, sl_point center, double radius, uint32_t rgb) {
    fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#%06x\"/>\n", center.x, center.y,
            radius, (unsigned)rgb);
}

static void svg_line(void *to, const sl_point *points, size_t cnt, sl_stroke stroke) {
    fprintf(to, "<polyline fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.1f\"",
            (unsigned)stroke.paint.rgb, stroke.width);
    if (stroke.dash > 0)
        fprintf(to, " stroke-dasharray=\"%.1f\"", stroke.dash);
    fputs(" points=\"", to);
    for (size_t i = 0; i < cnt; i++)
        fprintf(to, "%.1f,%.1f ", points[i].x, points[i].y);
    fputs("\"/>\n", to);
}

static void svg_text(void *to, sl_point at, const char *text, sl_text_style style) {
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(to,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%.0f\"%s fill=\"#%06x\">",
            at.x, at.y, anchors[style.align], style.size,
            style.is_bold ? " font-weight=\"bold\"" : "", (unsigned)style.paint.rgb);
    sl_xml_text(to, text);
    fputs("</text>\n", to);
}

const sl_pen_ops sl_pen_svg = {svg_rect, svg_dot, svg_line, svg_text};
