/* SPDX-License-Identifier: MIT */
#include "agent/agent_encode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/str.h"
#include "export/formats/gzip_out.h"
#include "export/formats/pb_out.h"

struct sl_agent_encoder {
    sl_agent_form form;
    uint64_t sample_cnt;
    size_t raw_bytes;
    /* text */
    char *memory;
    size_t memory_len;
    FILE *packed; /* writes to memory */
    FILE *text;   /* compresses into packed, or is packed */
    /* remote write */
    sl_pb_out request, series, part;
};

static const char *const form_names[] = {
#define NAME(id, name, path) name,
    SL_AGENT_FORM_MAP(NAME)
#undef NAME
};

const char *sl_agent_form_name(sl_agent_form form) {
    return form_names[form];
}

/* ---- text ---- */

void sl_agent_text_family(FILE *to, sl_agent_series series) {
    const sl_agent_series_row *row = &sl_agent_series_rows[series];
    if (series && strcmp(row[-1].name, row->name) == 0)
        return;
    fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name, row->type);
}

void sl_agent_text_sample(FILE *to, sl_agent_series series, const sl_agent_labels *labels,
                          double value, int64_t time_ms) {
    const sl_agent_series_row *row = &sl_agent_series_rows[series];
    fprintf(to, "%s{", row->name);
    if (row->kind[0])
        fprintf(to, "kind=\"%s\"%s", row->kind, labels->list.cnt ? "," : "");
    sl_agent_labels_write(labels, to);
    if (value == floor(value) && fabs(value) < 1e15)
        fprintf(to, "} %.0f", value);
    else
        fprintf(to, "} %.10g", value);
    if (time_ms)
        fprintf(to, " %lld", (long long)time_ms);
    putc('\n', to);
}

static const sl_agent_labels *labels_of(const sl_agent_rank *rank, size_t subject,
                                        sl_agent_series series) {
    return series == SL_AGENT_INFO ? &rank->info : &rank->subjects.at[subject].labels;
}

static sl_status open_text(sl_agent_encoder *e, sl_error *err) {
    if (e->text)
        return SL_OK;
    e->packed = open_memstream(&e->memory, &e->memory_len);
    e->text = e->packed && sl_gzip_is_built() ? sl_gzip_open(e->packed) : e->packed;
    return e->text ? SL_OK : sl_fail_no_memory(err, "a request");
}

/* Series by series: neighbouring lines differ in little, which compresses well. */
static sl_status add_text(sl_agent_encoder *e, const sl_agent_rank *rank,
                          const sl_agent_points *points, sl_error *err) {
    SL_TRY(open_text(e, err));
    for (size_t s = 0; s < points->subject_cnt; s++)
        for (int series = 0; series < SL_AGENT_SERIES_CNT; series++)
            for (size_t p = 0; p < points->cnt; p++) {
                sl_maybe_f64 value = sl_agent_point_values(points, p, s)[series];
                if (!value.known)
                    continue;
                sl_agent_text_sample(e->text, (sl_agent_series)series,
                                     labels_of(rank, s, (sl_agent_series)series), value.value,
                                     points->times_ms[p]);
                e->sample_cnt++;
                e->raw_bytes += 200; /* about: the stream does not say */
            }
    return SL_OK;
}

static void close_text(sl_agent_encoder *e, bool *is_good) {
    if (e->text && e->text != e->packed)
        *is_good &= fclose(e->text) == 0;
    if (e->packed)
        *is_good &= fclose(e->packed) == 0;
    e->text = e->packed = NULL;
}

static sl_status finish_text(sl_agent_encoder *e, sl_agent_body *body, sl_error *err) {
    static const char *const gzip_headers[] = {"Content-Type: text/plain", "Content-Encoding: gzip",
                                               NULL};
    static const char *const plain_headers[] = {"Content-Type: text/plain", NULL};
    bool is_good = true;
    SL_TRY(open_text(e, err));
    close_text(e, &is_good);
    body->bytes = e->memory;
    body->len = e->memory_len;
    body->headers = sl_gzip_is_built() ? gzip_headers : plain_headers;
    e->memory = NULL;
    return is_good ? SL_OK : sl_fail_no_memory(err, "a request");
}

/* ---- remote write: WriteRequest{1: TimeSeries{1: Label{1 name, 2 value}, 2: Sample{1 double, 2 ms}}} ---- */

static void put_label(sl_agent_encoder *e, const char *name, const char *value) {
    sl_pb_text(&e->part, 1, sl_str_of(name));
    sl_pb_text(&e->part, 2, sl_str_of(value));
    sl_pb_message(&e->series, 1, &e->part);
}

/* The two labels of the row in their places among the others, which are sorted. */
static void put_labels(sl_agent_encoder *e, const sl_agent_series_row *row,
                       const sl_agent_labels *labels) {
    const sl_agent_label own[] = {{(char *)"__name__", (char *)row->name},
                                  {(char *)"kind", (char *)row->kind}};
    size_t own_cnt = row->kind[0] ? 2 : 1, o = 0;
    for (size_t i = 0; i < labels->list.cnt; i++) {
        for (; o < own_cnt && strcmp(own[o].name, labels->list.at[i].name) < 0; o++)
            put_label(e, own[o].name, own[o].value);
        put_label(e, labels->list.at[i].name, labels->list.at[i].value);
    }
    for (; o < own_cnt; o++)
        put_label(e, own[o].name, own[o].value);
}

static void put_sample(sl_agent_encoder *e, double value, int64_t time_ms) {
    sl_pb_double(&e->part, 1, value);
    sl_pb_varint(&e->part, 2, (uint64_t)time_ms);
    sl_pb_message(&e->series, 2, &e->part);
    e->sample_cnt++;
}

static void add_series(sl_agent_encoder *e, const sl_agent_rank *rank,
                       const sl_agent_points *points, size_t subject, sl_agent_series series) {
    bool has_any = false;
    for (size_t p = 0; p < points->cnt; p++) {
        sl_maybe_f64 value = sl_agent_point_values(points, p, subject)[series];
        if (!value.known)
            continue;
        if (!has_any)
            put_labels(e, &sl_agent_series_rows[series], labels_of(rank, subject, series));
        has_any = true;
        put_sample(e, value.value, points->times_ms[p]);
    }
    if (has_any)
        sl_pb_message(&e->request, 1, &e->series);
}

static void add_write(sl_agent_encoder *e, const sl_agent_rank *rank,
                      const sl_agent_points *points) {
    for (size_t s = 0; s < points->subject_cnt; s++)
        for (int series = 0; series < SL_AGENT_SERIES_CNT; series++)
            add_series(e, rank, points, s, (sl_agent_series)series);
    e->raw_bytes = e->request.bytes.cnt;
}

static sl_status finish_write(sl_agent_encoder *e, sl_agent_body *body, sl_error *err) {
    static const char *const headers[] = {"Content-Type: application/x-protobuf",
                                          "Content-Encoding: snappy",
                                          "X-Prometheus-Remote-Write-Version: 0.1.0", NULL};
    bool is_good = !e->request.has_failed;
    body->headers = headers;
    sl_status status = is_good ? sl_agent_snappy(e->request.bytes.at, e->request.bytes.cnt,
                                                 &body->bytes, &body->len, err)
                               : sl_fail_no_memory(err, "a request");
    sl_pb_reset(&e->request);
    return status;
}

/* ---- both ---- */

sl_status sl_agent_encoder_new(sl_agent_form form, sl_agent_encoder **out, sl_error *err) {
    *out = NULL;
    if (form == SL_AGENT_FORM_REMOTE_WRITE)
        SL_TRY(sl_agent_snappy_load(err));
    *out = calloc(1, sizeof **out);
    if (!*out)
        return sl_fail_no_memory(err, "an encoder");
    (*out)->form = form;
    return SL_OK;
}

void sl_agent_encoder_free(sl_agent_encoder *e) {
    bool is_good = true;
    if (!e)
        return;
    close_text(e, &is_good);
    free(e->memory);
    sl_pb_fini(&e->request);
    sl_pb_fini(&e->series);
    sl_pb_fini(&e->part);
    free(e);
}

sl_status sl_agent_encoder_add(sl_agent_encoder *e, const sl_agent_rank *rank,
                               const sl_agent_points *points, sl_error *err) {
    if (e->form == SL_AGENT_FORM_IMPORT)
        return add_text(e, rank, points, err);
    add_write(e, rank, points);
    return SL_OK;
}

size_t sl_agent_encoder_size(const sl_agent_encoder *e) {
    return e->raw_bytes;
}

sl_status sl_agent_encoder_finish(sl_agent_encoder *e, sl_agent_body *body, sl_error *err) {
    *body = (sl_agent_body){.sample_cnt = e->sample_cnt};
    sl_status status =
        e->form == SL_AGENT_FORM_IMPORT ? finish_text(e, body, err) : finish_write(e, body, err);
    e->sample_cnt = 0;
    e->raw_bytes = 0;
    return status;
}
