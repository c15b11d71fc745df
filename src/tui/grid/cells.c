/* SPDX-License-Identifier: MIT */
#include "tui/grid/cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/term.h"
#include "base/text/utf8.h"
#include "tui/grid/cell_text.h"

static int within(int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
}

sl_status sl_grid_init(sl_grid *grid, int w, int h, sl_error *err) {
    *grid = (sl_grid){.w = within(w, 1, SL_GRID_MAX), .h = within(h, 1, SL_GRID_MAX)};
    grid->cells = calloc((size_t)grid->w * (size_t)grid->h, sizeof *grid->cells);
    if (!grid->cells)
        return sl_fail_no_memory(err, "the screen");
    sl_grid_clear(grid);
    return SL_OK;
}

void sl_grid_fini(sl_grid *grid) {
    free(grid->cells);
    grid->cells = NULL;
}

void sl_grid_clear(sl_grid *grid) {
    memset(grid->cells, 0, (size_t)grid->w * (size_t)grid->h * sizeof *grid->cells);
    grid->clip = sl_grid_area(grid);
    grid->overlap_cnt = grid->cut_cnt = 0;
}

sl_rect sl_rect_both(sl_rect a, sl_rect b) {
    int x = a.x > b.x ? a.x : b.x, y = a.y > b.y ? a.y : b.y;
    int right = a.x + a.w < b.x + b.w ? a.x + a.w : b.x + b.w;
    int bottom = a.y + a.h < b.y + b.h ? a.y + a.h : b.y + b.h;
    return (sl_rect){x, y, right > x ? right - x : 0, bottom > y ? bottom - y : 0};
}

sl_rect sl_rect_take_top(sl_rect *area, int n) {
    n = within(n, 0, area->h);
    sl_rect taken = {area->x, area->y, area->w, n};
    area->y += n, area->h -= n;
    return taken;
}

sl_rect sl_rect_take_bottom(sl_rect *area, int n) {
    n = within(n, 0, area->h);
    area->h -= n;
    return (sl_rect){area->x, area->y + area->h, area->w, n};
}

sl_rect sl_rect_take_left(sl_rect *area, int n) {
    n = within(n, 0, area->w);
    sl_rect taken = {area->x, area->y, n, area->h};
    area->x += n, area->w -= n;
    return taken;
}

sl_rect sl_rect_take_right(sl_rect *area, int n) {
    n = within(n, 0, area->w);
    area->w -= n;
    return (sl_rect){area->x + area->w, area->y, n, area->h};
}

int sl_code_width(uint32_t code) {
    char text[5];
    return (int)sl_term_width(text, sl_utf8_encode(text, code));
}

static bool is_inside(const sl_rect *area, int x, int y) {
    return x >= area->x && y >= area->y && x < area->x + area->w && y < area->y + area->h;
}

static bool is_digit(uint32_t code) {
    return code >= '0' && code <= '9';
}

int sl_grid_put(sl_grid *grid, int x, int y, uint32_t code, sl_ink ink) {
    int width = code < 0x300 ? 1 : sl_code_width(code);
    sl_rect clip = sl_rect_both(grid->clip, sl_grid_area(grid));
    if (width == 0)
        return 0;
    if (!is_inside(&clip, x, y) || !is_inside(&clip, x + width - 1, y)) {
        grid->cut_cnt += is_digit(code);
        return width;
    }
    for (int i = 0; i < width; i++)
        if (sl_grid_at(grid, x + i, y)->is_set) {
            grid->overlap_cnt++;
            return width;
        }
    for (int i = 0; i < width; i++) {
        sl_cell *cell = sl_grid_at(grid, x + i, y);
        cell->code = i ? 0 : code;
        cell->ink = (uint8_t)ink;
        cell->width = (uint8_t)(i ? 0 : width);
        cell->is_set = 1;
    }
    return width;
}

void sl_grid_paint(sl_grid *grid, sl_rect area, sl_ink back) {
    area = sl_rect_both(sl_rect_both(area, grid->clip), sl_grid_area(grid));
    for (int y = area.y; y < area.y + area.h; y++)
        for (int x = area.x; x < area.x + area.w; x++)
            sl_grid_at(grid, x, y)->back = (uint8_t)back;
}

void sl_grid_erase(sl_grid *grid, sl_rect area) {
    area = sl_rect_both(area, sl_grid_area(grid));
    for (int y = area.y; y < area.y + area.h; y++) {
        /* A wide character of which one half is erased loses both. */
        if (area.w > 0 && area.x > 0 && sl_grid_at(grid, area.x - 1, y)->width == 2)
            sl_grid_at(grid, area.x - 1, y)->code = ' ';
        for (int x = area.x; x < area.x + area.w; x++)
            *sl_grid_at(grid, x, y) = (sl_cell){0};
    }
}
