/* SPDX-License-Identifier: MIT */
#include "export/formats/pb_out.h"

#include <string.h>

#include "base/text/utf8.h"

typedef enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_LENGTH = 2 } wire_type;

#define VARINT_MAX 10 /* bytes of a 64-bit number, seven bits each */

static size_t encode(uint8_t out[VARINT_MAX], uint64_t value) {
    size_t cnt = 0;
    for (; value >= 0x80; value >>= 7)
        out[cnt++] = (uint8_t)(value | 0x80);
    out[cnt++] = (uint8_t)value;
    return cnt;
}

static void put(sl_pb_out *pb, const void *bytes, size_t cnt) {
    if (cnt == 0)
        return;
    if (pb->has_failed || !sl_vec_reserve(&pb->bytes, cnt)) {
        pb->has_failed = true;
        return;
    }
    memcpy(pb->bytes.at + pb->bytes.cnt, bytes, cnt);
    pb->bytes.cnt += cnt;
}

static void put_number(sl_pb_out *pb, uint64_t value) {
    uint8_t buf[VARINT_MAX];
    put(pb, buf, encode(buf, value));
}

static void put_key(sl_pb_out *pb, uint32_t field, wire_type type) {
    put_number(pb, (uint64_t)field << 3 | (uint64_t)type);
}

void sl_pb_varint(sl_pb_out *pb, uint32_t field, uint64_t value) {
    put_key(pb, field, WIRE_VARINT);
    put_number(pb, value);
}

/* Little endian, as every machine that this is built for. */
void sl_pb_double(sl_pb_out *pb, uint32_t field, double value) {
    put_key(pb, field, WIRE_64);
    put(pb, &value, sizeof value);
}

static const char replacement[] = "\xEF\xBF\xBD";

static size_t text_bytes(sl_str text) {
    size_t bytes = 0;
    for (size_t i = 0; i < text.len;) {
        size_t len = sl_utf8_length(text.ptr + i, text.len - i);
        bytes += len ? len : sizeof replacement - 1;
        i += len ? len : 1;
    }
    return bytes;
}

void sl_pb_text(sl_pb_out *pb, uint32_t field, sl_str text) {
    put_key(pb, field, WIRE_LENGTH);
    put_number(pb, text_bytes(text));
    for (size_t i = 0; i < text.len;) {
        size_t len = sl_utf8_length(text.ptr + i, text.len - i);
        if (len)
            put(pb, text.ptr + i, len);
        else
            put(pb, replacement, sizeof replacement - 1);
        i += len ? len : 1;
    }
}

void sl_pb_packed(sl_pb_out *pb, uint32_t field, const uint64_t *values, size_t cnt) {
    uint8_t buf[VARINT_MAX];
    size_t bytes = 0;
    if (cnt == 0)
        return;
    for (size_t i = 0; i < cnt; i++)
        bytes += encode(buf, values[i]);
    put_key(pb, field, WIRE_LENGTH);
    put_number(pb, bytes);
    for (size_t i = 0; i < cnt; i++)
        put_number(pb, values[i]);
}

void sl_pb_message(sl_pb_out *pb, uint32_t field, sl_pb_out *inner) {
    put_key(pb, field, WIRE_LENGTH);
    put_number(pb, inner->bytes.cnt);
    put(pb, inner->bytes.at, inner->bytes.cnt);
    pb->has_failed |= inner->has_failed;
    sl_pb_reset(inner);
}

void sl_pb_reset(sl_pb_out *pb) {
    pb->bytes.cnt = 0;
}

void sl_pb_fini(sl_pb_out *pb) {
    sl_vec_free(&pb->bytes);
    pb->has_failed = false;
}
