/* SPDX-License-Identifier: MIT */
/* A strict, streaming JSON writer on a stdio stream. It keeps commas, nesting and escaping right,
 * so no caller prints a brace or a quote. Text that is not UTF-8 is written with U+FFFD in place of
 * each bad byte, and characters that are not safe to show (sl_utf8_next) as escapes; "</" is
 * written as "<\/" so that the result may be inside a page. */
#ifndef SL_JSON_OUT_H
#define SL_JSON_OUT_H

#include <stdio.h>

#include "base/core/status.h"

#define SL_JSON_DEPTH_MAX 64

typedef struct sl_json_out {
    FILE *to;   /* borrowed */
    int indent; /* spaces per level, 0 = everything on one line */
    int depth;
    bool has_item[SL_JSON_DEPTH_MAX];
    bool after_key;
    bool
        replaces_unsafe; /* set after init: characters that are not safe become U+FFFD, no escape */
} sl_json_out;

void sl_json_init(sl_json_out *json, FILE *to, int indent);

void sl_json_begin_object(sl_json_out *json);
void sl_json_end_object(sl_json_out *json);
void sl_json_begin_array(sl_json_out *json);
void sl_json_end_array(sl_json_out *json);
void sl_json_key(sl_json_out *json, const char *key);

void sl_json_str(sl_json_out *json, sl_str value);
void sl_json_cstr(sl_json_out *json, const char *value); /* NULL is null */
void sl_json_u64(sl_json_out *json, uint64_t value);
void sl_json_i64(sl_json_out *json, int64_t value);
void sl_json_f64(sl_json_out *json, double value); /* not finite is null */
void sl_json_bool(sl_json_out *json, bool value);
void sl_json_null(sl_json_out *json);
/* A number as it was written in another JSON text; nothing is checked. */
void sl_json_raw(sl_json_out *json, sl_str value);
void sl_json_maybe_u64(sl_json_out *json, sl_maybe_u64 value);
void sl_json_maybe_f64(sl_json_out *json, sl_maybe_f64 value);

/* A key and its value in one call. */
void sl_json_key_cstr(sl_json_out *json, const char *key, const char *value);
void sl_json_key_u64(sl_json_out *json, const char *key, uint64_t value);
void sl_json_key_i64(sl_json_out *json, const char *key, int64_t value);
void sl_json_key_f64(sl_json_out *json, const char *key, double value);
void sl_json_key_bool(sl_json_out *json, const char *key, bool value);
void sl_json_key_maybe_u64(sl_json_out *json, const char *key, sl_maybe_u64 value);
void sl_json_key_maybe_f64(sl_json_out *json, const char *key, sl_maybe_f64 value);

/* A newline after the outermost value; SL_E_WRITE when the stream failed at any time. */
sl_status sl_json_finish(sl_json_out *json, sl_error *err);

#endif
