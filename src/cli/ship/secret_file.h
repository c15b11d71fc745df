/* SPDX-License-Identifier: MIT */
/* A secret from a file: not from the command line, where every user of the machine could read it. */
#ifndef SL_SECRET_FILE_H
#define SL_SECRET_FILE_H

#include "base/core/status.h"

#define SL_SECRET_CAP 8192

/* The first line of the file, owned by the caller: sl_secret_free. NULL when path is NULL. SL_E_OPEN,
 * SL_E_FORMAT for one that is empty, too long or not printable. The message has no part of it. */
sl_status sl_secret_read(const char *path, char **secret, sl_error *err);

/* NULL is fine. */
void sl_secret_free(char *secret);

#endif
