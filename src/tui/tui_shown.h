/* SPDX-License-Identifier: MIT */
/* A terminal and the two frames that belong to it: the one that it shows and the one that is drawn next. Shared by the
 * full-screen program and `stormlog top`. */
#ifndef SL_TUI_SHOWN_H
#define SL_TUI_SHOWN_H

#include "tui/grid/paint.h"
#include "tui/tui_term.h"

typedef struct sl_shown {
    sl_tty tty;
    sl_grid grid;  /* drawn by the caller */
    sl_grid shown; /* what the terminal shows, once is_shown */
    bool is_shown;
    sl_bytes bytes;
} sl_shown;

/* Zero-initialise, then sl_tty_begin(&shown->tty). _fini in any case. */
void sl_shown_fini(sl_shown *shown);

/* Grids of the terminal's size. */
sl_status sl_shown_resize(sl_shown *shown, sl_error *err);

/* Sends what changed. False when the terminal is gone. */
bool sl_shown_send(sl_shown *shown);

/* The process dies of the signal that asked it to end, if there was one; after sl_tty_end. */
void sl_shown_obey_signal(void);

#endif
