/* SPDX-License-Identifier: MIT */
/* The file of this process's recording: its name, which nobody else has, and its creation. */
#ifndef SL_RECORD_FILE_H
#define SL_RECORD_FILE_H

#include "base/core/status.h"
#include "log/write/log_writer.h"
#include "record/core/record_setting.h"

#define SL_RECORD_FILE_CAP (SL_RECORD_PATH_CAP + 128)

/* In the folder of the settings, which is made. path has SL_RECORD_FILE_CAP bytes; it gets the name. A recording that starts
 * small grows with its events: that of a forked child. */
sl_status sl_record_file_create(const sl_record_settings *settings, bool starts_small, char *path,
                                sl_log **out, sl_error *err);

#endif
