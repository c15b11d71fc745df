/* SPDX-License-Identifier: MIT */
#include "base/json_string.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "base/vec.h"

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* Non-zero when one of the eight bytes is a quote, a backslash, below 0x20 or above 0x7f. */
static uint64_t is_special(uint64_t word) {
    uint64_t quote = word ^ (ONES * '"'), slash = word ^ (ONES * '\\');
    return ((quote - ONES) | (slash - ONES) | (word - ONES * 0x20) | word) & HIGHS;
}

bool sl__json_scan(sl_json_scan *scan, const unsigned char *bytes, size_t left) {
    size_t at = scan->len;
    while (at < left) {
        uint64_t word;
        while (left - at >= 8 && (memcpy(&word, bytes + at, 8), !is_special(word)))
            at += 8;
        if (at >= left)
            break;
        unsigned char c = bytes[at];
        if (c == '"') {
            scan->len = at;
            return true;
        }
        if (c == '\\') {
            /* An escape is looked at whole: its second byte may be a quote. */
            if (left - at < 2)
                break;
            scan->has_escape = true;
            at++;
        }
        scan->has_high |= c >= 0x80;
        scan->has_control |= c < 0x20;
        at++;
    }
    scan->len = at;
    return false;
}

static sl_status bad(const sl_json_in *json, size_t offset, const char *what, sl_error *err) {
    uint64_t position = json->position + 1 + offset;
    return sl_fail_at(err, SL_E_FORMAT, position, "%s at byte %llu", what,
                      (unsigned long long)position);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits behind "\u"; -1 when they are not there. */
static int32_t hex_unit(sl_str raw, size_t at) {
    int32_t unit = 0;
    if (raw.len - at < 4)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        int digit = hex_digit(raw.ptr[at + i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static size_t put_utf8(char *to, uint32_t code) {
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(lead[len] | code);
    return len;
}

/* One "\uXXXX", or a pair of them. A lone surrogate has no UTF-8 form and becomes U+FFFD. */
static sl_status decode_unicode(const sl_json_in *json, size_t *at, char *to, size_t *len,
                                sl_error *err) {
    int32_t unit = hex_unit(json->raw, *at);
    if (unit < 0)
        return bad(json, *at, "expected four hexadecimal digits behind '\\u'", err);
    *at += 4;
    uint32_t code = (uint32_t)unit;
    if (unit >= 0xd800 && unit < 0xdc00 && json->raw.len - *at >= 6 &&
        memcmp(json->raw.ptr + *at, "\\u", 2) == 0) {
        int32_t low = hex_unit(json->raw, *at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
            *at += 6;
        }
    }
    if (code >= 0xd800 && code < 0xe000)
        code = 0xfffd;
    *len += put_utf8(to + *len, code);
    return SL_OK;
}

static sl_status decode_escape(const sl_json_in *json, size_t *at, char *to, size_t *len,
                               sl_error *err) {
    static const char from[] = "\"\\/bfnrt", becomes[] = "\"\\/\b\f\n\r\t";
    char c = json->raw.ptr[(*at)++];
    if (c == 'u')
        return decode_unicode(json, at, to, len, err);
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return bad(json, *at - 2, "an escape that JSON does not have", err);
    to[(*len)++] = becomes[found - from];
    return SL_OK;
}

/* The reader is strict about control characters and UTF-8, as Python's is. */
static sl_status check_bytes(const sl_json_in *json, sl_error *err) {
    for (size_t at = 0; at < json->raw.len;) {
        if ((unsigned char)json->raw.ptr[at] < 0x20)
            return bad(json, at, "a control character inside a string", err);
        size_t len = sl_utf8_length(json->raw.ptr + at, json->raw.len - at);
        if (!len)
            return bad(json, at, "bytes that are not UTF-8", err);
        at += len;
    }
    return SL_OK;
}

static sl_status reserve(sl_json_in *json, size_t want, sl_error *err) {
    if (sl_vec_grow((void **)&json->decoded, &json->decoded_cap, 0, want + 1, 1))
        return SL_OK;
    return sl_fail(err, SL_E_NOMEM, "out of memory for a string");
}

sl_status sl__json_decode(sl_json_in *json, const sl_json_scan *scan, sl_error *err) {
    if (scan->has_high || scan->has_control)
        SL_TRY(check_bytes(json, err));
    if (!scan->has_escape)
        return SL_OK;
    /* An escape never gets longer by decoding. */
    SL_TRY(reserve(json, json->raw.len, err));
    size_t len = 0;
    for (size_t at = 0; at < json->raw.len;) {
        char c = json->raw.ptr[at++];
        if (c == '\\')
            SL_TRY(decode_escape(json, &at, json->decoded, &len, err));
        else
            json->decoded[len++] = c;
    }
    json->text = (sl_str){json->decoded, len};
    return SL_OK;
}

sl_status sl__json_keep_text(sl_json_in *json, sl_error *err) {
    bool is_decoded = json->decoded && json->text.ptr == json->decoded;
    size_t text_len = is_decoded ? json->text.len : 0, raw_len = json->raw.len;
    /* The raw text goes behind the decoded one; without escapes both are the same. */
    SL_TRY(reserve(json, text_len + raw_len, err));
    memcpy(json->decoded + text_len, json->raw.ptr, raw_len);
    json->raw = (sl_str){json->decoded + text_len, raw_len};
    json->text = is_decoded ? (sl_str){json->decoded, text_len} : json->raw;
    return SL_OK;
}

static sl_status add_escaped(sl_json_text *to, unsigned char c, sl_error *err) {
    char text[8];
    int len = c == '"' || c == '\\' ? snprintf(text, sizeof text, "\\%c", c)
                                    : snprintf(text, sizeof text, "\\u%04x", c);
    return sl_json_text_add(to, text, (size_t)len, err);
}

sl_status sl_json_text_add_string(sl_json_text *to, sl_str text, sl_error *err) {
    size_t from = 0;
    SL_TRY(sl_json_text_add(to, "\"", 1, err));
    for (size_t at = 0; at < text.len; at++) {
        unsigned char c = (unsigned char)text.ptr[at];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        SL_TRY(sl_json_text_add(to, text.ptr + from, at - from, err));
        SL_TRY(add_escaped(to, c, err));
        from = at + 1;
    }
    SL_TRY(sl_json_text_add(to, text.ptr + from, text.len - from, err));
    return sl_json_text_add(to, "\"", 1, err);
}
