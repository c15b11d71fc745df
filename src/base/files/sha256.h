/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4): what S3 signs and what the index of shipped recordings holds. libc only. */
#ifndef SL_SHA256_H
#define SL_SHA256_H

#include "base/core/sl_base.h"

#define SL_SHA256_HEX_CAP 65

typedef struct sl_sha256 {
    uint32_t h[8];
    uint64_t byte_cnt;
    uint8_t block[64]; /* what does not fill a block yet */
} sl_sha256;

void sl_sha256_init(sl_sha256 *sha);
void sl_sha256_add(sl_sha256 *sha, const void *bytes, size_t len);
/* 64 lower-case hexadecimal digits. The state must not be used afterwards. */
void sl_sha256_hex(sl_sha256 *sha, char hex[SL_SHA256_HEX_CAP]);

/* Whether a text is such a sum. */
bool sl_sha256_is_hex(sl_str text);

#endif
