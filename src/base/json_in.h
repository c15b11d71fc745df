/* SPDX-License-Identifier: MIT */
/* A strict, streaming JSON reader: one token at a time from a byte stream, with the byte position of
 * every token and of every error. Depth and text length are bounded, so hostile input costs what its
 * bytes cost. Accepted beyond the standard, because Python writes them: NaN, Infinity, -Infinity.
 * One thread at a time. */
#ifndef SL_JSON_IN_H
#define SL_JSON_IN_H

#include "base/byte_stream.h"

#define SL_JSON_IN_DEPTH_MAX 64
#define SL_JSON_IN_TEXT_MAX  ((size_t)64 << 20) /* bytes of one string or number */

typedef enum sl_json_token {
    SL_JSON_END, /* of the input; only outside every value */
    SL_JSON_OBJECT_BEGIN,
    SL_JSON_OBJECT_END,
    SL_JSON_ARRAY_BEGIN,
    SL_JSON_ARRAY_END,
    SL_JSON_KEY,     /* text */
    SL_JSON_STRING,  /* text */
    SL_JSON_INTEGER, /* number */
    SL_JSON_BIG,     /* an integer beyond 64 bits: raw, real */
    SL_JSON_REAL,    /* real */
    SL_JSON_TRUE,
    SL_JSON_FALSE,
    SL_JSON_NULL,
} sl_json_token;

typedef struct sl_json_in {
    sl_byte_stream *in; /* borrowed */
    /* Of the token just read; texts are valid until the next call. */
    sl_json_token token;
    uint64_t position; /* of its first byte */
    sl_str text;       /* KEY and STRING: decoded, UTF-8; may hold NUL */
    sl_str raw;        /* KEY and STRING: as written, without quotes; numbers: as written */
    int64_t number;
    double real;
    /* Where the reader is. */
    size_t depth;
    char closers[SL_JSON_IN_DEPTH_MAX]; /* '}' or ']' of each open value */
    uint8_t state;
    char *decoded; /* owned; texts with escapes */
    size_t decoded_cap;
} sl_json_in;

void sl_json_in_init(sl_json_in *json, sl_byte_stream *in);
void sl_json_in_fini(sl_json_in *json);

/* Reads the next token into json->token. Several values may follow each other, with white space
 * between them (JSON lines). SL_E_FORMAT, SL_E_TRUNCATED and SL_E_LIMIT name the byte position, what
 * was expected and what was found. After a failure only sl_json_in_fini may follow. */
sl_status sl_json_next(sl_json_in *json, sl_error *err);

/* Reads on to the end of the value whose first token was just read. */
sl_status sl_json_skip(sl_json_in *json, sl_error *err);

/* A growable text. Zero-initialised is empty; free(at) releases it. */
typedef struct sl_json_text {
    char *at; /* owned */
    size_t len, cap;
} sl_json_text;

/* The value whose first token was just read, appended without white space and otherwise as written;
 * what is not JSON (NaN) becomes null. Reads to its end. */
sl_status sl_json_copy(sl_json_in *json, sl_json_text *to, sl_error *err);

/* Appends bytes; SL_E_NOMEM, SL_E_LIMIT beyond SL_JSON_IN_TEXT_MAX. */
sl_status sl_json_text_add(sl_json_text *to, const char *ptr, size_t len, sl_error *err);

/* Appends a text as a JSON string, with quotes and escapes. */
sl_status sl_json_text_add_string(sl_json_text *to, sl_str text, sl_error *err);

/* "a string", "an object", ... for messages. */
const char *sl_json_token_name(sl_json_token token);

#endif
