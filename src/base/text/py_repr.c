/* SPDX-License-Identifier: MIT */
#include "base/text/py_repr.h"

#include <string.h>

static const struct {
    const char *python, *json;
} words[] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};

/* Bytes of a \x escape of Python that JSON spells otherwise; 0 when it is none. */
static size_t add_escape(sl_str text, size_t at, sl_json_text *to, sl_error *err) {
    char c = at + 1 < text.len ? text.ptr[at + 1] : '\0';
    if (c == '\'')
        return sl_json_text_add(to, "'", 1, err) < 0 ? 0 : 2;
    if (c == 'x' && text.len - at >= 4) {
        (void)sl_json_text_add(to, "\\u00", 4, err);
        return sl_json_text_add(to, text.ptr + at + 2, 2, err) < 0 ? 0 : 4;
    }
    size_t len = text.len - at < 2 ? 1 : 2;
    return sl_json_text_add(to, text.ptr + at, len, err) < 0 ? 0 : len;
}

/* A quoted text; returns the place after it. */
static size_t add_string(sl_str text, size_t at, sl_json_text *to, sl_error *err) {
    char quote = text.ptr[at++];
    (void)sl_json_text_add(to, "\"", 1, err);
    while (at < text.len && text.ptr[at] != quote) {
        if (text.ptr[at] == '\\') {
            size_t len = add_escape(text, at, to, err);
            if (!len)
                return text.len;
            at += len;
            continue;
        }
        if (text.ptr[at] == '"')
            (void)sl_json_text_add(to, "\\", 1, err);
        (void)sl_json_text_add(to, text.ptr + at++, 1, err);
    }
    (void)sl_json_text_add(to, "\"", 1, err);
    return at + 1;
}

static size_t add_other(sl_str text, size_t at, sl_json_text *to, sl_error *err) {
    for (size_t i = 0; i < SL_COUNT_OF(words); i++) {
        size_t len = strlen(words[i].python);
        if (text.len - at >= len && memcmp(text.ptr + at, words[i].python, len) == 0) {
            (void)sl_json_text_add(to, words[i].json, strlen(words[i].json), err);
            return at + len;
        }
    }
    (void)sl_json_text_add(to, text.ptr + at, 1, err);
    return at + 1;
}

static bool is_python(sl_str text) {
    if (memchr(text.ptr, '\'', text.len) && !memchr(text.ptr, '"', text.len))
        return true;
    /* With both kinds of quotes: JSON's first key is in double quotes. */
    return text.len > 1 && text.ptr[0] == '{' && text.ptr[1] == '\'';
}

bool sl_py_repr_to_json(sl_str text, sl_json_text *to, sl_error *err) {
    if (!is_python(text))
        return false;
    for (size_t at = 0; at < text.len;) {
        bool is_quote = text.ptr[at] == '\'' || text.ptr[at] == '"';
        at = is_quote ? add_string(text, at, to, err) : add_other(text, at, to, err);
    }
    return true;
}
