/* SPDX-License-Identifier: MIT */
/* The user's line of a stack, straight from a log that is still written: what run/lines/user_line.h decides
 * for a trace, for views that are drawn every second and have no trace. */
#ifndef SL_LIVE_LINE_H
#define SL_LIVE_LINE_H

#include "log/read/log_reader.h"

/* The innermost of the frames that are most the user's; false for a stack without frames. The names of the log
 * are loaded. */
bool sl_live_line_find(const sl_log_reader *reader, uint32_t stack, sl_fmt_frame *line);

/* The name of its function as people write it; borrowed from the reader or in buf (SL_NATIVE_NAME_CAP). */
sl_str sl_live_line_function(const sl_log_reader *reader, const sl_fmt_frame *line, char *buf);

/* "train.py:41", cleaned; empty when the frame has no file. */
void sl_live_line_name(const sl_log_reader *reader, const sl_fmt_frame *line, char *buf,
                       size_t cap);

#endif
