/* SPDX-License-Identifier: MIT */
/* What `stormlog run` sees of its recordings while the command runs: failed requests, which get a
 * bundle within a second whatever the process does next, alerts, which get a line, and growth that will end in
 * one (run_forecast.h). A scan costs one read per recording. A bundle is written by a separate process, so that signals are passed on
 * meanwhile and a crash there affects nothing else. */
#ifndef SL_RUN_WATCH_H
#define SL_RUN_WATCH_H

#include "api/run_folder.h"

typedef struct sl_run_watch sl_run_watch;

typedef struct sl_run_watch_options {
    bool is_quiet;    /* no lines */
    bool no_forecast; /* nothing is said about memory that will be out (run_forecast.h) */
} sl_run_watch_options;

/* Before the command starts: recordings that are in the folder now are not this run's. NULL when memory ran out.
 * The folder is borrowed. */
sl_run_watch *sl_run_watch_new(const sl_run_folder *folder, const sl_run_watch_options *options);

/* One scan; called several times per second. Never fails: the end of the run catches up on what was
 * missed. */
void sl_run_watch_look(sl_run_watch *watch);

/* After the command's end: what has no bundle yet gets it. */
void sl_run_watch_finish(sl_run_watch *watch);

void sl_run_watch_free(sl_run_watch *watch); /* NULL is fine */

#endif
