/* SPDX-License-Identifier: MIT */
#include "telemetry/json_survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/order.h"
#include "base/core/str.h"
#include "base/text/json_in.h"

/* An object with any of these keys looks like a record. */
static const char *const signs[] = {
    "schema_version",
    "timestamp",
    "timestamp_ns",
    "event_type",
    "memory_allocated",
    "memory_mb",
    "allocator_allocated_bytes",
    "device_used_bytes",
};

static bool is_sign(sl_str key) {
    for (size_t i = 0; i < SL_COUNT_OF(signs); i++)
        if (sl_str_is(key, signs[i]))
            return true;
    return false;
}

static sl_status add_key(sl_json_survey *survey, sl_str key, sl_error *err) {
    if (survey->keys.cnt >= SL_SURVEY_KEYS_MAX)
        return SL_OK;
    for (size_t i = 0; i < survey->keys.cnt; i++)
        if (sl_str_is(key, survey->keys.at[i]))
            return SL_OK;
    char *copy = strndup(key.ptr, key.len);
    if (copy && sl_vec_push(&survey->keys, copy))
        return SL_OK;
    free(copy);
    return sl_fail_no_memory(err, "the keys");
}

/* Records are the outermost object, or the items of the outermost array. */
static sl_status look(sl_json_in *json, const sl_json_token *token, sl_json_survey *survey,
                      bool *is_events, sl_error *err) {
    bool is_outer = json->depth == 1 && json->is_object[0];
    bool is_item = json->depth == 2 && !json->is_object[0] && json->is_object[1];
    if (token->type == SL_JSON_BEGIN_ARRAY && *is_events)
        survey->looks_like_telemetry = true;
    *is_events = false;
    if (token->type != SL_JSON_KEY)
        return SL_OK;
    if ((is_outer || is_item) && is_sign(token->text))
        survey->looks_like_telemetry = true;
    if (!is_outer)
        return SL_OK;
    *is_events = sl_str_is(token->text, "events");
    return add_key(survey, token->text, err);
}

static sl_status read_all(sl_byte_stream *in, sl_json_survey *survey, sl_error *err) {
    sl_json_in json;
    sl_json_token token = {0};
    bool is_events = false;
    sl_json_in_init(&json, in);
    json.allows_nan = true;
    sl_status status;
    do {
        status = sl_json_next(&json, &token, err);
        if (status == SL_OK)
            status = look(&json, &token, survey, &is_events, err);
    } while (status == SL_OK && token.type != SL_JSON_END);
    sl_json_in_fini(&json);
    return status;
}

sl_status sl_json_survey_read(const char *path, sl_json_survey *survey, sl_error *err) {
    sl_byte_stream in;
    *survey = (sl_json_survey){0};
    sl_status status = sl_bytes_open(&in, path, NULL, err);
    if (status == SL_OK)
        status = read_all(&in, survey, err);
    sl_bytes_close(&in);
    if (survey->keys.cnt)
        qsort(survey->keys.at, survey->keys.cnt, sizeof *survey->keys.at, sl_order_texts);
    return status;
}

void sl_json_survey_fini(sl_json_survey *survey) {
    for (size_t i = 0; i < survey->keys.cnt; i++)
        free(survey->keys.at[i]);
    sl_vec_free(&survey->keys);
}
