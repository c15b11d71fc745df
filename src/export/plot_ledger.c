/* SPDX-License-Identifier: MIT */
/* The card's ledger over time needs what the driver says about the card. */
#include "export/plot_frame.h"

sl_status sl_plot_ledger(sl_plot *plot, sl_error *err) {
    return sl_fail(err, SL_E_FORMAT,
                   "'%s' holds no readings of the device's own counters (used, free, total), and a "
                   "ledger is made of them; --kind timeline shows what the allocator knows",
                   plot->inputs[0].trace->path);
}
