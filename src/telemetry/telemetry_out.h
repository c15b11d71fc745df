/* SPDX-License-Identifier: MIT */
/* The only encoder of telemetry records: a JSON array as the Python tool writes it, JSON lines,
 * or CSV with metadata as JSON. It writes record by record, so that nothing has to be kept. */
#ifndef SL_TELEMETRY_OUT_H
#define SL_TELEMETRY_OUT_H

#include "base/text/json_out.h"
#include "telemetry/telemetry.h"

typedef enum sl_tm_form {
    SL_TM_FORM_JSON,  /* an array, indented by 2, no newline after it */
    SL_TM_FORM_LINES, /* one object per line */
    SL_TM_FORM_CSV,
} sl_tm_form;

typedef struct sl_tm_out {
    FILE *to; /* borrowed */
    sl_tm_form form;
    sl_json_out json;
} sl_tm_out;

void sl_tm_out_begin(sl_tm_out *out, FILE *to, sl_tm_form form);
void sl_tm_out_put(sl_tm_out *out, const sl_telemetry *set, const sl_tm_record *record);
/* SL_E_WRITE when any write to the stream failed. */
sl_status sl_tm_out_end(sl_tm_out *out, sl_error *err);

/* A whole set. */
sl_status sl_tm_write(const sl_telemetry *set, sl_tm_form form, FILE *to, sl_error *err);

/* One record as a value inside a larger JSON text. */
void sl_tm_record_json(sl_json_out *json, const sl_telemetry *set, const sl_tm_record *record);

/* A text as a cell of CSV: in quotes where it needs them, an empty one too, so that it is not taken for
 * an unknown value; with an apostrophe before what a spreadsheet would take for a formula. */
void sl_csv_put_text(FILE *to, sl_str text);

/* A JSON text as a value inside another one, indented like the rest. The text must be valid
 * JSON. */
void sl_json_embed(sl_json_out *json, sl_str text);

#endif
