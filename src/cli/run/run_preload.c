/* SPDX-License-Identifier: MIT */
#include "cli/run/run_preload.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/sl_base.h"

#define SEPARATORS " :" /* both, as ld.so(8) has it */

static bool is_recorder(const char *entry, size_t len) {
    size_t name_len = strlen(SL_PRELOAD_NAME);
    return len >= name_len && memcmp(entry + len - name_len, SL_PRELOAD_NAME, name_len) == 0 &&
           (len == name_len || entry[len - name_len - 1] == '/');
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
