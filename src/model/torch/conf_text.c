/* SPDX-License-Identifier: MIT */
#include "model/torch/conf_text.h"

#include <string.h>

#include "base/core/str.h"

static const char *const reset_keys[] = {"max_split_size_mb", "roundup_power2_divisions",
                                         "garbage_collection_threshold"};

static sl_str trim(sl_str text) {
    while (text.len && text.ptr[0] == ' ')
        text = (sl_str){text.ptr + 1, text.len - 1};
    while (text.len && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

bool sl_conf_next(sl_str *rest, sl_conf_item *item) {
    while (rest->len) {
        size_t end = 0, depth = 0;
        for (; end < rest->len && (depth || rest->ptr[end] != ','); end++) {
            depth += rest->ptr[end] == '[';
            depth -= depth && rest->ptr[end] == ']';
        }
        item->whole = trim((sl_str){rest->ptr, end});
        size_t skip = end < rest->len ? end + 1 : end;
        *rest = (sl_str){rest->ptr + skip, rest->len - skip};
        if (!item->whole.len)
            continue;
        const char *colon = memchr(item->whole.ptr, ':', item->whole.len);
        item->key = trim(
            (sl_str){item->whole.ptr, colon ? (size_t)(colon - item->whole.ptr) : item->whole.len});
        return true;
    }
    return false;
}

static bool is_same(sl_str a, sl_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool sl_conf_find(sl_str text, sl_str key, sl_conf_item *item) {
    bool is_found = false;
    sl_conf_item next;
    while (sl_conf_next(&text, &next))
        if (is_same(next.key, key)) { /* of several the last holds */
            *item = next;
            is_found = true;
        }
    return is_found;
}

bool sl_conf_is_reset(sl_str key) {
    for (size_t i = 0; i < SL_COUNT_OF(reset_keys); i++)
        if (sl_str_is(key, reset_keys[i]))
            return true;
    return false;
}
