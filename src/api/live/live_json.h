/* SPDX-License-Identifier: MIT */
/* A forecast and what would fail now, as JSON: the same keys wherever they are written (`top`, the alerts of a run, an
 * agent). docs/report.md, section "What is live now", lists them. */
#ifndef SL_LIVE_JSON_H
#define SL_LIVE_JSON_H

#include "api/live/live_failure.h"
#include "base/text/json_out.h"

/* An object, or null when nothing is forecast. */
void sl_live_forecast_write(sl_json_out *json, const sl_live_forecast *forecast);

/* An object, or null when it is not known. */
void sl_live_failure_write(sl_json_out *json, const sl_live_failure *failure);

#endif
