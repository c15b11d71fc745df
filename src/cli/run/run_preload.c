/* SPDX-License-Identifier: MIT */
#include "cli/run/run_preload.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"

#define SEPARATORS " :" /* both, as ld.so(8) has it */

static bool is_recorder(const char *entry, size_t len) {
    const sl_str name = SL_STR(SL_PRELOAD_NAME);
    return sl_str_ends_with((sl_str){entry, len}, name) &&
           (len == name.len || entry[len - name.len - 1] == '/');
}

char *sl_preload_list(const char *library, const char *before) {
    before = before ? before : "";
    char *list = malloc(strlen(library) + strlen(before) + 2), *end;
    if (!list)
        return NULL;
    end = stpcpy(list, library);
    for (const char *at = before + strspn(before, SEPARATORS); *at; at += strspn(at, SEPARATORS)) {
        size_t len = strcspn(at, SEPARATORS);
        if (!is_recorder(at, len)) {
            *end++ = ':';
            end = mempcpy(end, at, len);
        }
        at += len;
    }
    *end = '\0';
    return list;
}
