/* SPDX-License-Identifier: MIT */
#include "cli/ship/ship_cache.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/files/file_rights.h"
#include "export/bundle/bundle_folder.h"

sl_status sl_ship_cache(const char *below, char path[SL_SHIP_CACHE_CAP], sl_error *err) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool has_cache = cache && cache[0] == '/';
    if (!has_cache && (!home || home[0] != '/'))
        return sl_fail(err, SL_E_SYSTEM,
                       "no place for fetched files: set HOME or XDG_CACHE_HOME to a folder");
    int len = snprintf(path, SL_SHIP_CACHE_CAP, "%s%s/stormlog/%s", has_cache ? cache : home,
                       has_cache ? "" : "/.cache", below);
    if (len < 0 || len >= SL_SHIP_CACHE_CAP)
        return sl_fail(err, SL_E_USAGE, "the path of the cache is longer than %d bytes",
                       SL_SHIP_CACHE_CAP - 1);
    SL_TRY(sl_place_check(path, err));
    return sl_make_folders(path, err);
}
