/* SPDX-License-Identifier: MIT */
#include "base/text/shell_word.h"

#include <string.h>

#include "base/text/utf8.h"

typedef struct word {
    char *to;
    size_t cap, len;
    bool fits;
} word;

static void put(word *out, const char *text, size_t len) {
    out->fits = out->fits && len < out->cap - out->len;
    if (!out->fits)
        return;
    memcpy(out->to + out->len, text, len);
    out->len += len;
    out->to[out->len] = '\0';
}

/* A list of what is harmless: what is special differs from shell to shell. */
static bool is_plain(const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:,@%+";
    return *text && text[strspn(text, plain)] == '\0';
}

static bool can_be_shown(const char *text) {
    for (size_t len = strlen(text); len > 0;) {
        sl_utf8_char next = sl_utf8_next(text, len);
        if (!next.is_safe)
            return false;
        text += next.len;
        len -= next.len;
    }
    return true;
}

/* Inside single quotes nothing is special but their end, which is written as '\''. */
static void put_quoted(word *out, const char *text) {
    put(out, "'", 1);
    for (; *text; text++) {
        if (*text == '\'')
            put(out, "'\\''", 4);
        else
            put(out, text, 1);
    }
    put(out, "'", 1);
}

bool sl_shell_word(char *to, size_t cap, const char *text) {
    word out = {to, cap, 0, cap > 0};
    if (cap > 0)
        to[0] = '\0';
    if (!can_be_shown(text))
        return false;
    if (text[0] == '-')
        put(&out, "./", 2);
    if (is_plain(text))
        put(&out, text, strlen(text));
    else
        put_quoted(&out, text);
    if (!out.fits && cap > 0)
        to[0] = '\0';
    return out.fits;
}
