/* SPDX-License-Identifier: MIT */
/* The second form of a ring, for compression: the records of a chunk as columns of bytes, times as
 * differences (docs/format.md, "Columns"). Halves what zstd makes of a recording. Only files at
 * rest have it; a reader turns it back before anything else looks at the ring. */
#ifndef SL_LOG_COLUMNS_H
#define SL_LOG_COLUMNS_H

#include "base/core/sl_base.h"

/* Both may not overlap; chunk_bytes as in the header, which has been checked. */
void sl__columns_fold(uint8_t *to, const uint8_t *from, uint32_t chunk_bytes);
void sl__columns_unfold(uint8_t *to, const uint8_t *from, uint32_t chunk_bytes);

#endif
