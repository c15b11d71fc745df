/* SPDX-License-Identifier: MIT */
#include "tui/tui_shown.h"

#include <signal.h>
#include <string.h>

void sl_shown_fini(sl_shown *shown) {
    sl_grid_fini(&shown->grid);
    sl_grid_fini(&shown->shown);
    sl_vec_free(&shown->bytes);
}

sl_status sl_shown_resize(sl_shown *shown, sl_error *err) {
    int w, h;
    sl_tty_size(&w, &h);
    sl_grid_fini(&shown->grid);
    sl_grid_fini(&shown->shown);
    shown->is_shown = false;
    SL_TRY(sl_grid_init(&shown->grid, w, h, err));
    SL_TRY(sl_grid_init(&shown->shown, w, h, err));
    shown->grid.is_ascii = shown->tty.is_ascii;
    shown->grid.is_mono = shown->tty.depth == SL_COLORS_NONE;
    return SL_OK;
}

bool sl_shown_send(sl_shown *shown) {
    sl_grid *grid = &shown->grid;
    shown->bytes.cnt = 0;
    if (!sl_paint(&shown->bytes, shown->is_shown ? &shown->shown : NULL, grid, shown->tty.depth))
        return true; /* out of memory; the next frame tries again */
    memcpy(shown->shown.cells, grid->cells,
           (size_t)grid->w * (size_t)grid->h * sizeof *grid->cells);
    shown->is_shown = true;
    return shown->bytes.cnt == 0 || sl_tty_write(shown->bytes.at, shown->bytes.cnt);
}

void sl_shown_obey_signal(void) {
    int number = sl_tty_stop_signal();
    if (number == 0)
        return;
    signal(number, SIG_DFL);
    raise(number);
}
