/* SPDX-License-Identifier: MIT */
/* The alert "out of memory in 12 min" of `stormlog run`: asks api/live/live_forecast.h about each recording of the run
 * from outside of the recorded process. A line on standard error once, and again only when it gets clearly worse; every
 * such forecast is also a line of alerts.jsonl in the run folder. Asking takes at most a fiftieth of the time. */
#ifndef SL_RUN_FORECAST_H
#define SL_RUN_FORECAST_H

#include "api/run_folder.h"
#include "log/read/log_reader.h"

typedef struct sl_run_forecast sl_run_forecast;

/* NULL when memory ran out. The folder is borrowed. is_quiet: no lines on standard error. */
sl_run_forecast *sl_run_forecast_new(const sl_run_folder *folder, bool is_quiet);
void sl_run_forecast_free(sl_run_forecast *forecast); /* NULL is fine */

/* One look at a recording that was refreshed just now; returns at once when it is not its time yet. `name` is its
 * file's. Never fails: what cannot be read has no forecast. */
void sl_run_forecast_look(sl_run_forecast *forecast, const char *name, sl_log_reader *reader);

#endif
