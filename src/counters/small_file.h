/* SPDX-License-Identifier: MIT */
/* The one-line files of /proc and /sys. Nothing is allocated. */
#ifndef SL_SMALL_FILE_H
#define SL_SMALL_FILE_H

#include "base/core/sl_base.h"

/* The start of a file as text, at most cap - 1 bytes. False, and an empty text, when it cannot be read. */
bool sl_small_file_read(const char *path, char *text, size_t cap);

#endif
