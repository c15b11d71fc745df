/* SPDX-License-Identifier: MIT */
/* The ledger of a device as a log stands now, from its tables and the newest value of its counters:
 * cheap enough for a view that is drawn every second. run/ledger.h does the arithmetic. */
#ifndef SL_LIVE_LEDGER_H
#define SL_LIVE_LEDGER_H

#include "log/read/log_reader.h"
#include "read/slog/slog_facts.h"
#include "run/ledger.h"

typedef struct sl_live_ledger {
    sl_ledger_figures figures;
    sl_ledger_rows rows; /* owned; names borrowed from the reader */
} sl_live_ledger;

/* `facts` have seen the tables. False when memory ran out; sl_live_ledger_fini in either case. */
bool sl_live_ledger_fill(sl_live_ledger *ledger, int device, const sl_log_tables *tables,
                         const sl_log_counters *counters, const sl_log_reader *reader,
                         sl_slog_facts *facts);
void sl_live_ledger_fini(sl_live_ledger *ledger);

#endif
