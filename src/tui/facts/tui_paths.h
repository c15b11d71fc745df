/* SPDX-License-Identifier: MIT */
/* A list of paths, and how the user writes one: "a.slog, b.slog", "~/runs/latest". */
#ifndef SL_TUI_PATHS_H
#define SL_TUI_PATHS_H

#include "base/core/status.h"
#include "base/core/vec.h"

typedef SL_VEC(char *) sl_tui_paths; /* owned texts */

void sl_tui_paths_free(sl_tui_paths *paths);
/* A copy of the text; false when memory ran out. */
bool sl_tui_paths_add(sl_tui_paths *paths, const char *text);

/* The parts between commas, without the blanks around them and with ~ replaced; all of it is one path where a
 * file has that name. SL_E_USAGE when there is no part, SL_E_NOMEM. */
sl_status sl_tui_paths_split(sl_tui_paths *paths, const char *text, sl_error *err);

#endif
