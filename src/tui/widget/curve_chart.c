/* SPDX-License-Identifier: MIT */
#include "tui/widget/curve_chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/term.h"
#include "tui/grid/cell_text.h"

#define BRAILLE   0x2800u
/* Rows of cells between two ticks of the axis of bytes, at least. */
#define TICK_ROWS 3
/* A chart smaller than this has no axes; a still smaller one is not drawn. */
#define AXIS_W    24
#define AXIS_H    5

typedef struct plot_area {
    sl_grid *grid;
    sl_rect cells;
    int dots_w, dots_h; /* in a cell */
    double top;
} plot_area;

uint32_t sl_series_glyph(const sl_grid *grid, size_t i) {
    static const char ascii[] = "#=+-:o%.";
    static const uint32_t shades[] = {0x2588, 0x2592, 0x2591, 0x2593, '+', '=', ':', '.'};
    size_t at = i < SL_SERIES_CNT ? i : SL_SERIES_CNT - 1;
    if (grid->is_ascii)
        return (uint32_t)ascii[at];
    return grid->is_mono ? shades[at] : 0x2588;
}

static double highest(const sl_curve *curves, size_t curve_cnt, size_t cnt, bool is_stacked) {
    double top = 0;
    for (size_t i = 0; i < cnt; i++) {
        double sum = 0;
        for (size_t c = 0; c < curve_cnt; c++) {
            double value = curves[c].values[i];
            if (isnan(value))
                continue;
            sum = is_stacked ? sum + value : fmax(sum, value);
        }
        top = fmax(top, sum);
    }
    return top;
}

/* ---- axes ---- */

/* The row of a value from the bottom: of an area the cell that it ends in, of a line the nearest one. */
static int value_row(double value, double top, int rows, bool is_area) {
    int row = is_area ? (int)(value / top * rows) : (int)lround(value / top * (rows - 1));
    return row < rows ? row : rows - 1;
}

static void put_byte_axis(sl_grid *grid, sl_rect axis, double top, bool is_area) {
    char text[32];
    double step = sl_human_tick_step(top, axis.h / TICK_ROWS > 2 ? axis.h / TICK_ROWS : 2);
    int last_y = axis.y + axis.h;
    for (double value = 0; value <= top * 1.0001; value += step) {
        int y = axis.y + axis.h - 1 - value_row(value, top, axis.h, is_area);
        if (y >= last_y || y < axis.y)
            continue;
        sl_put_right(grid, (sl_rect){axis.x, y, axis.w, 1}, SL_INK_DIM,
                     value > 0 ? sl_human_tick(text, value) : "0");
        last_y = y;
    }
}

static void time_text(char buf[SL_HUMAN_CAP], const sl_chart_frame *frame, int64_t us) {
    if (us == 0)
        snprintf(buf, SL_HUMAN_CAP, "0");
    else if (frame->has_time)
        sl_human_duration_us(buf, us);
    else
        sl_human_count(buf, (uint64_t)us);
}

static void put_time_axis(sl_grid *grid, sl_rect axis, const sl_chart_frame *frame) {
    char from[SL_HUMAN_CAP], to[SL_HUMAN_CAP], middle[SL_HUMAN_CAP];
    time_text(from, frame, frame->from_us);
    time_text(to, frame, frame->to_us);
    time_text(middle, frame,
              frame->middle_us ? frame->middle_us
                               : frame->from_us + (frame->to_us - frame->from_us) / 2);
    int left = (int)strlen(from), right = (int)strlen(to), mid = (int)strlen(middle);
    if (left + right + 2 > axis.w) {
        sl_put_whole(grid, axis, SL_INK_DIM, to);
        return;
    }
    sl_put_text(grid, axis, SL_INK_DIM, from);
    sl_put_right(grid, axis, SL_INK_DIM, to);
    if (left + right + mid + 12 < axis.w)
        sl_put_text(grid, (sl_rect){axis.x + (axis.w - mid) / 2, axis.y, mid, 1}, SL_INK_DIM,
                    middle);
}

/* Whole entries only: half a name says nothing. */
static void put_legend(sl_grid *grid, sl_rect row, const sl_curve *curves, size_t cnt,
                       bool is_area) {
    for (size_t i = 0; i < cnt; i++) {
        int width = (int)sl_term_width(curves[i].name, strlen(curves[i].name));
        if (width + 2 > row.w)
            break;
        uint32_t glyph = is_area          ? sl_series_glyph(grid, i)
                         : grid->is_ascii ? (uint32_t) "*+o"[i % 3]
                                          : 0x25cf;
        sl_grid_put(grid, row.x, row.y, glyph, curves[i].ink);
        sl_put_text(grid, (sl_rect){row.x + 2, row.y, width, 1}, SL_INK_TEXT, curves[i].name);
        row.x += width + 4, row.w -= width + 4;
    }
}

/* Takes the axes off the area and draws them. */
static plot_area put_axes(sl_grid *grid, sl_rect area, const sl_chart_frame *frame, double top,
                          bool is_area) {
    char text[32];
    plot_area plot = {.grid = grid, .top = top > 0 ? top : 1};
    bool has_dots = !grid->is_ascii && !is_area;
    plot.dots_w = has_dots ? 2 : 1;
    plot.dots_h = has_dots ? 4 : 1;
    if (area.w >= AXIS_W && area.h >= AXIS_H) {
        sl_rect bottom = sl_rect_take_bottom(&area, 1);
        int width = (int)strlen(sl_human_tick(text, plot.top));
        sl_rect left = sl_rect_take_left(&area, width > 8 ? width : 8);
        sl_rect_take_left(&area, 1);
        bottom.w -= area.x - bottom.x, bottom.x = area.x;
        put_byte_axis(grid, left, plot.top, is_area);
        if (!frame->has_no_time_axis)
            put_time_axis(grid, bottom, frame);
    }
    plot.cells = area;
    return plot;
}

/* ---- dots ---- */

static int dot_row(const plot_area *plot, double value) {
    int rows = plot->cells.h * plot->dots_h;
    int row = rows - 1 - (int)lround(value / plot->top * (rows - 1));
    return row < 0 ? 0 : row >= rows ? rows - 1 : row;
}

/* The highest value of what falls on a column of dots; NAN when nothing is known. */
static double column_value(const double *values, size_t cnt, int column, int columns) {
    size_t from = (size_t)column * cnt / (size_t)columns;
    size_t to = ((size_t)column + 1) * cnt / (size_t)columns;
    double most = NAN;
    for (size_t i = from; i < (to > from ? to : from + 1) && i < cnt; i++)
        if (isnan(most) || values[i] > most)
            most = values[i];
    return most;
}

static void add_dot(const plot_area *plot, int x, int y, sl_ink ink, size_t series) {
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int cell_x = plot->cells.x + x / plot->dots_w, cell_y = plot->cells.y + y / plot->dots_h;
    if (cell_x < 0 || cell_y < 0 || cell_x >= plot->grid->w || cell_y >= plot->grid->h)
        return;
    sl_cell *cell = sl_grid_at(plot->grid, cell_x, cell_y);
    uint32_t before = cell->is_set ? cell->code : 0;
    bool is_ours = before >= BRAILLE && before < BRAILLE + 256;
    bool is_mark = plot->dots_w == 1 && before && strchr("*+o", (int)before);
    plot->grid->overlap_cnt += before && !is_ours && !is_mark; /* (C1) */
    uint32_t code = plot->dots_w == 2 ? (is_ours ? before : BRAILLE) | bits[y % 4][x % 2]
                                      : (uint32_t) "*+o"[series % 3];
    *cell =
        (sl_cell){.code = code, .ink = (uint8_t)ink, .back = cell->back, .width = 1, .is_set = 1};
}

static void put_levels(const plot_area *plot, const sl_chart_frame *frame) {
    for (size_t i = 0; i < frame->level_cnt; i++) {
        double value = frame->levels[i].value;
        if (!(value > 0) || value > plot->top)
            continue;
        int y = plot->cells.y + dot_row(plot, value) / plot->dots_h;
        for (int x = 0; x < plot->cells.w; x++) {
            sl_cell *cell = sl_grid_at(plot->grid, plot->cells.x + x, y);
            if (!cell->is_set && x % 2 == 0)
                sl_grid_put(plot->grid, plot->cells.x + x, y, plot->grid->is_ascii ? '-' : 0x2504,
                            frame->levels[i].ink);
        }
    }
}

static void put_cursor(const plot_area *plot, const sl_chart_frame *frame, size_t cnt) {
    if (frame->cursor < 0 || cnt == 0)
        return;
    int x = plot->cells.x + (int)((size_t)frame->cursor * (size_t)plot->cells.w / cnt);
    for (int y = plot->cells.y; y < plot->cells.y + plot->cells.h; y++) {
        sl_cell *cell = sl_grid_at(plot->grid, x, y);
        if (!cell->is_set)
            sl_grid_put(plot->grid, x, y, plot->grid->is_ascii ? '|' : 0x2502, SL_INK_CURSOR);
        else
            cell->back = SL_INK_CURSOR;
    }
}

static void put_dots(const plot_area *plot, const sl_curve *curve, size_t series, size_t cnt) {
    int columns = plot->cells.w * plot->dots_w, last = -1;
    for (int x = 0; x < columns; x++) {
        double value = column_value(curve->values, cnt, x, columns);
        if (isnan(value)) {
            last = -1;
            continue;
        }
        int y = dot_row(plot, value), from = last < 0 ? y : last;
        for (int step = from < y ? from + 1 : y; step <= (from < y ? y : from); step++)
            add_dot(plot, x, step, curve->ink, series);
        last = y;
    }
}

static bool has_room(sl_rect area, size_t cnt) {
    return area.w >= 2 && area.h >= 1 && cnt > 0;
}

void sl_put_curves(sl_grid *grid, sl_rect area, const sl_curve *curves, size_t curve_cnt,
                   size_t cnt, const sl_chart_frame *frame) {
    if (!has_room(area, cnt))
        return;
    if (!frame->has_no_legend && area.h > AXIS_H)
        put_legend(grid, sl_rect_take_top(&area, 1), curves, curve_cnt, false);
    double top = frame->top > 0 ? frame->top : highest(curves, curve_cnt, cnt, false);
    plot_area plot = put_axes(grid, area, frame, top, false);
    for (size_t i = curve_cnt; i-- > 0;) /* the first one is on top */
        put_dots(&plot, &curves[i], i, cnt);
    put_levels(&plot, frame);
    put_cursor(&plot, frame, cnt);
}

/* ---- areas ---- */

/* Which curve covers most of a cell that reaches from `low` to one above it; *filled: how much of it is covered. */
static size_t main_curve(const double *tops, size_t cnt, double low, double *filled) {
    size_t best = 0;
    double most = 0, below = 0;
    *filled = 0;
    for (size_t c = 0; c < cnt; c++) {
        double part = fmin(tops[c], low + 1) - fmax(below, low);
        if (part > most)
            most = part, best = c;
        *filled += part > 0 ? part : 0;
        below = tops[c];
    }
    return best;
}

/* A cell has the colour of what fills most of it; the highest one is filled by eighths. */
static void put_column(const plot_area *plot, int x, const sl_curve *curves, size_t curve_cnt,
                       size_t cnt) {
    double tops[SL_STACK_MAX], sum = 0, filled;
    int rows = plot->cells.h;
    bool has_eighths = !plot->grid->is_ascii && !plot->grid->is_mono;
    curve_cnt = curve_cnt < SL_STACK_MAX ? curve_cnt : SL_STACK_MAX;
    for (size_t c = 0; c < curve_cnt; c++) {
        double value = column_value(curves[c].values, cnt, x, plot->cells.w);
        sum += isnan(value) ? 0 : value;
        tops[c] = sum / plot->top * rows;
    }
    for (int y = 0; y < rows; y++) {
        size_t c = main_curve(tops, curve_cnt, y, &filled);
        int eighths = (int)lround(filled * 8);
        if (has_eighths ? eighths < 1 : filled < 0.5)
            break;
        sl_grid_put(plot->grid, plot->cells.x + x, plot->cells.y + rows - 1 - y,
                    has_eighths && eighths < 8 ? 0x2580u + (uint32_t)eighths
                                               : sl_series_glyph(plot->grid, c),
                    curves[c].ink);
    }
}

/* A column that stands for a longer time than the others. */
static void put_gap(const plot_area *plot, int x) {
    for (int y = 0; y < plot->cells.h; y++)
        sl_grid_put(plot->grid, plot->cells.x + x, plot->cells.y + y,
                    plot->grid->is_ascii ? ':' : 0x250a, SL_INK_BORDER);
}

void sl_put_stack(sl_grid *grid, sl_rect area, const sl_curve *curves, size_t curve_cnt, size_t cnt,
                  const sl_chart_frame *frame) {
    if (!has_room(area, cnt))
        return;
    if (!frame->has_no_legend && area.h > AXIS_H)
        put_legend(grid, sl_rect_take_top(&area, 1), curves, curve_cnt, true);
    double top = frame->top > 0 ? frame->top : highest(curves, curve_cnt, cnt, true);
    plot_area plot = put_axes(grid, area, frame, top, true);
    for (int x = 0; x < plot.cells.w; x++)
        if (frame->gaps && frame->gaps[(size_t)x * cnt / (size_t)plot.cells.w])
            put_gap(&plot, x);
        else
            put_column(&plot, x, curves, curve_cnt, cnt);
    put_levels(&plot, frame);
    put_cursor(&plot, frame, cnt);
}

/* ---- bars ---- */

void sl_put_bar(sl_grid *grid, sl_rect area, const sl_bar_part *parts, size_t cnt, double whole) {
    double sum = 0;
    int used = 0;
    if (area.w <= 0 || area.h <= 0 || !(whole > 0))
        return;
    for (size_t i = 0; i < cnt; i++) {
        sum += parts[i].value > 0 ? parts[i].value : 0;
        int end = (int)lround(fmin(sum / whole, 1) * area.w);
        if (parts[i].value > 0 && end <= used)
            end = used + 1;
        for (; used < end && used < area.w; used++)
            sl_grid_put(grid, area.x + used, area.y, sl_series_glyph(grid, i), parts[i].ink);
    }
    for (; used < area.w; used++)
        sl_grid_put(grid, area.x + used, area.y, grid->is_ascii ? '.' : 0x2591, SL_INK_BORDER);
}

void sl_put_heat(sl_grid *grid, sl_rect area, const double *values, size_t cnt, double top) {
    static const char ascii[] = " .:-=+*#%@";
    if (cnt == 0 || area.h <= 0)
        return;
    for (int x = 0; x < area.w; x++) {
        double value = column_value(values, cnt, x, area.w);
        if (isnan(value))
            continue;
        double share = top > 0 ? fmin(value / top, 1) : 0;
        uint32_t code =
            grid->is_ascii ? (uint32_t)ascii[(int)(share * 9)] : 0x2581u + (uint32_t)(share * 7);
        sl_grid_put(grid, area.x + x, area.y, code,
                    share > 0.9   ? SL_INK_BAD
                    : share > 0.7 ? SL_INK_WARN
                                  : SL_INK_SERIES_1);
    }
}
