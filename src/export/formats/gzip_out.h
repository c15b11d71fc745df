/* SPDX-License-Identifier: MIT */
/* A stream that compresses its bytes into another one. */
#ifndef SL_GZIP_OUT_H
#define SL_GZIP_OUT_H

#include <stdio.h>

#include "base/core/sl_base.h"

/* Whether this build has zlib. */
bool sl_gzip_is_built(void);

/* Closing the stream finishes the compressed bytes; `to` stays open, and its errors show there and in
 * fclose. NULL without zlib or memory. Compresses at level 1: outputs are large, and somebody waits
 * for them. */
FILE *sl_gzip_open(FILE *to);

#endif
