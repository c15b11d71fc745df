/* SPDX-License-Identifier: MIT */
/* One telemetry record from JSON: tokens into typed values. The rules are applied afterwards, by
 * sl_tm_from_raw. */
#ifndef SL_TELEMETRY_JSON_H
#define SL_TELEMETRY_JSON_H

#include "base/json_in.h"
#include "model/telemetry_raw.h"

/* The value whose first token was just read; reads to its end. Objects are kept as JSON text. With
 * json_id the JSON text of any value is kept. `room` is scratch. */
sl_status sl_tm_value_take(sl_json_in *json, sl_telemetry *set, sl_json_text *room,
                           sl_tm_value *value, uint32_t *json_id, sl_error *err);

/* The member whose key was just read: its value goes to raw. A key that comes twice counts the last
 * time. */
sl_status sl_tm_raw_take(sl_json_in *json, sl_telemetry *set, sl_json_text *room, sl_tm_raw *raw,
                         int *guess, sl_error *err);

/* A whole record whose '{' was just read. */
sl_status sl_tm_raw_read(sl_json_in *json, sl_telemetry *set, sl_json_text *room, sl_tm_raw *raw,
                         sl_error *err);

/* One record from a JSON text, appended to the set. how may be NULL. */
sl_status sl_tm_record_parse(sl_telemetry *set, sl_str text, const sl_tm_convert *how,
                             sl_error *err);

#endif
