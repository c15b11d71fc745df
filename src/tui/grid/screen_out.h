/* SPDX-License-Identifier: MIT */
/* A frame as a file: plain text, or a picture for a README or a ticket. */
#ifndef SL_SCREEN_OUT_H
#define SL_SCREEN_OUT_H

#include <stdio.h>

#include "tui/grid/cells.h"

/* Row by row, without the blanks at the ends. */
void sl_screen_write_text(const sl_grid *grid, FILE *to);
void sl_screen_write_svg(const sl_grid *grid, FILE *to);

#endif
