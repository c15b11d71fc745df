/* SPDX-License-Identifier: MIT */
#include "base/text/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode_three(char out[4], const uint8_t *in) {
    out[0] = alphabet[in[0] >> 2];
    out[1] = alphabet[(in[0] & 3) << 4 | in[1] >> 4];
    out[2] = alphabet[(in[1] & 15) << 2 | in[2] >> 6];
    out[3] = alphabet[in[2] & 63];
}

void sl_base64_write(FILE *to, const uint8_t *bytes, size_t cnt) {
    char out[2048] = {0};
    size_t len = 0, i = 0;
    for (; i + 3 <= cnt; i += 3) {
        if (len == sizeof out) {
            fwrite(out, 1, len, to);
            len = 0;
        }
        encode_three(out + len, bytes + i);
        len += 4;
    }
    fwrite(out, 1, len, to);
    if (i == cnt)
        return;
    uint8_t rest[3] = {bytes[i], i + 1 < cnt ? bytes[i + 1] : 0, 0};
    encode_three(out, rest);
    out[3] = '=';
    if (i + 1 == cnt)
        out[2] = '=';
    fwrite(out, 1, 4, to);
}
