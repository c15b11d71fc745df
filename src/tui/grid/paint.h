/* SPDX-License-Identifier: MIT */
/* From two frames to the bytes that turn one into the other on an ANSI terminal: only cells that changed
 * are sent. Pure, so the bytes that a screen costs over a slow connection are measured without a
 * terminal. */
#ifndef SL_PAINT_H
#define SL_PAINT_H

#include "base/core/vec.h"
#include "tui/grid/cells.h"

typedef SL_VEC(char) sl_bytes;

/* Appends the bytes. `shown` is what the terminal shows; NULL, or another size = nothing is known, so the
 * screen is cleared first. False when memory ran out. */
bool sl_paint(sl_bytes *out, const sl_grid *shown, const sl_grid *wanted, sl_color_depth depth);

#endif
