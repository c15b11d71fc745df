/* SPDX-License-Identifier: MIT */
#include "run/blocks/rounding.h"

#include <string.h>

static unsigned log2_floor(uint64_t n) {
    return 63u - (unsigned)__builtin_clzll(n | 1);
}

/* A decimal number at *at; advances after it. */
static uint64_t take_number(const char **at, const char *end) {
    uint64_t n = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
        n = n < UINT32_MAX ? n * 10 + (uint64_t)(**at - '0') : n;
    return n;
}

static void fill(sl_rounding *rounding, size_t from, size_t to, uint64_t value) {
    for (size_t i = from; i < to; i++)
        rounding->divisions[i] = (uint32_t)value;
}

void sl_rounding_set_all(sl_rounding *rounding, uint64_t divisions) {
    fill(rounding, 0, SL_ROUND_BUCKETS, divisions);
}

void sl_rounding_add(sl_rounding *rounding, sl_rounding_list *list, uint64_t mib,
                     uint64_t divisions) {
    bool is_rest = mib == SL_ROUND_REST;
    size_t bucket = is_rest ? list->last + 1 : log2_floor(mib);
    bucket = bucket < SL_ROUND_BUCKETS ? bucket : SL_ROUND_BUCKETS - 1;
    fill(rounding, list->has_first || is_rest ? bucket : 0, is_rest ? SL_ROUND_BUCKETS : bucket + 1,
         divisions);
    list->last = bucket;
    list->has_first = true;
}

/* "[256:1,512:2,>:8]". */
static void parse_list(sl_rounding *rounding, const char *at, const char *end) {
    sl_rounding_list list = {0};
    while (at < end && *at != ']') {
        bool is_rest = *at == '>';
        uint64_t mib = is_rest ? SL_ROUND_REST : take_number(&at, end);
        at += is_rest;
        if (at >= end || *at++ != ':')
            return;
        sl_rounding_add(rounding, &list, mib, take_number(&at, end));
        if (at < end && *at == ',')
            at++;
    }
}

void sl_rounding_init(sl_rounding *rounding, sl_str conf, sl_maybe_u64 max_split_bytes) {
    static const char key[] = "roundup_power2_divisions:";
    *rounding = (sl_rounding){{0}, max_split_bytes.known ? max_split_bytes.value : UINT64_MAX};
    const char *found = conf.len ? memmem(conf.ptr, conf.len, key, sizeof key - 1) : NULL;
    if (!found)
        return;
    const char *at = found + sizeof key - 1, *end = conf.ptr + conf.len;
    if (at < end && *at == '[')
        parse_list(rounding, at + 1, end);
    else
        sl_rounding_set_all(rounding, take_number(&at, end));
}

static uint64_t round_up(uint64_t n, uint64_t unit) {
    return n > UINT64_MAX - unit ? n : (n + unit - 1) / unit * unit;
}

/* The next of `divisions` equal steps between two powers of two. */
static uint64_t round_to_division(uint64_t n, uint64_t divisions) {
    uint64_t floor = (uint64_t)1 << log2_floor(n);
    uint64_t step = floor >> log2_floor(divisions);
    return n == floor ? n : round_up(n, step ? step : floor);
}

uint64_t sl_round_request(const sl_rounding *rounding, uint64_t requested) {
    if (requested < SL_ALLOC_QUANTUM_BYTES)
        return SL_ALLOC_QUANTUM_BYTES;
    unsigned log2 = log2_floor(requested), mib = log2_floor(SL_ALLOC_SMALL_BYTES);
    size_t bucket = log2 > mib ? log2 - mib : 0;
    bucket = bucket < SL_ROUND_BUCKETS ? bucket : SL_ROUND_BUCKETS - 1;
    uint64_t divisions = rounding->divisions[bucket];
    if (divisions > 1 && requested > SL_ALLOC_QUANTUM_BYTES * divisions)
        return round_to_division(requested, divisions);
    return round_up(requested, SL_ALLOC_QUANTUM_BYTES);
}

uint64_t sl_round_segment(uint64_t rounded) {
    if (rounded <= SL_ALLOC_SMALL_BYTES)
        return SL_ALLOC_SMALL_SEGMENT;
    if (rounded < SL_ALLOC_MIN_LARGE)
        return SL_ALLOC_LARGE_SEGMENT;
    return round_up(rounded, SL_ALLOC_SMALL_SEGMENT);
}

bool sl_should_split(const sl_rounding *rounding, uint64_t rounded, uint64_t rest, bool is_large,
                     bool is_expandable) {
    if (!is_large || is_expandable)
        return rest >= SL_ALLOC_QUANTUM_BYTES;
    return rounded < rounding->max_split_bytes && rest > SL_ALLOC_SMALL_BYTES;
}
