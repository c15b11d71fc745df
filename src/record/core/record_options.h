/* SPDX-License-Identifier: MIT */
/* What the recorder was asked to do: the variables that `stormlog run` sets for the processes below it,
 * and the struct of sl_record_start(). Read once at start, in the thread that starts. */
#ifndef SL_RECORD_OPTIONS_H
#define SL_RECORD_OPTIONS_H

#include "record/core/record_setting.h"

/* Defaults, then the environment. A value that cannot be read is SL_E_USAGE with the variable's
 * name in the text; the rest of the settings is still usable. */
sl_status sl_record_settings_load(sl_record_settings *settings, sl_error *err);

/* What the caller of sl_record_start() set; 0 and NULL leave a setting as it is. False when a value
 * is out of range. */
bool sl_record_settings_apply(sl_record_settings *settings, const sl_record_options *options);

/* Whether this machine seems to have a GPU that the process may use; no driver is called. */
bool sl_record_has_gpu(void);

#endif
