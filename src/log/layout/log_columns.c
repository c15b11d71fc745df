/* SPDX-License-Identifier: MIT */
#include "log/layout/log_columns.h"

#include <string.h>

#include "log/layout/log_layout.h"

#define RECORD_BYTES sizeof(sl_fmt_record)

/* Word 3 with the low 48 bits of `time` instead of its own. */
static uint64_t with_time(uint64_t word, uint64_t time) {
    return (word & ~SL_SIZE_MASK) | (time & SL_SIZE_MASK);
}

void sl__columns_fold(uint8_t *to, const uint8_t *from, uint32_t chunk_bytes) {
    size_t cnt = sl_chunk_cap(chunk_bytes);
    uint64_t before = 0;
    memcpy(to, from, sizeof(sl_fmt_chunk));
    to += sizeof(sl_fmt_chunk);
    from += sizeof(sl_fmt_chunk);
    for (size_t i = 0; i < cnt; i++) {
        sl_fmt_record record;
        uint8_t bytes[RECORD_BYTES];
        memcpy(&record, from + i * RECORD_BYTES, sizeof record);
        uint64_t time = record.w3;
        record.w3 = with_time(record.w3, time - before);
        before = time;
        memcpy(bytes, &record, sizeof record);
        for (size_t k = 0; k < RECORD_BYTES; k++)
            to[k * cnt + i] = bytes[k];
    }
}

void sl__columns_unfold(uint8_t *to, const uint8_t *from, uint32_t chunk_bytes) {
    size_t cnt = sl_chunk_cap(chunk_bytes);
    uint64_t time = 0;
    memcpy(to, from, sizeof(sl_fmt_chunk));
    to += sizeof(sl_fmt_chunk);
    from += sizeof(sl_fmt_chunk);
    for (size_t i = 0; i < cnt; i++) {
        sl_fmt_record record;
        uint8_t bytes[RECORD_BYTES] = {0};
        for (size_t k = 0; k < RECORD_BYTES; k++)
            bytes[k] = from[k * cnt + i];
        memcpy(&record, bytes, sizeof record);
        time += record.w3;
        record.w3 = with_time(record.w3, time);
        memcpy(to + i * RECORD_BYTES, &record, sizeof record);
    }
}
