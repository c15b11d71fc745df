/* SPDX-License-Identifier: MIT */
/* What a finished recording held at the end of its work. Its tables are those of the exit, when the process
 * had given everything back; of a recording that is still written the tables are what is live now. */
#ifndef SL_TOP_END_H
#define SL_TOP_END_H

#include "api/live_ledger.h"
#include "run/run.h"

typedef struct sl_top_end {
    sl_trace *trace; /* owned; NULL = the recording is still being written */
    sl_run *run;     /* owned */
} sl_top_end;

/* Zero-initialise first; sl_top_end_close in any case. */
sl_status sl_top_end_open(sl_top_end *end, const char *path, const sl_log_reader *reader,
                          sl_error *err);
void sl_top_end_close(sl_top_end *end);

/* NULL for a live recording, and for a device without events. */
const sl_run_device *sl_top_end_device(const sl_top_end *end, int device);

/* True when the card was read: then *ledger has the rows of that moment, whose names are borrowed from the
 * trace. sl_live_ledger_fini in either case. */
bool sl_top_end_ledger(const sl_run_device *device, sl_live_ledger *ledger);

#endif
