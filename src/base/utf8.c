/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

static bool is_continuation(unsigned char c) {
    return (c & 0xc0) == 0x80;
}

/* Length promised by the first byte; 0 for a byte that cannot start a character. */
static size_t promised_length(unsigned char c) {
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        return 2;
    if (c >= 0xe0 && c <= 0xef)
        return 3;
    return c >= 0xf0 && c <= 0xf4 ? 4 : 0;
}

size_t sl_utf8_length(const char *at, size_t left) {
    const unsigned char *p = (const unsigned char *)at;
    size_t len = left ? promised_length(p[0]) : 0;
    if (len == 0 || len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if (!is_continuation(p[i]))
            return 0;
    /* Overlong forms, surrogates and values above U+10FFFF show in the second byte. */
    bool bad = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
               (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
    return bad ? 0 : len;
}
