/* SPDX-License-Identifier: MIT */
/* A strict JSON reader that hands out one token at a time and keeps no tree: memory is one string
 * and one bit per open bracket. Every failure names the byte. One thread at a time.
 *
 * Strict is RFC 8259: no comments, no trailing commas, no NaN, UTF-8 only. Lone surrogates in
 * escapes are kept as their three bytes, as Python's pickles do. Keys may repeat: what that means
 * is the caller's business. */
#ifndef SL_JSON_IN_H
#define SL_JSON_IN_H

#include "base/core/vec.h"
#include "base/files/byte_stream.h"

#define SL_JSON_IN_DEPTH_MAX 64

typedef enum sl_json_type {
    SL_JSON_END, /* the outermost value is complete and nothing follows */
    SL_JSON_BEGIN_OBJECT,
    SL_JSON_END_OBJECT,
    SL_JSON_BEGIN_ARRAY,
    SL_JSON_END_ARRAY,
    SL_JSON_KEY,
    SL_JSON_STRING,
    SL_JSON_INT,   /* fits into 64 bits, signed or unsigned */
    SL_JSON_FLOAT, /* every other number */
    SL_JSON_BOOL,
    SL_JSON_NULL,
} sl_json_type;

typedef struct sl_json_token {
    sl_json_type type;
    uint64_t position; /* of its first byte */
    sl_str text;       /* KEY, STRING: valid until the next call */
    uint64_t u;        /* INT: two's complement when negative; BOOL */
    bool is_negative;
    double f;        /* FLOAT */
    sl_str raw;      /* INT, FLOAT: as written, valid until the next call */
    bool is_integer; /* FLOAT: written as an integer, but beyond 64 bits */
} sl_json_token;

typedef struct sl_json_in {
    sl_byte_stream *in; /* borrowed */
    SL_VEC(char) text;  /* the newest string with escapes */
    int depth;
    bool is_object[SL_JSON_IN_DEPTH_MAX];
    uint8_t state;
    /* Set after sl_json_in_init, where the input needs it. */
    bool allows_more; /* several values one after another (JSON lines); END comes after the last */
    bool allows_nan;  /* NaN, Infinity, -Infinity, which Python writes: FLOAT */
} sl_json_in;

void sl_json_in_init(sl_json_in *json, sl_byte_stream *in);
void sl_json_in_fini(sl_json_in *json);

/* The next token. After a failure the reader must not be used again. */
sl_status sl_json_next(sl_json_in *json, sl_json_token *token, sl_error *err);

/* The next token must begin an object. */
sl_status sl_json_expect_object(sl_json_in *json, sl_error *err);

/* Passes over the value that begins with this token: a scalar is already past. */
sl_status sl_json_skip(sl_json_in *json, const sl_json_token *token, sl_error *err);

#endif
