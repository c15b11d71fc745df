/* SPDX-License-Identifier: MIT */
/* The current state of recordings that are still being written. A reader stays open and reads the
 * tables and curves again with pread: the target is not disturbed, and the cost does not grow with
 * the length of the run. */
#ifndef SL_LIVE_FACTS_H
#define SL_LIVE_FACTS_H

#include "tui/facts/tui_model.h"

typedef struct sl_live sl_live;

/* Opens the recordings; those that cannot be read become notes. SL_E_OPEN when none can. */
sl_status sl_live_open(char *const *paths, size_t cnt, sl_live **out, sl_error *err);
void sl_live_close(sl_live *live); /* NULL is fine */

/* Whether a process still writes one of them, as of the last read. */
bool sl_live_is_written(const sl_live *live);

/* The facts of this moment; curves of the last window_us (0 = the whole run). The caller frees the source.
 * What only the lines need is read if wants_sites. */
sl_status sl_live_read(sl_live *live, const char *name, int64_t window_us, bool wants_sites,
                       sl_tui_source **out, sl_error *err);

#endif
