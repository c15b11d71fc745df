/* SPDX-License-Identifier: MIT */
/* The roles of the processes of a run, found without loading their events: for commands that load one
 * recording after the other. */
#ifndef SL_RUN_ROLES_H
#define SL_RUN_ROLES_H

#include "api/recording_files.h"
#include "run/process_tree.h"

/* places[list->paths.cnt]; SL_PROCESS_NONE for what is not a recording or cannot be opened. */
sl_status sl_run_roles_find(const sl_recordings *list, sl_process_place *places, sl_error *err);

#endif
