/* SPDX-License-Identifier: MIT */
#include "export/chart_pen.h"

#include "export/xml_out.h"

void sl_pen_rect(const sl_pen *pen, sl_box box, uint32_t rgb) {
    if (pen->canvas)
        sl_canvas_rect(pen->canvas, box, (sl_paint){rgb, 1});
    else
        fprintf(pen->svg,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#%06x\"/>\n",
                box.x, box.y, box.w, box.h, (unsigned)rgb);
}

void sl_pen_dot(const sl_pen *pen, sl_point center, double radius, uint32_t rgb) {
    if (pen->canvas)
        sl_canvas_dot(pen->canvas, center, radius, (sl_paint){rgb, 1});
    else
        fprintf(pen->svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#%06x\"/>\n", center.x,
                center.y, radius, (unsigned)rgb);
}

void sl_pen_line(const sl_pen *pen, const sl_point *points, size_t cnt, sl_stroke stroke) {
    if (pen->canvas) {
        sl_canvas_line(pen->canvas, points, cnt, stroke);
        return;
    }
    fprintf(pen->svg, "<polyline fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.1f\"",
            (unsigned)stroke.paint.rgb, stroke.width);
    if (stroke.dash > 0)
        fprintf(pen->svg, " stroke-dasharray=\"%.1f\"", stroke.dash);
    fputs(" points=\"", pen->svg);
    for (size_t i = 0; i < cnt; i++)
        fprintf(pen->svg, "%.1f,%.1f ", points[i].x, points[i].y);
    fputs("\"/>\n", pen->svg);
}

void sl_pen_text(const sl_pen *pen, sl_point at, const char *text, sl_text_style style) {
    static const char *const anchors[] = {"start", "middle", "end"};
    if (pen->canvas) {
        sl_canvas_text(pen->canvas, at, text, style);
        return;
    }
    fprintf(pen->svg,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%.0f\"%s "
            "fill=\"#%06x\">",
            at.x, at.y, anchors[style.align], style.size,
            style.is_bold ? " font-weight=\"bold\"" : "", (unsigned)style.paint.rgb);
    sl_xml_text(pen->svg, text);
    fputs("</text>\n", pen->svg);
}
