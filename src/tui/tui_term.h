/* SPDX-License-Identifier: MIT */
/* The terminal: the one file that knows ncurses, which brings terminfo, keys and the mouse. The
 * output is our own (grid/paint.h). The terminal is restored at every exit: _end, any signal, a
 * failed assertion. One at a time, main thread. */
#ifndef SL_TUI_TERM_H
#define SL_TUI_TERM_H

#include "base/core/status.h"
#include "tui/grid/theme.h"

typedef struct sl_tty {
    sl_color_depth depth;
    bool is_ascii;
} sl_tty;

/* SL_E_UNSUPPORTED when standard input or output is not a terminal, or TERM names one that lacks
 * what is needed. */
sl_status sl_tty_begin(sl_tty *tty, sl_error *err);
void sl_tty_end(void);

void sl_tty_size(int *w, int *h);
/* False when the terminal is gone. */
bool sl_tty_write(const char *bytes, size_t len);

/* Waits for a key, a signal, or bytes at fd (-1 = none), at most so long. */
void sl_tty_wait(int fd, int timeout_ms);

/* The next key in the queue, SL_KEY_NONE when it is empty; for a click also its position. */
uint32_t sl_tty_key(int *x, int *y);

/* Whether the size changed, or another program used the screen (Ctrl-Z, fg), since the
 * last call. */
bool sl_tty_is_stale(void);
/* The signal that asks the program to end; 0 = none. */
int sl_tty_stop_signal(void);
/* Whether the terminal went away (end of input). */
bool sl_tty_is_gone(void);

#endif
