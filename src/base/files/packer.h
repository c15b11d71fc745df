/* SPDX-License-Identifier: MIT */
/* Streaming compression with zstd into an open file, the counterpart of unpack.h. A build without
 * the library writes the bytes as they are. One thread per packer. */
#ifndef SL_PACKER_H
#define SL_PACKER_H

#include <stdio.h>

#include "base/core/status.h"

typedef struct sl_packer sl_packer;

/* Whether this build can compress. */
bool sl_packer_is_built_in(void);

/* `to` is borrowed. compresses: false writes the bytes as they are. */
sl_status sl_packer_new(FILE *to, bool compresses, sl_packer **out, sl_error *err);

sl_status sl_packer_write(sl_packer *packer, const void *bytes, size_t len, sl_error *err);

/* Ends the compressed data, with a checksum over all of them. Nothing may be written later. */
sl_status sl_packer_finish(sl_packer *packer, sl_error *err);

void sl_packer_free(sl_packer *packer); /* NULL is fine */

#endif
