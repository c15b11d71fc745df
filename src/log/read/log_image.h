/* SPDX-License-Identifier: MIT */
/* The bytes of a recording in memory, taken from a stream: a compressed file, a pipe. Ranges of
 * zeros, most of a sparse recording, take up no memory.
 *
 * Bounds for hostile input: what is not zero may be SL_EXPANSION_DEFAULT times the bytes read (or
 * SL_EXPANSION_FREE_BYTES), zeros included the same or 2 GiB. One thread per image. */
#ifndef SL_LOG_IMAGE_H
#define SL_LOG_IMAGE_H

#include "base/files/byte_stream.h"

typedef struct sl_log_image {
    uint8_t *at; /* owned mapping; NULL when there are no bytes */
    size_t mapped_bytes;
    size_t bytes;
} sl_log_image;

/* Zeros, ready to be written: SL_E_NOMEM. */
sl_status sl__image_make(sl_log_image *image, uint64_t bytes, sl_error *err);

/* Takes what the stream holds, until the image has `most` bytes. SL_E_LIMIT beyond the bounds. Free it also
 * after a failure. */
sl_status sl__image_take(sl_log_image *image, sl_byte_stream *in, uint64_t most, sl_error *err);

void sl__image_free(sl_log_image *image); /* an empty one is fine */

#endif
