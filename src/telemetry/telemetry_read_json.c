/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "telemetry/telemetry_json.h"
#include "telemetry/telemetry_read.h"

typedef struct job {
    sl_tm_reader reader;
    const sl_tm_load_options *options;
    sl_json_token token; /* the newest one outside records */
    uint64_t index;      /* of the record that is being read */
    bool is_lines;       /* one record per line: a broken one can be skipped */
    bool is_refused;     /* by a rule, not because of the syntax */
} job;

#define PLACE_CAP 64

static sl_status next(job *j, sl_error *err) {
    return sl_json_next(&j->reader.json, &j->token, err);
}

/* Notes where a record begins, for its error message. */
static void set_place(const job *j, uint64_t position, char place[PLACE_CAP], sl_error *err) {
    snprintf(place, PLACE_CAP, "record %" PRIu64 " at byte %" PRIu64, j->index, position);
    err->position = (int64_t)position;
}

static sl_status take_record(job *j, sl_error *err) {
    char place[PLACE_CAP];
    uint64_t position = j->token.position;
    if (j->token.type == SL_JSON_BEGIN_OBJECT) {
        SL_TRY(sl_tm_raw_read(&j->reader, err));
        set_place(j, position, place, err);
        SL_TRY(sl__tm_accept(j->reader.set, &j->reader.raw, j->options, place, err));
    } else {
        sl_json_type found = j->token.type;
        SL_TRY(sl_json_skip(&j->reader.json, &j->token, err));
        set_place(j, position, place, err);
        sl_fail_at(err, SL_E_FORMAT, position,
                   "%s: Event at index %" PRIu64 " must be an object, found %s", place, j->index,
                   sl_json_type_name(found));
        SL_TRY(sl__tm_reject(j->reader.set, j->options, err));
    }
    j->index++;
    return SL_OK;
}

/* Reads the items of an array whose '[' was just read. */
static sl_status take_records(job *j, sl_error *err) {
    for (;;) {
        SL_TRY(next(j, err));
        if (j->token.type == SL_JSON_END_ARRAY)
            return SL_OK;
        SL_TRY(take_record(j, err));
    }
}

/* Whether the object has any key by which it is taken for a record. */
static bool looks_like_record(const sl_tm_raw *raw) {
    static const int keys[] = {SL_TM_SCHEMA_VERSION,       SL_TM_EVENT_TYPE,    SL_TM_OLD_TYPE,
                               SL_TM_OLD_MEMORY_ALLOCATED, SL_TM_OLD_MEMORY_MB, SL_TM_OLD_TIMESTAMP,
                               SL_TM_TIMESTAMP_NS};
    for (size_t i = 0; i < SL_COUNT_OF(keys); i++)
        if (raw->at[keys[i]].kind != SL_TM_ABSENT)
            return true;
    return false;
}

static const char *events_key(const job *j) {
    return j->options->events_key ? j->options->events_key : "events";
}

/* Reads one member of the outermost object: the array of events, or a value of the object
 * itself. */
static sl_status take_member(job *j, int *guess, bool *has_events, sl_error *err) {
    if (!sl_str_is(j->token.text, events_key(j)))
        return sl_tm_raw_take(&j->reader, &j->token, guess, err);
    SL_TRY(next(j, err));
    if (j->token.type == SL_JSON_BEGIN_ARRAY) {
        /* Records reuse the raw values; those of the outer object are no longer needed. */
        *has_events = true;
        return take_records(j, err);
    }
    return sl_json_skip(&j->reader.json, &j->token, err);
}

static sl_status fail_foreign(const job *j, uint64_t position, sl_error *err) {
    if (j->options->events_key)
        return sl_fail_at(err, SL_E_FOREIGN, position,
                          "Top-level key '%s' must contain a list of events",
                          j->options->events_key);
    return sl_fail_at(err, SL_E_FOREIGN, position,
                      "JSON payload does not contain telemetry events: expected a list, an object "
                      "with \"events\", or a record");
}

static sl_status take_object(job *j, sl_error *err) {
    char place[PLACE_CAP];
    uint64_t position = j->token.position;
    bool has_events = false;
    int guess = 0;
    sl_tm_raw_clear(&j->reader.raw);
    for (;;) {
        SL_TRY(next(j, err));
        if (j->token.type == SL_JSON_END_OBJECT)
            break;
        SL_TRY(take_member(j, &guess, &has_events, err));
    }
    if (has_events)
        return SL_OK;
    if (j->options->events_key || (j->index == 0 && !looks_like_record(&j->reader.raw)))
        return fail_foreign(j, position, err);
    set_place(j, position, place, err);
    j->is_lines = j->is_refused = true;
    SL_TRY(sl__tm_accept(j->reader.set, &j->reader.raw, j->options, place, err));
    j->is_refused = false;
    j->index++;
    return SL_OK;
}

/* Skips the rest of a broken line. False at the end of the input. */
static bool skip_line(sl_byte_stream *in) {
    while (sl_bytes_need(in, 1)) {
        const unsigned char *end = memchr(in->at, '\n', (size_t)(in->end - in->at));
        in->at = end ? end + 1 : in->end;
        if (end)
            return true;
    }
    return false;
}

/* A broken line is one bad record; reading continues with the next line. */
static sl_status resume_line(job *j, uint64_t position, sl_error *err) {
    char place[PLACE_CAP];
    sl_byte_stream *in = j->reader.json.in;
    if (!j->is_lines || j->is_refused || in->failure.code < 0)
        return err->code;
    if (err->code == SL_E_TRUNCATED)
        err->code = SL_E_FORMAT;
    set_place(j, position, place, err);
    sl_error_prefix(err, "%s", place);
    SL_TRY(sl__tm_reject(j->reader.set, j->options, err));
    j->index++;
    skip_line(in);
    sl_tm_reader_fini(&j->reader);
    sl_tm_reader_init(&j->reader, j->reader.set, in);
    return SL_OK;
}

/* Reads one outermost value. */
static sl_status take_top(job *j, sl_error *err) {
    SL_TRY(next(j, err));
    if (j->token.type == SL_JSON_END)
        return SL_OK;
    if (j->token.type == SL_JSON_BEGIN_OBJECT)
        return take_object(j, err);
    if (j->token.type == SL_JSON_BEGIN_ARRAY && j->index == 0)
        return take_records(j, err);
    return sl_fail_at(err, SL_E_FORMAT, j->token.position,
                      "Telemetry payload must be a JSON object or array, found %s at byte %" PRIu64,
                      sl_json_type_name(j->token.type), j->token.position);
}

static sl_status take_all(job *j, sl_error *err) {
    do {
        sl_status status = take_top(j, err);
        if (status < 0)
            SL_TRY(resume_line(j, j->token.position, err));
        else if (j->token.type == SL_JSON_END)
            return SL_OK;
        else if (j->token.type == SL_JSON_END_ARRAY)
            break;
    } while (true);
    SL_TRY(next(j, err));
    if (j->token.type == SL_JSON_END)
        return SL_OK;
    return sl_fail_at(err, SL_E_FORMAT, j->token.position,
                      "expected the end of the input at byte %" PRIu64 ", found %s",
                      j->token.position, sl_json_type_name(j->token.type));
}

sl_status sl__tm_read_json(sl_byte_stream *in, const sl_tm_load_options *options, sl_telemetry *set,
                           sl_error *err) {
    job j = {.options = options};
    sl_tm_reader_init(&j.reader, set, in);
    sl_status status = take_all(&j, err);
    sl_tm_reader_fini(&j.reader);
    return status;
}
