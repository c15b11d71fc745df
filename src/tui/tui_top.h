/* SPDX-License-Identifier: MIT */
/* The screen of `stormlog top`: one device of one process, drawn again and again with the widgets of the full-screen
 * program, until the user quits or the recorded processes have ended. */
#ifndef SL_TUI_TOP_H
#define SL_TUI_TOP_H

#include "base/core/status.h"

typedef struct sl_tui_top_options {
    char *const *paths; /* recordings; borrowed */
    size_t path_cnt;
    int64_t interval_us; /* between two readings */
    bool *has_ended;     /* set: the processes have ended, the user did not quit */
} sl_tui_top_options;

/* SL_E_UNSUPPORTED without a terminal that can be drawn on, and in a build without ncurses; nothing was written then. If a
 * signal ends the program, the terminal is restored first, and the process then dies of that signal. */
sl_status sl_tui_top(const sl_tui_top_options *options, sl_error *err);

#endif
