/* SPDX-License-Identifier: MIT */
/* The end of a run: its finished recordings are made small, also those whose process was killed. */
#ifndef SL_RUN_COMPACT_H
#define SL_RUN_COMPACT_H

#include "api/run_folder.h"

/* Recordings that are still being written stay as they are; so does one that cannot be compacted,
 * with a line unless is_quiet. A signal ends this early and is otherwise ignored: the command's own
 * exit code is what the caller waits for. */
void sl_run_compact(const sl_run_folder *folder, bool is_quiet);

#endif
