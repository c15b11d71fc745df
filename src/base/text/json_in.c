/* SPDX-License-Identifier: MIT */
#include "base/text/json_in.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/json_text.h"
#include "base/text/utf8.h"

/* What may come next. */
enum {
    WANT_VALUE,
    WANT_ITEM_OR_CLOSE,
    WANT_KEY_OR_CLOSE,
    WANT_KEY,
    WANT_COMMA_OR_CLOSE,
    WANT_END,
};

static const char *const wanted[] = {
    [WANT_VALUE] = "a value",
    [WANT_ITEM_OR_CLOSE] = "a value or ']'",
    [WANT_KEY_OR_CLOSE] = "a key or '}'",
    [WANT_KEY] = "a key",
    [WANT_COMMA_OR_CLOSE] = "',' or the closing bracket",
    [WANT_END] = "the end",
};

void sl_json_in_init(sl_json_in *json, sl_byte_stream *in) {
    *json = (sl_json_in){.in = in, .state = WANT_VALUE};
}

void sl_json_in_fini(sl_json_in *json) {
    sl_vec_free(&json->text);
}

static sl_status unexpected(const sl_json_in *json, const char *expected, sl_error *err) {
    unsigned char c = *json->in->at;
    uint64_t at = sl_bytes_position(json->in);
    char found[16];
    snprintf(found, sizeof found, c >= 0x20 && c < 0x7f ? "'%c'" : "0x%02x", c);
    return sl_fail_at(err, SL_E_FORMAT, at, "JSON: expected %s at byte %llu, found %s", expected,
                      (unsigned long long)at, found);
}

static bool skip_space(sl_json_in *json) {
    while (sl_bytes_need(json->in, 1)) {
        unsigned char c = *json->in->at;
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
            return true;
        json->in->at++;
    }
    return false;
}

/* --- Strings ---------------------------------------------------------------------------------- */

static bool hex4(const unsigned char *at, uint32_t *value) {
    *value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char c = at[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = c - (uint32_t)'0';
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (c | 0x20) - (uint32_t)'a' + 10;
        else
            return false;
        *value = *value << 4 | digit;
    }
    return true;
}

static void add_char(sl_json_in *json, uint32_t code) {
    char *to = json->text.at + json->text.cnt;
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(lead[len] | code);
    json->text.cnt += len;
}

/* \uXXXX at `at`, with its low half when it is the high half of a pair. Returns the bytes read. */
static size_t take_unicode(sl_json_in *json, const unsigned char *at, size_t left) {
    uint32_t code, low = 0;
    if (left < 6 || !hex4(at + 2, &code))
        return 0;
    bool is_pair = code >= 0xd800 && code < 0xdc00 && left >= 12 && at[6] == '\\' && at[7] == 'u' &&
                   hex4(at + 8, &low) && low >= 0xdc00 && low < 0xe000;
    if (is_pair)
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    add_char(json, code);
    return is_pair ? 12 : 6;
}

static size_t take_escape(sl_json_in *json, const unsigned char *at, size_t left) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (left < 2)
        return 0;
    if (at[1] == 'u')
        return take_unicode(json, at, left);
    const char *found = at[1] ? strchr(from, at[1]) : NULL;
    if (!found)
        return 0;
    json->text.at[json->text.cnt++] = to[found - from];
    return 2;
}

/* Decodes the body of a string with escapes. An escape is never shorter than what it stands for. */
static sl_status decode(sl_json_in *json, const unsigned char *body, size_t len, sl_str *text,
                        sl_error *err) {
    json->text.cnt = 0;
    if (!sl_vec_reserve(&json->text, len))
        return sl_fail_no_memory(err, "a JSON string");
    for (size_t i = 0; i < len;) {
        size_t used = 1;
        if (body[i] != '\\')
            json->text.at[json->text.cnt++] = (char)body[i];
        else
            used = take_escape(json, body + i, len - i);
        if (used == 0) {
            json->in->at = body + i;
            return unexpected(json, "an escape such as \\n or \\u00e9", err);
        }
        i += used;
    }
    *text = (sl_str){json->text.at, json->text.cnt};
    return SL_OK;
}

#define ONES  UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* Bytes from here that are plain: no quote, no backslash, no control character, ASCII. Eight at a
 * time, so it may stop early; the rest is checked byte by byte. */
static size_t plain_run(const unsigned char *at, const unsigned char *end) {
    const unsigned char *p = at;
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        uint64_t quote = word ^ (ONES * '"'), slash = word ^ (ONES * '\\');
        if (((quote - ONES) | (slash - ONES) | (word - ONES * 0x20) | word) & HIGHS)
            break;
    }
    return (size_t)(p - at);
}

/* Finds the closing quote. *len is the length of the body; control characters and bad UTF-8 are
 * refused on the way. */
static sl_status scan_string(sl_json_in *json, size_t *len, bool *has_escape, sl_error *err) {
    *has_escape = false;
    for (size_t i = 1;;) {
        if (!sl_bytes_need(json->in, i + 1))
            return sl_bytes_failure(json->in, "a JSON string", err);
        i += plain_run(json->in->at + i, json->in->end);
        if (!sl_bytes_need(json->in, i + 1))
            return sl_bytes_failure(json->in, "a JSON string", err);
        const unsigned char *p = json->in->at;
        if (p[i] == '"') {
            *len = i - 1;
            return SL_OK;
        }
        size_t step = 1;
        if (p[i] == '\\') {
            *has_escape = true;
            step = 2;
        } else if (p[i] >= 0x80) {
            (void)sl_bytes_need(json->in, i + 4);
            step = sl_utf8_length((const char *)json->in->at + i,
                                  (size_t)(json->in->end - json->in->at) - i);
        }
        if (step == 0 || json->in->at[i] < 0x20) {
            json->in->at += i;
            return unexpected(json, step == 0 ? "UTF-8" : "no control character in a string", err);
        }
        i += step;
    }
}

static sl_status take_string(sl_json_in *json, sl_json_token *token, sl_error *err) {
    size_t len = 0;
    bool has_escape;
    SL_TRY(scan_string(json, &len, &has_escape, err));
    const unsigned char *body = json->in->at + 1;
    token->text = (sl_str){(const char *)body, len};
    if (has_escape)
        SL_TRY(decode(json, body, len, &token->text, err));
    json->in->at = body + len + 1;
    return SL_OK;
}

/* --- Other scalars ---------------------------------------------------------------------------- */

#define NUMBER_CAP 64

static bool is_number_char(unsigned char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static const char *skip_digits(const char *p) {
    while (*p >= '0' && *p <= '9')
        p++;
    return p;
}

/* The grammar of RFC 8259; *is_int when there is neither a fraction nor an exponent. */
static bool is_number(const char *text, bool *is_int) {
    const char *p = text + (*text == '-');
    const char *digits = p;
    p = skip_digits(p);
    if (p == digits || (*digits == '0' && p > digits + 1))
        return false;
    *is_int = *p == '\0';
    if (*p == '.') {
        const char *fraction = ++p;
        p = skip_digits(p);
        if (p == fraction)
            return false;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        const char *exponent = p;
        p = skip_digits(p);
        if (p == exponent)
            return false;
    }
    return *p == '\0';
}

static bool set_int(sl_json_token *token, const char *text) {
    token->is_negative = *text == '-';
    errno = 0;
    token->u = strtoull(text + token->is_negative, NULL, 10);
    if (errno || (token->is_negative && token->u > (uint64_t)INT64_MAX + 1))
        return false;
    if (token->is_negative)
        token->u = 0 - token->u;
    token->is_negative = token->is_negative && token->u != 0;
    return true;
}

static sl_status take_number(sl_json_in *json, sl_json_token *token, sl_error *err) {
    char text[NUMBER_CAP + 1];
    size_t len = 0;
    while (len < NUMBER_CAP && sl_bytes_need(json->in, len + 1) &&
           is_number_char(json->in->at[len])) {
        text[len] = (char)json->in->at[len];
        len++;
    }
    text[len] = '\0';
    bool is_int, is_right = len < NUMBER_CAP && is_number(text, &is_int);
    if (!is_right && len < NUMBER_CAP && !sl_bytes_need(json->in, len + 1))
        return sl_bytes_failure(json->in, "a JSON number", err);
    if (!is_right)
        return sl_fail_at(err, SL_E_FORMAT, token->position,
                          "JSON: '%.24s' at byte %llu is not a number", text,
                          (unsigned long long)token->position);
    token->raw = (sl_str){(const char *)json->in->at, len};
    token->is_integer = is_int;
    json->in->at += len;
    token->type = SL_JSON_INT;
    if (is_int && set_int(token, text))
        return SL_OK;
    token->type = SL_JSON_FLOAT;
    token->f = strtod(text, NULL);
    return SL_OK;
}

typedef struct literal {
    const char *text;
    sl_json_type type;
    uint64_t u;
    double f;
} literal;

static const literal literals[] = {
    {"true", SL_JSON_BOOL, 1, 0},
    {"false", SL_JSON_BOOL, 0, 0},
    {"null", SL_JSON_NULL, 0, 0},
    {"NaN", SL_JSON_FLOAT, 0, NAN},
    {"Infinity", SL_JSON_FLOAT, 0, INFINITY},
    {"-Infinity", SL_JSON_FLOAT, 0, -INFINITY},
};

static sl_status take_literal(sl_json_in *json, sl_json_token *token, sl_error *err) {
    for (size_t i = 0; i < SL_COUNT_OF(literals); i++) {
        size_t len = strlen(literals[i].text), left = len;
        bool is_cut = !sl_bytes_need(json->in, len);
        if (is_cut)
            left = (size_t)(json->in->end - json->in->at);
        if (memcmp(json->in->at, literals[i].text, left) != 0)
            continue;
        if (literals[i].type == SL_JSON_FLOAT && !json->allows_nan)
            continue;
        if (is_cut)
            return sl_bytes_failure(json->in, "a JSON value", err);
        json->in->at += len;
        token->type = literals[i].type;
        token->u = literals[i].u;
        token->f = literals[i].f;
        return SL_OK;
    }
    return unexpected(json, wanted[json->state], err);
}

/* --- Structure -------------------------------------------------------------------------------- */

static sl_status open_container(sl_json_in *json, sl_json_token *token, bool is_object,
                                sl_error *err) {
    if (json->depth == SL_JSON_IN_DEPTH_MAX)
        return sl_fail_at(err, SL_E_LIMIT, token->position,
                          "JSON: more than %d levels of brackets at byte %llu",
                          SL_JSON_IN_DEPTH_MAX, (unsigned long long)token->position);
    json->is_object[json->depth++] = is_object;
    json->in->at++;
    token->type = is_object ? SL_JSON_BEGIN_OBJECT : SL_JSON_BEGIN_ARRAY;
    json->state = is_object ? WANT_KEY_OR_CLOSE : WANT_ITEM_OR_CLOSE;
    return SL_OK;
}

static void after_value(sl_json_in *json) {
    json->state = json->depth ? WANT_COMMA_OR_CLOSE : WANT_END;
}

static sl_status close_container(sl_json_in *json, sl_json_token *token) {
    json->in->at++;
    json->depth--;
    token->type = json->is_object[json->depth] ? SL_JSON_END_OBJECT : SL_JSON_END_ARRAY;
    after_value(json);
    return SL_OK;
}

static sl_status take_key(sl_json_in *json, sl_json_token *token, sl_error *err) {
    if (*json->in->at != '"')
        return unexpected(json, wanted[json->state], err);
    token->type = SL_JSON_KEY;
    SL_TRY(take_string(json, token, err));
    /* The text may be in the window, which the search for ':' could move. */
    if (token->text.ptr != json->text.at) {
        json->text.cnt = 0;
        if (!sl_vec_reserve(&json->text, token->text.len + 1))
            return sl_fail_no_memory(err, "a JSON string");
        memcpy(json->text.at, token->text.ptr, token->text.len);
        token->text.ptr = json->text.at;
    }
    if (!skip_space(json))
        return sl_bytes_failure(json->in, "a JSON object", err);
    if (*json->in->at != ':')
        return unexpected(json, "':'", err);
    json->in->at++;
    json->state = WANT_VALUE;
    return SL_OK;
}

static bool is_minus_infinity(sl_json_in *json) {
    return json->allows_nan && sl_bytes_need(json->in, 2) && json->in->at[1] == 'I';
}

static sl_status take_value(sl_json_in *json, sl_json_token *token, sl_error *err) {
    unsigned char c = *json->in->at;
    if (c == '{' || c == '[')
        return open_container(json, token, c == '{', err);
    if (c == '"') {
        token->type = SL_JSON_STRING;
        SL_TRY(take_string(json, token, err));
    } else if ((c == '-' && !is_minus_infinity(json)) || (c >= '0' && c <= '9')) {
        SL_TRY(take_number(json, token, err));
    } else {
        SL_TRY(take_literal(json, token, err));
    }
    after_value(json);
    return SL_OK;
}

/* Past the comma; what may follow it depends on the bracket. */
static sl_status pass_comma(sl_json_in *json, sl_json_token *token, sl_error *err) {
    if (*json->in->at != ',')
        return unexpected(json, wanted[json->state], err);
    json->in->at++;
    json->state = json->is_object[json->depth - 1] ? WANT_KEY : WANT_VALUE;
    if (!skip_space(json))
        return sl_bytes_failure(json->in, "JSON", err);
    token->position = sl_bytes_position(json->in);
    return SL_OK;
}

sl_status sl_json_next(sl_json_in *json, sl_json_token *token, sl_error *err) {
    *token = (sl_json_token){.type = SL_JSON_END};
    bool is_more = skip_space(json);
    token->position = sl_bytes_position(json->in);
    bool may_end = json->state == WANT_END || (json->allows_more && json->depth == 0);
    if (!is_more)
        return may_end && json->in->failure.code >= 0 ? SL_OK
                                                      : sl_bytes_failure(json->in, "JSON", err);
    if (json->state == WANT_END && json->allows_more)
        json->state = WANT_VALUE;
    if (json->state == WANT_END)
        return unexpected(json, wanted[WANT_END], err);
    bool may_close = json->state == WANT_COMMA_OR_CLOSE || json->state == WANT_ITEM_OR_CLOSE ||
                     json->state == WANT_KEY_OR_CLOSE;
    if (may_close && *json->in->at == (json->is_object[json->depth - 1] ? '}' : ']'))
        return close_container(json, token);
    if (json->state == WANT_COMMA_OR_CLOSE)
        SL_TRY(pass_comma(json, token, err));
    if (json->state == WANT_KEY || json->state == WANT_KEY_OR_CLOSE)
        return take_key(json, token, err);
    return take_value(json, token, err);
}

sl_status sl_json_expect_object(sl_json_in *json, sl_error *err) {
    sl_json_token token;
    SL_TRY(sl_json_next(json, &token, err));
    if (token.type == SL_JSON_BEGIN_OBJECT)
        return SL_OK;
    return sl_fail_at(err, SL_E_FORMAT, token.position, "expected an object, found %s",
                      sl_json_type_name(token.type));
}

sl_status sl_json_skip(sl_json_in *json, const sl_json_token *token, sl_error *err) {
    if (token->type != SL_JSON_BEGIN_OBJECT && token->type != SL_JSON_BEGIN_ARRAY)
        return SL_OK;
    int outside = json->depth - 1;
    sl_json_token inner;
    while (json->depth > outside)
        SL_TRY(sl_json_next(json, &inner, err));
    return SL_OK;
}
