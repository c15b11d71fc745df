/* SPDX-License-Identifier: MIT */
#include "base/text/json_out.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"

void sl_json_init(sl_json_out *json, FILE *to, int indent) {
    *json = (sl_json_out){.to = to, .indent = indent};
}

static void new_line(sl_json_out *json) {
    if (json->indent == 0)
        return;
    fprintf(json->to, "\n%*s", json->indent * json->depth, "");
}

/* Whatever must be between the previous token and the next value or key. */
static void before_item(sl_json_out *json) {
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    if (json->has_item[json->depth - 1])
        putc(',', json->to);
    json->has_item[json->depth - 1] = true;
    new_line(json);
}

static void open_container(sl_json_out *json, char bracket) {
    before_item(json);
    assert(json->depth < SL_JSON_DEPTH_MAX);
    putc(bracket, json->to);
    json->has_item[json->depth++] = false;
}

static void close_container(sl_json_out *json, char bracket) {
    assert(json->depth > 0 && !json->after_key);
    json->depth--;
    if (json->has_item[json->depth])
        new_line(json);
    putc(bracket, json->to);
}

void sl_json_begin_object(sl_json_out *json) {
    open_container(json, '{');
}

void sl_json_end_object(sl_json_out *json) {
    close_container(json, '}');
}

void sl_json_begin_array(sl_json_out *json) {
    open_container(json, '[');
}

void sl_json_end_array(sl_json_out *json) {
    close_container(json, ']');
}

#define REPLACEMENT "\xef\xbf\xbd"

/* The escape of an ASCII character, or NULL when it stands for itself. */
static const char *escape_of(unsigned char c, unsigned char before, char buf[8]) {
    switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    case '/': return before == '<' ? "\\/" : NULL;
    default:
        if (c >= 0x20 && c != 0x7f)
            return NULL;
        snprintf(buf, 8, "\\u%04x", c);
        return buf;
    }
}

/* A valid character that is not safe to show, as an escape: it reads back as the same text. */
static void write_unsafe(FILE *to, const char *at, size_t len) {
    uint32_t code = sl_utf8_decode(at, len);
    if (code < 0x10000)
        fprintf(to, "\\u%04x", code);
    else
        fprintf(to, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
}

static void write_string(const sl_json_out *json, sl_str s) {
    FILE *to = json->to;
    unsigned char before = 0;
    char buf[8];
    putc('"', to);
    for (size_t i = 0; i < s.len;) {
        unsigned char c = (unsigned char)s.ptr[i];
        sl_utf8_char next = sl_utf8_next(s.ptr + i, s.len - i);
        const char *escape = c < 0x80 ? escape_of(c, before, buf) : NULL;
        if (json->replaces_unsafe && !next.is_safe && c != '\n' && c != '\t')
            fputs(REPLACEMENT, to);
        else if (escape)
            fputs(escape, to);
        else if (next.is_safe)
            fwrite(s.ptr + i, 1, next.len, to);
        else if (next.len == 1)
            fputs(REPLACEMENT, to);
        else
            write_unsafe(to, s.ptr + i, next.len);
        before = c;
        i += next.len;
    }
    putc('"', to);
}

void sl_json_key(sl_json_out *json, const char *key) {
    assert(!json->after_key);
    before_item(json);
    write_string(json, (sl_str){key, strlen(key)});
    fputs(json->indent ? ": " : ":", json->to);
    json->after_key = true;
}

void sl_json_str(sl_json_out *json, sl_str value) {
    before_item(json);
    write_string(json, value);
}

void sl_json_cstr(sl_json_out *json, const char *value) {
    if (value)
        sl_json_str(json, (sl_str){value, strlen(value)});
    else
        sl_json_null(json);
}

void sl_json_raw(sl_json_out *json, sl_str value) {
    before_item(json);
    fwrite(value.ptr, 1, value.len, json->to);
}

void sl_json_u64(sl_json_out *json, uint64_t value) {
    before_item(json);
    fprintf(json->to, "%" PRIu64, value);
}

void sl_json_i64(sl_json_out *json, int64_t value) {
    before_item(json);
    fprintf(json->to, "%" PRId64, value);
}

/* The shortest text that reads back as the same double. */
void sl_json_f64(sl_json_out *json, double value) {
    if (!isfinite(value)) {
        sl_json_null(json);
        return;
    }
    before_item(json);
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, json->to);
}

void sl_json_bool(sl_json_out *json, bool value) {
    before_item(json);
    fputs(value ? "true" : "false", json->to);
}

void sl_json_null(sl_json_out *json) {
    before_item(json);
    fputs("null", json->to);
}

void sl_json_maybe_u64(sl_json_out *json, sl_maybe_u64 value) {
    if (value.known)
        sl_json_u64(json, value.value);
    else
        sl_json_null(json);
}

void sl_json_maybe_f64(sl_json_out *json, sl_maybe_f64 value) {
    if (value.known)
        sl_json_f64(json, value.value);
    else
        sl_json_null(json);
}

void sl_json_key_cstr(sl_json_out *json, const char *key, const char *value) {
    sl_json_key(json, key);
    sl_json_cstr(json, value);
}

void sl_json_key_u64(sl_json_out *json, const char *key, uint64_t value) {
    sl_json_key(json, key);
    sl_json_u64(json, value);
}

void sl_json_key_i64(sl_json_out *json, const char *key, int64_t value) {
    sl_json_key(json, key);
    sl_json_i64(json, value);
}

void sl_json_key_f64(sl_json_out *json, const char *key, double value) {
    sl_json_key(json, key);
    sl_json_f64(json, value);
}

void sl_json_key_bool(sl_json_out *json, const char *key, bool value) {
    sl_json_key(json, key);
    sl_json_bool(json, value);
}

void sl_json_key_maybe_u64(sl_json_out *json, const char *key, sl_maybe_u64 value) {
    sl_json_key(json, key);
    sl_json_maybe_u64(json, value);
}

void sl_json_key_maybe_f64(sl_json_out *json, const char *key, sl_maybe_f64 value) {
    sl_json_key(json, key);
    sl_json_maybe_f64(json, value);
}

sl_status sl_json_finish(sl_json_out *json, sl_error *err) {
    assert(json->depth == 0);
    putc('\n', json->to);
    if (fflush(json->to) != 0 || ferror(json->to))
        return sl_fail_errno(err, SL_E_WRITE, "cannot write the JSON text");
    return SL_OK;
}
