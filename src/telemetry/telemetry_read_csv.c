/* SPDX-License-Identifier: MIT */
/* Telemetry as CSV: the columns are the fields, an empty cell is null. Numbers are read as exact
 * integers; "1.0" is accepted too, because pandas writes integer columns with gaps that way.
 * Metadata is JSON, or the Python tool's repr of a dict. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/csv_in.h"
#include "base/text/py_repr.h"
#include "telemetry/telemetry_json.h"
#include "telemetry/telemetry_read.h"

#define COLUMN_IGNORED (-2) /* a column without a name: pandas' index */
#define COLUMN_UNKNOWN (-1)

typedef struct job {
    sl_csv_in csv;
    sl_telemetry *set;
    const sl_tm_load_options *options;
    SL_VEC(int) columns;    /* key of each column, or one of the above */
    SL_VEC(uint32_t) names; /* string ids, for the unknown ones */
    sl_tm_raw raw;
    uint64_t index;
} job;

static sl_status read_header(job *j, sl_error *err) {
    bool has_known = false;
    int status = sl_csv_next(&j->csv, err);
    if (status < 0)
        return (sl_status)status;
    for (size_t i = 0; i < j->csv.cells.cnt; i++) {
        sl_str name = sl_csv_cell_text(&j->csv, i);
        int key = name.len ? sl_tm_key_find(name, (int)i) : COLUMN_IGNORED;
        uint32_t id = sl_strtab_intern(&j->set->strings, name.ptr, name.len);
        has_known = has_known || key >= 0;
        if (id == SL_STR_NONE || !sl_vec_push(&j->columns, key) || !sl_vec_push(&j->names, id))
            return sl_fail_no_memory(err, "a CSV table");
    }
    return has_known ? SL_OK
                     : sl_fail_at(err, SL_E_FOREIGN, 0,
                                  "the first line names no telemetry column; expected "
                                  "timestamp_ns, event_type and so on");
}

static bool is_text_key(int key) {
    return key == SL_TM_EVENT_TYPE || key == SL_TM_COLLECTOR || key == SL_TM_HOST ||
           key == SL_TM_JOB_ID || key == SL_TM_CONTEXT || key == SL_TM_OLD_TYPE ||
           key == SL_TM_OLD_MESSAGE || key == SL_TM_OLD_DEVICE || key == SL_TM_OLD_BACKEND;
}

/* An integer as written, or a real number; anything else stays text, which the rules refuse. */
static bool number_value(sl_str cell, bool is_real, sl_tm_value *out) {
    char *end;
    long long number = strtoll(cell.ptr, &end, 10);
    bool is_plain = cell.len < 20 && end == cell.ptr + cell.len && cell.ptr[0] != ' ';
    if (is_plain && cell.len) {
        *out = (sl_tm_value){.kind = SL_TM_IS_INT, .number = number};
        return true;
    }
    double real = strtod(cell.ptr, &end);
    if (end != cell.ptr + cell.len || !cell.len)
        return false;
    *out = (sl_tm_value){.kind = SL_TM_IS_REAL, .real = real};
    if (!is_real && real == trunc(real) && fabs(real) < 9.2e18)
        *out = (sl_tm_value){.kind = SL_TM_IS_INT, .number = (int64_t)real};
    return true;
}

static sl_status metadata_value(job *j, sl_str cell, sl_tm_value *out, sl_error *err) {
    sl_error json_err = SL_ERROR_INIT;
    sl_byte_stream in;
    sl_tm_reader reader;
    sl_json_token token;
    sl_str text = cell;
    sl_json_text translated = {0};
    if (sl_py_repr_to_json(cell, &translated, err))
        text = (sl_str){translated.at, translated.len};
    sl_bytes_init(&in, text.ptr, text.len);
    sl_tm_reader_init(&reader, j->set, &in);
    sl_status status = sl_json_next(&reader.json, &token, &json_err);
    if (status == SL_OK)
        status = sl_tm_value_take(&reader, &token, out, NULL, &json_err);
    sl_tm_reader_fini(&reader);
    free(translated.at);
    if (status < 0)
        return sl_fail(err, SL_E_FORMAT, "metadata must be an object: %s", json_err.text);
    return SL_OK;
}

/* The identity is optional: an empty cell there means absent. */
static bool is_optional(int key) {
    return key < SL_TM_FIELD_CNT && !sl_tm_fields[key].is_required && key != SL_TM_JOB_ID;
}

static sl_status take_cell(job *j, size_t i, sl_error *err) {
    int key = j->columns.at[i];
    sl_str cell = sl_csv_cell_text(&j->csv, i);
    if (key == COLUMN_IGNORED)
        return SL_OK;
    if (key == COLUMN_UNKNOWN) {
        if (j->raw.unknown_cnt < SL_TM_UNKNOWN_MAX)
            j->raw.unknown[j->raw.unknown_cnt++] = j->names.at[i];
        return SL_OK;
    }
    sl_tm_value *value = &j->raw.at[key];
    if (!cell.len && !j->csv.cells.at[i].is_quoted) {
        value->kind = is_optional(key) ? SL_TM_ABSENT : SL_TM_IS_NULL;
        /* Columns that only older records have are empty in the rows of newer records. */
        if (key >= SL_TM_FIELD_CNT)
            value->kind = SL_TM_ABSENT;
        return SL_OK;
    }
    if (key == SL_TM_METADATA)
        return metadata_value(j, cell, value, err);
    bool is_real = key == SL_TM_OLD_TIMESTAMP || key == SL_TM_OLD_MEMORY_MB;
    if (!is_text_key(key) && number_value(cell, is_real, value))
        return SL_OK;
    size_t quotes = sl_tm_formula_quotes(cell);
    if (quotes != SL_TM_NO_FORMULA && quotes > 0) /* one apostrophe is the writer's */
        cell = (sl_str){cell.ptr + 1, cell.len - 1};
    uint32_t id = sl_strtab_intern(&j->set->strings, cell.ptr, cell.len);
    *value = (sl_tm_value){.kind = SL_TM_IS_TEXT, .text = id};
    return id == SL_STR_NONE ? sl_fail_no_memory(err, "a CSV table") : SL_OK;
}

static sl_status take_cells(job *j, sl_error *err) {
    sl_tm_raw_clear(&j->raw);
    if (j->csv.cells.cnt != j->columns.cnt)
        return sl_fail(err, SL_E_FORMAT, "expected %zu cells as in the first line, found %zu",
                       j->columns.cnt, j->csv.cells.cnt);
    for (size_t i = 0; i < j->columns.cnt; i++)
        SL_TRY(take_cell(j, i, err));
    return SL_OK;
}

static sl_status take_row(job *j, sl_error *err) {
    char place[96];
    snprintf(place, sizeof place, "record %" PRIu64 " at line %" PRIu64 ", byte %" PRIu64, j->index,
             j->csv.line, j->csv.position);
    j->index++;
    if (take_cells(j, err) < 0) {
        err->position = (int64_t)j->csv.position;
        sl_error_prefix(err, "%s", place);
        return sl__tm_reject(j->set, j->options, err);
    }
    err->position = (int64_t)j->csv.position;
    return sl__tm_accept(j->set, &j->raw, j->options, place, err);
}

static sl_status take_rows(job *j, sl_error *err) {
    SL_TRY(read_header(j, err));
    for (;;) {
        int status = sl_csv_next(&j->csv, err);
        if (status <= 0)
            return (sl_status)status;
        SL_TRY(take_row(j, err));
    }
}

sl_status sl__tm_read_csv(sl_byte_stream *in, const sl_tm_load_options *options, sl_telemetry *set,
                          sl_error *err) {
    sl_tm_load_options csv_options = *options;
    if (!csv_options.convert.default_collector)
        csv_options.convert.default_collector = "legacy.csv";
    job j = {.set = set, .options = &csv_options};
    sl_csv_in_init(&j.csv, in);
    sl_status status = take_rows(&j, err);
    sl_csv_in_fini(&j.csv);
    sl_vec_free(&j.columns);
    sl_vec_free(&j.names);
    sl_tm_raw_fini(&j.raw);
    return status;
}
