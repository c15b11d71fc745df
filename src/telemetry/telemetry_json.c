/* SPDX-License-Identifier: MIT */
#include "telemetry/telemetry_json.h"

#include <stdlib.h>

#include "base/core/str.h"

void sl_tm_reader_init(sl_tm_reader *reader, sl_telemetry *set, sl_byte_stream *in) {
    *reader = (sl_tm_reader){.set = set};
    sl_json_in_init(&reader->json, in);
    reader->json.allows_more = true;
    reader->json.allows_nan = true;
}

void sl_tm_reader_fini(sl_tm_reader *reader) {
    sl_json_in_fini(&reader->json);
    sl_tm_raw_fini(&reader->raw);
    free(reader->room.at);
    reader->room = (sl_json_text){0};
}

static sl_status intern(sl_telemetry *set, sl_str text, uint32_t *id, sl_error *err) {
    *id = sl_strtab_intern(&set->strings, text.ptr, text.len);
    return *id == SL_STR_NONE ? sl_fail_no_memory(err, "a text") : SL_OK;
}

static sl_status keep_json(sl_tm_reader *reader, const sl_json_token *token, uint32_t *id,
                           sl_error *err) {
    reader->room.len = 0;
    SL_TRY(sl_json_text_copy(&reader->room, &reader->json, token, err));
    return intern(reader->set, (sl_str){reader->room.at, reader->room.len}, id, err);
}

/* Integers beyond signed 64 bits are "big", whatever the JSON reader calls them. */
static sl_tm_value number_of(const sl_json_token *token) {
    if (token->type == SL_JSON_INT && (token->is_negative || token->u <= (uint64_t)INT64_MAX))
        return (sl_tm_value){.kind = SL_TM_IS_INT, .number = (int64_t)token->u};
    if (token->type == SL_JSON_INT)
        return (sl_tm_value){.kind = SL_TM_IS_BIG, .real = (double)token->u};
    return (sl_tm_value){.kind = token->is_integer ? SL_TM_IS_BIG : SL_TM_IS_REAL,
                         .real = token->f};
}

sl_status sl_tm_value_take(sl_tm_reader *reader, const sl_json_token *token, sl_tm_value *value,
                           uint32_t *json_id, sl_error *err) {
    switch (token->type) {
    case SL_JSON_INT:
    case SL_JSON_FLOAT: *value = number_of(token); break;
    case SL_JSON_BOOL: *value = (sl_tm_value){.kind = SL_TM_IS_BOOL}; break;
    case SL_JSON_STRING:
        *value = (sl_tm_value){.kind = SL_TM_IS_TEXT};
        SL_TRY(intern(reader->set, token->text, &value->text, err));
        break;
    case SL_JSON_BEGIN_OBJECT:
        *value = (sl_tm_value){.kind = SL_TM_IS_OBJECT};
        SL_TRY(keep_json(reader, token, &value->text, err));
        if (json_id)
            *json_id = value->text;
        return SL_OK;
    case SL_JSON_BEGIN_ARRAY: *value = (sl_tm_value){.kind = SL_TM_IS_LIST}; break;
    default: *value = (sl_tm_value){.kind = SL_TM_IS_NULL}; break;
    }
    return json_id ? keep_json(reader, token, json_id, err)
                   : sl_json_skip(&reader->json, token, err);
}

#define EXTRA_PREFIX "metadata_"

static sl_status take_extra(sl_tm_reader *reader, sl_str key, sl_error *err) {
    size_t len = sizeof EXTRA_PREFIX - 1;
    sl_tm_extra extra = {0};
    sl_json_token token;
    SL_TRY(intern(reader->set, (sl_str){key.ptr + len, key.len - len}, &extra.name, err));
    SL_TRY(sl_json_next(&reader->json, &token, err));
    SL_TRY(sl_tm_value_take(reader, &token, &extra.value, &extra.json, err));
    return sl_vec_push(&reader->raw.extras, extra) ? SL_OK
                                                   : sl_fail_no_memory(err, "a telemetry record");
}

static sl_status take_unknown(sl_tm_reader *reader, sl_str key, sl_error *err) {
    sl_tm_raw *raw = &reader->raw;
    sl_json_token token;
    if (raw->unknown_cnt < SL_TM_UNKNOWN_MAX) {
        SL_TRY(intern(reader->set, key, &raw->unknown[raw->unknown_cnt], err));
        raw->unknown_cnt++;
    }
    SL_TRY(sl_json_next(&reader->json, &token, err));
    return sl_json_skip(&reader->json, &token, err);
}

sl_status sl_tm_raw_take(sl_tm_reader *reader, const sl_json_token *key, int *guess,
                         sl_error *err) {
    sl_json_token token;
    int found = sl_tm_key_find(key->text, *guess);
    if (found < 0)
        return sl_str_starts_with(key->text, SL_STR(EXTRA_PREFIX))
                   ? take_extra(reader, key->text, err)
                   : take_unknown(reader, key->text, err);
    *guess = found + 1;
    SL_TRY(sl_json_next(&reader->json, &token, err));
    return sl_tm_value_take(reader, &token, &reader->raw.at[found], NULL, err);
}

sl_status sl_tm_raw_read(sl_tm_reader *reader, sl_error *err) {
    int guess = 0;
    sl_tm_raw_clear(&reader->raw);
    for (;;) {
        sl_json_token token;
        SL_TRY(sl_json_next(&reader->json, &token, err));
        if (token.type == SL_JSON_END_OBJECT)
            return SL_OK;
        SL_TRY(sl_tm_raw_take(reader, &token, &guess, err));
    }
}

static sl_status parse_one(sl_tm_reader *reader, const sl_tm_convert *how, sl_error *err) {
    sl_tm_record record;
    sl_json_token token;
    sl_telemetry *set = reader->set;
    SL_TRY(sl_json_next(&reader->json, &token, err));
    if (token.type != SL_JSON_BEGIN_OBJECT)
        return sl_fail(err, SL_E_FORMAT, "record must be an object, found %s",
                       sl_json_type_name(token.type));
    SL_TRY(sl_tm_raw_read(reader, err));
    SL_TRY(sl_tm_from_raw(set, &reader->raw, how, &record, err));
    set->legacy_cnt += reader->raw.at[SL_TM_SCHEMA_VERSION].kind == SL_TM_ABSENT;
    return sl_vec_push(&set->records, record) ? SL_OK
                                              : sl_fail_no_memory(err, "a telemetry record");
}

sl_status sl_tm_record_parse(sl_telemetry *set, sl_str text, const sl_tm_convert *how,
                             sl_error *err) {
    sl_byte_stream in;
    sl_tm_reader reader;
    sl_bytes_init(&in, text.ptr, text.len);
    sl_tm_reader_init(&reader, set, &in);
    sl_status status = parse_one(&reader, how, err);
    sl_tm_reader_fini(&reader);
    return status;
}
