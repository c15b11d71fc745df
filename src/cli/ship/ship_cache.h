/* SPDX-License-Identifier: MIT */
/* Folders of ours for what is fetched and for uploads that were interrupted: below
 * $XDG_CACHE_HOME/stormlog, or ~/.cache/stormlog. Everything there can be removed at any time. */
#ifndef SL_SHIP_CACHE_H
#define SL_SHIP_CACHE_H

#include "base/core/status.h"

#define SL_SHIP_CACHE_CAP 1200

/* Makes the folder, for its owner only. SL_E_SYSTEM when there is neither variable. */
sl_status sl_ship_cache(const char *below, char path[SL_SHIP_CACHE_CAP], sl_error *err);

#endif
