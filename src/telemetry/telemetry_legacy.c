/* SPDX-License-Identifier: MIT */
/* Converts records without a version, field by field. Each field has a list of keys that may
 * hold it: the first one present is used, and a wrong type there is an error. The arithmetic is
 * Python's, double multiplication and truncation, so that the results are identical bit for bit. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/str.h"
#include "telemetry/telemetry_json.h"

#define NS_PER_S 1e9
#define MIB      1048576.0

/* Members are searched linearly; this bounds the time for a hostile record. */
#define MEMBERS_MAX 4096

/* A parsed member of the metadata. */
typedef struct member {
    uint32_t name; /* decoded */
    uint32_t json;
    sl_tm_value value;
} member;

typedef struct legacy {
    sl_telemetry *set;
    const sl_tm_raw *raw;
    const sl_tm_convert *how;
    SL_VEC(member) members; /* the metadata, with the "metadata_" keys merged in */
    sl_json_text text;      /* buffer for writing */
} legacy;

/* ---- metadata ---- */

static sl_status put_member(legacy *l, member m, sl_error *err) {
    for (size_t i = 0; i < l->members.cnt; i++) {
        if (l->members.at[i].name == m.name) {
            l->members.at[i] = m;
            return SL_OK;
        }
    }
    if (l->members.cnt >= MEMBERS_MAX)
        return sl_fail(err, SL_E_LIMIT, "metadata must have at most %d members", MEMBERS_MAX);
    return sl_vec_push(&l->members, m) ? SL_OK : sl_fail_no_memory(err, "a telemetry record");
}

static sl_status read_member(legacy *l, sl_tm_reader *reader, sl_str key, sl_error *err) {
    sl_json_token token;
    member m = {.name = sl_strtab_intern(&l->set->strings, key.ptr, key.len)};
    SL_TRY(sl_json_next(&reader->json, &token, err));
    SL_TRY(sl_tm_value_take(reader, &token, &m.value, &m.json, err));
    if (m.name == SL_STR_NONE || m.json == SL_STR_NONE)
        return sl_fail_no_memory(err, "a telemetry record");
    return put_member(l, m, err);
}

static sl_status read_members(legacy *l, sl_str object, sl_error *err) {
    sl_byte_stream in;
    sl_tm_reader reader;
    sl_json_token token;
    sl_bytes_init(&in, object.ptr, object.len);
    sl_tm_reader_init(&reader, l->set, &in);
    sl_status status = sl_json_next(&reader.json, &token, err);
    while (status == SL_OK && (status = sl_json_next(&reader.json, &token, err)) == SL_OK &&
           token.type == SL_JSON_KEY)
        status = read_member(l, &reader, token.text, err);
    sl_tm_reader_fini(&reader);
    return status;
}

static sl_status gather_metadata(legacy *l, sl_error *err) {
    const sl_tm_value *metadata = &l->raw->at[SL_TM_METADATA];
    if (metadata->kind == SL_TM_IS_OBJECT)
        SL_TRY(read_members(l, sl_tm_text(l->set, metadata->text), err));
    else if (metadata->kind != SL_TM_ABSENT && metadata->kind != SL_TM_IS_NULL)
        return sl_fail(err, SL_E_FORMAT, "metadata must be an object when provided, found %s",
                       sl__tm_kind_name(metadata->kind));
    for (size_t i = 0; i < l->raw->extras.cnt; i++) {
        const sl_tm_extra *extra = &l->raw->extras.at[i];
        SL_TRY(put_member(l, (member){extra->name, extra->json, extra->value}, err));
    }
    return SL_OK;
}

/* The member with this name; an absent value when there is none. */
static const sl_tm_value *find_member(const legacy *l, const char *name) {
    static const sl_tm_value absent;
    for (size_t i = 0; i < l->members.cnt; i++) {
        sl_str found = sl_tm_text(l->set, l->members.at[i].name);
        if (sl_str_is(found, name))
            return &l->members.at[i].value;
    }
    return &absent;
}

static bool is_identity(sl_str name) {
    static const char *const names[] = {"job_id", "rank", "local_rank", "world_size"};
    for (size_t i = 0; i < SL_COUNT_OF(names); i++)
        if (sl_str_is(name, names[i]))
            return true;
    return false;
}

static sl_status write_member(legacy *l, const member *m, sl_error *err) {
    if (l->text.len > 1)
        SL_TRY(sl_json_text_add(&l->text, ",", 1, err));
    SL_TRY(sl_json_text_add_string(&l->text, sl_tm_text(l->set, m->name), err));
    SL_TRY(sl_json_text_add(&l->text, ":", 1, err));
    sl_str json = sl_tm_text(l->set, m->json);
    return sl_json_text_add(&l->text, json.ptr, json.len, err);
}

/* Writes the metadata without the identity, which became fields. */
static sl_status write_metadata(legacy *l, uint32_t *out, sl_error *err) {
    size_t cnt = 0;
    l->text.len = 0;
    SL_TRY(sl_json_text_add(&l->text, "{", 1, err));
    for (size_t i = 0; i < l->members.cnt; i++) {
        if (is_identity(sl_tm_text(l->set, l->members.at[i].name)))
            continue;
        SL_TRY(write_member(l, &l->members.at[i], err));
        cnt++;
    }
    SL_TRY(sl_json_text_add(&l->text, "}", 1, err));
    *out = cnt ? sl_strtab_intern(&l->set->strings, l->text.at, l->text.len) : 0;
    return *out == SL_STR_NONE ? sl_fail_no_memory(err, "a telemetry record") : SL_OK;
}

/* ---- fields ---- */

static bool has(const legacy *l, int key) {
    return l->raw->at[key].kind != SL_TM_ABSENT;
}

/* A key that may hold a field, with its name for the error message. */
typedef struct origin {
    int key;
    const char *name;
} origin;

/* Takes the first key that is present; false when none is. */
static bool take_first(const legacy *l, const origin *from, size_t cnt, int64_t *out,
                       sl_status *status, sl_error *err) {
    for (size_t i = 0; i < cnt; i++) {
        if (!has(l, from[i].key))
            continue;
        *status = sl__tm_take_int(&l->raw->at[from[i].key], from[i].name, out, err);
        return true;
    }
    return false;
}

/* trunc(value * factor) as an integer; an error when it does not fit. */
static sl_status scale(double value, double factor, const char *name, int64_t *out, sl_error *err) {
    double scaled = trunc(value * factor);
    if (isnan(scaled))
        return sl_fail(err, SL_E_FORMAT, "%s cannot be converted: it is not a number", name);
    if (scaled < -9.2e18 || scaled > 9.2e18)
        return sl_fail(err, SL_E_LIMIT, "%s must fit into 64 bits", name);
    *out = (int64_t)scaled;
    return SL_OK;
}

static bool is_number(const sl_tm_value *value) {
    return value->kind == SL_TM_IS_INT || value->kind == SL_TM_IS_REAL ||
           value->kind == SL_TM_IS_BIG;
}

static double as_real(const sl_tm_value *value) {
    return value->kind == SL_TM_IS_INT ? (double)value->number : value->real;
}

static sl_status take_time(const legacy *l, sl_tm_record *out, sl_error *err) {
    const sl_tm_value *seconds = &l->raw->at[SL_TM_OLD_TIMESTAMP];
    if (has(l, SL_TM_TIMESTAMP_NS))
        return sl__tm_take_int(&l->raw->at[SL_TM_TIMESTAMP_NS], "timestamp_ns", &out->timestamp_ns,
                               err);
    if (!is_number(seconds))
        return sl_fail(err, SL_E_FORMAT,
                       "Legacy record is missing a valid timestamp: expected seconds, found %s",
                       sl__tm_kind_name(seconds->kind));
    return scale(as_real(seconds), NS_PER_S, "timestamp", &out->timestamp_ns, err);
}

/* "cuda:1" -> 1; also "/GPU:0", "cpu". *out is unchanged when the text does not name a device. */
static bool device_of_text(sl_str text, int32_t *out) {
    const char *colon = memrchr(text.ptr, ':', text.len);
    if (strcasestr(text.ptr, "cpu")) {
        *out = -1;
        return true;
    }
    if (colon) {
        const char *digits = colon + 1, *end = text.ptr + text.len;
        size_t cnt = strspn(digits, "0123456789");
        if (cnt > 0 && cnt < 10 && digits + cnt == end) {
            *out = (int32_t)strtol(digits, NULL, 10);
            return true;
        }
    }
    if (text.len < 4 || strncasecmp(text.ptr, "/gpu", 4) != 0)
        return false;
    *out = 0;
    return true;
}

static sl_status take_device(const legacy *l, sl_tm_record *out, sl_error *err) {
    const sl_tm_value *device = &l->raw->at[SL_TM_OLD_DEVICE];
    if (has(l, SL_TM_DEVICE_ID))
        return sl__tm_take_int32(&l->raw->at[SL_TM_DEVICE_ID], "device_id", &out->device_id, err);
    if (device->kind == SL_TM_IS_TEXT &&
        device_of_text(sl_tm_text(l->set, device->text), &out->device_id))
        return SL_OK;
    out->device_id = has(l, SL_TM_OLD_MEMORY_MB) ? 0 : -1;
    return SL_OK;
}

static sl_status take_allocated(const legacy *l, sl_tm_record *out, sl_error *err) {
    static const origin from[] = {{SL_TM_ALLOCATED, "allocator_allocated_bytes"},
                                  {SL_TM_OLD_MEMORY_ALLOCATED, "memory_allocated"}};
    static const origin last[] = {{SL_TM_USED, "device_used_bytes"}};
    const sl_tm_value *mb = &l->raw->at[SL_TM_OLD_MEMORY_MB];
    sl_status status = SL_OK;
    if (take_first(l, from, SL_COUNT_OF(from), &out->allocated_bytes, &status, err))
        return status;
    /* A memory_mb that is not a number is ignored, not refused. */
    if (is_number(mb))
        return scale(as_real(mb), MIB, "memory_mb", &out->allocated_bytes, err);
    if (take_first(l, last, 1, &out->allocated_bytes, &status, err))
        return status;
    out->allocated_bytes = 0;
    return SL_OK;
}

static sl_status take_counters(const legacy *l, sl_tm_record *out, sl_error *err) {
    static const origin reserved[] = {{SL_TM_RESERVED, "allocator_reserved_bytes"},
                                      {SL_TM_OLD_MEMORY_RESERVED, "memory_reserved"}};
    static const origin change[] = {{SL_TM_CHANGE, "allocator_change_bytes"},
                                    {SL_TM_OLD_MEMORY_CHANGE, "memory_change"}};
    static const origin used[] = {{SL_TM_USED, "device_used_bytes"},
                                  {SL_TM_OLD_DEVICE_USED, "device_used"}};
    sl_status status = SL_OK;
    SL_TRY(take_allocated(l, out, err));
    if (!take_first(l, reserved, 2, &out->reserved_bytes, &status, err))
        out->reserved_bytes = out->allocated_bytes;
    SL_TRY(status);
    if (!take_first(l, change, 2, &out->change_bytes, &status, err))
        out->change_bytes = 0;
    SL_TRY(status);
    /* The Python tool's converter does not read device_used, but its bundles contain it. */
    if (!take_first(l, used, l->how->reads_bundle_names ? 2 : 1, &out->used_bytes, &status, err))
        out->used_bytes = out->allocated_bytes;
    return status;
}

/* The names that a total may have; the range depends on the field, not on the name. */
static bool is_total(const char *name) {
    return strcmp(name, "total_memory") == 0 || strcmp(name, "device_total") == 0 ||
           strcmp(name, "total_bytes") == 0;
}

/* A number that may be null. */
static sl_status take_or_null(const sl_tm_value *value, const char *name, int64_t *out,
                              sl_error *err) {
    *out = SL_TM_NULL;
    if (value->kind == SL_TM_ABSENT || value->kind == SL_TM_IS_NULL)
        return SL_OK;
    SL_TRY(sl__tm_take_int(value, name, out, err));
    /* -1 means null internally, so it must not pass as a value. */
    if (*out < 0)
        return sl_fail(err, SL_E_FORMAT, "%s must be >= 0 when provided, found %" PRId64,
                       is_total(name) ? "device_total_bytes" : name, *out);
    return SL_OK;
}

static sl_status take_parts(const legacy *l, sl_tm_record *out, sl_error *err) {
    bool is_bundle = l->how->reads_bundle_names;
    int active = is_bundle && !has(l, SL_TM_ACTIVE) ? SL_TM_OLD_ACTIVE_MEMORY : SL_TM_ACTIVE;
    int inactive =
        is_bundle && !has(l, SL_TM_INACTIVE) ? SL_TM_OLD_INACTIVE_MEMORY : SL_TM_INACTIVE;
    SL_TRY(take_or_null(&l->raw->at[active], "allocator_active_bytes", &out->active_bytes, err));
    return take_or_null(&l->raw->at[inactive], "allocator_inactive_bytes", &out->inactive_bytes,
                        err);
}

static sl_status take_total(const legacy *l, sl_tm_record *out, sl_error *err) {
    static const origin from[] = {{SL_TM_TOTAL, "device_total_bytes"},
                                  {SL_TM_OLD_TOTAL_MEMORY, "total_memory"},
                                  {SL_TM_OLD_DEVICE_TOTAL, "device_total"},
                                  {SL_TM_OLD_TOTAL_BYTES, "total_bytes"}};
    for (size_t i = 0; i < SL_COUNT_OF(from); i++)
        if (has(l, from[i].key))
            return take_or_null(&l->raw->at[from[i].key], from[i].name, &out->total_bytes, err);
    for (size_t i = 1; i < SL_COUNT_OF(from); i++) {
        const sl_tm_value *value = find_member(l, from[i].name);
        if (value->kind != SL_TM_ABSENT)
            return take_or_null(value, from[i].name, &out->total_bytes, err);
    }
    out->total_bytes = SL_TM_NULL;
    return SL_OK;
}

static sl_status take_free(const legacy *l, sl_tm_record *out, sl_error *err) {
    bool is_bundle = l->how->reads_bundle_names && has(l, SL_TM_OLD_DEVICE_FREE);
    int key = has(l, SL_TM_FREE) || !is_bundle ? SL_TM_FREE : SL_TM_OLD_DEVICE_FREE;
    if (has(l, key))
        return take_or_null(&l->raw->at[key], "device_free_bytes", &out->free_bytes, err);
    out->free_bytes = SL_TM_NULL;
    if (out->total_bytes != SL_TM_NULL)
        out->free_bytes =
            out->total_bytes > out->used_bytes ? out->total_bytes - out->used_bytes : 0;
    return SL_OK;
}

/* A required text; null is as wrong as a blank one. */
static sl_status take_name(const sl_tm_value *value, const char *name, uint32_t *out,
                           sl_error *err) {
    if (value->kind != SL_TM_IS_TEXT)
        return sl_fail(err, SL_E_FORMAT, "%s must be a %sstring, found %s", name,
                       value->kind == SL_TM_IS_NULL ? "non-empty " : "",
                       sl__tm_kind_name(value->kind));
    *out = value->text;
    return SL_OK;
}

static sl_status take_type(const legacy *l, sl_tm_record *out, sl_error *err) {
    int key = has(l, SL_TM_EVENT_TYPE) ? SL_TM_EVENT_TYPE : SL_TM_OLD_TYPE;
    if (!has(l, key))
        return sl_tm_intern(l->set, "sample", &out->event_type, err);
    return take_name(&l->raw->at[key], "event_type", &out->event_type, err);
}

static sl_status take_process(const legacy *l, sl_tm_record *out, sl_error *err) {
    const sl_tm_value *pid = &l->raw->at[SL_TM_PID], *host = &l->raw->at[SL_TM_HOST];
    pid = pid->kind != SL_TM_ABSENT ? pid : find_member(l, "pid");
    host = host->kind != SL_TM_ABSENT ? host : find_member(l, "host");
    out->pid = SL_TM_UNKNOWN_PID;
    if (pid->kind != SL_TM_ABSENT)
        SL_TRY(sl__tm_take_int32(pid, "pid", &out->pid, err));
    if (host->kind != SL_TM_ABSENT)
        return take_name(host, "host", &out->host, err);
    return sl_tm_intern(l->set, SL_TM_UNKNOWN_HOST, &out->host, err);
}

static const char *collector_of_backend(sl_str name) {
    static const struct {
        const char *backend, *collector;
    } rows[] = {{"mps", "stormlog.mps_tracker"},
                {"rocm", "stormlog.rocm_tracker"},
                {"cuda", "stormlog.cuda_tracker"},
                {"cpu", "stormlog.cpu_tracker"}};
    while (name.len && (*name.ptr == ' ' || *name.ptr == '\t'))
        name.ptr++, name.len--;
    while (name.len && (name.ptr[name.len - 1] == ' ' || name.ptr[name.len - 1] == '\t'))
        name.len--;
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        if (strlen(rows[i].backend) == name.len &&
            strncasecmp(rows[i].backend, name.ptr, name.len) == 0)
            return rows[i].collector;
    return NULL;
}

static sl_status take_collector(const legacy *l, sl_tm_record *out, sl_error *err) {
    const sl_tm_value *given = &l->raw->at[SL_TM_COLLECTOR];
    const sl_tm_value *backend = &l->raw->at[SL_TM_OLD_BACKEND];
    const char *name = NULL;
    if (given->kind == SL_TM_IS_TEXT && !sl_tm_is_blank(sl_tm_text(l->set, given->text))) {
        out->collector = given->text;
        return SL_OK;
    }
    backend = backend->kind != SL_TM_ABSENT ? backend : find_member(l, "backend");
    if (backend->kind == SL_TM_IS_TEXT)
        name = collector_of_backend(sl_tm_text(l->set, backend->text));
    if (!name && has(l, SL_TM_OLD_MEMORY_MB))
        name = "stormlog.tensorflow.memory_tracker";
    if (!name && has(l, SL_TM_OLD_MEMORY_ALLOCATED))
        name = out->device_id == -1 ? "stormlog.cpu_tracker" : "stormlog.cuda_tracker";
    if (!name)
        name = l->how->default_collector ? l->how->default_collector : "legacy.unknown";
    return sl_tm_intern(l->set, name, &out->collector, err);
}

/* The record's own value, else the metadata's; null counts as absent. */
static const sl_tm_value *identity_value(const legacy *l, sl_tm_field field) {
    static const sl_tm_value absent;
    const sl_tm_value *value = &l->raw->at[field];
    if (value->kind == SL_TM_ABSENT || value->kind == SL_TM_IS_NULL)
        value = find_member(l, sl_tm_fields[field].name);
    return value->kind == SL_TM_IS_NULL ? &absent : value;
}

static sl_status take_identity(const legacy *l, sl_tm_record *out, sl_error *err) {
    const sl_tm_value *job = identity_value(l, SL_TM_JOB_ID);
    const sl_tm_value *rank = identity_value(l, SL_TM_RANK);
    const sl_tm_value *local = identity_value(l, SL_TM_LOCAL_RANK);
    const sl_tm_value *world = identity_value(l, SL_TM_WORLD_SIZE);
    out->job_id = SL_TM_NO_TEXT;
    if (job->kind != SL_TM_ABSENT)
        SL_TRY(take_name(job, "job_id", &out->job_id, err));
    if (rank->kind != SL_TM_ABSENT)
        SL_TRY(sl__tm_take_int32(rank, "rank", &out->rank, err));
    out->local_rank = out->rank;
    if (local->kind != SL_TM_ABSENT)
        SL_TRY(sl__tm_take_int32(local, "local_rank", &out->local_rank, err));
    out->world_size = 1;
    if (world->kind != SL_TM_ABSENT)
        SL_TRY(sl__tm_take_int32(world, "world_size", &out->world_size, err));
    return SL_OK;
}

static sl_status take_context(const legacy *l, sl_tm_record *out, sl_error *err) {
    int key = has(l, SL_TM_CONTEXT) ? SL_TM_CONTEXT : SL_TM_OLD_MESSAGE;
    const sl_tm_value *value = &l->raw->at[key];
    out->context = SL_TM_NO_TEXT;
    if (value->kind == SL_TM_ABSENT || value->kind == SL_TM_IS_NULL)
        return SL_OK;
    return take_name(value, "context", &out->context, err);
}

static sl_status convert(legacy *l, sl_tm_record *out, sl_error *err) {
    SL_TRY(gather_metadata(l, err));
    SL_TRY(take_time(l, out, err));
    SL_TRY(take_device(l, out, err));
    SL_TRY(take_counters(l, out, err));
    SL_TRY(take_parts(l, out, err));
    SL_TRY(take_total(l, out, err));
    SL_TRY(take_free(l, out, err));
    SL_TRY(take_type(l, out, err));
    out->sampling_interval_ms = l->how->default_interval_ms;
    if (has(l, SL_TM_INTERVAL_MS))
        SL_TRY(sl__tm_take_int(&l->raw->at[SL_TM_INTERVAL_MS], "sampling_interval_ms",
                               &out->sampling_interval_ms, err));
    SL_TRY(take_process(l, out, err));
    SL_TRY(take_collector(l, out, err));
    SL_TRY(take_identity(l, out, err));
    SL_TRY(take_context(l, out, err));
    SL_TRY(write_metadata(l, &out->metadata, err));
    return sl_tm_validate(l->set, out, err);
}

sl_status sl__tm_from_legacy(sl_telemetry *set, const sl_tm_raw *raw, const sl_tm_convert *how,
                             sl_tm_record *out, sl_error *err) {
    legacy l = {.set = set, .raw = raw, .how = how};
    *out = (sl_tm_record){0};
    sl_status status = convert(&l, out, err);
    sl_vec_free(&l.members);
    free(l.text.at);
    return status;
}
