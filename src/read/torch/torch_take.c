/* SPDX-License-Identifier: MIT */
#include "read/torch/torch_take.h"

static const char *const kind_texts[SL_VAL_KIND_LIMIT] = {
    [SL_VAL_MARK] = "a mark",
    [SL_VAL_NONE] = "None",
    [SL_VAL_BOOL] = "a bool",
    [SL_VAL_INT] = "an int",
    [SL_VAL_BIG] = "an int of more than 64 bits",
    [SL_VAL_FLOAT] = "a float",
    [SL_VAL_STR] = "a str",
    [SL_VAL_BYTES] = "bytes",
    [SL_VAL_TUPLE] = "a tuple",
    [SL_VAL_LIST] = "a list",
    [SL_VAL_DICT] = "a dict",
    [SL_VAL_PAST] = "a reference to an object from elsewhere",
};

const char *sl_torch_kind_text(const sl_torch_value *value) {
    return kind_texts[value->kind];
}

/* Each returns true when the value fits and has been stored at `to`. */
typedef bool (*take_fn)(const sl_torch_field *field, const sl_torch_value *value, void *to);

static bool take_nothing(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    SL_UNUSED(field);
    SL_UNUSED(value);
    SL_UNUSED(to);
    return true;
}

static bool is_container(const sl_torch_field *field, const sl_torch_value *value) {
    bool is_list = sl_torch_roles[field->child].is_list;
    /* One empty list may serve many places. */
    return value->kind == (is_list ? SL_VAL_LIST : SL_VAL_DICT) &&
           (value->role == field->child || value->u == 0);
}

static bool take_child(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    SL_UNUSED(to);
    return is_container(field, value);
}

static bool take_bytes(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    SL_UNUSED(field);
    *(uint64_t *)to = value->u;
    return value->kind == SL_VAL_INT && !value->is_negative;
}

static bool take_addr(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    SL_UNUSED(field);
    *(uint64_t *)to = value->u;
    return value->kind == SL_VAL_INT;
}

static bool take_signed(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    SL_UNUSED(field);
    *(int64_t *)to = (int64_t)value->u;
    return value->kind == SL_VAL_INT && (value->is_negative || value->u <= INT64_MAX);
}

/* torch writes an unknown line as -1, cast to unsigned in some versions (seen in 2.11). */
static bool take_line(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    SL_UNUSED(field);
    bool is_unknown = (int64_t)value->u < 0;
    *(uint32_t *)to = is_unknown ? 0 : value->u > UINT32_MAX ? UINT32_MAX : (uint32_t)value->u;
    return value->kind == SL_VAL_INT;
}

static bool take_float(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    SL_UNUSED(field);
    bool is_int = value->kind == SL_VAL_INT;
    *(double *)to = !is_int              ? value->f
                    : value->is_negative ? (double)(int64_t)value->u
                                         : (double)value->u;
    return is_int || value->kind == SL_VAL_FLOAT;
}

static bool take_bool(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    SL_UNUSED(field);
    *(bool *)to = value->u != 0;
    return value->kind == SL_VAL_BOOL;
}

static bool take_str(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    SL_UNUSED(field);
    *(uint32_t *)to = value->id;
    return value->kind == SL_VAL_STR;
}

static bool take_stack(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    bool is_stack = is_container(field, value);
    *(uint32_t *)to = value->role == SL_ROLE_FRAMES ? value->id : SL_STACK_EMPTY;
    return is_stack;
}

static bool take_pool(const sl_torch_field *field, const sl_torch_value *value, void *to) {
    *(uint32_t *)to = value->id;
    if (value->kind == SL_VAL_TUPLE)
        return value->id != SL_POOL_NONE;
    return value->kind == SL_VAL_LIST && value->role == field->child;
}

typedef struct take_row {
    take_fn take;
    const char *expected;
} take_row;

static const take_row takes[] = {
    [SL_TAKE_UNKNOWN] = {take_nothing, "nothing"},
    [SL_TAKE_NOTHING] = {take_nothing, "anything"},
    [SL_TAKE_CHILD] = {take_child, NULL},
    [SL_TAKE_BYTES] = {take_bytes, "an int, not negative"},
    [SL_TAKE_ADDR] = {take_addr, "an int of 64 bits"},
    [SL_TAKE_SIGNED] = {take_signed, "an int of 64 bits"},
    [SL_TAKE_LINE] = {take_line, "an int"},
    [SL_TAKE_FLOAT] = {take_float, "a float"},
    [SL_TAKE_BOOL] = {take_bool, "a bool"},
    [SL_TAKE_STR] = {take_str, "a str"},
    [SL_TAKE_STACK] = {take_stack, "a list of frames"},
    [SL_TAKE_POOL] = {take_pool, "a pair of ints"},
};

sl_status sl_torch_take_value(sl_torch_build *build, const sl_torch_field *field,
                              const sl_torch_value *value, sl_error *err) {
    const take_row *row = &takes[field->take];
    if (SL_LIKELY(row->take(field, value, (char *)&build->draft + field->offset)))
        return SL_OK;
    const char *expected = row->expected                          ? row->expected
                           : sl_torch_roles[field->child].is_list ? "a list"
                                                                  : "a dict";
    bool is_negative = value->kind == SL_VAL_INT && value->is_negative;
    return sl_fail_at(err, SL_E_FORMAT, build->at_byte,
                      "the key '%s' of %s that ends at byte %llu holds %s, expected %s",
                      sl_torch_words[field->word], sl_torch_roles[field->role].text,
                      (unsigned long long)build->at_byte,
                      is_negative ? "a negative int" : sl_torch_kind_text(value), expected);
}
