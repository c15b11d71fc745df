/* SPDX-License-Identifier: MIT */
/* Where the bytes of a device are, as far as was measured: rows that add up to what the driver says
 * the card holds. A row whose parts are not all known is unknown. */
#ifndef SL_TOP_LEDGER_H
#define SL_TOP_LEDGER_H

#include "log/log_reader.h"

#define SL_LEDGER_LIBRARY_MAX 16

typedef struct sl_ledger_library {
    sl_str name; /* borrowed from the reader */
    uint64_t bytes;
} sl_ledger_library;

typedef struct sl_ledger {
    sl_maybe_u64 card_used, card_total;
    sl_maybe_u64 tensors; /* what PyTorch's allocator has handed out */
    sl_maybe_u64 cache;   /* what it holds beyond that */
    sl_ledger_library libraries[SL_LEDGER_LIBRARY_MAX]; /* other callers of the driver */
    size_t library_cnt;
    uint64_t library_bytes; /* of all of them, listed or not */
    sl_maybe_u64 context;   /* this process's rest: CUDA context, modules, what was not seen */
    sl_maybe_u64 others;    /* other processes the driver lists */
    sl_maybe_u64 driver;    /* what the driver keeps for itself */
    sl_maybe_u64 rest;      /* of the card: what nobody is named for */
} sl_ledger;

void sl_ledger_fill(sl_ledger *ledger, int device, const sl_log_tables *tables,
                    const sl_log_counters *counters, const sl_log_reader *reader);

#endif
