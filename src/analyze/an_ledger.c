/* SPDX-License-Identifier: MIT */
/* What filled the card at the end of the window, and when it was fullest. A fact of the device, no
 * finding: the gap and the out-of-memory analyses judge. */
#include "analyze/an_context.h"
#include "run/ledger.h"

bool sl_an_ledger(sl_an *an) {
    sl_device_report *d = sl_an_device(an);
    sl_arena *arena = &an->report->arena;
    sl_ledger *ledger;
    if (sl_ledger_new(an->trace, an->replay, &ledger, NULL) < 0)
        return false;
    bool ok = true;
    if (ledger->moment_cnt > 0) {
        bool is_whole = an->to == an->replay->event_cnt;
        size_t last = ledger->moment_cnt - 1;
        ok = sl_ledger_keep(ledger, is_whole ? last : sl_ledger_at(ledger, d->last_time_us), arena,
                            &d->ledger) &&
             sl_ledger_keep(ledger, sl_ledger_fullest(ledger), arena, &d->ledger_fullest);
    }
    sl_ledger_free(ledger);
    return ok;
}
