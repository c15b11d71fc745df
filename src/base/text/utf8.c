/* SPDX-License-Identifier: MIT */
#include "base/text/utf8.h"

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

uint32_t sl_utf8_decode(const char *at, size_t len) {
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)at[0] & masks[len];
    for (size_t i = 1; i < len; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

/* Ascending. */
static const uint32_t unsafe_ranges[][2] = {
    {0x00, 0x1f},       /* C0: escape sequences, line ends */
    {0x7f, 0x9f},       /* DEL, and C1: U+009B begins an escape sequence of its own */
    {0x061c, 0x061c},   /* Arabic letter mark */
    {0x200e, 0x200f},   /* left-to-right and right-to-left mark */
    {0x2028, 0x202e},   /* line and paragraph separator; embeddings and overrides */
    {0x2066, 0x2069},   /* isolates */
    {0xfeff, 0xfeff},   /* byte order mark: no width */
    {0xfff9, 0xfffb},   /* interlinear annotations */
    {0xfffe, 0xffff},   /* no characters, and not allowed in XML */
    {0xe0000, 0xe007f}, /* tags: invisible text */
};

sl_utf8_char sl_utf8_next(const char *at, size_t left) {
    unsigned char first = (unsigned char)*at;
    if (first >= 0x20 && first < 0x7f)
        return (sl_utf8_char){1, true};
    size_t len = sl_utf8_length(at, left);
    if (len == 0)
        return (sl_utf8_char){1, false};
    uint32_t code = sl_utf8_decode(at, len);
    for (size_t i = 0; i < SL_COUNT_OF(unsafe_ranges) && code >= unsafe_ranges[i][0]; i++)
        if (code <= unsafe_ranges[i][1])
            return (sl_utf8_char){len, false};
    return (sl_utf8_char){len, true};
}
