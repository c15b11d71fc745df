/* SPDX-License-Identifier: MIT */
/* Any bytes as JSON: tokens come in a legal order and end, or there is one error. */
#include <stdlib.h>

#include "base/text/json_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* For every input, brackets must balance and keys be only in objects. */
static void check_order(const sl_json_token *token, int *depth) {
    *depth += token->type == SL_JSON_BEGIN_OBJECT || token->type == SL_JSON_BEGIN_ARRAY;
    *depth -= token->type == SL_JSON_END_OBJECT || token->type == SL_JSON_END_ARRAY;
    if (*depth < 0 || *depth > SL_JSON_IN_DEPTH_MAX || (token->type == SL_JSON_KEY && *depth == 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sl_byte_stream in;
    sl_bytes_init(&in, data, size);
    sl_json_in json;
    sl_json_in_init(&json, &in);
    sl_json_token token;
    sl_error err = SL_ERROR_INIT;
    int depth = 0;
    sl_status status;
    do {
        status = sl_json_next(&json, &token, &err);
        if (status >= 0)
            check_order(&token, &depth);
    } while (status >= 0 && token.type != SL_JSON_END);
    if (status < 0 ? err.text[0] == '\0' : depth != 0)
        abort();
    sl_json_in_fini(&json);
    return 0;
}
