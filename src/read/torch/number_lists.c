/* SPDX-License-Identifier: MIT */
#include "read/torch/number_lists.h"

#include "base/core/str.h"
#include "base/text/json_text.h"

static sl_number_list *find(sl_number_list *lists, size_t cnt, sl_str key) {
    for (size_t i = 0; i < cnt; i++)
        if (sl_str_is(key, lists[i].name))
            return &lists[i];
    return NULL;
}

static sl_status add(sl_number_list *list, const sl_json_token *token, sl_error *err) {
    double value = token->f;
    if (token->type == SL_JSON_INT)
        value = token->is_negative ? (double)(int64_t)token->u : (double)token->u;
    else if (token->type != SL_JSON_FLOAT)
        return sl_fail_at(err, SL_E_FORMAT, token->position,
                          "'%s' must hold numbers, found %s at byte %llu", list->name,
                          sl_json_type_name(token->type), (unsigned long long)token->position);
    return sl_vec_push(&list->values, value) ? SL_OK : sl_fail_no_memory(err, "numbers");
}

static sl_status take(sl_json_in *json, sl_number_list *list, sl_error *err) {
    sl_json_token token;
    SL_TRY(sl_json_next(json, &token, err));
    if (!list)
        return sl_json_skip(json, &token, err);
    list->values.cnt = 0;
    list->is_found = token.type != SL_JSON_NULL;
    list->is_list = token.type == SL_JSON_BEGIN_ARRAY;
    if (!list->is_list)
        return list->is_found ? add(list, &token, err) : SL_OK;
    for (;;) {
        SL_TRY(sl_json_next(json, &token, err));
        if (token.type == SL_JSON_END_ARRAY)
            return SL_OK;
        SL_TRY(add(list, &token, err));
    }
}

static sl_status read_object(sl_json_in *json, sl_number_list *lists, size_t cnt, sl_error *err) {
    sl_json_token token;
    SL_TRY(sl_json_expect_object(json, err));
    for (;;) {
        SL_TRY(sl_json_next(json, &token, err));
        if (token.type == SL_JSON_END_OBJECT)
            return SL_OK;
        SL_TRY(take(json, find(lists, cnt, token.text), err));
    }
}

sl_status sl_number_lists_read(const char *path, sl_number_list *lists, size_t cnt, sl_error *err) {
    sl_byte_stream in;
    sl_json_in json;
    sl_status status = sl_bytes_open(&in, path, NULL, err);
    if (status == SL_OK) {
        sl_json_in_init(&json, &in);
        json.allows_nan = true;
        status = read_object(&json, lists, cnt, err);
        sl_json_in_fini(&json);
    }
    sl_bytes_close(&in);
    return status < 0 ? sl_error_prefix(err, "cannot read '%s'", path) : SL_OK;
}

void sl_number_lists_fini(sl_number_list *lists, size_t cnt) {
    for (size_t i = 0; i < cnt; i++)
        sl_vec_free(&lists[i].values);
}
