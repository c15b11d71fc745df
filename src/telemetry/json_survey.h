/* SPDX-License-Identifier: MIT */
/* What a JSON file contains, without keeping it: whether it is JSON, its outermost keys, and
 * whether anything in it looks like a telemetry record. */
#ifndef SL_JSON_SURVEY_H
#define SL_JSON_SURVEY_H

#include "base/core/status.h"
#include "base/core/vec.h"

#define SL_SURVEY_KEYS_MAX 1000

typedef struct sl_json_survey {
    SL_VEC(char *) keys; /* owned; of the outermost object, sorted, each once */
    bool looks_like_telemetry;
} sl_json_survey;

/* SL_E_FORMAT and similar codes when the file is not JSON. Call sl_json_survey_fini in any case. */
sl_status sl_json_survey_read(const char *path, sl_json_survey *survey, sl_error *err);
void sl_json_survey_fini(sl_json_survey *survey);

#endif
