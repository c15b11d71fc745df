/* SPDX-License-Identifier: MIT */
/* One recording as `top --format json` shows it: the process, and for each device the rows of its
 * ledger. What was not measured is null. */
#ifndef SL_TOP_JSON_H
#define SL_TOP_JSON_H

#include "base/text/json_out.h"
#include "cli/top/top_process.h"
#include "log/read/log_reader.h"

/* Writes one object. The reader was just opened or refreshed. */
sl_status sl_top_write_json(sl_json_out *json, sl_log_reader *reader, const sl_top_process *process,
                            sl_error *err);

#endif
