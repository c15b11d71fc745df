/* SPDX-License-Identifier: MIT */
/* Comparing borrowed byte strings, byte by byte. Neither side need be terminated; an empty one may have
 * no address. Inline, libc only, callable from any thread. */
#ifndef SL_STR_H
#define SL_STR_H

#include <string.h>

#include "base/core/sl_base.h"

static inline sl_str sl_str_of(const char *text) {
    return (sl_str){text, strlen(text)};
}

static inline bool sl_str_equals(sl_str a, sl_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool sl_str_is(sl_str text, const char *word) {
    return sl_str_equals(text, sl_str_of(word));
}

static inline bool sl_str_starts_with(sl_str text, sl_str start) {
    return text.len >= start.len && sl_str_equals((sl_str){text.ptr, start.len}, start);
}

static inline bool sl_str_ends_with(sl_str text, sl_str end) {
    return text.len >= end.len &&
           (end.len == 0 || memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0);
}

/* Every text contains the empty one, but for the empty text, which contains nothing. */
static inline bool sl_str_contains(sl_str text, sl_str part) {
    return text.len && memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

/* What follows the last '/'. */
static inline const char *sl_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static inline sl_str sl_str_base_name(sl_str path) {
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    size_t skip = slash ? (size_t)(slash + 1 - path.ptr) : 0;
    return (sl_str){path.ptr + skip, path.len - skip};
}

#endif
