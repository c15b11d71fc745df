/* SPDX-License-Identifier: MIT */
#include "export/formats/pickle_out.h"

#include <string.h>

#include "base/text/utf8.h"

/* The opcodes of protocol 4 that are written. */
enum {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_BINFLOAT = 'G',
    OP_BINUNICODE = 'X',
    OP_SHORT_BINUNICODE = 0x8c,
    OP_EMPTY_DICT = '}',
    OP_EMPTY_LIST = ']',
    OP_APPENDS = 'e',
    OP_SETITEMS = 'u',
    OP_TUPLE2 = 0x86,
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_LONG1 = 0x8a,
    OP_MEMOIZE = 0x94,
    OP_PROTO = 0x80,
};

static void put_op(sl_pickle_out *pickle, int op) {
    putc(op, pickle->to);
}

static void put_le(sl_pickle_out *pickle, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        putc((int)(value >> (8 * i) & 0xff), pickle->to);
}

void sl_pickle_out_begin(sl_pickle_out *pickle, FILE *to) {
    *pickle = (sl_pickle_out){.to = to};
    put_op(pickle, OP_PROTO);
    put_op(pickle, 4);
}

void sl_pickle_out_end(sl_pickle_out *pickle) {
    put_op(pickle, OP_STOP);
}

/* LONG1: little-endian two's complement in as few bytes as keep the sign. */
static void put_long(sl_pickle_out *pickle, uint64_t bits, bool is_negative) {
    unsigned char bytes[9];
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(bits >> (8 * i));
    unsigned char fill = is_negative ? 0xff : 0;
    bytes[8] = fill;
    size_t len = 9;
    while (len > 1 && bytes[len - 1] == fill && (bytes[len - 2] & 0x80) == (fill & 0x80))
        len--;
    put_op(pickle, OP_LONG1);
    put_op(pickle, (int)len);
    fwrite(bytes, 1, len, pickle->to);
}

void sl_pickle_out_u64(sl_pickle_out *pickle, uint64_t value) {
    if (value <= 0xff) {
        put_op(pickle, OP_BININT1);
        put_le(pickle, value, 1);
    } else if (value <= 0xffff) {
        put_op(pickle, OP_BININT2);
        put_le(pickle, value, 2);
    } else if (value <= INT32_MAX) {
        put_op(pickle, OP_BININT);
        put_le(pickle, value, 4);
    } else {
        put_long(pickle, value, false);
    }
}

void sl_pickle_out_i64(sl_pickle_out *pickle, int64_t value) {
    if (value >= 0) {
        sl_pickle_out_u64(pickle, (uint64_t)value);
    } else if (value >= INT32_MIN) {
        put_op(pickle, OP_BININT);
        put_le(pickle, (uint64_t)value, 4);
    } else {
        put_long(pickle, (uint64_t)value, true);
    }
}

void sl_pickle_out_f64(sl_pickle_out *pickle, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_op(pickle, OP_BINFLOAT);
    for (size_t i = 8; i > 0; i--)
        putc((int)(bits >> (8 * (i - 1)) & 0xff), pickle->to);
}

void sl_pickle_out_bool(sl_pickle_out *pickle, bool value) {
    put_op(pickle, value ? OP_NEWTRUE : OP_NEWFALSE);
}

static size_t fixed_length(sl_str value) {
    size_t total = 0;
    for (size_t at = 0; at < value.len;) {
        size_t step = sl_utf8_length(value.ptr + at, value.len - at);
        total += step ? step : 3;
        at += step ? step : 1;
    }
    return total;
}

static void put_fixed(FILE *to, sl_str value) {
    for (size_t at = 0; at < value.len;) {
        size_t step = sl_utf8_length(value.ptr + at, value.len - at);
        if (step)
            fwrite(value.ptr + at, 1, step, to);
        else
            fputs("\xef\xbf\xbd", to);
        at += step ? step : 1;
    }
}

void sl_pickle_out_str(sl_pickle_out *pickle, sl_str value) {
    size_t len = fixed_length(value);
    bool is_short = len <= 0xff;
    put_op(pickle, is_short ? OP_SHORT_BINUNICODE : OP_BINUNICODE);
    put_le(pickle, len, is_short ? 1 : 4);
    put_fixed(pickle->to, value);
}

void sl_pickle_out_shared_str(sl_pickle_out *pickle, sl_str value, uint32_t *memo) {
    if (*memo != SL_PICKLE_NO_MEMO) {
        sl_pickle_out_get(pickle, *memo);
        return;
    }
    sl_pickle_out_str(pickle, value);
    *memo = sl_pickle_out_memoize(pickle);
}

void sl_pickle_out_empty_dict(sl_pickle_out *pickle) {
    put_op(pickle, OP_EMPTY_DICT);
}

void sl_pickle_out_empty_list(sl_pickle_out *pickle) {
    put_op(pickle, OP_EMPTY_LIST);
}

void sl_pickle_out_mark(sl_pickle_out *pickle) {
    put_op(pickle, OP_MARK);
}

void sl_pickle_out_set_items(sl_pickle_out *pickle) {
    put_op(pickle, OP_SETITEMS);
}

void sl_pickle_out_append_items(sl_pickle_out *pickle) {
    put_op(pickle, OP_APPENDS);
}

void sl_pickle_out_tuple2(sl_pickle_out *pickle) {
    put_op(pickle, OP_TUPLE2);
}

uint32_t sl_pickle_out_memoize(sl_pickle_out *pickle) {
    put_op(pickle, OP_MEMOIZE);
    return pickle->memo_next++;
}

void sl_pickle_out_get(sl_pickle_out *pickle, uint32_t memo) {
    bool is_short = memo <= 0xff;
    put_op(pickle, is_short ? OP_BINGET : OP_LONG_BINGET);
    put_le(pickle, memo, is_short ? 1 : 4);
}

void sl_pickle_out_list_item(sl_pickle_out *pickle, size_t idx) {
    if (idx % SL_PICKLE_BATCH != 0)
        return;
    if (idx)
        sl_pickle_out_append_items(pickle);
    sl_pickle_out_mark(pickle);
}

void sl_pickle_out_list_end(sl_pickle_out *pickle, size_t cnt) {
    if (cnt)
        sl_pickle_out_append_items(pickle);
}
