/* SPDX-License-Identifier: MIT */
/* A strict reader of the part of TOML 1.0 that settings need: tables, keys, strings, numbers, booleans and
 * arrays of those. What is TOML but not in this part (dotted keys, inline tables, arrays of tables, dates,
 * multi-line strings, hexadecimal, nan) is an error, never a guess. A file that is accepted means the same
 * to every TOML reader.
 *
 * Every error is one line: name:line:column: expected what, found what. One thread per document. */
#ifndef SL_TOML_IN_H
#define SL_TOML_IN_H

#include "base/core/arena.h"
#include "base/core/status.h"
#include "base/core/vec.h"

/* Larger files are refused. */
#define SL_TOML_BYTES_MAX ((size_t)256 << 10)

/* enumerator, in messages. */
#define SL_TOML_TYPE_MAP(X)  \
    X(STRING, "a string")    \
    X(INT, "a whole number") \
    X(FLOAT, "a number")     \
    X(BOOL, "a boolean")     \
    X(ARRAY, "an array")

typedef enum sl_toml_type {
#define SL_TOML_ENUM(name, text) SL_TOML_##name,
    SL_TOML_TYPE_MAP(SL_TOML_ENUM)
#undef SL_TOML_ENUM
} sl_toml_type;

const char *sl_toml_type_name(sl_toml_type type);

/* Columns count characters, from 1. */
typedef struct sl_toml_place {
    unsigned line, column;
} sl_toml_place;

typedef struct sl_toml_value {
    sl_toml_type type;
    sl_toml_place place;
    const char
        *text; /* STRING: unescaped, without NUL; INT, FLOAT: as written, without underscores */
    int64_t number;              /* INT; BOOL: 0 or 1 */
    double real;                 /* INT and FLOAT */
    struct sl_toml_value *items; /* ARRAY: its values, none of them an array */
    size_t item_cnt;
} sl_toml_value;

typedef struct sl_toml_entry {
    const char *table; /* "" = before the first one */
    const char *key;
    sl_toml_place place; /* of the key */
    sl_toml_place table_place;
    sl_toml_value value;
} sl_toml_entry;

typedef struct sl_toml {
    sl_arena arena;                /* of all texts and items */
    SL_VEC(sl_toml_entry) entries; /* in the order of the file; no key twice in a table */
    SL_VEC(const char *) tables;   /* no name twice */
} sl_toml;

/* Reads the bytes; `name` is for messages. SL_E_FORMAT, SL_E_LIMIT, SL_E_NOMEM; sl_toml_fini in any case. */
sl_status sl_toml_parse(sl_toml *doc, const char *name, const char *bytes, size_t len,
                        sl_error *err);
void sl_toml_fini(sl_toml *doc);

#endif
