/* SPDX-License-Identifier: MIT */
/* Bytes of a fuzzer as a recording: a copy whose header has the right checksum, because no fuzzer
 * would guess it. Header only. */
#ifndef SL_SLOG_COPY_H
#define SL_SLOG_COPY_H

#include <stdlib.h>
#include <string.h>

#include "log/layout/log_layout.h"

/* The caller frees it; NULL without memory. */
static inline uint8_t *slog_copy(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return NULL;
    memcpy(copy, data, size);
    if (size >= sizeof(sl_fmt_header)) {
        sl_fmt_header *header = (sl_fmt_header *)(void *)copy;
        header->header_crc = sl_header_crc(header);
    }
    return copy;
}

#endif
