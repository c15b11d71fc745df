/* SPDX-License-Identifier: MIT */
/* One view of a recording as it is now: the process, what fills each device, and the lines of code
 * that hold most. Plain text of at most 80 columns. */
#ifndef SL_TOP_FRAME_H
#define SL_TOP_FRAME_H

#include <stdio.h>

#include "cli/top/top_process.h"
#include "log/read/log_reader.h"

typedef struct sl_top_options {
    size_t line_cnt; /* lines of code listed for each device */
    bool has_color;
} sl_top_options;

/* Prints the view. The reader was just opened or refreshed. */
sl_status sl_top_print(sl_log_reader *reader, const sl_top_process *process,
                       const sl_top_options *options, FILE *to, sl_error *err);

#endif
