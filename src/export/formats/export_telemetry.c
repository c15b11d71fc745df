/* SPDX-License-Identifier: MIT */
/* Telemetry v2 records of a trace. Readers refuse a record with an extra or a missing key, so our
 * own keys are under metadata. A trace that was read from telemetry is written as it was. */
#include <inttypes.h>
#include <stdio.h>

#include "export/formats/telemetry_record.h"
#include "telemetry/telemetry_out.h"

#define COLLECTOR "stormlog.trace_export"

typedef struct record_sink {
    sl_tm_out out;
    sl_telemetry *set; /* the texts; its records are written one by one and not kept */
    sl_status status;
    sl_error *err;
} record_sink;

static int64_t or_null(sl_maybe_u64 value) {
    return value.known ? (int64_t)value.value : SL_TM_NULL;
}

/* The first failure stays in *status; later calls then do nothing. */
static uint32_t intern(sl_telemetry *set, const char *text, sl_status *status, sl_error *err) {
    uint32_t id = SL_TM_NO_TEXT;
    if (*status == SL_OK)
        *status = sl_tm_intern(set, text, &id, err);
    return id;
}

static uint32_t intern_metadata(sl_telemetry *set, const sl_telemetry_record *record,
                                sl_status *status, sl_error *err) {
    char text[160];
    snprintf(text, sizeof text,
             "{\"requested_bytes\":%" PRIu64 ",\"max_allocated_bytes\":%" PRIu64
             ",\"reserved_known\":%s}",
             record->requested_bytes, record->max_allocated_bytes,
             record->reserved_is_known ? "true" : "false");
    return intern(set, text, status, err);
}

/* Who it is of. The schema's own words for "not known": process -1, host "unknown", rank 0 of 1. Readers refuse a
 * rank beyond the world's size, so a size that was not recorded is the least there can be. */
static sl_status set_process(sl_telemetry *set, const sl_process *p, sl_tm_record *out,
                             sl_error *err) {
    bool is_known = p && p->is_known;
    sl_status status = SL_OK;
    out->pid = is_known && p->pid <= INT32_MAX ? (int32_t)p->pid : SL_TM_UNKNOWN_PID;
    out->host = intern(set, is_known && p->host[0] ? p->host : SL_TM_UNKNOWN_HOST, &status, err);
    out->job_id = is_known && p->job[0] ? intern(set, p->job, &status, err) : SL_TM_NO_TEXT;
    out->rank = is_known && p->rank.known && p->rank.value >= 0 ? p->rank.value : 0;
    out->world_size = is_known && p->world_size.known ? p->world_size.value : 1;
    if (out->world_size <= out->rank)
        out->world_size = out->rank < INT32_MAX ? out->rank + 1 : out->rank;
    out->local_rank = is_known && p->local_rank.known ? p->local_rank.value : out->rank;
    if (out->local_rank < 0 || out->local_rank >= out->world_size)
        out->local_rank = out->rank;
    return status;
}

sl_status sl_telemetry_convert(sl_telemetry *set, const sl_telemetry_record *record,
                               sl_tm_record *out, sl_error *err) {
    sl_status status = SL_OK;
    *out = (sl_tm_record){
        .timestamp_ns = record->time_us > 0 ? record->time_us * 1000 : 0,
        .event_type = intern(set, record->event_type, &status, err),
        .collector = intern(set, COLLECTOR, &status, err),
        .sampling_interval_ms = (int64_t)record->interval_ms,
        .device_id = record->device,
        .allocated_bytes = (int64_t)record->allocated_bytes,
        .reserved_bytes = (int64_t)record->reserved_bytes,
        .active_bytes = or_null(record->active_bytes),
        .inactive_bytes = or_null(record->inactive_bytes),
        .change_bytes = record->change_bytes,
        .used_bytes = (int64_t)record->used_bytes,
        .free_bytes = or_null(record->free_bytes),
        .total_bytes = or_null(record->total_bytes),
        .context = intern(set, record->context, &status, err),
        .metadata = intern_metadata(set, record, &status, err),
    };
    return status == SL_OK ? set_process(set, record->process, out, err) : status;
}

static void put_record(void *self, const sl_telemetry_record *record) {
    record_sink *sink = self;
    sl_tm_record out;
    if (sink->status == SL_OK)
        sink->status = sl_telemetry_convert(sink->set, record, &out, sink->err);
    if (sink->status == SL_OK)
        sl_tm_out_put(&sink->out, sink->set, &out);
}

static bool is_wanted(const sl_tm_record *record, const sl_export_options *options) {
    return sl_export_wants_device(options, record->device_id) &&
           sl_export_wants_time(options, record->timestamp_ns / 1000);
}

static sl_status write_set(const sl_telemetry *set, const sl_export_options *options, FILE *to,
                           sl_tm_form form, sl_error *err) {
    sl_tm_out out;
    sl_tm_out_begin(&out, to, form);
    for (size_t i = 0; i < set->records.cnt; i++)
        if (is_wanted(&set->records.at[i], options))
            sl_tm_out_put(&out, set, &set->records.at[i]);
    return sl_tm_out_end(&out, err);
}

static sl_status write_trace(const sl_run_input *input, const sl_export_options *options, FILE *to,
                             sl_tm_form form, sl_error *err) {
    record_sink sink = {.set = sl_telemetry_new(), .err = err};
    if (!sink.set)
        return sl_fail_no_memory(err, "telemetry records");
    sl_tm_out_begin(&sink.out, to, form);
    sl_status status =
        sl_telemetry_walk(input, options, &(sl_telemetry_sink){put_record, &sink}, err);
    if (status == SL_OK)
        status = sink.status;
    if (status == SL_OK)
        status = sl_tm_out_end(&sink.out, err);
    sl_telemetry_free(sink.set);
    return status;
}

static sl_status export_records(const sl_run_input *input, const sl_export_options *options,
                                FILE *to, sl_tm_form form, sl_error *err) {
    if (sl_run_is_sampled(input))
        return write_set(input->trace->telemetry, options, to, form, err);
    return write_trace(input, options, to, form, err);
}

sl_status sl_export_telemetry_json(const sl_run_input *input, const sl_export_options *options,
                                   FILE *to, sl_error *err) {
    return export_records(input, options, to, SL_TM_FORM_JSON, err);
}

sl_status sl_export_telemetry_csv(const sl_run_input *input, const sl_export_options *options,
                                  FILE *to, sl_error *err) {
    return export_records(input, options, to, SL_TM_FORM_CSV, err);
}

sl_status sl_export_telemetry_lines(const sl_run_input *input, const sl_export_options *options,
                                    FILE *to, sl_error *err) {
    return export_records(input, options, to, SL_TM_FORM_LINES, err);
}
