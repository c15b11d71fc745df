/* SPDX-License-Identifier: MIT */
/* Remarks about a result, each one once. */
#ifndef SL_NOTES_H
#define SL_NOTES_H

#include "base/core/arena.h"
#include "base/core/vec.h"

typedef SL_VEC(const char *) sl_notes; /* texts in an arena */

/* Adds a note unless it is there already; a note that does not fit into memory is lost. */
void sl_notes_add(sl_notes *notes, sl_arena *arena, const char *fmt, ...) SL_PRINTF(3, 4);

#endif
