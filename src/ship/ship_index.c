/* SPDX-License-Identifier: MIT */
#include "ship/ship_index.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/str.h"
#include "base/text/json_in.h"
#include "base/text/json_out.h"

void sl_ship_index_fini(sl_ship_index *index) {
    sl_vec_free(&index->files);
}

/* ---- names ---- */

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("._-+@=,", c));
}

static bool is_plain_name(sl_str name) {
    for (size_t i = 0; i < name.len; i++)
        if (!is_plain(name.ptr[i]))
            return false;
    return name.len > 0 && name.len < SL_SHIP_NAME_CAP && name.ptr[0] != '.';
}

bool sl_ship_run_is_good(sl_str name) {
    return is_plain_name(name);
}

bool sl_ship_name_is_good(sl_str name) {
    static const char *const ends[] = {".slog", ".slog.zst", ".slog.xz", ".slog.gz"};
    if (!is_plain_name(name))
        return false;
    for (size_t i = 0; i < SL_COUNT_OF(ends); i++)
        if (name.len > strlen(ends[i]) && sl_str_ends_with(name, sl_str_of(ends[i])))
            return true;
    return false;
}

void sl_ship_index_name(char name[SL_SHIP_NAME_CAP], const char *host) {
    snprintf(name, SL_SHIP_NAME_CAP, "index-%.*s.json", SL_SHIP_TEXT_CAP, host);
    for (char *c = name; *c; c++)
        *c = is_plain(*c) ? *c : '_';
}

bool sl_ship_index_is_name(sl_str name) {
    return is_plain_name(name) && sl_str_starts_with(name, SL_STR("index-")) &&
           sl_str_ends_with(name, SL_STR(".json"));
}

/* ---- the list ---- */

/* Where the name is, or belongs. */
static size_t place_of(const sl_ship_index *index, const char *name) {
    size_t lo = 0, hi = index->files.cnt;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (strcmp(index->files.at[mid].name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const sl_ship_entry *sl_ship_index_find(const sl_ship_index *index, const char *name) {
    size_t at = place_of(index, name);
    return at < index->files.cnt && strcmp(index->files.at[at].name, name) == 0
               ? &index->files.at[at]
               : NULL;
}

sl_status sl_ship_index_put(sl_ship_index *index, const sl_ship_entry *entry, sl_error *err) {
    size_t at = place_of(index, entry->name);
    if (at < index->files.cnt && strcmp(index->files.at[at].name, entry->name) == 0) {
        index->files.at[at] = *entry;
        return SL_OK;
    }
    if (!sl_vec_push(&index->files, *entry))
        return sl_fail_no_memory(err, "the index");
    memmove(index->files.at + at + 1, index->files.at + at,
            (index->files.cnt - 1 - at) * sizeof *entry);
    index->files.at[at] = *entry;
    return SL_OK;
}

/* ---- reading ---- */

typedef struct index_in {
    sl_json_in json;
    const char *what;
    sl_ship_index *index;
    sl_error *err;
} index_in;

typedef enum entry_key {
    KEY_NAME,
    KEY_SHA256,
    KEY_BYTES,
    KEY_HOST,
    KEY_JOB,
    KEY_RANK,
    KEY_WORLD,
    KEY_PID,
    KEY_START,
    KEY_OTHER
} entry_key;

static const char *const entry_keys[] = {
    [KEY_NAME] = "name",        [KEY_SHA256] = "sha256", [KEY_BYTES] = "bytes",
    [KEY_HOST] = "host",        [KEY_JOB] = "job",       [KEY_RANK] = "rank",
    [KEY_WORLD] = "world_size", [KEY_PID] = "pid",       [KEY_START] = "start_us",
};

static sl_status wrong(const index_in *in, const sl_json_token *token, const char *expected) {
    return sl_fail_at(in->err, SL_E_FORMAT, token->position, "%s: expected %s at byte %" PRIu64,
                      in->what, expected, token->position);
}

static sl_status next(index_in *in, sl_json_token *token) {
    sl_status status = sl_json_next(&in->json, token, in->err);
    return status < 0 ? sl_error_prefix(in->err, "%s", in->what) : SL_OK;
}

static sl_status skip(index_in *in, const sl_json_token *token) {
    sl_status status = sl_json_skip(&in->json, token, in->err);
    return status < 0 ? sl_error_prefix(in->err, "%s", in->what) : SL_OK;
}

/* Texts that are only shown are cut. */
static void copy_text(char *to, size_t cap, sl_str text) {
    size_t len = text.len < cap ? text.len : cap - 1;
    memcpy(to, text.ptr, len);
    to[len] = '\0';
}

static sl_status take_name(index_in *in, const sl_json_token *token, sl_ship_entry *entry) {
    if (token->type != SL_JSON_STRING)
        return wrong(in, token, "the name of a recording");
    if (!sl_ship_name_is_good(token->text))
        return sl_fail_at(in->err, SL_E_REFUSED, token->position,
                          "%s: the name at byte %" PRIu64
                          " is not that of a recording in this folder; nothing was fetched",
                          in->what, token->position);
    copy_text(entry->name, sizeof entry->name, token->text);
    return SL_OK;
}

static int64_t *number_of(sl_ship_entry *entry, entry_key key) {
    return key == KEY_RANK    ? &entry->rank
           : key == KEY_WORLD ? &entry->world_size
           : key == KEY_PID   ? &entry->pid
                              : &entry->start_us;
}

static sl_status take_value(index_in *in, entry_key key, const sl_json_token *token,
                            sl_ship_entry *entry) {
    switch (key) {
    case KEY_NAME: return take_name(in, token, entry);
    case KEY_SHA256:
        if (token->type != SL_JSON_STRING || !sl_sha256_is_hex(token->text))
            return wrong(in, token, "64 hexadecimal digits");
        copy_text(entry->sha256, sizeof entry->sha256, token->text);
        return SL_OK;
    case KEY_BYTES:
        if (token->type != SL_JSON_INT || token->is_negative || token->u > INT64_MAX)
            return wrong(in, token, "a number of bytes");
        entry->bytes = token->u;
        return SL_OK;
    case KEY_HOST:
    case KEY_JOB:
        if (token->type == SL_JSON_STRING)
            copy_text(key == KEY_HOST ? entry->host : entry->job, SL_SHIP_TEXT_CAP, token->text);
        return token->type == SL_JSON_STRING || token->type == SL_JSON_NULL
                   ? SL_OK
                   : wrong(in, token, "a text or null");
    case KEY_OTHER: return skip(in, token);
    default: break;
    }
    if (token->type == SL_JSON_INT && (token->is_negative || token->u <= INT64_MAX))
        *number_of(entry, key) = (int64_t)token->u;
    else if (token->type != SL_JSON_NULL)
        return wrong(in, token, "a whole number or null");
    return SL_OK;
}

static entry_key key_of(sl_str text) {
    size_t key = 0;
    while (key < KEY_OTHER && !sl_str_is(text, entry_keys[key]))
        key++;
    return (entry_key)key;
}

static sl_status add_entry(index_in *in, const sl_json_token *end, const sl_ship_entry *entry) {
    if (!*entry->name || !*entry->sha256 || !entry->bytes)
        return wrong(in, end, "name, bytes and sha256 of a recording");
    const sl_ship_entry *old = sl_ship_index_find(in->index, entry->name);
    if (old && strcmp(old->sha256, entry->sha256) != 0)
        return sl_fail(in->err, SL_E_REFUSED,
                       "%s: '%s' is there twice, with different contents; ship each run to a "
                       "folder of its own",
                       in->what, entry->name);
    if (in->index->files.cnt >= SL_SHIP_FILES_MAX)
        return sl_fail(in->err, SL_E_LIMIT, "%s: more than %u recordings", in->what,
                       SL_SHIP_FILES_MAX);
    return sl_ship_index_put(in->index, entry, in->err);
}

static sl_status read_entry(index_in *in) {
    sl_ship_entry entry = {.rank = -1, .world_size = -1, .pid = -1, .start_us = -1};
    sl_json_token token;
    for (;;) {
        SL_TRY(next(in, &token));
        if (token.type == SL_JSON_END_OBJECT)
            return add_entry(in, &token, &entry);
        entry_key key = key_of(token.text);
        SL_TRY(next(in, &token));
        SL_TRY(take_value(in, key, &token, &entry));
    }
}

static sl_status read_files(index_in *in) {
    sl_json_token token;
    SL_TRY(next(in, &token));
    if (token.type != SL_JSON_BEGIN_ARRAY)
        return wrong(in, &token, "the array of files");
    for (;;) {
        SL_TRY(next(in, &token));
        if (token.type == SL_JSON_END_ARRAY)
            return SL_OK;
        if (token.type != SL_JSON_BEGIN_OBJECT)
            return wrong(in, &token, "a file");
        SL_TRY(read_entry(in));
    }
}

/* The schema comes first: nothing is taken from a file of another one. */
static sl_status read_schema(index_in *in) {
    sl_json_token token;
    SL_TRY(next(in, &token));
    if (token.type != SL_JSON_BEGIN_OBJECT)
        return wrong(in, &token, "an index (a JSON object)");
    SL_TRY(next(in, &token));
    if (token.type != SL_JSON_KEY || !sl_str_is(token.text, "schema"))
        return wrong(in, &token, "the key \"schema\"");
    SL_TRY(next(in, &token));
    if (token.type != SL_JSON_STRING || !sl_str_is(token.text, SL_SHIP_SCHEMA))
        return sl_fail_at(
            in->err, SL_E_VERSION, token.position,
            "%s: expected the schema \"" SL_SHIP_SCHEMA "\", found \"%.*s\"", in->what,
            (int)(token.type == SL_JSON_STRING && token.text.len < 60 ? token.text.len : 0),
            token.type == SL_JSON_STRING ? token.text.ptr : "");
    return SL_OK;
}

static sl_status read_all(index_in *in) {
    sl_json_token token;
    bool has_files = false;
    SL_TRY(read_schema(in));
    for (;;) {
        SL_TRY(next(in, &token));
        if (token.type == SL_JSON_END_OBJECT)
            break;
        bool is_files = sl_str_is(token.text, "files");
        if (is_files) {
            SL_TRY(read_files(in));
        } else {
            SL_TRY(next(in, &token));
            SL_TRY(skip(in, &token));
        }
        has_files |= is_files;
    }
    if (!has_files)
        return wrong(in, &token, "the key \"files\"");
    return next(in, &token);
}

sl_status sl_ship_index_read(sl_ship_index *index, const char *what, const void *bytes, size_t len,
                             sl_error *err) {
    sl_error local = SL_ERROR_INIT;
    sl_byte_stream stream;
    index_in in = {.what = what, .index = index, .err = err ? err : &local};
    sl_bytes_init(&stream, bytes, len);
    sl_json_in_init(&in.json, &stream);
    sl_status status = read_all(&in);
    sl_json_in_fini(&in.json);
    return status;
}

/* ---- writing ---- */

static void put_number(sl_json_out *json, const char *key, int64_t value) {
    sl_json_key(json, key);
    if (value < 0)
        sl_json_null(json);
    else
        sl_json_i64(json, value);
}

static void put_entry(sl_json_out *json, const sl_ship_entry *entry) {
    sl_json_begin_object(json);
    sl_json_key_cstr(json, "name", entry->name);
    sl_json_key_u64(json, "bytes", entry->bytes);
    sl_json_key_cstr(json, "sha256", entry->sha256);
    sl_json_key_cstr(json, "host", *entry->host ? entry->host : NULL);
    sl_json_key_cstr(json, "job", *entry->job ? entry->job : NULL);
    put_number(json, "rank", entry->rank);
    put_number(json, "world_size", entry->world_size);
    put_number(json, "pid", entry->pid);
    put_number(json, "start_us", entry->start_us);
    sl_json_end_object(json);
}

sl_status sl_ship_index_write(const sl_ship_index *index, const char *host, FILE *to,
                              sl_error *err) {
    sl_json_out json;
    sl_json_init(&json, to, 1);
    sl_json_begin_object(&json);
    sl_json_key_cstr(&json, "schema", SL_SHIP_SCHEMA);
    sl_json_key_cstr(&json, "host", host);
    sl_json_key(&json, "files");
    sl_json_begin_array(&json);
    for (size_t i = 0; i < index->files.cnt; i++)
        put_entry(&json, &index->files.at[i]);
    sl_json_end_array(&json);
    sl_json_end_object(&json);
    return sl_json_finish(&json, err);
}
