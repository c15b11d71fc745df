/* SPDX-License-Identifier: MIT */
/* JSON kept as text: values copied out of a stream of tokens, without white space, so that equal
 * values are equal texts. */
#ifndef SL_JSON_TEXT_H
#define SL_JSON_TEXT_H

#include "base/text/json_in.h"

/* Bytes of one kept value. */
#define SL_JSON_TEXT_MAX ((size_t)64 << 20)

/* A growable text. Zero-initialised is empty; free(at) releases it. */
typedef struct sl_json_text {
    char *at; /* owned */
    size_t len, cap;
} sl_json_text;

/* Appends bytes; SL_E_NOMEM, SL_E_LIMIT beyond SL_JSON_TEXT_MAX. */
sl_status sl_json_text_add(sl_json_text *to, const char *ptr, size_t len, sl_error *err);

/* Appends a text as a JSON string, with quotes and escapes. */
sl_status sl_json_text_add_string(sl_json_text *to, sl_str text, sl_error *err);

/* Appends the value that begins with this token and reads to its end. Numbers stay as written; what
 * is not JSON (NaN) becomes null. */
sl_status sl_json_text_copy(sl_json_text *to, sl_json_in *json, const sl_json_token *first,
                            sl_error *err);

/* "a string", "an object", ... for messages. */
const char *sl_json_type_name(sl_json_type type);

#endif
