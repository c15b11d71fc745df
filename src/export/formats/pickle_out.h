/* SPDX-License-Identifier: MIT */
/* A writer of pickle protocol 4 for plain data: dicts, lists, tuples, strings, numbers. Repeated
 * objects are memoised and then referenced. No FRAME opcodes: readers do not need them. */
#ifndef SL_PICKLE_OUT_H
#define SL_PICKLE_OUT_H

#include <stdio.h>

#include "base/core/sl_base.h"

/* Readers written in JavaScript spread a batch onto the call stack; CPython uses 1000 too. */
#define SL_PICKLE_BATCH 1000

typedef struct sl_pickle_out {
    FILE *to;           /* borrowed */
    uint32_t memo_next; /* number the next MEMOIZE gets */
} sl_pickle_out;

#define SL_PICKLE_NO_MEMO UINT32_MAX

void sl_pickle_out_begin(sl_pickle_out *pickle, FILE *to);
void sl_pickle_out_end(sl_pickle_out *pickle);

void sl_pickle_out_i64(sl_pickle_out *pickle, int64_t value);
void sl_pickle_out_u64(sl_pickle_out *pickle, uint64_t value);
void sl_pickle_out_f64(sl_pickle_out *pickle, double value);
void sl_pickle_out_bool(sl_pickle_out *pickle, bool value);
/* Bytes that are not UTF-8 become U+FFFD. */
void sl_pickle_out_str(sl_pickle_out *pickle, sl_str value);

/* A string that may be repeated: written and memoised the first time, referenced afterwards. *memo
 * is SL_PICKLE_NO_MEMO before the first time. */
void sl_pickle_out_shared_str(sl_pickle_out *pickle, sl_str value, uint32_t *memo);

void sl_pickle_out_empty_dict(sl_pickle_out *pickle);
void sl_pickle_out_empty_list(sl_pickle_out *pickle);
void sl_pickle_out_mark(sl_pickle_out *pickle);
void sl_pickle_out_set_items(sl_pickle_out *pickle); /* key, value, … since the mark */
void sl_pickle_out_append_items(sl_pickle_out *pickle);
void sl_pickle_out_tuple2(sl_pickle_out *pickle); /* of the last two values */

/* Remembers the value just begun; returns its number. */
uint32_t sl_pickle_out_memoize(sl_pickle_out *pickle);
void sl_pickle_out_get(sl_pickle_out *pickle, uint32_t memo);

/* Items of a long list: call before each, with its index, and sl_pickle_out_list_end after the
 * last; keeps the batches. */
void sl_pickle_out_list_item(sl_pickle_out *pickle, size_t idx);
void sl_pickle_out_list_end(sl_pickle_out *pickle, size_t cnt);

#endif
