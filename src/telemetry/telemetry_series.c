/* SPDX-License-Identifier: MIT */
/* Readings of one counter as arrays of equal length, as `diagnose` leaves them (telemetry_timeline.json:
 * timestamps, allocated and reserved in bytes) and `tfmemprof monitor` (timestamps, memory_usage in MB). They
 * become samples of telemetry. The files name no device and no process. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/core/order.h"
#include "base/core/str.h"
#include "base/text/json_in.h"
#include "base/text/json_text.h"
#include "telemetry/telemetry_read.h"

enum { TIMES, ALLOCATED, RESERVED, USAGE_MB, COLUMN_CNT };

static const char *const names[COLUMN_CNT] = {"timestamps", "allocated", "reserved",
                                              "memory_usage"};

/* Bytes, seconds since 1970: what a record can hold, and a double exactly enough. */
#define VALUE_MAX   9e15
#define SECONDS_MAX 9e9
#define MB_BYTES    1048576.0

/* Who it was, where a file says so. */
enum { RANK, LOCAL_RANK, WORLD_SIZE, IDENTITY_CNT };

static const char *const identity_names[IDENTITY_CNT] = {"rank", "local_rank", "world_size"};

#define WORLD_MAX (1 << 30)

typedef struct series {
    SL_VEC(double) columns[COLUMN_CNT];
    bool is_there[COLUMN_CNT];
    int32_t identity[IDENTITY_CNT];
    bool has_rank;
} series;

static void fini(series *s) {
    for (size_t i = 0; i < COLUMN_CNT; i++)
        sl_vec_free(&s->columns[i]);
}

static int find_name(sl_str key, const char *const *list, int cnt) {
    for (int i = 0; i < cnt; i++)
        if (sl_str_is(key, list[i]))
            return i;
    return -1;
}

static double number_of(const sl_json_token *token) {
    if (token->type == SL_JSON_FLOAT)
        return token->f;
    return token->is_negative ? (double)(int64_t)token->u : (double)token->u;
}

static sl_status take_number(series *s, int column, const sl_json_token *token, sl_error *err) {
    double most = column == TIMES      ? SECONDS_MAX
                  : column == USAGE_MB ? VALUE_MAX / MB_BYTES
                                       : VALUE_MAX;
    if (token->type != SL_JSON_INT && token->type != SL_JSON_FLOAT)
        return sl_fail_at(err, SL_E_FORMAT, token->position,
                          "'%s' at byte %" PRIu64 ": expected a number, found %s", names[column],
                          token->position, sl_json_type_name(token->type));
    double value = number_of(token);
    if (!(value >= 0 && value <= most))
        return sl_fail_at(err, SL_E_LIMIT, token->position,
                          "'%s' at byte %" PRIu64 ": expected 0 to %g, found %g", names[column],
                          token->position, most, value);
    return sl_vec_push(&s->columns[column], value) ? SL_OK : sl_fail_no_memory(err, "the readings");
}

static sl_status take_array(sl_json_in *json, series *s, int column, sl_error *err) {
    sl_json_token token;
    SL_TRY(sl_json_next(json, &token, err));
    if (token.type != SL_JSON_BEGIN_ARRAY || s->is_there[column])
        return sl_fail_at(err, SL_E_FORMAT, token.position, "'%s' at byte %" PRIu64 ": %s",
                          names[column], token.position,
                          s->is_there[column] ? "it occurs twice" : "expected an array");
    s->is_there[column] = true;
    for (;;) {
        SL_TRY(sl_json_next(json, &token, err));
        if (token.type == SL_JSON_END_ARRAY)
            return SL_OK;
        SL_TRY(take_number(s, column, &token, err));
    }
}

/* The value of any other key. */
static sl_status take_identity(sl_json_in *json, series *s, int which, sl_error *err) {
    sl_json_token token;
    SL_TRY(sl_json_next(json, &token, err));
    bool is_number = token.type == SL_JSON_INT && !token.is_negative && token.u <= WORLD_MAX;
    if (which >= 0 && is_number) {
        s->identity[which] = (int32_t)token.u;
        s->has_rank |= which == RANK;
    }
    return sl_json_skip(json, &token, err);
}

static sl_status read_members(sl_json_in *json, series *s, bool is_outermost, sl_error *err) {
    static const char *const inner[] = {"metadata", "distributed_identity"};
    sl_json_token token;
    for (;;) {
        SL_TRY(sl_json_next(json, &token, err));
        if (token.type == SL_JSON_END_OBJECT)
            return SL_OK;
        int column = is_outermost ? find_name(token.text, names, COLUMN_CNT) : -1;
        int which = find_name(token.text, identity_names, IDENTITY_CNT);
        bool is_inner = is_outermost && find_name(token.text, inner, SL_COUNT_OF(inner)) >= 0;
        if (column >= 0) {
            SL_TRY(take_array(json, s, column, err));
        } else if (is_inner) {
            SL_TRY(sl_json_next(json, &token, err));
            SL_TRY(token.type == SL_JSON_BEGIN_OBJECT ? read_members(json, s, false, err)
                                                      : sl_json_skip(json, &token, err));
        } else
            SL_TRY(take_identity(json, s, which, err));
    }
}

static sl_status read_columns(sl_json_in *json, series *s, sl_error *err) {
    sl_json_token token;
    SL_TRY(sl_json_expect_object(json, err));
    SL_TRY(read_members(json, s, true, err));
    return sl_json_next(json, &token, err); /* nothing may follow */
}

static sl_status check_columns(const series *s, sl_error *err) {
    if (!s->is_there[TIMES] || (!s->is_there[ALLOCATED] && !s->is_there[USAGE_MB]))
        return sl_fail(err, SL_E_FORMAT,
                       "it is not a series of readings: expected 'timestamps' with 'allocated' or "
                       "'memory_usage'");
    for (size_t i = 0; i < COLUMN_CNT; i++)
        if (s->is_there[i] && s->columns[i].cnt != s->columns[TIMES].cnt)
            return sl_fail(err, SL_E_FORMAT,
                           "'%s' has %zu values but 'timestamps' has %zu: expected the same number",
                           names[i], s->columns[i].cnt, s->columns[TIMES].cnt);
    return SL_OK;
}

static int32_t world_size(const series *s) {
    int64_t most = sl_max_i64(s->identity[RANK], s->identity[LOCAL_RANK]);
    return (int32_t)sl_max_i64(s->identity[WORLD_SIZE], most + 1);
}

static sl_tm_record make_record(const series *s, size_t i) {
    double allocated = s->is_there[ALLOCATED] ? s->columns[ALLOCATED].at[i]
                                              : floor(s->columns[USAGE_MB].at[i] * MB_BYTES);
    double reserved = s->is_there[RESERVED] ? s->columns[RESERVED].at[i] : allocated;
    reserved = fmax(reserved, allocated);
    return (sl_tm_record){
        .timestamp_ns = (int64_t)(s->columns[TIMES].at[i] * 1e9),
        .allocated_bytes = (int64_t)allocated,
        .reserved_bytes = (int64_t)reserved,
        .active_bytes = SL_TM_NULL,
        .inactive_bytes = SL_TM_NULL,
        .used_bytes = (int64_t)reserved,
        .free_bytes = SL_TM_NULL,
        .total_bytes = SL_TM_NULL,
        .job_id = SL_TM_NO_TEXT,
        .context = SL_TM_NO_TEXT,
        .pid = SL_TM_UNKNOWN_PID,
        .rank = s->identity[RANK],
        .local_rank = s->identity[LOCAL_RANK],
        .world_size = world_size(s),
        .device_id = -1, /* main memory: the file names no device */
    };
}

static sl_status add_records(const series *s, sl_telemetry *set, sl_error *err) {
    uint32_t sample, collector, host;
    SL_TRY(sl_tm_intern(set, "sample", &sample, err));
    SL_TRY(sl_tm_intern(set, "stormlog.series", &collector, err));
    SL_TRY(sl_tm_intern(set, SL_TM_UNKNOWN_HOST, &host, err));
    size_t first = set->records.cnt;
    for (size_t i = 0; i < s->columns[TIMES].cnt; i++) {
        sl_tm_record record = make_record(s, i);
        record.event_type = sample;
        record.collector = collector;
        record.host = host;
        if (i)
            record.change_bytes =
                record.allocated_bytes - set->records.at[first + i - 1].allocated_bytes;
        SL_TRY(sl_tm_check_bounds(&record, err));
        if (!sl_vec_push(&set->records, record))
            return sl_fail_no_memory(err, "the readings");
    }
    set->unranked_cnt += s->has_rank ? 0 : s->columns[TIMES].cnt;
    return SL_OK;
}

sl_status sl_telemetry_read_series(sl_byte_stream *in, sl_telemetry *set, sl_error *err) {
    sl_json_in json;
    series s = {0};
    sl_json_in_init(&json, in);
    sl_status status = read_columns(&json, &s, err);
    sl_json_in_fini(&json);
    if (status >= 0)
        status = check_columns(&s, err);
    if (status >= 0)
        status = add_records(&s, set, err);
    fini(&s);
    return status;
}

/* The first array may be longer than the head, so one of the two names has to do. */
int sl_telemetry_probe_series(const unsigned char *head, size_t len) {
    static const char *const signs[] = {"\"timestamps\"", "\"memory_usage\""};
    size_t at = 0;
    while (at < len && head[at] && strchr(" \t\r\n", head[at]))
        at++;
    for (size_t i = 0; at < len && head[at] == '{' && i < SL_COUNT_OF(signs); i++)
        if (memmem(head + at, len - at, signs[i], strlen(signs[i])))
            return 40;
    return 0;
}
