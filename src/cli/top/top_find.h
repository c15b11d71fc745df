/* SPDX-License-Identifier: MIT */
/* The recordings that a process is writing. A launcher (`stormlog run`, torchrun, a shell) writes none:
 * then those of its children, and theirs. */
#ifndef SL_TOP_FIND_H
#define SL_TOP_FIND_H

#include "base/core/status.h"
#include "base/core/vec.h"

typedef SL_VEC(char *) sl_top_paths; /* owned texts */

void sl_top_paths_free(sl_top_paths *paths);

/* SL_E_OPEN with the reason when there are none: no such process, not recorded, nothing recorded
 * yet, or it may not be inspected. */
sl_status sl_top_find_process(sl_top_paths *paths, const char *pid, sl_error *err);

#endif
