/* SPDX-License-Identifier: MIT */
#include "telemetry/telemetry_raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/str.h"

static const char *const key_names[SL_TM_KEY_CNT] = {
#define SL_TM_KEY_NAME(name, text, type, least, required, member) [SL_TM_##name] = text,
    SL_TM_FIELD_MAP(SL_TM_KEY_NAME)
#undef SL_TM_KEY_NAME
#define SL_TM_OLD_NAME(name, text) [SL_TM_OLD_##name] = text,
        SL_TM_OLD_KEY_MAP(SL_TM_OLD_NAME)
#undef SL_TM_OLD_NAME
};

static bool is_key(int key, sl_str name) {
    return sl_str_is(name, key_names[key]);
}

int sl_tm_key_find(sl_str name, int guess) {
    if (guess >= 0 && guess < SL_TM_KEY_CNT && is_key(guess, name))
        return guess;
    for (int key = 0; key < SL_TM_KEY_CNT; key++)
        if (is_key(key, name))
            return key;
    return -1;
}

void sl_tm_raw_clear(sl_tm_raw *raw) {
    memset(raw->at, 0, sizeof raw->at);
    raw->extras.cnt = 0;
    raw->unknown_cnt = 0;
}

void sl_tm_raw_fini(sl_tm_raw *raw) {
    sl_vec_free(&raw->extras);
}

const char *sl__tm_kind_name(sl_tm_kind kind) {
    static const char *const names[] = {
        "nothing",  "null",     "a boolean", "an integer", "a large integer",
        "a number", "a string", "an array",  "an object",  "something else"};
    return names[kind];
}

sl_status sl__tm_take_int(const sl_tm_value *value, const char *name, int64_t *out, sl_error *err) {
    if (value->kind == SL_TM_IS_BIG)
        return sl_fail(err, SL_E_LIMIT, "%s must fit into 64 bits", name);
    if (value->kind != SL_TM_IS_INT)
        return sl_fail(err, SL_E_FORMAT, "%s must be an integer, found %s", name,
                       sl__tm_kind_name(value->kind));
    *out = value->number;
    return SL_OK;
}

sl_status sl__tm_take_int32(const sl_tm_value *value, const char *name, int32_t *out,
                            sl_error *err) {
    int64_t wide = 0;
    SL_TRY(sl__tm_take_int(value, name, &wide, err));
    if (wide < INT32_MIN || wide > INT32_MAX)
        return sl_fail(err, SL_E_LIMIT, "%s must fit into 32 bits, found %" PRId64, name, wide);
    *out = (int32_t)wide;
    return SL_OK;
}

/* ---- version 2 ---- */

/* "Missing required telemetry fields: a, b": all of them, as the Python tool lists them. */
static sl_status check_missing(const sl_tm_raw *raw, sl_error *err) {
    char list[300];
    size_t len = 0;
    list[0] = '\0';
    for (sl_tm_field field = 0; field < SL_TM_FIELD_CNT; field++)
        if (sl_tm_fields[field].is_required && raw->at[field].kind == SL_TM_ABSENT &&
            len < sizeof list)
            len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", len ? ", " : "",
                                    sl_tm_fields[field].name);
    if (!len)
        return SL_OK;
    return sl_fail(err, SL_E_FORMAT, "Missing required telemetry fields: %s", list);
}

/* The first unknown name in alphabetical order after `after`; NULL when there are no more. */
static const char *next_unknown(const char *const *names, size_t cnt, const char *after) {
    const char *best = NULL;
    for (size_t i = 0; i < cnt; i++)
        if ((!after || strcmp(names[i], after) > 0) && (!best || strcmp(names[i], best) < 0))
            best = names[i];
    return best;
}

static sl_status check_unknown(const sl_telemetry *set, const sl_tm_raw *raw, sl_error *err) {
    const char *names[SL_TM_UNKNOWN_MAX + SL_TM_KEY_CNT];
    size_t cnt = 0, len = 0;
    char list[240];
    for (size_t i = 0; i < raw->unknown_cnt; i++)
        names[cnt++] = sl_tm_text(set, raw->unknown[i]).ptr;
    for (int key = SL_TM_FIELD_CNT; key < SL_TM_KEY_CNT; key++)
        if (raw->at[key].kind != SL_TM_ABSENT)
            names[cnt++] = key_names[key];
    char extra[80];
    if (raw->extras.cnt) {
        snprintf(extra, sizeof extra, "metadata_%s", sl_tm_text(set, raw->extras.at[0].name).ptr);
        names[cnt++] = extra;
    }
    if (!cnt)
        return SL_OK;
    for (const char *name = NULL; len < sizeof list && (name = next_unknown(names, cnt, name));)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", len ? ", " : "", name);
    return sl_fail(err, SL_E_FORMAT, "Unknown telemetry fields: %s", list);
}

static sl_status take_text(const sl_tm_value *value, sl_tm_field field, uint32_t *out,
                           sl_error *err) {
    sl_tm_type type = sl_tm_fields[field].type;
    if (value->kind == SL_TM_IS_TEXT) {
        *out = value->text;
        return SL_OK;
    }
    if (value->kind == SL_TM_IS_NULL && type != SL_TM_TEXT) {
        *out = SL_TM_NO_TEXT;
        return SL_OK;
    }
    return sl_fail(err, SL_E_FORMAT, "%s must be a %sstring, found %s", sl_tm_fields[field].name,
                   value->kind == SL_TM_IS_NULL ? "non-empty " : "", sl__tm_kind_name(value->kind));
}

static sl_status take_object(const sl_telemetry *set, const sl_tm_value *value, const char *name,
                             uint32_t *out, sl_error *err) {
    if (value->kind != SL_TM_IS_OBJECT)
        return sl_fail(err, SL_E_FORMAT, "%s must be an object, found %s", name,
                       sl__tm_kind_name(value->kind));
    *out = sl_tm_text(set, value->text).len == 2 ? 0 : value->text;
    return SL_OK;
}

static sl_status take_bytes(const sl_tm_value *value, const sl_tm_field_info *info, int64_t *out,
                            sl_error *err) {
    if (value->kind == SL_TM_IS_NULL && info->type == SL_TM_INT64_OR_NULL) {
        *out = SL_TM_NULL;
        return SL_OK;
    }
    SL_TRY(sl__tm_take_int(value, info->name, out, err));
    /* -1 means null internally, so it must not pass as a value. */
    if (*out < 0 && info->type == SL_TM_INT64_OR_NULL)
        return sl_fail(err, SL_E_FORMAT, "%s must be >= 0 when provided, found %" PRId64,
                       info->name, *out);
    return SL_OK;
}

static sl_status take_field(const sl_telemetry *set, const sl_tm_value *value, sl_tm_field field,
                            sl_tm_record *out, sl_error *err) {
    const sl_tm_field_info *info = &sl_tm_fields[field];
    char *to = (char *)out + info->offset;
    switch (info->type) {
    case SL_TM_INT64:
    case SL_TM_INT64_OR_NULL: return take_bytes(value, info, (int64_t *)to, err);
    case SL_TM_INT32: return sl__tm_take_int32(value, info->name, (int32_t *)to, err);
    case SL_TM_OBJECT: return take_object(set, value, info->name, (uint32_t *)to, err);
    default: return take_text(value, field, (uint32_t *)to, err);
    }
}

static sl_status check_version(const sl_tm_raw *raw, sl_error *err) {
    int64_t number = 0;
    SL_TRY(sl__tm_take_int(&raw->at[SL_TM_SCHEMA_VERSION], "schema_version", &number, err));
    if (number != SL_TM_VERSION)
        return sl_fail(err, SL_E_VERSION, "Unsupported schema_version: %" PRId64, number);
    return SL_OK;
}

/* Versions 3 and 4 of the Python tool (since its 0.3) are version 2 with a session's name and more. A record
 * that only claims another version has none. */
static bool is_later(const sl_telemetry *set, const sl_tm_raw *raw) {
    const sl_tm_value *version = &raw->at[SL_TM_SCHEMA_VERSION];
    if (version->kind != SL_TM_IS_INT || (version->number != 3 && version->number != 4))
        return false;
    for (size_t i = 0; i < raw->unknown_cnt; i++)
        if (sl_str_is(sl_tm_text(set, raw->unknown[i]), "session_id"))
            return true;
    return false;
}

static sl_status take_fields(sl_telemetry *set, const sl_tm_raw *raw, sl_tm_record *out,
                             sl_error *err) {
    *out = (sl_tm_record){.job_id = SL_TM_NO_TEXT, .world_size = 1};
    for (sl_tm_field field = SL_TM_TIMESTAMP_NS; field < SL_TM_FIELD_CNT; field++) {
        if (raw->at[field].kind == SL_TM_ABSENT)
            continue;
        SL_TRY(take_field(set, &raw->at[field], field, out, err));
        SL_TRY(sl__tm_check_field(set, out, field, err));
    }
    if (raw->at[SL_TM_LOCAL_RANK].kind == SL_TM_ABSENT)
        out->local_rank = out->rank;
    return sl__tm_check_pairs(out, err);
}

sl_status sl_tm_from_raw_strict(sl_telemetry *set, const sl_tm_raw *raw, sl_tm_record *out,
                                sl_error *err) {
    SL_TRY(check_missing(raw, err));
    SL_TRY(check_unknown(set, raw, err));
    SL_TRY(check_version(raw, err));
    return take_fields(set, raw, out, err);
}

sl_status sl_tm_from_raw(sl_telemetry *set, const sl_tm_raw *raw, const sl_tm_convert *how,
                         sl_tm_record *out, sl_error *err) {
    static const sl_tm_convert defaults;
    const sl_tm_value *version = &raw->at[SL_TM_SCHEMA_VERSION];
    if (!how)
        how = &defaults;
    if (version->kind == SL_TM_ABSENT) {
        if (how->refuses_legacy)
            return sl_fail(err, SL_E_VERSION,
                           "Legacy record conversion is disabled: there is no schema_version");
        return sl__tm_from_legacy(set, raw, how, out, err);
    }
    if (is_later(set, raw)) {
        SL_TRY(check_missing(raw, err));
        return take_fields(set, raw, out, err);
    }
    /* First, because a record of another version has different fields. */
    SL_TRY(check_version(raw, err));
    return sl_tm_from_raw_strict(set, raw, out, err);
}
