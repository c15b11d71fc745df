/* SPDX-License-Identifier: MIT */
#include "base/text/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sl_notes_add(sl_notes *notes, sl_arena *arena, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (size_t i = 0; i < notes->cnt; i++)
        if (strcmp(notes->at[i], text) == 0)
            return;
    const char *kept = sl_arena_copy(arena, text, strlen(text));
    if (kept)
        (void)sl_vec_push(notes, kept);
}
