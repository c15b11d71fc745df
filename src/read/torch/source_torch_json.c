/* SPDX-License-Identifier: MIT */
/* PyTorch memory snapshots that somebody exported to JSON: the same objects, delimited by brackets. */
#include <stdlib.h>
#include <string.h>

#include "base/text/json_in.h"
#include "read/core/source.h"
#include "read/torch/torch_build.h"

/* An open bracket. */
typedef struct level {
    sl_torch_role role;
    bool is_list;
    uint64_t cnt; /* items so far */
    uint32_t key; /* string id of the newest key of a dict */
} level;

typedef struct json_driver {
    sl_json_in json;
    sl_torch_build build;
    sl_error *err; /* borrowed */
    level levels[SL_JSON_IN_DEPTH_MAX];
    int depth;
} json_driver;

static bool has_text(const unsigned char *head, size_t len, const char *text) {
    return memmem(head, len, text, strlen(text)) != NULL;
}

static int probe(const unsigned char *head, size_t len, const char *path) {
    SL_UNUSED(path);
    size_t i = 0;
    while (i < len && strchr(" \t\r\n", head[i]) && head[i])
        i++;
    if (i == len || (head[i] != '{' && head[i] != '['))
        return 0;
    static const char *const signs[] = {"\"segments\"", "\"device_traces\"", "\"total_size\"",
                                        "\"segment_type\""};
    for (size_t s = 0; s < SL_COUNT_OF(signs); s++)
        if (has_text(head, len, signs[s]))
            return 50;
    return 1;
}

static sl_torch_role role_of(const json_driver *driver, bool is_list) {
    if (driver->depth == 0)
        return is_list ? SL_ROLE_SEGMENTS : SL_ROLE_ROOT;
    const level *parent = &driver->levels[driver->depth - 1];
    const sl_torch_role_row *row = &sl_torch_roles[parent->role];
    if (parent->is_list)
        return (sl_torch_role)(is_list ? row->of_lists : row->of_dicts);
    return sl_torch_fit(sl_torch_child_role(&driver->build, parent->role, parent->key), is_list);
}

static sl_status open_level(json_driver *driver, bool is_list) {
    level opened = {.role = role_of(driver, is_list), .is_list = is_list};
    uint64_t index = driver->depth ? driver->levels[driver->depth - 1].cnt : 0;
    if (opened.role != SL_ROLE_SKIP)
        SL_TRY(sl_torch_begin(&driver->build, opened.role, index, driver->err));
    driver->levels[driver->depth++] = opened;
    return SL_OK;
}

/* Hands a complete value to the bracket around it. */
static sl_status give(json_driver *driver, const sl_torch_value *value) {
    if (driver->depth == 0)
        return SL_OK;
    level *parent = &driver->levels[driver->depth - 1];
    parent->cnt++;
    if (parent->role == SL_ROLE_SKIP)
        return SL_OK;
    if (parent->is_list)
        return sl_torch_append(&driver->build, parent->role, value, driver->err);
    return sl_torch_set(&driver->build, parent->role, parent->key, value, driver->err);
}

static sl_status close_level(json_driver *driver) {
    level closed = driver->levels[--driver->depth];
    sl_torch_value value = {.kind = closed.is_list ? SL_VAL_LIST : SL_VAL_DICT,
                            .role = (uint8_t)closed.role,
                            .u = closed.cnt};
    if (closed.role != SL_ROLE_SKIP)
        SL_TRY(sl_torch_end(&driver->build, closed.role, &value.id, driver->err));
    return give(driver, &value);
}

static bool is_ignored(const json_driver *driver) {
    return driver->depth && driver->levels[driver->depth - 1].role == SL_ROLE_SKIP;
}

static sl_status intern(json_driver *driver, sl_str text, uint32_t *id) {
    *id = 0;
    if (is_ignored(driver))
        return SL_OK;
    *id = sl_strtab_intern(&driver->build.trace->strings, text.ptr, text.len);
    return *id == SL_STR_NONE ? sl_fail_no_memory(driver->err, "a string") : SL_OK;
}

static sl_status give_scalar(json_driver *driver, const sl_json_token *token) {
    sl_torch_value value = {.u = token->u, .is_negative = token->is_negative};
    switch (token->type) {
    case SL_JSON_STRING:
        value.kind = SL_VAL_STR;
        SL_TRY(intern(driver, token->text, &value.id));
        break;
    case SL_JSON_INT: value.kind = SL_VAL_INT; break;
    case SL_JSON_FLOAT: value.kind = SL_VAL_FLOAT, value.f = token->f; break;
    case SL_JSON_BOOL: value.kind = SL_VAL_BOOL; break;
    default: value.kind = SL_VAL_NONE; break;
    }
    return give(driver, &value);
}

static sl_status take_token(json_driver *driver, const sl_json_token *token) {
    driver->build.at_byte = token->position;
    switch (token->type) {
    case SL_JSON_BEGIN_OBJECT:
    case SL_JSON_BEGIN_ARRAY: return open_level(driver, token->type == SL_JSON_BEGIN_ARRAY);
    case SL_JSON_END_OBJECT:
    case SL_JSON_END_ARRAY: return close_level(driver);
    case SL_JSON_KEY: return intern(driver, token->text, &driver->levels[driver->depth - 1].key);
    default: return give_scalar(driver, token);
    }
}

static sl_status read_all(json_driver *driver) {
    sl_json_token token;
    do {
        SL_TRY(sl_json_next(&driver->json, &token, driver->err));
        if (token.type != SL_JSON_END)
            SL_TRY(take_token(driver, &token));
    } while (token.type != SL_JSON_END);
    return sl_torch_finish(&driver->build, driver->err);
}

static sl_status load(const sl_source_input *input, sl_trace *trace, sl_error *err) {
    json_driver *driver = calloc(1, sizeof *driver);
    if (!driver)
        return sl_fail_no_memory(err, "the JSON reader");
    driver->err = err;
    sl_json_in_init(&driver->json, input->in);
    sl_status status = sl_torch_build_init(&driver->build, trace, err);
    if (status >= 0)
        status = read_all(driver);
    sl_json_in_fini(&driver->json);
    sl_torch_build_fini(&driver->build);
    free(driver);
    return status;
}

const sl_source_ops sl_source_torch_json = {
    .name = "torch-json",
    .kind = SL_SOURCE_TORCH_SNAPSHOT,
    .probe = probe,
    .load = load,
};
