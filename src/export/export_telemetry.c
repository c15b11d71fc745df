/* SPDX-License-Identifier: MIT */
/* Telemetry v2 records as a JSON array and as CSV. The order of the 22 fields is the schema's;
 * readers refuse a record with a key more or less, so what is ours stands under metadata. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "export/telemetry_record.h"

#define SCHEMA_VERSION 2
#define COLLECTOR      "stormlog.trace_export"

/* Every field as a JSON value; CSV takes the same text. */
typedef void field_fn(sl_json_out *json, const sl_telemetry_record *record);

static void put_version(sl_json_out *json, const sl_telemetry_record *record) {
    SL_UNUSED(record);
    sl_json_i64(json, SCHEMA_VERSION);
}

static void put_time(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_i64(json, record->time_us > 0 ? record->time_us * 1000 : 0);
}

static void put_type(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_cstr(json, record->event_type);
}

static void put_collector(sl_json_out *json, const sl_telemetry_record *record) {
    SL_UNUSED(record);
    sl_json_cstr(json, COLLECTOR);
}

static void put_interval(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_u64(json, record->interval_ms);
}

/* The schema's own words for "not known": process -1, host "unknown", rank 0 of 1. */
static void put_minus_one(sl_json_out *json, const sl_telemetry_record *record) {
    SL_UNUSED(record);
    sl_json_i64(json, -1);
}

static void put_unknown(sl_json_out *json, const sl_telemetry_record *record) {
    SL_UNUSED(record);
    sl_json_cstr(json, "unknown");
}

static void put_null(sl_json_out *json, const sl_telemetry_record *record) {
    SL_UNUSED(record);
    sl_json_null(json);
}

static void put_zero(sl_json_out *json, const sl_telemetry_record *record) {
    SL_UNUSED(record);
    sl_json_i64(json, 0);
}

static void put_one(sl_json_out *json, const sl_telemetry_record *record) {
    SL_UNUSED(record);
    sl_json_i64(json, 1);
}

static void put_device(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_i64(json, record->device);
}

static void put_allocated(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_u64(json, record->allocated_bytes);
}

static void put_reserved(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_u64(json, record->reserved_bytes);
}

static void put_active(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_maybe_u64(json, record->active_bytes);
}

static void put_inactive(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_maybe_u64(json, record->inactive_bytes);
}

static void put_change(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_i64(json, record->change_bytes);
}

static void put_used(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_u64(json, record->used_bytes);
}

static void put_total(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_maybe_u64(json, record->total_bytes);
}

static void put_context(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_cstr(json, record->context);
}

static void put_metadata(sl_json_out *json, const sl_telemetry_record *record) {
    sl_json_begin_object(json);
    sl_json_key(json, "requested_bytes");
    sl_json_u64(json, record->requested_bytes);
    sl_json_key(json, "max_allocated_bytes");
    sl_json_u64(json, record->max_allocated_bytes);
    sl_json_key(json, "reserved_known");
    sl_json_bool(json, record->reserved_is_known);
    sl_json_end_object(json);
}

static const struct {
    const char *name;
    field_fn *put;
} fields[] = {
    {"schema_version", put_version},
    {"timestamp_ns", put_time},
    {"event_type", put_type},
    {"collector", put_collector},
    {"sampling_interval_ms", put_interval},
    {"pid", put_minus_one},
    {"host", put_unknown},
    {"job_id", put_null},
    {"rank", put_zero},
    {"local_rank", put_zero},
    {"world_size", put_one},
    {"device_id", put_device},
    {"allocator_allocated_bytes", put_allocated},
    {"allocator_reserved_bytes", put_reserved},
    {"allocator_active_bytes", put_active},
    {"allocator_inactive_bytes", put_inactive},
    {"allocator_change_bytes", put_change},
    {"device_used_bytes", put_used},
    {"device_free_bytes", put_null},
    {"device_total_bytes", put_total},
    {"context", put_context},
    {"metadata", put_metadata},
};

static void put_json_record(void *self, const sl_telemetry_record *record) {
    sl_json_out *json = self;
    sl_json_begin_object(json);
    for (size_t i = 0; i < SL_COUNT_OF(fields); i++) {
        sl_json_key(json, fields[i].name);
        fields[i].put(json, record);
    }
    sl_json_end_object(json);
}

sl_status sl_export_telemetry_json(const sl_trace *trace, const sl_export_options *options,
                                   FILE *to, sl_error *err) {
    sl_json_out json;
    sl_json_init(&json, to, 2);
    sl_json_begin_array(&json);
    sl_status status =
        sl_telemetry_walk(trace, options, &(sl_telemetry_sink){put_json_record, &json}, err);
    sl_json_end_array(&json);
    SL_TRY(status);
    return sl_json_finish(&json, err);
}

/* One cell: quoted when it holds a comma or a quote, empty for null. */
static void put_cell(FILE *to, const char *text) {
    if (strcmp(text, "null") == 0)
        return;
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, to);
        return;
    }
    putc('"', to);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', to);
        putc(*text, to);
    }
    putc('"', to);
}

/* A JSON string is unquoted for its cell; the strings here never need an escape. */
static void put_json_cell(FILE *to, char *text) {
    size_t len = strlen(text);
    if (len >= 2 && text[0] == '"') {
        text[len - 1] = '\0';
        text++;
    }
    put_cell(to, text);
}

typedef struct csv_sink {
    FILE *to;
    FILE *cell;      /* owned; one field as JSON */
    char *cell_text; /* owned by the stream until it is closed */
    size_t cell_len;
} csv_sink;

static void put_csv_record(void *self, const sl_telemetry_record *record) {
    csv_sink *sink = self;
    for (size_t i = 0; i < SL_COUNT_OF(fields); i++) {
        sl_json_out json;
        rewind(sink->cell);
        sl_json_init(&json, sink->cell, 0);
        fields[i].put(&json, record);
        putc('\0', sink->cell);
        fflush(sink->cell);
        if (i)
            putc(',', sink->to);
        put_json_cell(sink->to, sink->cell_text);
    }
    putc('\n', sink->to);
}

sl_status sl_export_telemetry_csv(const sl_trace *trace, const sl_export_options *options, FILE *to,
                                  sl_error *err) {
    csv_sink sink = {.to = to};
    sink.cell = open_memstream(&sink.cell_text, &sink.cell_len);
    if (!sink.cell)
        return sl_fail(err, SL_E_NOMEM, "out of memory for a CSV cell");
    for (size_t i = 0; i < SL_COUNT_OF(fields); i++)
        fprintf(to, "%s%s", i ? "," : "", fields[i].name);
    putc('\n', to);
    sl_status status =
        sl_telemetry_walk(trace, options, &(sl_telemetry_sink){put_csv_record, &sink}, err);
    fclose(sink.cell);
    free(sink.cell_text);
    SL_TRY(status);
    return sl_export_finish(to, err);
}
