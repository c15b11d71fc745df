/* SPDX-License-Identifier: MIT */
#include "telemetry/telemetry_out.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/json_in.h"

/* A key may lack a NUL in the reader's buffer. */
static void embed_key(sl_json_out *json, sl_str key) {
    char small[128];
    if (key.len < sizeof small) {
        memcpy(small, key.ptr, key.len);
        small[key.len] = '\0';
        sl_json_key(json, small);
        return;
    }
    char *copy = strndup(key.ptr, key.len);
    sl_json_key(json, copy ? copy : "");
    free(copy);
}

static void embed_token(sl_json_out *json, const sl_json_token *token) {
    switch (token->type) {
    case SL_JSON_BEGIN_OBJECT: sl_json_begin_object(json); break;
    case SL_JSON_END_OBJECT: sl_json_end_object(json); break;
    case SL_JSON_BEGIN_ARRAY: sl_json_begin_array(json); break;
    case SL_JSON_END_ARRAY: sl_json_end_array(json); break;
    case SL_JSON_KEY: embed_key(json, token->text); break;
    case SL_JSON_STRING: sl_json_str(json, token->text); break;
    case SL_JSON_BOOL: sl_json_bool(json, token->u != 0); break;
    case SL_JSON_INT:
    case SL_JSON_FLOAT: sl_json_raw(json, token->raw); break;
    default: sl_json_null(json); break;
    }
}

void sl_json_embed(sl_json_out *json, sl_str text) {
    sl_byte_stream stream;
    sl_json_in in;
    sl_json_token token;
    int depth = json->depth;
    sl_bytes_init(&stream, text.ptr, text.len);
    sl_json_in_init(&in, &stream);
    while (sl_json_next(&in, &token, NULL) == SL_OK && token.type != SL_JSON_END &&
           json->depth < SL_JSON_DEPTH_MAX - 1) {
        embed_token(json, &token);
        if (json->depth == depth && !json->after_key)
            break;
    }
    sl_json_in_fini(&in);
}

static void put_text(sl_json_out *json, const sl_telemetry *set, uint32_t id) {
    if (id == SL_TM_NO_TEXT)
        sl_json_null(json);
    else
        sl_json_str(json, sl_tm_text(set, id));
}

static void put_field(sl_json_out *json, const sl_telemetry *set, const sl_tm_record *record,
                      sl_tm_field field) {
    int64_t value;
    switch (sl_tm_fields[field].type) {
    case SL_TM_VERSION_FIELD: sl_json_i64(json, SL_TM_VERSION); break;
    case SL_TM_INT64:
    case SL_TM_INT32: sl_json_i64(json, sl_tm_get_int(record, field)); break;
    case SL_TM_INT64_OR_NULL:
        value = sl_tm_get_int(record, field);
        if (value == SL_TM_NULL)
            sl_json_null(json);
        else
            sl_json_i64(json, value);
        break;
    case SL_TM_OBJECT: sl_json_embed(json, sl_tm_metadata(set, record)); break;
    default: put_text(json, set, sl_tm_get_text(record, field)); break;
    }
}

void sl_tm_record_json(sl_json_out *json, const sl_telemetry *set, const sl_tm_record *record) {
    sl_json_begin_object(json);
    for (sl_tm_field field = 0; field < SL_TM_FIELD_CNT; field++) {
        sl_json_key(json, sl_tm_fields[field].name);
        put_field(json, set, record, field);
    }
    sl_json_end_object(json);
}

/* ---- CSV ---- */

void sl_csv_put_text(FILE *to, sl_str text) {
    bool is_plain = text.len > 0;
    bool is_formula = sl_tm_formula_quotes(text) != SL_TM_NO_FORMULA;
    for (size_t i = 0; i < text.len && is_plain; i++)
        is_plain = !strchr(",\"\r\n", text.ptr[i]) || !text.ptr[i];
    if (!is_plain)
        putc('"', to);
    if (is_formula)
        putc('\'', to);
    if (is_plain) {
        fwrite(text.ptr, 1, text.len, to);
        return;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            putc('"', to);
        putc(text.ptr[i], to);
    }
    putc('"', to);
}

static void put_csv_field(FILE *to, const sl_telemetry *set, const sl_tm_record *record,
                          sl_tm_field field) {
    sl_tm_type type = sl_tm_fields[field].type;
    if (type == SL_TM_VERSION_FIELD) {
        fprintf(to, "%d", SL_TM_VERSION);
    } else if (type == SL_TM_OBJECT) {
        sl_csv_put_text(to, sl_tm_metadata(set, record));
    } else if (type == SL_TM_INT64 || type == SL_TM_INT32 || type == SL_TM_INT64_OR_NULL) {
        int64_t value = sl_tm_get_int(record, field);
        if (type != SL_TM_INT64_OR_NULL || value != SL_TM_NULL)
            fprintf(to, "%" PRId64, value);
    } else if (sl_tm_get_text(record, field) != SL_TM_NO_TEXT) {
        sl_csv_put_text(to, sl_tm_text(set, sl_tm_get_text(record, field)));
    }
}

static void put_csv(FILE *to, const sl_telemetry *set, const sl_tm_record *record) {
    for (sl_tm_field field = 0; field < SL_TM_FIELD_CNT; field++) {
        if (field)
            putc(',', to);
        put_csv_field(to, set, record, field);
    }
    putc('\n', to);
}

static void put_header(FILE *to) {
    for (sl_tm_field field = 0; field < SL_TM_FIELD_CNT; field++)
        fprintf(to, "%s%s", field ? "," : "", sl_tm_fields[field].name);
    putc('\n', to);
}

/* ---- both ---- */

void sl_tm_out_begin(sl_tm_out *out, FILE *to, sl_tm_form form) {
    *out = (sl_tm_out){.to = to, .form = form};
    sl_json_init(&out->json, to, form == SL_TM_FORM_JSON ? 2 : 0);
    if (form == SL_TM_FORM_JSON)
        sl_json_begin_array(&out->json);
    else if (form == SL_TM_FORM_CSV)
        put_header(to);
}

void sl_tm_out_put(sl_tm_out *out, const sl_telemetry *set, const sl_tm_record *record) {
    if (out->form == SL_TM_FORM_CSV) {
        put_csv(out->to, set, record);
        return;
    }
    sl_tm_record_json(&out->json, set, record);
    if (out->form == SL_TM_FORM_LINES)
        putc('\n', out->to);
}

sl_status sl_tm_out_end(sl_tm_out *out, sl_error *err) {
    if (out->form == SL_TM_FORM_JSON)
        sl_json_end_array(&out->json);
    if (fflush(out->to) != 0 || ferror(out->to))
        return sl_fail_errno(err, SL_E_WRITE, "cannot write telemetry records");
    return SL_OK;
}

sl_status sl_tm_write(const sl_telemetry *set, sl_tm_form form, FILE *to, sl_error *err) {
    sl_tm_out out;
    sl_tm_out_begin(&out, to, form);
    for (size_t i = 0; i < set->records.cnt; i++)
        sl_tm_out_put(&out, set, &set->records.at[i]);
    return sl_tm_out_end(&out, err);
}
