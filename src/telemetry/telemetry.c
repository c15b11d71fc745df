/* SPDX-License-Identifier: MIT */
#include "telemetry/telemetry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const sl_tm_field_info sl_tm_fields[SL_TM_FIELD_CNT] = {
#define SL_TM_FIELD_ROW(name, text, type, least, required, member) \
    {text, type, least, required, offsetof(sl_tm_record, member)},
    SL_TM_FIELD_MAP(SL_TM_FIELD_ROW)
#undef SL_TM_FIELD_ROW
};

sl_telemetry *sl_telemetry_new(void) {
    sl_telemetry *set = calloc(1, sizeof *set);
    if (set && sl_strtab_intern(&set->strings, "", 0) == SL_STR_NONE) {
        free(set);
        return NULL;
    }
    return set;
}

void sl_telemetry_free(sl_telemetry *set) {
    if (!set)
        return;
    sl_strtab_fini(&set->strings);
    sl_vec_free(&set->records);
    free(set);
}

sl_status sl_tm_intern(sl_telemetry *set, const char *text, uint32_t *id, sl_error *err) {
    *id = text ? sl_strtab_intern(&set->strings, text, strlen(text)) : SL_TM_NO_TEXT;
    if (text && *id == SL_STR_NONE)
        return sl_fail_no_memory(err, "the texts of the records");
    return SL_OK;
}

sl_str sl_tm_metadata(const sl_telemetry *set, const sl_tm_record *record) {
    return record->metadata ? sl_tm_text(set, record->metadata) : SL_STR("{}");
}

/* Only ASCII white space: a field of other Unicode white space counts as text. */
static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static sl_str trim(sl_str text) {
    while (text.len && is_space(text.ptr[0]))
        text.ptr++, text.len--;
    while (text.len && is_space(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

bool sl_tm_is_blank(sl_str text) {
    return trim(text).len == 0;
}

bool sl_tm_is_sample(sl_str event_type) {
    sl_str word = trim(event_type);
    return word.len == 6 && strncasecmp(word.ptr, "sample", 6) == 0;
}

size_t sl_tm_formula_quotes(sl_str text) {
    size_t quotes = 0;
    while (quotes < text.len && text.ptr[quotes] == '\'')
        quotes++;
    if (quotes == text.len || !text.ptr[quotes] || !strchr("=+-@\t\r", text.ptr[quotes]))
        return SL_TM_NO_FORMULA;
    return quotes;
}

int64_t sl_tm_get_int(const sl_tm_record *record, sl_tm_field field) {
    const char *at = (const char *)record + sl_tm_fields[field].offset;
    return sl_tm_fields[field].type == SL_TM_INT32 ? *(const int32_t *)at : *(const int64_t *)at;
}

uint32_t sl_tm_get_text(const sl_tm_record *record, sl_tm_field field) {
    return *(const uint32_t *)((const char *)record + sl_tm_fields[field].offset);
}

bool sl_tm_span(const sl_telemetry *set, const int *device, int64_t *first_ns, int64_t *last_ns) {
    bool is_found = false;
    for (size_t i = 0; i < set->records.cnt; i++) {
        const sl_tm_record *r = &set->records.at[i];
        if (device && r->device_id != *device)
            continue;
        *first_ns = is_found && *first_ns < r->timestamp_ns ? *first_ns : r->timestamp_ns;
        *last_ns = is_found && *last_ns > r->timestamp_ns ? *last_ns : r->timestamp_ns;
        is_found = true;
    }
    return is_found;
}

static sl_status check_int(const sl_tm_record *record, sl_tm_field field, sl_error *err) {
    const sl_tm_field_info *info = &sl_tm_fields[field];
    int64_t value = sl_tm_get_int(record, field);
    bool may_be_null = info->type == SL_TM_INT64_OR_NULL;
    if (value >= info->least || (may_be_null && value == SL_TM_NULL))
        return SL_OK;
    return sl_fail(err, SL_E_FORMAT, "%s must be >= %" PRId64 "%s, found %" PRId64, info->name,
                   info->least, may_be_null ? " when provided" : "", value);
}

static sl_status check_text(const sl_telemetry *set, const sl_tm_record *record, sl_tm_field field,
                            sl_error *err) {
    uint32_t id = sl_tm_get_text(record, field);
    if (id == SL_TM_NO_TEXT && sl_tm_fields[field].type == SL_TM_TEXT_OR_NULL)
        return SL_OK;
    if (!sl_tm_is_blank(sl_tm_text(set, id)))
        return SL_OK;
    return sl_fail(err, SL_E_FORMAT, "%s must be a non-empty string", sl_tm_fields[field].name);
}

/* Rules that compare two fields. */
sl_status sl__tm_check_pairs(const sl_tm_record *r, sl_error *err) {
    if (r->rank >= r->world_size)
        return sl_fail(err, SL_E_FORMAT, "rank must be < world_size, found %d of %d", r->rank,
                       r->world_size);
    if (r->local_rank >= r->world_size)
        return sl_fail(err, SL_E_FORMAT, "local_rank must be < world_size, found %d of %d",
                       r->local_rank, r->world_size);
    if (r->total_bytes == SL_TM_NULL)
        return SL_OK;
    if (r->used_bytes > r->total_bytes)
        return sl_fail(err, SL_E_FORMAT,
                       "device_used_bytes cannot exceed device_total_bytes, found %" PRId64
                       " of %" PRId64,
                       r->used_bytes, r->total_bytes);
    if (r->free_bytes > r->total_bytes)
        return sl_fail(err, SL_E_FORMAT,
                       "device_free_bytes cannot exceed device_total_bytes, found %" PRId64
                       " of %" PRId64,
                       r->free_bytes, r->total_bytes);
    return SL_OK;
}

sl_status sl__tm_check_field(const sl_telemetry *set, const sl_tm_record *record, sl_tm_field field,
                             sl_error *err) {
    switch (sl_tm_fields[field].type) {
    case SL_TM_INT64:
    case SL_TM_INT64_OR_NULL:
    case SL_TM_INT32: return check_int(record, field, err);
    case SL_TM_TEXT:
    case SL_TM_TEXT_OR_NULL: return check_text(set, record, field, err);
    default: return SL_OK;
    }
}

sl_status sl_tm_validate(const sl_telemetry *set, const sl_tm_record *record, sl_error *err) {
    for (sl_tm_field field = SL_TM_TIMESTAMP_NS; field < SL_TM_FIELD_CNT; field++)
        SL_TRY(sl__tm_check_field(set, record, field, err));
    return sl__tm_check_pairs(record, err);
}
