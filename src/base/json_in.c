/* SPDX-License-Identifier: MIT */
#include "base/json_in.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_string.h"
#include "base/vec.h"

/* What may come next. */
enum {
    WANT_VALUE,        /* a value */
    WANT_FIRST_ITEM,   /* a value or ']' */
    WANT_FIRST_KEY,    /* a key or '}' */
    WANT_KEY,          /* a key */
    WANT_COMMA_OR_END, /* behind a value inside another one */
    WANT_TOP,          /* a value or the end of the input */
};

void sl_json_in_init(sl_json_in *json, sl_byte_stream *in) {
    *json = (sl_json_in){.in = in, .state = WANT_TOP};
    if (sl_bytes_need(in, 3) && memcmp(in->at, "\xef\xbb\xbf", 3) == 0)
        in->at += 3;
}

void sl_json_in_fini(sl_json_in *json) {
    free(json->decoded);
    json->decoded = NULL;
    json->decoded_cap = 0;
}

const char *sl_json_token_name(sl_json_token token) {
    static const char *const names[] = {
        "the end of the input",
        "an object",
        "the end of an object",
        "an array",
        "the end of an array",
        "a key",
        "a string",
        "an integer",
        "a large integer",
        "a number",
        "true",
        "false",
        "null",
    };
    return names[token];
}

/* The next byte that is not white space, not consumed; -1 at the end. */
static int peek(sl_byte_stream *in) {
    for (;;) {
        while (in->at < in->end) {
            unsigned char c = *in->at;
            if (c > ' ' || (c != ' ' && c != '\n' && c != '\t' && c != '\r'))
                return c;
            in->at++;
        }
        if (!sl_bytes_need(in, 1))
            return -1;
    }
}

static const char *describe(int c, char buf[24]) {
    if (c >= 0x20 && c < 0x7f)
        snprintf(buf, 24, "'%c'", c);
    else
        snprintf(buf, 24, "byte 0x%02x", (unsigned)c);
    return buf;
}

static sl_status unexpected(sl_json_in *json, int c, const char *expected, sl_error *err) {
    char found[24];
    uint64_t position = sl_bytes_position(json->in);
    if (json->in->failure.code < 0)
        return sl_bytes_failure(json->in, expected, err);
    if (c < 0)
        return sl_fail_at(err, SL_E_TRUNCATED, position, "the input ends at byte %llu, expected %s",
                          (unsigned long long)position, expected);
    return sl_fail_at(err, SL_E_FORMAT, position, "expected %s at byte %llu, found %s", expected,
                      (unsigned long long)position, describe(c, found));
}

static void value_done(sl_json_in *json) {
    json->state = json->depth ? WANT_COMMA_OR_END : WANT_TOP;
}

static sl_status open_value(sl_json_in *json, bool is_object, sl_error *err) {
    if (json->depth >= SL_JSON_IN_DEPTH_MAX)
        return sl_fail_at(err, SL_E_LIMIT, json->position,
                          "values nested more than %d deep at byte %llu", SL_JSON_IN_DEPTH_MAX,
                          (unsigned long long)json->position);
    json->in->at++;
    json->closers[json->depth++] = is_object ? '}' : ']';
    json->token = is_object ? SL_JSON_OBJECT_BEGIN : SL_JSON_ARRAY_BEGIN;
    json->state = is_object ? WANT_FIRST_KEY : WANT_FIRST_ITEM;
    return SL_OK;
}

static sl_status close_value(sl_json_in *json) {
    json->in->at++;
    bool is_object = json->closers[--json->depth] == '}';
    json->token = is_object ? SL_JSON_OBJECT_END : SL_JSON_ARRAY_END;
    value_done(json);
    return SL_OK;
}

/* ---- numbers ---- */

/* Bytes of the number or word at the front of the window. */
static sl_status measure_word(sl_json_in *json, size_t *len, sl_error *err) {
    size_t n = 0;
    for (;;) {
        for (size_t left = (size_t)(json->in->end - json->in->at); n < left; n++) {
            unsigned char c = json->in->at[n];
            bool is_part = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || c == '+' || c == '-' || c == '.';
            if (!is_part) {
                *len = n;
                return SL_OK;
            }
        }
        if (n > SL_JSON_IN_TEXT_MAX)
            return sl_fail_at(err, SL_E_LIMIT, json->position, "a number too long at byte %llu",
                              (unsigned long long)json->position);
        if (!sl_bytes_need(json->in, n + 1)) {
            *len = n;
            return json->in->failure.code < 0 ? sl_bytes_failure(json->in, "a number", err) : SL_OK;
        }
    }
}

static size_t digits_from(const char *text, size_t len, size_t at) {
    while (at < len && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* The grammar of a JSON number; sets *is_integer. */
static bool is_number(const char *text, size_t len, bool *is_integer) {
    size_t at = len && text[0] == '-', begin = at;
    at = digits_from(text, len, at);
    if (at == begin || (text[begin] == '0' && at - begin > 1))
        return false;
    *is_integer = at == len;
    if (at < len && text[at] == '.') {
        begin = ++at;
        at = digits_from(text, len, at);
        if (at == begin)
            return false;
    }
    if (at < len && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (at < len && (text[at] == '+' || text[at] == '-'))
            at++;
        begin = at;
        at = digits_from(text, len, at);
        if (at == begin)
            return false;
    }
    return at == len;
}

static bool to_integer(const char *text, size_t len, int64_t *out) {
    bool is_negative = text[0] == '-';
    int64_t value = 0;
    for (size_t i = is_negative; i < len; i++) {
        int digit = text[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            (is_negative ? __builtin_sub_overflow(value, digit, &value)
                         : __builtin_add_overflow(value, digit, &value)))
            return false;
    }
    *out = value;
    return true;
}

/* strtod wants a terminated text; the locale's point is that of C, which nothing here changes. */
static sl_status to_real(sl_json_in *json, sl_error *err) {
    char small[64], *copy = small;
    if (json->raw.len >= sizeof small && !(copy = malloc(json->raw.len + 1)))
        return sl_fail(err, SL_E_NOMEM, "out of memory for a number");
    memcpy(copy, json->raw.ptr, json->raw.len);
    copy[json->raw.len] = '\0';
    json->real = strtod(copy, NULL);
    if (copy != small)
        free(copy);
    return SL_OK;
}

static sl_status read_number(sl_json_in *json, size_t len, sl_error *err) {
    const char *text = (const char *)json->in->at;
    bool is_integer = false;
    if (!is_number(text, len, &is_integer))
        return sl_fail_at(err, SL_E_FORMAT, json->position,
                          "expected a number at byte %llu, found '%.*s'",
                          (unsigned long long)json->position, (int)(len < 40 ? len : 40), text);
    json->raw = (sl_str){text, len};
    json->in->at += len;
    value_done(json);
    json->token = SL_JSON_INTEGER;
    if (is_integer && to_integer(text, len, &json->number))
        return SL_OK;
    json->token = is_integer ? SL_JSON_BIG : SL_JSON_REAL;
    return to_real(json, err);
}

static const struct {
    const char *word;
    sl_json_token token;
    double real;
} words[] = {
    {"true", SL_JSON_TRUE, 0},
    {"false", SL_JSON_FALSE, 0},
    {"null", SL_JSON_NULL, 0},
    {"NaN", SL_JSON_REAL, NAN},
    {"Infinity", SL_JSON_REAL, INFINITY},
    {"-Infinity", SL_JSON_REAL, -INFINITY},
};

static sl_status read_word(sl_json_in *json, int c, sl_error *err) {
    size_t len = 0;
    SL_TRY(measure_word(json, &len, err));
    const char *text = (const char *)json->in->at;
    if ((c >= '0' && c <= '9') || (c == '-' && !(len > 1 && text[1] == 'I')))
        return read_number(json, len, err);
    for (size_t i = 0; i < SL_COUNT_OF(words); i++) {
        if (len != strlen(words[i].word) || memcmp(text, words[i].word, len) != 0)
            continue;
        json->token = words[i].token;
        json->real = words[i].real;
        json->raw = (sl_str){text, len};
        json->in->at += len;
        value_done(json);
        return SL_OK;
    }
    return unexpected(json, c, "a value", err);
}

/* ---- strings ---- */

static sl_status read_string(sl_json_in *json, sl_error *err) {
    sl_json_scan scan = {0};
    sl_byte_stream *in = json->in;
    in->at++;
    while (!sl__json_scan(&scan, in->at, (size_t)(in->end - in->at))) {
        if (scan.len > SL_JSON_IN_TEXT_MAX)
            return sl_fail_at(err, SL_E_LIMIT, json->position, "a string too long at byte %llu",
                              (unsigned long long)json->position);
        if (!sl_bytes_need(in, scan.len + 1))
            return sl_bytes_failure(in, "a string", err);
    }
    json->raw = json->text = (sl_str){(const char *)in->at, scan.len};
    if (scan.has_escape || scan.has_control || scan.has_high)
        SL_TRY(sl__json_decode(json, &scan, err));
    in->at += scan.len + 1;
    return SL_OK;
}

static sl_status read_key(sl_json_in *json, int c, const char *expected, sl_error *err) {
    if (c != '"')
        return unexpected(json, c, expected, err);
    SL_TRY(read_string(json, err));
    /* The colon may stand behind the window's end, and reading on would void the text. */
    if (json->in->at < json->in->end && *json->in->at == ':') {
        json->in->at++;
    } else {
        SL_TRY(sl__json_keep_text(json, err));
        c = peek(json->in);
        if (c != ':')
            return unexpected(json, c, "':' behind a key", err);
        json->in->at++;
    }
    json->token = SL_JSON_KEY;
    json->state = WANT_VALUE;
    return SL_OK;
}

static sl_status read_value(sl_json_in *json, int c, sl_error *err) {
    if (c == '{' || c == '[')
        return open_value(json, c == '{', err);
    if (c < 0)
        return unexpected(json, c, "a value", err);
    if (c != '"')
        return read_word(json, c, err);
    SL_TRY(read_string(json, err));
    json->token = SL_JSON_STRING;
    value_done(json);
    return SL_OK;
}

/* A comma and what must follow it, or the closing bracket. */
static sl_status read_after_value(sl_json_in *json, int c, sl_error *err) {
    char closer = json->closers[json->depth - 1];
    if (c == closer)
        return close_value(json);
    if (c != ',')
        return unexpected(json, c, closer == '}' ? "',' or '}'" : "',' or ']'", err);
    json->in->at++;
    c = peek(json->in);
    json->position = sl_bytes_position(json->in);
    if (closer == '}')
        return read_key(json, c, "a key in double quotes", err);
    return read_value(json, c, err);
}

sl_status sl_json_next(sl_json_in *json, sl_error *err) {
    int c = peek(json->in);
    json->position = sl_bytes_position(json->in);
    switch (json->state) {
    case WANT_FIRST_KEY:
        if (c == '}')
            return close_value(json);
        return read_key(json, c, "a key in double quotes, or '}'", err);
    case WANT_FIRST_ITEM: return c == ']' ? close_value(json) : read_value(json, c, err);
    case WANT_COMMA_OR_END: return read_after_value(json, c, err);
    case WANT_TOP:
        if (c >= 0 || json->in->failure.code < 0)
            return read_value(json, c, err);
        json->token = SL_JSON_END;
        return SL_OK;
    default: return read_value(json, c, err);
    }
}

sl_status sl_json_skip(sl_json_in *json, sl_error *err) {
    if (json->token != SL_JSON_OBJECT_BEGIN && json->token != SL_JSON_ARRAY_BEGIN)
        return SL_OK;
    size_t outside = json->depth - 1;
    while (json->depth > outside)
        SL_TRY(sl_json_next(json, err));
    return SL_OK;
}

/* ---- copying ---- */

sl_status sl_json_text_add(sl_json_text *to, const char *ptr, size_t len, sl_error *err) {
    if (len > SL_JSON_IN_TEXT_MAX || to->len + len > SL_JSON_IN_TEXT_MAX)
        return sl_fail(err, SL_E_LIMIT, "a value of more than %zu bytes", SL_JSON_IN_TEXT_MAX);
    if (!sl_vec_grow((void **)&to->at, &to->cap, to->len, len + 1, 1))
        return sl_fail(err, SL_E_NOMEM, "out of memory for a JSON value");
    memcpy(to->at + to->len, ptr, len);
    to->len += len;
    to->at[to->len] = '\0';
    return SL_OK;
}

static sl_status add_quoted(sl_json_text *to, sl_str raw, sl_error *err) {
    SL_TRY(sl_json_text_add(to, "\"", 1, err));
    SL_TRY(sl_json_text_add(to, raw.ptr, raw.len, err));
    return sl_json_text_add(to, "\"", 1, err);
}

static sl_status add_token(const sl_json_in *json, sl_json_text *to, sl_error *err) {
    switch (json->token) {
    case SL_JSON_OBJECT_BEGIN: return sl_json_text_add(to, "{", 1, err);
    case SL_JSON_OBJECT_END: return sl_json_text_add(to, "}", 1, err);
    case SL_JSON_ARRAY_BEGIN: return sl_json_text_add(to, "[", 1, err);
    case SL_JSON_ARRAY_END: return sl_json_text_add(to, "]", 1, err);
    case SL_JSON_KEY:
        SL_TRY(add_quoted(to, json->raw, err));
        return sl_json_text_add(to, ":", 1, err);
    case SL_JSON_STRING: return add_quoted(to, json->raw, err);
    case SL_JSON_REAL:
        if (!isfinite(json->real) && json->raw.ptr[json->raw.len - 1] > '9')
            return sl_json_text_add(to, "null", 4, err);
        return sl_json_text_add(to, json->raw.ptr, json->raw.len, err);
    default: return sl_json_text_add(to, json->raw.ptr, json->raw.len, err);
    }
}

/* True when this token does not follow an opening bracket or a key, so that a comma belongs here. */
static bool needs_comma(sl_json_token last, sl_json_token token) {
    bool is_first = last == SL_JSON_OBJECT_BEGIN || last == SL_JSON_ARRAY_BEGIN;
    bool is_end = token == SL_JSON_OBJECT_END || token == SL_JSON_ARRAY_END;
    return !is_first && last != SL_JSON_KEY && !is_end;
}

sl_status sl_json_copy(sl_json_in *json, sl_json_text *to, sl_error *err) {
    SL_TRY(add_token(json, to, err));
    if (json->token != SL_JSON_OBJECT_BEGIN && json->token != SL_JSON_ARRAY_BEGIN)
        return SL_OK;
    size_t outside = json->depth - 1;
    while (json->depth > outside) {
        sl_json_token last = json->token;
        SL_TRY(sl_json_next(json, err));
        if (needs_comma(last, json->token))
            SL_TRY(sl_json_text_add(to, ",", 1, err));
        SL_TRY(add_token(json, to, err));
    }
    return SL_OK;
}
