/* SPDX-License-Identifier: MIT */
#include "base/text/toml_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "base/text/term.h"
#include "base/text/utf8.h"

/* No settings file comes near; finding a key that is there twice takes the square of it. */
#define ENTRIES_MAX 1024
#define ITEMS_MAX   256

typedef struct reader {
    const char *at, *end;
    const char *line_start;
    unsigned line;
    const char *name;
    const char *table;
    sl_toml_place table_place;
    sl_toml *doc;
    sl_error *err;
} reader;

const char *sl_toml_type_name(sl_toml_type type) {
    static const char *const names[] = {
#define TOML_NAME(name, text) text,
        SL_TOML_TYPE_MAP(TOML_NAME)
#undef TOML_NAME
    };
    return names[type];
}

/* ---- places and messages ---- */

static sl_toml_place place_of(const reader *in, const char *at) {
    unsigned column = 1;
    for (const char *c = in->line_start; c < at; c++)
        column += ((unsigned char)*c & 0xc0) != 0x80;
    return (sl_toml_place){in->line, column};
}

static bool is_end(const reader *in) {
    return in->at == in->end;
}

static bool is_line_end(const reader *in) {
    return is_end(in) || *in->at == '\n' ||
           (*in->at == '\r' && in->at + 1 < in->end && in->at[1] == '\n');
}

/* What is at the reader, for a message: up to a word of it. */
static void say_found(const reader *in, char buf[48]) {
    size_t len = 0;
    if (is_end(in) || is_line_end(in)) {
        snprintf(buf, 48, "%s", is_end(in) ? "the end of the file" : "the end of the line");
        return;
    }
    while (len < 24 && in->at + len < in->end && !strchr(" \t\r\n=,]#", in->at[len]))
        len++;
    if (len == 0)
        len = sl_utf8_next(in->at, (size_t)(in->end - in->at)).len;
    else /* whole characters only */
        while (len > 1 && in->at + len < in->end && ((unsigned char)in->at[len] & 0xc0) == 0x80)
            len--;
    snprintf(buf, 48, "'%.*s'", (int)len, in->at);
    sl_term_clean(buf);
}

static sl_status fail(reader *in, const char *expected) {
    char found[48];
    sl_toml_place place = place_of(in, in->at);
    say_found(in, found);
    return sl_fail(in->err, SL_E_FORMAT, "%s:%u:%u: expected %s, found %s", in->name, place.line,
                   place.column, expected, found);
}

static sl_status fail_at(reader *in, const char *at, const char *what) {
    sl_toml_place place = place_of(in, at);
    return sl_fail(in->err, SL_E_FORMAT, "%s:%u:%u: %s", in->name, place.line, place.column, what);
}

static sl_status no_memory(const reader *in) {
    return sl_fail_no_memory(in->err, "'%s'", in->name);
}

/* ---- white space ---- */

static void skip_blanks(reader *in) {
    while (!is_end(in) && (*in->at == ' ' || *in->at == '\t'))
        in->at++;
}

static void take_line_end(reader *in) {
    if (is_end(in))
        return;
    in->at += *in->at == '\r' ? 2 : 1;
    in->line++;
    in->line_start = in->at;
}

/* A comment is text like any other: no control characters. */
static sl_status skip_comment(reader *in) {
    if (is_end(in) || *in->at != '#')
        return SL_OK;
    while (!is_line_end(in)) {
        unsigned char c = (unsigned char)*in->at;
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return fail(in, "a comment without control characters");
        in->at++;
    }
    return SL_OK;
}

static sl_status skip_to_line_end(reader *in) {
    skip_blanks(in);
    SL_TRY(skip_comment(in));
    if (!is_line_end(in))
        return fail(in, "the end of the line");
    take_line_end(in);
    return SL_OK;
}

/* Blanks, comments and line ends: between the values of an array. */
static sl_status skip_lines(reader *in) {
    for (;;) {
        skip_blanks(in);
        SL_TRY(skip_comment(in));
        if (is_end(in) || !is_line_end(in))
            return SL_OK;
        take_line_end(in);
    }
}

/* ---- strings ---- */

typedef SL_VEC(char) text_vec;

static bool put_code(text_vec *text, uint32_t code) {
    char utf8[4];
    size_t len = 0;
    if (code < 0x80)
        utf8[len++] = (char)code;
    else if (code < 0x800) {
        utf8[len++] = (char)(0xc0 | code >> 6);
        utf8[len++] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        utf8[len++] = (char)(0xe0 | code >> 12);
        utf8[len++] = (char)(0x80 | (code >> 6 & 0x3f));
        utf8[len++] = (char)(0x80 | (code & 0x3f));
    } else {
        utf8[len++] = (char)(0xf0 | code >> 18);
        utf8[len++] = (char)(0x80 | (code >> 12 & 0x3f));
        utf8[len++] = (char)(0x80 | (code >> 6 & 0x3f));
        utf8[len++] = (char)(0x80 | (code & 0x3f));
    }
    for (size_t i = 0; i < len; i++)
        if (!sl_vec_push(text, utf8[i]))
            return false;
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \uXXXX and \UXXXXXXXX; at is after the letter. */
static sl_status take_code(reader *in, const char *start, int digits, text_vec *text) {
    uint32_t code = 0;
    for (int i = 0; i < digits; i++) {
        int digit = is_end(in) ? -1 : hex_digit(*in->at);
        if (digit < 0)
            return fail(in, "a hexadecimal digit");
        code = code << 4 | (uint32_t)digit;
        in->at++;
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return fail_at(in, start, "expected the code of a character, found another number");
    return put_code(text, code) ? SL_OK : no_memory(in);
}

static sl_status take_escape(reader *in, text_vec *text) {
    static const char letters[] = "btnfr\"\\", meanings[] = "\b\t\n\f\r\"\\";
    const char *start = in->at++;
    if (is_line_end(in))
        return fail(in, "one of b t n f r u U \" \\ after the backslash");
    char letter = *in->at;
    if (letter == 'u' || letter == 'U') {
        in->at++;
        return take_code(in, start, letter == 'u' ? 4 : 8, text);
    }
    const char *found = strchr(letters, letter);
    if (!found || !letter)
        return fail(in, "one of b t n f r u U \" \\ after the backslash");
    in->at++;
    return sl_vec_push(text, meanings[found - letters]) ? SL_OK : no_memory(in);
}

static sl_status take_char(reader *in, text_vec *text) {
    size_t len = sl_utf8_length(in->at, (size_t)(in->end - in->at));
    unsigned char c = (unsigned char)*in->at;
    if (len == 0 || (c < 0x20 && c != '\t') || c == 0x7f)
        return fail(in, "a character of UTF-8 text");
    while (len--)
        if (!sl_vec_push(text, *in->at++))
            return no_memory(in);
    return SL_OK;
}

static sl_status fill_string(reader *in, text_vec *text) {
    char quote = *in->at++;
    if (in->end - in->at >= 2 && in->at[0] == quote && in->at[1] == quote)
        return fail_at(in, in->at - 1, "expected a string on one line, found a multi-line string");
    for (;;) {
        if (is_line_end(in))
            return fail(in, quote == '"' ? "the closing \"" : "the closing '");
        if (*in->at == quote)
            break;
        SL_TRY(*in->at == '\\' && quote == '"' ? take_escape(in, text) : take_char(in, text));
    }
    in->at++;
    return SL_OK;
}

static sl_status take_string(reader *in, const char **out) {
    text_vec text = {0};
    sl_status status = fill_string(in, &text);
    if (status == SL_OK) {
        *out = sl_arena_copy(&in->doc->arena, text.at ? text.at : "", text.cnt);
        status = *out ? SL_OK : no_memory(in);
    }
    sl_vec_free(&text);
    return status;
}

/* ---- numbers and words ---- */

static bool is_bare(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool is_digit(const char *at, const char *end) {
    return at < end && *at >= '0' && *at <= '9';
}

/* Digits with single underscores between them, copied without; false when it is none. */
static bool take_digits(const char **at, const char *end, char *out, size_t *used, size_t cap) {
    if (!is_digit(*at, end))
        return false;
    while (is_digit(*at, end)) {
        if (*used + 2 > cap)
            return false;
        out[(*used)++] = *(*at)++;
        if (*at < end && **at == '_' && !is_digit(++*at, end))
            return false;
    }
    return true;
}

/* [+-] digits [. digits] [e [+-] digits], no leading zeros. */
static bool scan_number(const char **at, const char *end, char out[64], bool *is_float) {
    size_t used = 0;
    if (*at < end && (**at == '+' || **at == '-')) {
        if (**at == '-')
            out[used++] = '-';
        (*at)++;
    }
    const char *first = *at;
    if (!take_digits(at, end, out, &used, 62) || (*first == '0' && is_digit(first + 1, end)))
        return false;
    *is_float = false;
    if (*at < end && **at == '.') {
        out[used++] = *(*at)++;
        *is_float = true;
        if (!take_digits(at, end, out, &used, 62))
            return false;
    }
    if (*at < end && (**at == 'e' || **at == 'E')) {
        out[used++] = *(*at)++;
        *is_float = true;
        if (*at < end && (**at == '+' || **at == '-'))
            out[used++] = *(*at)++;
        if (!take_digits(at, end, out, &used, 62))
            return false;
    }
    out[used] = '\0';
    return *at == end || !is_bare(**at); /* 12px, 0x10, 2026-11-15 */
}

static sl_status take_number(reader *in, sl_toml_value *value) {
    char text[64];
    bool is_float;
    const char *at = in->at;
    if (!scan_number(&at, in->end, text, &is_float))
        return fail(in, "a decimal number");
    errno = 0;
    value->type = is_float ? SL_TOML_FLOAT : SL_TOML_INT;
    value->real = strtod(text, NULL);
    if (!is_float)
        value->number = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return fail(in, "a number of 64 bits");
    value->text = sl_arena_copy(&in->doc->arena, text, strlen(text));
    in->at = at;
    return value->text ? SL_OK : no_memory(in);
}

static bool take_word(reader *in, const char *word) {
    size_t len = strlen(word);
    if ((size_t)(in->end - in->at) < len || memcmp(in->at, word, len) != 0 ||
        (in->at + len < in->end && is_bare(in->at[len])))
        return false;
    in->at += len;
    return true;
}

/* ---- values ---- */

static sl_status take_scalar(reader *in, const char *expected, sl_toml_value *value) {
    *value = (sl_toml_value){.place = place_of(in, in->at)};
    char c = is_end(in) ? '\0' : *in->at;
    if (c == '"' || c == '\'') {
        value->type = SL_TOML_STRING;
        return take_string(in, &value->text);
    }
    if (is_digit(in->at, in->end) || c == '+' || c == '-')
        return take_number(in, value);
    value->type = SL_TOML_BOOL;
    if (take_word(in, "true"))
        value->number = 1;
    else if (!take_word(in, "false"))
        return fail(in, expected);
    return SL_OK;
}

typedef SL_VEC(sl_toml_value) value_vec;

static sl_status fill_array(reader *in, value_vec *items) {
    in->at++; /* [ */
    for (;;) {
        sl_toml_value item;
        SL_TRY(skip_lines(in));
        if (!is_end(in) && *in->at == ']')
            break;
        if (items->cnt == ITEMS_MAX)
            return fail_at(in, in->at, "expected at most 256 values in an array, found more");
        SL_TRY(take_scalar(in, "a string, a number, a boolean or ']'", &item));
        if (!sl_vec_push(items, item))
            return no_memory(in);
        SL_TRY(skip_lines(in));
        if (!is_end(in) && *in->at == ',')
            in->at++;
        else if (is_end(in) || *in->at != ']')
            return fail(in, "',' or ']'");
    }
    in->at++;
    return SL_OK;
}

static sl_status take_array(reader *in, sl_toml_value *value) {
    value_vec items = {0};
    *value = (sl_toml_value){.type = SL_TOML_ARRAY, .place = place_of(in, in->at)};
    sl_status status = fill_array(in, &items);
    if (status == SL_OK) {
        value->items = sl_arena_alloc(&in->doc->arena, (items.cnt + 1) * sizeof *items.at);
        status = value->items ? SL_OK : no_memory(in);
    }
    if (status == SL_OK && items.cnt)
        memcpy(value->items, items.at, items.cnt * sizeof *items.at);
    value->item_cnt = items.cnt;
    sl_vec_free(&items);
    return status;
}

/* ---- lines ---- */

/* A bare or quoted name. */
static sl_status take_name(reader *in, const char *expected, const char **out) {
    const char *start = in->at;
    if (!is_end(in) && (*start == '"' || *start == '\''))
        return take_string(in, out);
    while (!is_end(in) && is_bare(*in->at))
        in->at++;
    if (in->at == start)
        return fail(in, expected);
    *out = sl_arena_copy(&in->doc->arena, start, (size_t)(in->at - start));
    return *out ? SL_OK : no_memory(in);
}

static sl_status fail_twice(reader *in, const char *at, const char *what, const char *name) {
    sl_toml_place place = place_of(in, at);
    return sl_fail(in->err, SL_E_FORMAT, "%s:%u:%u: expected each %s once, found '%.60s' again",
                   in->name, place.line, place.column, what, name);
}

static sl_status take_table(reader *in) {
    const char *start = in->at++;
    if (!is_end(in) && *in->at == '[')
        return fail_at(in, start, "expected a table such as [run], found an array of tables");
    skip_blanks(in);
    const char *name_at = in->at;
    SL_TRY(take_name(in, "the name of a table", &in->table));
    skip_blanks(in);
    if (is_end(in) || *in->at != ']')
        return fail(in, "']'");
    in->at++;
    in->table_place = place_of(in, name_at);
    if (in->doc->tables.cnt == ENTRIES_MAX)
        return fail_at(in, start, "expected at most 1024 tables, found more");
    for (size_t i = 0; i < in->doc->tables.cnt; i++)
        if (strcmp(in->doc->tables.at[i], in->table) == 0)
            return fail_twice(in, start, "table", in->table);
    if (!sl_vec_push(&in->doc->tables, in->table))
        return no_memory(in);
    return skip_to_line_end(in);
}

static sl_status take_entry(reader *in) {
    const char *start = in->at;
    sl_toml_entry entry = {
        .table = in->table, .table_place = in->table_place, .place = place_of(in, start)};
    if (in->doc->entries.cnt == ENTRIES_MAX)
        return fail_at(in, start, "expected at most 1024 keys, found more");
    SL_TRY(take_name(in, "a key or a [table]", &entry.key));
    skip_blanks(in);
    if (is_end(in) || *in->at != '=')
        return fail(in, "'='");
    in->at++;
    skip_blanks(in);
    for (size_t i = 0; i < in->doc->entries.cnt; i++)
        if (strcmp(in->doc->entries.at[i].table, entry.table) == 0 &&
            strcmp(in->doc->entries.at[i].key, entry.key) == 0)
            return fail_twice(in, start, "key of a table", entry.key);
    SL_TRY(!is_end(in) && *in->at == '['
               ? take_array(in, &entry.value)
               : take_scalar(in, "a string, a number, a boolean or an array", &entry.value));
    if (!sl_vec_push(&in->doc->entries, entry))
        return no_memory(in);
    return skip_to_line_end(in);
}

sl_status sl_toml_parse(sl_toml *doc, const char *name, const char *bytes, size_t len,
                        sl_error *err) {
    *doc = (sl_toml){.arena = SL_ARENA_INIT};
    reader in = {bytes, bytes + len, bytes, 1, name, "", {1, 1}, doc, err};
    if (len > SL_TOML_BYTES_MAX)
        return sl_fail(err, SL_E_LIMIT, "%s: expected at most %zu KiB, found %zu bytes", name,
                       SL_TOML_BYTES_MAX >> 10, len);
    if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        in.at = in.line_start = bytes + 3;
    while (!is_end(&in)) {
        SL_TRY(skip_lines(&in));
        if (is_end(&in))
            break;
        SL_TRY(*in.at == '[' ? take_table(&in) : take_entry(&in));
    }
    return SL_OK;
}

void sl_toml_fini(sl_toml *doc) {
    sl_arena_fini(&doc->arena);
    sl_vec_free(&doc->entries);
    sl_vec_free(&doc->tables);
}
