/* SPDX-License-Identifier: MIT */
/* The screen as a grid of cells. Views draw into it and do not know what shows it (a terminal, a
 * text file, a picture), so they are tested as text. No I/O.
 *
 * (C1) A cell is written once per frame. A second text on it is an overlap, which is counted and dropped:
 *      the property test requires none at any size.
 * (C2) Nothing is written outside the clip. A digit that would be is a cut number, which is counted, too.
 *      sl_fit_text never cuts inside a number, so code that measures first never causes this.
 * (C3) A wide character takes two cells, or none where only one is left; combining marks are dropped. */
#ifndef SL_CELLS_H
#define SL_CELLS_H

#include "base/core/status.h"
#include "tui/grid/theme.h"

/* Larger terminals are drawn as this. */
#define SL_GRID_MAX 1000

typedef struct sl_cell {
    uint32_t code;  /* 0 = never written: a blank */
    uint8_t ink;    /* sl_ink */
    uint8_t back;   /* ink of a painted row, 0 = none */
    uint8_t width;  /* 2 = wide; 0 = right half of a wide one */
    uint8_t is_set; /* (C1) */
} sl_cell;

typedef struct sl_rect {
    int x, y, w, h;
} sl_rect;

typedef struct sl_grid {
    int w, h;
    sl_cell *cells; /* owned; row by row */
    sl_rect clip;
    bool is_ascii; /* no character beyond ASCII */
    bool is_mono;  /* no colours: shapes must show what colours would */
    uint32_t overlap_cnt, cut_cnt;
} sl_grid;

/* Sizes are cut to 1..SL_GRID_MAX. SL_E_NOMEM. */
sl_status sl_grid_init(sl_grid *grid, int w, int h, sl_error *err);
void sl_grid_fini(sl_grid *grid);
/* Blank, the clip is everything, the counts are 0. */
void sl_grid_clear(sl_grid *grid);

static inline sl_rect sl_grid_area(const sl_grid *grid) {
    return (sl_rect){0, 0, grid->w, grid->h};
}

static inline sl_cell *sl_grid_at(const sl_grid *grid, int x, int y) {
    return &grid->cells[(size_t)y * (size_t)grid->w + (size_t)x];
}

/* What both have; w or h is 0 when that is nothing. */
sl_rect sl_rect_both(sl_rect a, sl_rect b);
/* The first n rows of an area, which is then what is left; fewer where there are fewer. */
sl_rect sl_rect_take_top(sl_rect *area, int n);
sl_rect sl_rect_take_bottom(sl_rect *area, int n);
sl_rect sl_rect_take_left(sl_rect *area, int n);
sl_rect sl_rect_take_right(sl_rect *area, int n);

/* One character; returns its width (C2, C3). */
int sl_grid_put(sl_grid *grid, int x, int y, uint32_t code, sl_ink ink);

/* Marks the cells of an area as a selected row; the text on them stays. */
void sl_grid_paint(sl_grid *grid, sl_rect area, sl_ink back);

/* Erases an area, for a window on top of it such as the help. */
void sl_grid_erase(sl_grid *grid, sl_rect area);

/* The columns of a character: 0, 1 or 2. */
int sl_code_width(uint32_t code);

#endif
