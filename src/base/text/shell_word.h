/* SPDX-License-Identifier: MIT */
/* A text as one word of a POSIX shell, for commands that we print for a person to paste. */
#ifndef SL_SHELL_WORD_H
#define SL_SHELL_WORD_H

#include "base/core/sl_base.h"

/* Writes the word to `to` and returns true; false, with "" in `to`, when it does not fit or when the
 * text holds what a terminal does not show as it is: such a line would paste something else.
 * "run/a.slog" stays as it is, "my run/$(x).slog" becomes 'my run/$(x).slog'. A word that begins with
 * '-' gets "./" in front, so that it is not an option. */
bool sl_shell_word(char *to, size_t cap, const char *text);

#endif
