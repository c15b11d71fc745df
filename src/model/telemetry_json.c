/* SPDX-License-Identifier: MIT */
#include "model/telemetry_json.h"

#include <stdlib.h>
#include <string.h>

static sl_status intern(sl_telemetry *set, sl_str text, uint32_t *id, sl_error *err) {
    *id = sl_strtab_intern(&set->strings, text.ptr, text.len);
    return *id == SL_STR_NONE ? sl_fail(err, SL_E_NOMEM, "out of memory for a text") : SL_OK;
}

static sl_status keep_json(sl_json_in *json, sl_telemetry *set, sl_json_text *room, uint32_t *id,
                           sl_error *err) {
    room->len = 0;
    SL_TRY(sl_json_copy(json, room, err));
    return intern(set, (sl_str){room->at, room->len}, id, err);
}

static sl_tm_kind kind_of(sl_json_token token) {
    static const sl_tm_kind kinds[] = {
        [SL_JSON_OBJECT_BEGIN] = SL_TM_IS_OBJECT,
        [SL_JSON_ARRAY_BEGIN] = SL_TM_IS_LIST,
        [SL_JSON_STRING] = SL_TM_IS_TEXT,
        [SL_JSON_INTEGER] = SL_TM_IS_INT,
        [SL_JSON_BIG] = SL_TM_IS_BIG,
        [SL_JSON_REAL] = SL_TM_IS_REAL,
        [SL_JSON_TRUE] = SL_TM_IS_BOOL,
        [SL_JSON_FALSE] = SL_TM_IS_BOOL,
        [SL_JSON_NULL] = SL_TM_IS_NULL,
    };
    return kinds[token];
}

sl_status sl_tm_value_take(sl_json_in *json, sl_telemetry *set, sl_json_text *room,
                           sl_tm_value *value, uint32_t *json_id, sl_error *err) {
    *value = (sl_tm_value){.kind = kind_of(json->token)};
    if (value->kind == SL_TM_IS_INT)
        value->number = json->number;
    else if (value->kind == SL_TM_IS_REAL || value->kind == SL_TM_IS_BIG)
        value->real = json->real;
    else if (value->kind == SL_TM_IS_TEXT)
        SL_TRY(intern(set, json->text, &value->text, err));
    if (value->kind == SL_TM_IS_OBJECT) {
        SL_TRY(keep_json(json, set, room, &value->text, err));
        if (json_id)
            *json_id = value->text;
        return SL_OK;
    }
    return json_id ? keep_json(json, set, room, json_id, err) : sl_json_skip(json, err);
}

#define EXTRA_PREFIX "metadata_"

static bool is_extra(sl_str key) {
    size_t len = sizeof EXTRA_PREFIX - 1;
    return key.len >= len && memcmp(key.ptr, EXTRA_PREFIX, len) == 0;
}

static sl_status take_extra(sl_json_in *json, sl_telemetry *set, sl_json_text *room, sl_tm_raw *raw,
                            sl_error *err) {
    size_t len = sizeof EXTRA_PREFIX - 1;
    sl_tm_extra extra = {0};
    SL_TRY(intern(set, (sl_str){json->text.ptr + len, json->text.len - len}, &extra.name, err));
    SL_TRY(sl_json_next(json, err));
    SL_TRY(sl_tm_value_take(json, set, room, &extra.value, &extra.json, err));
    return sl_vec_push(&raw->extras, extra) ? SL_OK : sl_fail(err, SL_E_NOMEM, "out of memory");
}

static sl_status take_unknown(sl_json_in *json, sl_telemetry *set, sl_tm_raw *raw, sl_error *err) {
    if (raw->unknown_cnt < SL_TM_UNKNOWN_MAX) {
        SL_TRY(intern(set, json->text, &raw->unknown[raw->unknown_cnt], err));
        raw->unknown_cnt++;
    }
    SL_TRY(sl_json_next(json, err));
    return sl_json_skip(json, err);
}

sl_status sl_tm_raw_take(sl_json_in *json, sl_telemetry *set, sl_json_text *room, sl_tm_raw *raw,
                         int *guess, sl_error *err) {
    int key = sl_tm_key_find(json->text, *guess);
    if (key < 0)
        return is_extra(json->text) ? take_extra(json, set, room, raw, err)
                                    : take_unknown(json, set, raw, err);
    *guess = key + 1;
    SL_TRY(sl_json_next(json, err));
    return sl_tm_value_take(json, set, room, &raw->at[key], NULL, err);
}

sl_status sl_tm_raw_read(sl_json_in *json, sl_telemetry *set, sl_json_text *room, sl_tm_raw *raw,
                         sl_error *err) {
    int guess = 0;
    sl_tm_raw_clear(raw);
    for (;;) {
        SL_TRY(sl_json_next(json, err));
        if (json->token == SL_JSON_OBJECT_END)
            return SL_OK;
        SL_TRY(sl_tm_raw_take(json, set, room, raw, &guess, err));
    }
}

static sl_status parse_one(sl_json_in *json, sl_telemetry *set, const sl_tm_convert *how,
                           sl_json_text *room, sl_tm_raw *raw, sl_error *err) {
    sl_tm_record record;
    SL_TRY(sl_json_next(json, err));
    if (json->token != SL_JSON_OBJECT_BEGIN)
        return sl_fail(err, SL_E_FORMAT, "record must be an object, found %s",
                       sl_json_token_name(json->token));
    SL_TRY(sl_tm_raw_read(json, set, room, raw, err));
    SL_TRY(sl_tm_from_raw(set, raw, how, &record, err));
    set->legacy_cnt += raw->at[SL_TM_SCHEMA_VERSION].kind == SL_TM_ABSENT;
    return sl_vec_push(&set->records, record)
               ? SL_OK
               : sl_fail(err, SL_E_NOMEM, "out of memory for a telemetry record");
}

sl_status sl_tm_record_parse(sl_telemetry *set, sl_str text, const sl_tm_convert *how,
                             sl_error *err) {
    sl_byte_stream in;
    sl_json_in json;
    sl_json_text room = {0};
    sl_tm_raw raw = {0};
    sl_bytes_init(&in, text.ptr, text.len);
    sl_json_in_init(&json, &in);
    sl_status status = parse_one(&json, set, how, &room, &raw, err);
    free(room.at);
    sl_tm_raw_fini(&raw);
    sl_json_in_fini(&json);
    return status;
}
