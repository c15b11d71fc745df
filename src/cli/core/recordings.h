/* SPDX-License-Identifier: MIT */
/* The files that a path of the command line means; skipped ones are reported on standard error. */
#ifndef SL_RECORDINGS_H
#define SL_RECORDINGS_H

#include "api/recording_files.h"

/* sl_recordings_list; after a failure there is nothing to release. */
sl_status sl_recordings_find(sl_recordings *list, const char *path, sl_find_what what,
                             sl_error *err);

/* Prints nothing if nothing was skipped. */
void sl_left_out_say(const sl_left_out *names, const char *folder);

#endif
