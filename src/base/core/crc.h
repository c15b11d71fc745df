/* SPDX-License-Identifier: MIT */
/* CRC-32 as in zip, PNG and zlib (IEEE, reflected), so that every language has it at hand. */
#ifndef SL_CRC_H
#define SL_CRC_H

#include "base/core/sl_base.h"

/* Starts with crc 0; feed the result back in to go on. */
uint32_t sl_crc32(uint32_t crc, const void *bytes, size_t len);

#endif
