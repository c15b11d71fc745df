/* SPDX-License-Identifier: MIT */
/* A table with a head, a selected row and a scroll position. Columns that do not fit are dropped,
 * the least important ones first; numbers are never cut. Pure. */
#ifndef SL_GRID_TABLE_H
#define SL_GRID_TABLE_H

#include "tui/grid/cells.h"

#define SL_TABLE_COLUMNS_MAX 12
#define SL_TABLE_TEXT_CAP    512

typedef struct sl_table_column {
    const char *title;
    bool is_right; /* a number */
    bool is_wide;  /* takes what the others leave; one per table */
    bool is_path;  /* loses its front */
    uint8_t rank;  /* 0 = never dropped; of the others the highest is dropped first */
    bool is_extra; /* dropped before the wide column is cut; has a rank */
} sl_table_column;

typedef struct sl_table {
    const sl_table_column *columns;
    size_t column_cnt;
    size_t row_cnt;
    const void *ctx;
    /* Fills the text of a cell and may change its ink. */
    void (*cell)(const void *ctx, size_t row, size_t column, char text[SL_TABLE_TEXT_CAP],
                 sl_ink *ink);
    size_t sorted_by;    /* column whose title is marked; SIZE_MAX = none */
    const char *nothing; /* shown instead of rows when there are none */
} sl_table;

/* Where the user is in a list. */
typedef struct sl_list_state {
    size_t selected, first; /* first: the row at the top */
} sl_list_state;

/* Draws it and scrolls so that the selected row is seen. */
void sl_put_table(sl_grid *grid, sl_rect area, const sl_table *table, sl_list_state *state);

/* Moves the selection by rows; stays inside. */
void sl_list_move(sl_list_state *state, int64_t by, size_t row_cnt);
/* Sets the first row so that the selected one is among the `shown` rows. */
void sl_list_scroll(sl_list_state *state, size_t row_cnt, size_t shown);

#endif
