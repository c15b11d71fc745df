/* SPDX-License-Identifier: MIT */
#include "telemetry/telemetry_read.h"

#include <string.h>

/* True for errors of a single record, after which the reader can continue. */
static bool is_record_failure(sl_status status) {
    return status == SL_E_FORMAT || status == SL_E_VERSION || status == SL_E_LIMIT;
}

sl_status sl__tm_reject(sl_telemetry *set, const sl_tm_load_options *options, sl_error *err) {
    if (!options->skips_bad || !is_record_failure(err->code))
        return err->code;
    set->skipped_cnt++;
    if (options->on_bad)
        options->on_bad(options->ctx, err);
    *err = (sl_error)SL_ERROR_INIT;
    return SL_OK;
}

sl_status sl__tm_accept(sl_telemetry *set, const sl_tm_raw *raw, const sl_tm_load_options *options,
                        const char *place, sl_error *err) {
    sl_tm_record record;
    int64_t position = err->position;
    if (sl_tm_from_raw(set, raw, &options->convert, &record, err) < 0 ||
        sl_tm_check_bounds(&record, err) < 0) {
        err->position = position;
        sl_error_prefix(err, "%s", place);
        return sl__tm_reject(set, options, err);
    }
    set->legacy_cnt += raw->at[SL_TM_SCHEMA_VERSION].kind == SL_TM_ABSENT;
    return sl_vec_push(&set->records, record)
               ? SL_OK
               : sl_fail_no_memory(err, "%zu records", set->records.cnt);
}

static int first_byte(sl_byte_stream *in) {
    for (size_t at = 0; sl_bytes_need(in, at + 1) && at < 4096; at++)
        if (!strchr(" \t\r\n", in->at[at]))
            return in->at[at];
    return -1;
}

sl_status sl_telemetry_read(sl_byte_stream *in, const sl_tm_load_options *options,
                            sl_telemetry *set, sl_error *err) {
    static const sl_tm_load_options defaults;
    sl_error local = SL_ERROR_INIT;
    if (!options)
        options = &defaults;
    if (!err)
        err = &local;
    if (sl_bytes_need(in, 3) && memcmp(in->at, "\xef\xbb\xbf", 3) == 0)
        in->at += 3;
    int c = first_byte(in);
    if (in->failure.code < 0)
        return sl_bytes_failure(in, "the file", err);
    if (c < 0)
        return sl_fail_at(err, SL_E_TRUNCATED, 0, "it is empty, expected telemetry records");
    size_t len = (size_t)(in->end - in->at);
    bool has_records = sl_telemetry_probe(in->at, len) > 0;
    if (!has_records && !options->events_key && sl_telemetry_probe_series(in->at, len) > 0)
        return sl_telemetry_read_series(in, set, err);
    bool is_csv = c != '{' && c != '[' && has_records;
    return is_csv ? sl__tm_read_csv(in, options, set, err)
                  : sl__tm_read_json(in, options, set, err);
}

sl_status sl_telemetry_load(const char *path, const sl_tm_load_options *options, sl_telemetry *set,
                            sl_error *err) {
    sl_byte_stream in;
    sl_error local = SL_ERROR_INIT;
    if (!err)
        err = &local;
    sl_status status = sl_bytes_open(&in, path, NULL, err);
    if (status >= 0)
        status = sl_telemetry_read(&in, options, set, err);
    sl_bytes_close(&in);
    return status < 0 ? sl_error_prefix(err, "cannot read '%s'", path) : SL_OK;
}

/* Keys or columns near the beginning of telemetry. */
static const char *const words[] = {
    "schema_version", "timestamp_ns",  "event_type", "memory_allocated",
    "memory_mb",      "\"timestamp\"", "\"events\"", "allocator_allocated_bytes",
};

int sl_telemetry_probe(const unsigned char *head, size_t len) {
    size_t at = 0;
    if (len >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    while (at < len && head[at] && strchr(" \t\r\n", head[at]))
        at++;
    if (at >= len)
        return 0;
    bool is_json = head[at] == '[' || head[at] == '{';
    size_t line = 0;
    while (at + line < len && head[at + line] != '\n')
        line++;
    /* Columns are in the first line; keys are anywhere near the beginning. */
    size_t range = is_json ? len - at : line;
    for (size_t i = 0; i < SL_COUNT_OF(words); i++)
        if (memmem(head + at, range, words[i], strlen(words[i])))
            return is_json ? 60 : 50;
    if (!is_json && line >= 9 && memcmp(head + at, "timestamp", 9) == 0)
        return 40;
    /* An empty array is telemetry without records. */
    return len - at <= 4 && head[at] == '[' ? 10 : 0;
}
