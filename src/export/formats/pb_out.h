/* SPDX-License-Identifier: MIT */
/* Protocol buffers written by field number into memory. A message inside another is built in a
 * buffer of its own and then put in whole, so that its length is known. A failure (no memory)
 * sticks: check has_failed once, at the end. */
#ifndef SL_PB_OUT_H
#define SL_PB_OUT_H

#include "base/core/vec.h"

typedef struct sl_pb_out {
    SL_VEC(uint8_t) bytes;
    bool has_failed;
} sl_pb_out;

/* int32, int64, uint32, uint64, bool and enum. A signed value is passed as its two's complement. */
void sl_pb_varint(sl_pb_out *pb, uint32_t field, uint64_t value);

void sl_pb_double(sl_pb_out *pb, uint32_t field, double value);

/* string: what is not valid UTF-8 becomes U+FFFD, because readers refuse the whole message. */
void sl_pb_text(sl_pb_out *pb, uint32_t field, sl_str text);

/* repeated integers in the packed form; nothing when there are none. */
void sl_pb_packed(sl_pb_out *pb, uint32_t field, const uint64_t *values, size_t cnt);

/* Puts `inner` in as a message and empties it for the next one. If `inner` has failed, the outer
 * message fails too. */
void sl_pb_message(sl_pb_out *pb, uint32_t field, sl_pb_out *inner);

/* Keeps the memory for the next use; the failure stays. */
void sl_pb_reset(sl_pb_out *pb);
void sl_pb_fini(sl_pb_out *pb);

#endif
