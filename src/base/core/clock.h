/* SPDX-License-Identifier: MIT */
/* Time. The monotonic clock is CLOCK_MONOTONIC read through the vDSO: 24 ns on the machine of
 * bench/log against 10 ns for a bare rdtsc. The difference does not pay for calibration, for the
 * check of an invariant counter on every machine, and for times that other tools cannot compare. */
#ifndef SL_CLOCK_H
#define SL_CLOCK_H

#include <time.h>

#include "base/core/sl_base.h"

static inline uint64_t sl_clock_ns(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now); /* cannot fail for the clocks used here */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t sl_clock_mono_ns(void) {
    return sl_clock_ns(CLOCK_MONOTONIC);
}

/* The same moment on both clocks, and the width of the window in which both were read. */
typedef struct sl_clock_pair {
    uint64_t mono_ns;
    uint64_t wall_ns; /* since 1970 */
    uint64_t gap_ns;
} sl_clock_pair;

/* The best of a few tries. */
sl_clock_pair sl_clock_read_pair(void);

/* Sleeps for this long. Not a cancellation point, unlike nanosleep: allocating must not become one because it is
 * recorded. A signal may end it early. */
void sl_clock_pause_us(unsigned us);

#endif
