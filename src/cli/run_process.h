/* SPDX-License-Identifier: MIT */
/* Runs a command to its end as if it had been started directly: same terminal, same signals, its
 * own exit code. */
#ifndef SL_RUN_PROCESS_H
#define SL_RUN_PROCESS_H

#include "base/status.h"

/* argv ends with NULL; the environment is the caller's. *exit_code: that of the command, or
 * 128 + n when signal n ended it. */
sl_status sl_run_process(const char *path, char *const *argv, int *exit_code, sl_error *err);

#endif
