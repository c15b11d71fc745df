/* SPDX-License-Identifier: MIT */
/* Streaming decompression, recognised by magic number. The one place that knows zlib, zstd and
 * liblzma; a build without them says so instead of guessing. */
#ifndef SL_UNPACK_H
#define SL_UNPACK_H

#include "base/core/status.h"

typedef struct sl_unpacker sl_unpacker;

typedef struct sl_unpack_buffers {
    const unsigned char *in; /* advanced past what was consumed */
    size_t in_len;
    unsigned char *out; /* advanced past what was produced */
    size_t out_len;
} sl_unpack_buffers;

#define SL_UNPACK_MAGIC_LEN 6

/* Whether these bytes are the beginning of a compressed file, also of a form this build lacks. */
bool sl_unpack_is_packed(const unsigned char *magic, size_t len);

/* *out is NULL when these bytes are not compressed. SL_E_UNSUPPORTED when they are, in a form this
 * build cannot read. */
sl_status sl_unpack_open(const unsigned char *magic, size_t len, sl_unpacker **out, sl_error *err);

/* Consumes and produces as much as fits. *is_between is set when the input so far ends exactly
 * where a compressed member ends, so that the end of the file is fine there. */
sl_status sl_unpack_step(sl_unpacker *unpack, sl_unpack_buffers *buffers, bool *is_between,
                         sl_error *err);

void sl_unpack_close(sl_unpacker *unpack); /* NULL is fine */

#endif
