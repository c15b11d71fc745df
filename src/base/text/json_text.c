/* SPDX-License-Identifier: MIT */
#include "base/text/json_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

sl_status sl_json_text_add(sl_json_text *to, const char *ptr, size_t len, sl_error *err) {
    if (len > SL_JSON_TEXT_MAX || to->len + len > SL_JSON_TEXT_MAX)
        return sl_fail(err, SL_E_LIMIT, "a value of more than %zu bytes", SL_JSON_TEXT_MAX);
    if (!sl_vec_grow((void **)&to->at, &to->cap, to->len, len + 1, 1))
        return sl_fail_no_memory(err, "a JSON value");
    memcpy(to->at + to->len, ptr, len);
    to->len += len;
    to->at[to->len] = '\0';
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

static sl_status add_word(sl_json_text *to, const char *word, sl_error *err) {
    return sl_json_text_add(to, word, strlen(word), err);
}

static sl_status add_token(sl_json_text *to, const sl_json_token *token, sl_error *err) {
    switch (token->type) {
    case SL_JSON_BEGIN_OBJECT: return add_word(to, "{", err);
    case SL_JSON_END_OBJECT: return add_word(to, "}", err);
    case SL_JSON_BEGIN_ARRAY: return add_word(to, "[", err);
    case SL_JSON_END_ARRAY: return add_word(to, "]", err);
    case SL_JSON_KEY:
        SL_TRY(sl_json_text_add_string(to, token->text, err));
        return add_word(to, ":", err);
    case SL_JSON_STRING: return sl_json_text_add_string(to, token->text, err);
    case SL_JSON_INT:
    case SL_JSON_FLOAT:
        /* NaN and its like have no text of their own; 1e999 has. */
        if (token->raw.len)
            return sl_json_text_add(to, token->raw.ptr, token->raw.len, err);
        return add_word(to, "null", err);
    case SL_JSON_BOOL: return add_word(to, token->u ? "true" : "false", err);
    default: return add_word(to, "null", err);
    }
}

/* True when a token does not follow an opening bracket or a key, so that a comma belongs there. */
static bool needs_comma(sl_json_type last, sl_json_type type) {
    bool is_first = last == SL_JSON_BEGIN_OBJECT || last == SL_JSON_BEGIN_ARRAY;
    bool is_end = type == SL_JSON_END_OBJECT || type == SL_JSON_END_ARRAY;
    return !is_first && last != SL_JSON_KEY && !is_end;
}

sl_status sl_json_text_copy(sl_json_text *to, sl_json_in *json, const sl_json_token *first,
                            sl_error *err) {
    SL_TRY(add_token(to, first, err));
    if (first->type != SL_JSON_BEGIN_OBJECT && first->type != SL_JSON_BEGIN_ARRAY)
        return SL_OK;
    int outside = json->depth - 1;
    sl_json_type last = first->type;
    while (json->depth > outside) {
        sl_json_token token;
        SL_TRY(sl_json_next(json, &token, err));
        if (needs_comma(last, token.type))
            SL_TRY(add_word(to, ",", err));
        SL_TRY(add_token(to, &token, err));
        last = token.type;
    }
    return SL_OK;
}

const char *sl_json_type_name(sl_json_type type) {
    static const char *const names[] = {
        "the end of the input",
        "an object",
        "the end of an object",
        "an array",
        "the end of an array",
        "a key",
        "a string",
        "an integer",
        "a number",
        "a boolean",
        "null",
    };
    return names[type];
}
