/* SPDX-License-Identifier: MIT */
/* Text in a grid, cut to what fits, and frames around areas. Texts are cleaned on the way
 * (sl_utf8_next), because they may come from an input.
 *
 * A text that does not fit ends in "…" ("~" in ASCII), never inside a number and never between a number and
 * its unit: "12.3 GiB of 140 GiB" becomes "12.3 GiB of…", then "…". A path loses its front. */
#ifndef SL_CELL_TEXT_H
#define SL_CELL_TEXT_H

#include "tui/grid/cells.h"

/* Bytes of a character, into buf; at most 4, terminated. */
size_t sl_utf8_encode(char buf[5], uint32_t code);

/* Bytes of the text that fit in so many columns; *is_cut: an ellipsis follows, for which there is
 * room. */
size_t sl_fit_text(const char *text, size_t columns, bool *is_cut);

/* Into the first row of the area, from its left; returns the columns that were used. */
int sl_put_text(sl_grid *grid, sl_rect area, sl_ink ink, const char *text);
int sl_put(sl_grid *grid, sl_rect area, sl_ink ink, const char *fmt, ...) SL_PRINTF(4, 5);
/* The same, ending at its right. */
int sl_put_right(sl_grid *grid, sl_rect area, sl_ink ink, const char *text);
/* The same from its left, for a path: its front is cut, because its end says more. */
int sl_put_path(sl_grid *grid, sl_rect area, sl_ink ink, const char *text);
/* A text only where the whole of it fits; 0 where not. */
int sl_put_whole(sl_grid *grid, sl_rect area, sl_ink ink, const char *text);

/* The words of a text in the rows of the area; returns the rows that were used. */
int sl_put_wrapped(sl_grid *grid, sl_rect area, sl_ink ink, const char *text);

/* A frame with a title in it (may be NULL); returns what is inside. Areas below 3 x 3 have no frame. */
sl_rect sl_put_box(sl_grid *grid, sl_rect area, const char *title);

/* A row of texts one after the other: makes a line out of parts with different inks. The area becomes what is
 * left of the row. A part that does not fit whole is not written and ends the row; false then. */
bool sl_put_part(sl_grid *grid, sl_rect *area, sl_ink ink, const char *fmt, ...) SL_PRINTF(4, 5);

#endif
