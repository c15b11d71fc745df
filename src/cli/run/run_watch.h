/* SPDX-License-Identifier: MIT */
/* What `stormlog run` sees of its recordings while the command runs: failed requests, which get a
 * bundle within a second whatever the process does next, and alerts, which get a line. Looking costs
 * one read a recording; a bundle is written by a process of its own, so that the command's signals are
 * handed on meanwhile and a crash there is nobody else's. */
#ifndef SL_RUN_WATCH_H
#define SL_RUN_WATCH_H

#include "api/run_folder.h"

typedef struct sl_run_watch sl_run_watch;

/* Before the command starts: recordings that are in the folder now are not this run's. is_quiet: no
 * lines. NULL when memory ran out. The folder is borrowed. */
sl_run_watch *sl_run_watch_new(const sl_run_folder *folder, bool is_quiet);

/* One look; called several times a second. Never fails: what is missed is caught up at the end. */
void sl_run_watch_look(sl_run_watch *watch);

/* After the command's end: what has no bundle yet gets it. */
void sl_run_watch_finish(sl_run_watch *watch);

void sl_run_watch_free(sl_run_watch *watch); /* NULL is fine */

#endif
