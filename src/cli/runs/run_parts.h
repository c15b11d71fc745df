/* SPDX-License-Identifier: MIT */
/* What is inside a run folder, and which of it stormlog made. Removing a run goes by the same list, so
 * nothing else is ever removed. */
#ifndef SL_RUN_PARTS_H
#define SL_RUN_PARTS_H

#include "base/core/status.h"

typedef enum sl_run_part_kind {
    SL_RUN_PART_RECORDING,
    SL_RUN_PART_LEFTOVER, /* a temporary file of ours that a kill left behind */
    SL_RUN_PART_BUNDLE,   /* a folder of evidence with nothing but its own files */
    SL_RUN_PART_FOREIGN,  /* anything else, links included */
} sl_run_part_kind;

typedef struct sl_run_part {
    const char *name;
    sl_run_part_kind kind;
    uint64_t bytes; /* on disk */
} sl_run_part;

/* Calls back for each entry of the folder. Nothing is opened but folders, no link is followed. */
sl_status sl_run_parts_each(int folder_fd, void (*take)(const sl_run_part *part, void *context),
                            void *context, sl_error *err);

/* Removes every part but the foreign ones. */
sl_status sl_run_parts_remove(int folder_fd, sl_error *err);

#endif
