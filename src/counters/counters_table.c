/* SPDX-License-Identifier: MIT */
#include "counters/counters.h"

/* In the order in which they are tried. */
static const sl_counters_ops *const back_ends[] = {
    &sl_counters_nvml,
};

const sl_counters_ops *sl_counters_open(sl_error *err) {
    for (size_t i = 0; i < SL_COUNT_OF(back_ends); i++)
        if (back_ends[i]->open(err) == SL_OK)
            return back_ends[i];
    return NULL;
}
