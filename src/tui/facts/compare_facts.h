/* SPDX-License-Identifier: MIT */
/* Two inputs side by side: the peaks of their devices, and the lines that hold more or less at the end of the
 * work, as `stormlog diff` finds them. */
#ifndef SL_COMPARE_FACTS_H
#define SL_COMPARE_FACTS_H

#include "tui/facts/run_facts.h"

/* Reads the paths, which are `before`; `inputs` and `after` are what is open. */
sl_status sl_compare_facts(const sl_tui_inputs *inputs, const sl_tui_source *after,
                           const char *const *paths, size_t cnt, const sl_tui_read_options *options,
                           sl_tui_comparison **out, sl_error *err);

#endif
