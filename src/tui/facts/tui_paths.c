/* SPDX-License-Identifier: MIT */
#include "tui/facts/tui_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_CAP 4096

void sl_tui_paths_free(sl_tui_paths *paths) {
    for (size_t i = 0; i < paths->cnt; i++)
        free(paths->at[i]);
    sl_vec_free(paths);
}

bool sl_tui_paths_add(sl_tui_paths *paths, const char *text) {
    if (!sl_vec_reserve(paths, 1))
        return false;
    char *copy = strdup(text);
    if (copy)
        paths->at[paths->cnt++] = copy;
    return copy != NULL;
}

static sl_status add_part(sl_tui_paths *paths, const char *part, size_t len, sl_error *err) {
    char path[PATH_CAP];
    const char *home = getenv("HOME");
    bool has_home = home && *part == '~' && (len == 1 || part[1] == '/');
    int used = has_home ? snprintf(path, sizeof path, "%s%.*s", home, (int)len - 1, part + 1)
                        : snprintf(path, sizeof path, "%.*s", (int)len, part);
    if (used >= PATH_CAP)
        return sl_fail(err, SL_E_USAGE, "the path is longer than %d bytes", PATH_CAP - 1);
    return sl_tui_paths_add(paths, path) ? SL_OK : sl_fail_no_memory(err, "the paths");
}

sl_status sl_tui_paths_split(sl_tui_paths *paths, const char *text, sl_error *err) {
    size_t before = paths->cnt;
    if (access(text, F_OK) == 0)
        return add_part(paths, text, strlen(text), err);
    while (*text) {
        text += strspn(text, " ,");
        size_t len = strcspn(text, ","), used = len;
        while (used && text[used - 1] == ' ')
            used--;
        if (used)
            SL_TRY(add_part(paths, text, used, err));
        text += len;
    }
    return paths->cnt > before ? SL_OK : sl_fail(err, SL_E_USAGE, "expected a path");
}
