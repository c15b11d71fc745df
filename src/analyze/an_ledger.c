/* SPDX-License-Identifier: MIT */
#include "analyze/an_context.h"

bool sl_an_ledger(sl_an *an, const sl_ledger *ledger) {
    sl_device_report *d = sl_an_device(an);
    sl_arena *arena = &an->report->arena;
    if (ledger->moment_cnt == 0)
        return true;
    size_t end = an->to == an->replay->event_cnt ? ledger->moment_cnt - 1
                                                 : sl_ledger_at(ledger, d->last_time_us);
    return sl_ledger_keep(ledger, end, arena, &d->ledger) &&
           sl_ledger_keep(ledger, sl_ledger_fullest(ledger), arena, &d->ledger_fullest);
}
