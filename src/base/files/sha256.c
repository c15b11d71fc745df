/* SPDX-License-Identifier: MIT */
#include "base/files/sha256.h"

#include <stdio.h>
#include <string.h>

static const uint32_t round_keys[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned bits) {
    return x >> bits | x << (32 - bits);
}

static void expand(const uint8_t *block, uint32_t w[64]) {
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void take_block(uint32_t h[8], const uint8_t *block) {
    uint32_t w[64], s[8];
    expand(block, w);
    memcpy(s, h, sizeof s);
    for (size_t i = 0; i < 64; i++) {
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t one = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + choice +
                       round_keys[i] + w[i];
        uint32_t two = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (size_t i = 0; i < 8; i++)
        h[i] += s[i];
}

void sl_sha256_init(sl_sha256 *sha) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    *sha = (sl_sha256){0};
    memcpy(sha->h, start, sizeof start);
}

void sl_sha256_add(sl_sha256 *sha, const void *bytes, size_t len) {
    const uint8_t *at = bytes;
    while (len > 0) {
        size_t held = sha->byte_cnt % sizeof sha->block;
        size_t n = sizeof sha->block - held;
        n = n < len ? n : len;
        if (n == sizeof sha->block) {
            take_block(sha->h, at);
        } else {
            memcpy(sha->block + held, at, n);
            if (held + n == sizeof sha->block)
                take_block(sha->h, sha->block);
        }
        sha->byte_cnt += n;
        at += n;
        len -= n;
    }
}

void sl_sha256_hex(sl_sha256 *sha, char hex[SL_SHA256_HEX_CAP]) {
    static const uint8_t padding[64] = {0x80};
    uint64_t bit_cnt = sha->byte_cnt * 8;
    uint8_t length[8];
    size_t held = sha->byte_cnt % 64;
    for (size_t i = 0; i < 8; i++)
        length[i] = (uint8_t)(bit_cnt >> (56 - 8 * i));
    sl_sha256_add(sha, padding, held < 56 ? 56 - held : 120 - held);
    sl_sha256_add(sha, length, sizeof length);
    for (size_t i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", sha->h[i]);
}

bool sl_sha256_is_hex(sl_str text) {
    for (size_t i = 0; i < text.len; i++)
        if (!((text.ptr[i] >= '0' && text.ptr[i] <= '9') ||
              (text.ptr[i] >= 'a' && text.ptr[i] <= 'f')))
            return false;
    return text.len == SL_SHA256_HEX_CAP - 1;
}
