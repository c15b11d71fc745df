/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "counters/counters.h"

/* In the order in which they are tried. */
static const sl_counters_ops *const back_ends[] = {
    &sl_counters_nvml,
    &sl_counters_amdgpu,
};

void sl_counters_load(void) {
    for (size_t i = 0; i < SL_COUNT_OF(back_ends); i++)
        if (back_ends[i]->load)
            back_ends[i]->load();
}

const sl_counters_ops *sl_counters_open(sl_error *err) {
    char reasons[SL_ERROR_TEXT_CAP] = "";
    for (size_t i = 0; i < SL_COUNT_OF(back_ends); i++) {
        sl_error one = SL_ERROR_INIT;
        if (back_ends[i]->open(&one) == SL_OK)
            return back_ends[i];
        size_t used = strlen(reasons);
        snprintf(reasons + used, sizeof reasons - used, "%s%.150s", used ? "; " : "", one.text);
    }
    sl_fail(err, SL_E_DEVICE, "%s", reasons);
    return NULL;
}
