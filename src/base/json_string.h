/* SPDX-License-Identifier: MIT */
/* The strings of the JSON reader: finding their end, and decoding them. Internal to src/base. */
#ifndef SL_JSON_STRING_H
#define SL_JSON_STRING_H

#include "base/json_in.h"

/* How far the end of a string was looked for. Zero-initialised: not at all. */
typedef struct sl_json_scan {
    size_t len;
    bool has_escape, has_high, has_control;
} sl_json_scan;

/* Looks on; true when bytes[scan->len] is the closing quote. */
bool sl__json_scan(sl_json_scan *scan, const unsigned char *bytes, size_t left);

/* Checks json->raw and decodes it into json->text. */
sl_status sl__json_decode(sl_json_in *json, const sl_json_scan *scan, sl_error *err);

/* Copies text and raw out of the window, so that reading may go on. */
sl_status sl__json_keep_text(sl_json_in *json, sl_error *err);

#endif
