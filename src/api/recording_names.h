/* SPDX-License-Identifier: MIT */
/* The names of recordings; needs no reader, so that a process that records can ask. */
#ifndef SL_RECORDING_NAMES_H
#define SL_RECORDING_NAMES_H

#include "base/core/sl_base.h"

#define SL_RECORDING_END ".slog"

/* Bytes of "run" in "run.slog.zst"; 0 for other names. */
size_t sl_recording_packed_stem(const char *name);

/* True for "python3-4711.slog" and "python3-4711.slog.zst". */
bool sl_recordings_is_name(const char *name);

/* The same, and it is a regular file (or a link to one). A scan of a folder asks this. */
bool sl_recordings_is_file(int folder_fd, const char *name);

#endif
