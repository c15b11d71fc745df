/* SPDX-License-Identifier: MIT */
#include "plot/canvas/plot_canvas.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/term.h"

/* Part of every Debian, and installed by tools/setup.sh; without it fontconfig takes the nearest
 * font. */
#define FONT "DejaVu Sans"

#define TEXT_CAP 1024

struct sl_canvas {
    cairo_surface_t *surface; /* owned */
    cairo_t *cairo;           /* owned */
    FILE *to;                 /* borrowed */
    bool is_svg;
};

static cairo_status_t write_bytes(void *closure, const unsigned char *bytes, unsigned int cnt) {
    FILE *to = closure;
    return fwrite(bytes, 1, cnt, to) == cnt ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static void free_canvas(sl_canvas *canvas) {
    cairo_destroy(canvas->cairo);
    cairo_surface_destroy(canvas->surface);
    free(canvas);
}

static sl_status fail_by(cairo_status_t status, sl_error *err) {
    if (status == CAIRO_STATUS_WRITE_ERROR)
        return sl_fail_errno(err, SL_E_WRITE, "cannot write the picture");
    if (status == CAIRO_STATUS_NO_MEMORY)
        return sl_fail_no_memory(err, "the picture");
    return sl_fail(err, SL_E_INTERNAL, "cairo: %s", cairo_status_to_string(status));
}

sl_status sl_canvas_open(sl_canvas **out, double width, double height, bool is_svg, FILE *to,
                         sl_error *err) {
    sl_canvas *canvas = calloc(1, sizeof *canvas);
    if (!canvas)
        return sl_fail_no_memory(err, "the picture");
    canvas->to = to;
    canvas->is_svg = is_svg;
    canvas->surface = is_svg
                          ? cairo_svg_surface_create_for_stream(write_bytes, to, width, height)
                          : cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    canvas->cairo = cairo_create(canvas->surface);
    cairo_status_t status = cairo_status(canvas->cairo);
    if (status != CAIRO_STATUS_SUCCESS) {
        free_canvas(canvas);
        return fail_by(status, err);
    }
    *out = canvas;
    return SL_OK;
}

sl_status sl_canvas_close(sl_canvas *canvas, sl_error *err) {
    cairo_status_t status = cairo_status(canvas->cairo);
    if (status == CAIRO_STATUS_SUCCESS && !canvas->is_svg)
        status = cairo_surface_write_to_png_stream(canvas->surface, write_bytes, canvas->to);
    cairo_surface_finish(canvas->surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(canvas->surface);
    FILE *to = canvas->to;
    free_canvas(canvas);
    if (status != CAIRO_STATUS_SUCCESS)
        return fail_by(status, err);
    if (fflush(to) != 0 || ferror(to))
        return sl_fail_errno(err, SL_E_WRITE, "cannot write the picture");
    return SL_OK;
}

static void set_paint(sl_canvas *canvas, sl_paint paint) {
    cairo_set_source_rgba(canvas->cairo, (paint.rgb >> 16 & 255) / 255.0,
                          (paint.rgb >> 8 & 255) / 255.0, (paint.rgb & 255) / 255.0, paint.alpha);
}

void sl_canvas_rect(sl_canvas *canvas, sl_box box, sl_paint paint) {
    set_paint(canvas, paint);
    cairo_rectangle(canvas->cairo, box.x, box.y, box.w, box.h);
    cairo_fill(canvas->cairo);
}

void sl_canvas_dot(sl_canvas *canvas, sl_point center, double radius, sl_paint paint) {
    set_paint(canvas, paint);
    cairo_arc(canvas->cairo, center.x, center.y, radius, 0, 2 * M_PI);
    cairo_fill(canvas->cairo);
}

static void trace_path(sl_canvas *canvas, const sl_point *points, size_t cnt) {
    cairo_new_path(canvas->cairo);
    for (size_t i = 0; i < cnt; i++)
        cairo_line_to(canvas->cairo, points[i].x, points[i].y);
}

void sl_canvas_area(sl_canvas *canvas, const sl_point *points, size_t cnt, sl_paint paint) {
    set_paint(canvas, paint);
    trace_path(canvas, points, cnt);
    cairo_close_path(canvas->cairo);
    cairo_fill(canvas->cairo);
}

void sl_canvas_line(sl_canvas *canvas, const sl_point *points, size_t cnt, sl_stroke stroke) {
    set_paint(canvas, stroke.paint);
    trace_path(canvas, points, cnt);
    cairo_set_line_width(canvas->cairo, stroke.width);
    cairo_set_line_join(canvas->cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_set_dash(canvas->cairo, &stroke.dash, stroke.dash > 0 ? 1 : 0, 0);
    cairo_stroke(canvas->cairo);
}

void sl_canvas_segment(sl_canvas *canvas, sl_point from, sl_point to, sl_stroke stroke) {
    const sl_point points[] = {from, to};
    sl_canvas_line(canvas, points, 2, stroke);
}

void sl_canvas_clip(sl_canvas *canvas, sl_box box) {
    cairo_save(canvas->cairo);
    cairo_rectangle(canvas->cairo, box.x, box.y, box.w, box.h);
    cairo_clip(canvas->cairo);
}

void sl_canvas_end_clip(sl_canvas *canvas) {
    cairo_restore(canvas->cairo);
}

static void set_font(sl_canvas *canvas, sl_text_style style) {
    cairo_select_font_face(canvas->cairo, FONT, CAIRO_FONT_SLANT_NORMAL,
                           style.is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(canvas->cairo, style.size);
}

/* cairo refuses to draw anything more after bytes that are not UTF-8. */
static void copy_clean(char out[TEXT_CAP], const char *text, size_t len) {
    snprintf(out, TEXT_CAP, "%.*s", (int)(len < TEXT_CAP ? len : TEXT_CAP - 1), text);
    sl_term_clean(out);
}

static double width_of(sl_canvas *canvas, const char *text, size_t len, sl_text_style style) {
    char clean[TEXT_CAP];
    cairo_text_extents_t extents;
    copy_clean(clean, text, len);
    set_font(canvas, style);
    cairo_text_extents(canvas->cairo, clean, &extents);
    return extents.x_advance;
}

double sl_canvas_text_width(sl_canvas *canvas, const char *text, sl_text_style style) {
    return width_of(canvas, text, strlen(text), style);
}

void sl_canvas_text(sl_canvas *canvas, sl_point at, const char *text, sl_text_style style) {
    static const double shares[] = {
        [SL_ALIGN_LEFT] = 0, [SL_ALIGN_CENTER] = 0.5, [SL_ALIGN_RIGHT] = 1};
    char clean[TEXT_CAP];
    copy_clean(clean, text, strlen(text));
    double shift = shares[style.align] * sl_canvas_text_width(canvas, clean, style);
    set_font(canvas, style);
    set_paint(canvas, style.paint);
    cairo_move_to(canvas->cairo, at.x - shift, at.y);
    cairo_show_text(canvas->cairo, clean);
}

/* The last character boundary at or before `len`. */
static size_t whole_characters(const char *text, size_t len) {
    while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
        len--;
    return len;
}

void sl_canvas_text_fit(sl_canvas *canvas, sl_point at, const char *text, double width,
                        sl_text_style style) {
    static const char ellipsis[] = "\xE2\x80\xA6";
    char cut[TEXT_CAP];
    size_t len = strlen(text);
    if (sl_canvas_text_width(canvas, text, style) <= width) {
        sl_canvas_text(canvas, at, text, style);
        return;
    }
    double room = width - sl_canvas_text_width(canvas, ellipsis, style);
    size_t low = 0, high = len < TEXT_CAP - 8 ? len : TEXT_CAP - 8;
    while (low < high) {
        size_t middle = (low + high + 1) / 2;
        if (width_of(canvas, text, whole_characters(text, middle), style) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    low = whole_characters(text, low);
    if (low == 0)
        return;
    snprintf(cut, sizeof cut, "%.*s%s", (int)low, text, ellipsis);
    sl_canvas_text(canvas, at, cut, style);
}

size_t sl_canvas_break(sl_canvas *canvas, const char *text, double width, sl_text_style style) {
    size_t fitting = strcspn(text, " ");
    for (size_t end = fitting; text[end]; end++) {
        end += strcspn(text + end + 1, " ") + 1;
        if (width_of(canvas, text, end, style) > width)
            break;
        fitting = end;
        if (!text[end])
            break;
        end--;
    }
    return fitting;
}
