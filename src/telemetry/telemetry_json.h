/* SPDX-License-Identifier: MIT */
/* Reads one telemetry record from JSON: tokens become typed values. sl_tm_from_raw applies the
 * rules afterwards. */
#ifndef SL_TELEMETRY_JSON_H
#define SL_TELEMETRY_JSON_H

#include "base/text/json_text.h"
#include "telemetry/telemetry_raw.h"

/* The state of a reader: the tokens, the set for the records, and buffers. */
typedef struct sl_tm_reader {
    sl_json_in json;
    sl_telemetry *set; /* borrowed */
    sl_json_text room; /* owned */
    sl_tm_raw raw;     /* of the record just read */
} sl_tm_reader;

void sl_tm_reader_init(sl_tm_reader *reader, sl_telemetry *set, sl_byte_stream *in);
void sl_tm_reader_fini(sl_tm_reader *reader);

/* Reads the value that begins with this token, to its end. Objects are kept as JSON text. With
 * json_id the JSON text of any value is kept. */
sl_status sl_tm_value_take(sl_tm_reader *reader, const sl_json_token *token, sl_tm_value *value,
                           uint32_t *json_id, sl_error *err);

/* Reads the member whose key was just read into reader->raw. Of a duplicate key the last value
 * counts. */
sl_status sl_tm_raw_take(sl_tm_reader *reader, const sl_json_token *key, int *guess, sl_error *err);

/* Reads a whole record whose '{' was just read. */
sl_status sl_tm_raw_read(sl_tm_reader *reader, sl_error *err);

/* Parses one record from a JSON text and appends it to the set. how may be NULL. */
sl_status sl_tm_record_parse(sl_telemetry *set, sl_str text, const sl_tm_convert *how,
                             sl_error *err);

#endif
