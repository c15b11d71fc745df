/* SPDX-License-Identifier: MIT */
/* The highest live total of each step. Internal to src/analyze. */
#ifndef SL_STEP_PEAKS_H
#define SL_STEP_PEAKS_H

#include "analyze/an_context.h"

typedef struct sl_step_peak {
    uint64_t bytes;     /* requested, highest within the step */
    uint32_t event;     /* where */
    uint64_t end_bytes; /* live when the step ends */
} sl_step_peak;

typedef SL_VEC(sl_step_peak) sl_step_peaks;

/* One for each step of an->steps. False when memory ran out. */
bool sl_step_peaks_find(const sl_an *an, sl_step_peaks *out);

/* Median peak after the warm-up steps; 0 when there are too few steps. */
uint64_t sl_step_peaks_usual(const sl_step_peaks *peaks);

/* How many steps at the beginning are warm-up. */
size_t sl_step_peaks_warm(size_t step_cnt);

#endif
